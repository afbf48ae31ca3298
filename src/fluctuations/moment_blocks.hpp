#pragma once
/// Mean and covariance of SGD at two orders, as in popgrad/fluctuations/prediction.hpp, over blocks of steps.
///
/// A step k of a block, of either order, is
///   d <- M_k d,  C <- M_k C M_k' + S_k,  s <- M_k s + b_k
/// where x moves by plain steps. M, S and b are taken at the first, the middle and the last step of
/// a block and are quadratic in k between them. Of the first j steps let A be the mean of M_k (S_k,
/// b_k), D their slope in k. With a + b = j halves
///   j steps  ~  (A - (j^2-1)/(6a) D)^a, then (A + (j^2-1)/(6b) D)^b
/// has the sum of all M_k and their first commutators (for a constant generator Blanes and Moan,
/// Appl. Numer. Math. 56 (2006) 1519, of order 4), and is exact for two steps. Powers are taken by
/// doubling.
///
/// At the second order K (third_cumulants.hpp) goes with the mean M and the mean source of each half of a block, and
/// what it adds to S is taken at the same three steps. H and the third cumulant of a draw are those of the middle.
///
/// What is left out is estimated from the third difference of M and S, with a step of the block
/// before: its largest effect within a block on C_ij, over sqrt(C_ii C_jj). A block is halved until half
/// of that, the relative error of a deviation, is below `block_error`; at the end of a block it is
/// of higher order. Blocks of two steps are exact but for the middle, and no shorter ones are made.
/// Where a block begins depends on the law alone, not on the rows.

#include <array>
#include <cstdint>
#include <functional>

#include "fluctuations/propagator.hpp"
#include "fluctuations/step_law.hpp"
#include "fluctuations/third_cumulants.hpp"

namespace popgrad {

/// Of a standard deviation: what interpolation within a block may leave out.
inline constexpr double block_error = 1e-3;

struct MomentLaw {
  Vector<double> path, shift, gap;  ///< x, s, m - x
  Matrix<double> first, second;     ///< covariance of the one order and the other
  ThirdCumulants third = {};        ///< of the other; empty where they are not followed

  /// That of a state which does not fluctuate.
  [[nodiscard]] static MomentLaw of_state(const Vector<double>& x) {
    const Vector<double> none = Vector<double>::Zero(x.size());
    const Matrix<double> certain = Matrix<double>::Zero(x.size(), x.size());
    return {x, none, none, certain, certain, ThirdCumulants::none(x.size())};
  }
  [[nodiscard]] Vector<double> mean() const { return path + gap; }
  [[nodiscard]] bool is_finite() const {
    return path.allFinite() && shift.allFinite() && gap.allFinite() && first.allFinite() &&
           second.allFinite() && third.values.allFinite();
  }
};

/// What one step does, as a quadratic in its number within the block.
class StepsOfBlock {
 public:
  /// The same for all.
  explicit StepsOfBlock(const Propagator& at_first);
  /// Through two steps, the first being number 0.
  StepsOfBlock(const Propagator& at_first, const Propagator& later, double number);
  /// Through three, equally far from each other, the last being number `length`.
  StepsOfBlock(const Propagator& at_first, const Propagator& middle, const Propagator& last,
               double length);

  /// What `count` > 0 steps from the first on do to a covariance and a mean. Cost O(n^3 log(count)).
  void apply(std::uint64_t count, Matrix<double>& covariance, Vector<double>& mean) const;
  /// The same of a mean alone, step by step. Cost O(n^2 count).
  void apply_to_mean(std::uint64_t count, Vector<double>& mean) const;

 private:
  Propagator first_, slope_, bend_;
};

class MomentBlocks {
 public:
  /// Called with step size and batch before a direction is asked for.
  using Prepare = std::function<void(double, Index)>;
  /// `longest`: steps of a block at most, a power of 2; 1: every step by itself, the plain form.
  MomentBlocks(AnyRung<double> rung, std::uint64_t longest, Prepare prepare);

  struct Steps {
    double eta = 0;
    Index batch = 0;
    std::uint64_t first = 0;   ///< number of steps before the block
    std::uint64_t length = 0;  ///< to be tried; 0: not known
  };

  /// The block that begins with this law. `fixed`: of this length, also where its error is larger.
  void make(const MomentLaw& begin, const Steps& steps, bool fixed = false);

