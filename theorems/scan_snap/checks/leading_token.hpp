#pragma once
/// Class n of an instance, its leading distinct token l0, and what a state of the reduced flow says
/// of them: what scan-snap.growth examines.

#include <memory>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Hypothesis learns{"`xi_n > 0`"};
inline constexpr Hypothesis leads{"`l0` leads the distinct tokens of `n` at the start"};
inline constexpr Hypothesis commons_lose{"common tokens of `n` lose attention"};

/// Knobs that make the instance, with those that break a hypothesis.
std::vector<Knob> leading_token_knobs();

class LeadingToken {
 public:
  /// Class 0 of the instance that the knobs make; of the user's, the class with most distinct
  /// tokens. Throws std::invalid_argument if no token of the user's instance is distinct.
  explicit LeadingToken(const Setting& setting);
  /// Of a training, the class with most distinct tokens; B_n is tracked. Throws as above.
  explicit LeadingToken(TrainingInstance<double> training);

  /// The same of another class; `leader()` is -1 if it has no distinct token.
  [[nodiscard]] LeadingToken of_class(Index n) const;

  [[nodiscard]] const TrainingInstance<double>& training() const { return training_; }
  [[nodiscard]] const ReducedFlow<double>& flow() const { return *flow_; }
  [[nodiscard]] Index number() const { return n_; }       ///< n
  [[nodiscard]] Index leader() const { return leader_; }  ///< entry of l0
  /// Entries of the distinct tokens of n but l0.
  [[nodiscard]] const std::vector<Index>& others() const { return others_; }
  [[nodiscard]] const std::vector<Index>& commons() const { return common_; }
  /// P(l0|n) over the largest P(l|n) of another distinct token; infinite without one.
  [[nodiscard]] double lead() const;

  [[nodiscard]] double logit(const Vector<double>& x, Index entry) const;
  [[nodiscard]] double square(const Vector<double>& x, Index entry) const;  ///< f^2
  /// B_n. For double and Real.
  template <class T>
  [[nodiscard]] T growth(const Vector<T>& x) const {
    return x[flow_->layout().pairs() + 1 + n_];
  }
  /// 1 - c_nl0: the attention of class n on all tokens but l0.
  [[nodiscard]] double rest(const Vector<double>& x) const;
  /// The same from f (nnz). For double and Real.
  template <class T>
  [[nodiscard]] T rest_of(const Vector<T>& f) const;
  /// Of the attention of class n on its distinct tokens, in nats.
  [[nodiscard]] double entropy(const Vector<double>& x) const;
  /// xi_n up to a positive factor that depends on time only.
  [[nodiscard]] double drive(const Vector<double>& x) const;
  /// Least -dz/dB_n of a common token of n.
  [[nodiscard]] double least_loss(const Vector<double>& x) const;
  /// K_m: classes of the query of n.
  [[nodiscard]] Index members() const;
  /// d ln f_nl0/dB_n.
  [[nodiscard]] double rise(const Vector<double>& x) const;

 private:
  [[nodiscard]] Vector<double> rates(const Vector<double>& x) const;
  void choose(Index n);
  void choose_richest();

  TrainingInstance<double> training_;
  std::shared_ptr<ReducedFlow<double>> flow_;
  Index n_ = 0, leader_ = -1;
  std::vector<Index> others_, common_;
};

}  // namespace popgrad::scan_snap::checks
