#pragma once
/// Noise that steps leave in attention in stage 2: propagated, and on sampled sequences.
///
/// Stage 2 begins at alpha_V = alpha_A = 1/2, V = mu 1' + (P - mu 1')/2 and a^k = 1/T + beta (u^k -
/// 1/T), u^k even on the support of q^k, whose shares are still to be learnt; softmax: w^k = ln
/// a^k. With l1 steps what is off the supports is cut, as by the threshold before them. About the
/// steps on expected gradients, x, the covariance of a state goes as
///   C <- (I + eta J(x)) C (I + eta J(x))' + eta^2/B Sigma(x),
/// Sigma the covariance of one sample (exact). Positions off the support of a token are alike, so C
/// is kept for V, supports and means of the rest, and with it the variance about these means.
/// Leading order in 1/B. Derived here.

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks {

enum class Link { softmax, l1, plain };

inline constexpr double start_of_stage_two = 0.5;  ///< alpha_V and alpha_A
/// The start of stage 2 with linear attention, A as fast as V: eta_A = K_Q/K_P.
Training<double> halfway(Bigrams<double> bigrams);
/// That start as steps of this kind take it; softmax: shares as fast at the start, (2 Q)^2 as much.
Training<double> with_link(Training<double> linear, Link link);

class StageTwo {
 public:
  /// `bigrams` in any context T; eta of V. Six of the slower relaxation times.
  StageTwo(const Bigrams<double>& bigrams, Link link, double step);

  /// X = B E sum_k mu_k |a^k - that of expected gradients|^2 at the end. Cost O(steps N Q (N T +
  /// N^4)).
  [[nodiscard]] double derived() const;
  /// sum_k mu_k |a^k - that of expected gradients|^2 of runs on sequences (runs x 1).
  [[nodiscard]] Matrix<double> squares(Index batch, std::uint32_t runs, std::uint32_t first_run,
                                       const Setting& setting) const;
  /// dist_Q at the end of expected gradients.
  [[nodiscard]] double quiet_distance() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  /// Columns that move V, a position of a support, the rest of a token together (dim x m); rest
  /// columns are the last N.
  [[nodiscard]] Matrix<double> directions() const;
  [[nodiscard]] Vector<double> end() const;
  [[nodiscard]] Index rest_of(Index token) const;  ///< a position off its support
  /// What moves of attention as the columns of directions() do, and mu_k times how many positions.
  struct Shown {
    Matrix<double> by;
    Vector<double> weight;
    Vector<double> attention;
  };
  [[nodiscard]] Shown shown_at(const Vector<double>& x, Index columns) const;

  SequenceSgd<double> sampled_;
  Link link_;
  double step_;
  std::uint64_t steps_ = 0;
};

}  // namespace popgrad::scb::checks