  /// Steps before it.
  [[nodiscard]] std::uint64_t first() const { return steps_.first; }
  [[nodiscard]] std::uint64_t length() const { return steps_.length; }
  /// A length to try next; 0 before there is a block.
  [[nodiscard]] std::uint64_t next_length() const { return next_length_; }
  /// Of a standard deviation: the estimate of what interpolation leaves out.
  [[nodiscard]] double error() const { return error_; }
  /// After `count` steps of it. Cost O(n^3 log(count)) within the block.
  [[nodiscard]] MomentLaw after(std::uint64_t count) const;

  /// Means and sizes at a step of it, without the covariances. Cost O(n).
  struct Glance {
    Vector<double> path, shift, gap;
    double first = 0, second = 0;  ///< traces of the covariances
    double of_third = 0;           ///< of the second, the part that is of third cumulants
  };
  [[nodiscard]] Glance glance(std::uint64_t count) const;

  [[nodiscard]] StepLaw& law() { return law_; }

 private:
  // f''(w_k, w_k)/2 along directions w_k: principal axes of a covariance, or sums of columns of its root.
  struct Bends {
    Matrix<double> axes, along;
    Vector<double> mean;  // of sums: half the mean, for a covariance of that trace
    double trace = 0;
    [[nodiscard]] Vector<double> drift(const Matrix<double>& covariance) const;
  };
  struct Derivatives {
    Matrix<double> jacobian;
    Bends bends;
  };
  struct Node {
    Propagator first, second;  // of one step
    Bends first_bends, second_bends;
    Vector<double> rest;   // f(m) - f(x) - J (m - x)
    Matrix<double> noise;  // of `second`, without what third cumulants add
    Curvature curvature;
  };

  /// Are derivatives those of the law, and the drift along random sums of columns?
  [[nodiscard]] bool by_sums() const;
  [[nodiscard]] Node node_at(const MomentLaw& law, std::uint64_t number);
  [[nodiscard]] Derivatives derivatives(const Vector<double>& x, const Vector<double>& center,
                                        const Matrix<double>& covariance, Nodes nodes,
                                        std::uint64_t number);
  /// Are third cumulants followed?
  [[nodiscard]] bool has_thirds() const;
  /// Principal axes that third cumulants are kept along.
  [[nodiscard]] Matrix<double> third_axes(const Bends& bends, const Matrix<double>& covariance);
  Matrix<double> mean_noise(const Vector<double>& x, const Matrix<double>& covariance,
                            Curvature& curvature);
  void bend(const Vector<double>& x, const Matrix<double>& covariance, std::uint64_t number,
            Curvature& curvature);
  [[nodiscard]] StepSize step_size() const;
  // The third cumulants of the block, and what they add to the covariance at its nodes.
  void add_thirds(Node& first, Node& middle, Node& last);
  [[nodiscard]] ThirdCumulants third_after_steps(std::uint64_t count) const;
  void refresh(Node& node, const MomentLaw& law) const;
  void walk_to(std::uint64_t count);
  [[nodiscard]] MomentLaw moved(const StepsOfBlock& first, const StepsOfBlock& second,
                                std::uint64_t count) const;
  void interpolate(const Node& begin, const Node& middle, const Node& last);
  // Which parts: what is drawn at random differs from step to step.
  struct Counted {
    bool noise, shift;
  };
  [[nodiscard]] double error_of(const Propagator& begin, const Propagator& middle,
                                const Propagator& last, const Propagator& before,
                                const Matrix<double>& covariance, const Vector<double>& mean,
                                Counted counted) const;
  [[nodiscard]] double contribution(const Node& node, const MomentLaw& law) const;
  [[nodiscard]] std::uint64_t longest_here() const;

  StepLaw law_;
  std::uint64_t longest_;
  Prepare prepare_;
  Steps steps_;
  std::uint64_t next_length_ = 0;
  double error_ = 0;
  MomentLaw begin_, middle_, end_;
  Matrix<double> third_begin_;  // along the axes of the block
  StepsOfBlock of_third_;       // of what third cumulants add to the covariance
  Matrix<double> path_;         // (n x steps + 1)
  std::uint64_t walked_ = 0;    // columns of it, but for the first
  std::array<StepsOfBlock, 2> orders_;
  // Of the block before: its middle and its last step, which is the first of the next.
  struct Before {
    Steps steps;
    MomentLaw end;
    Propagator middle, middle_second;
    Node last;
  };
  Before before_;
  bool has_before_ = false;
  Vector<double> direction_;
};

/// The law after a number of steps from the start of the rung, taken one by one: the plain form. Cost of a step 8 n
/// evaluations, three of Sigma and O(n^3).
MomentLaw law_after(const AnyRung<double>& rung, double eta, Index batch, std::uint64_t steps);

}  // namespace popgrad
