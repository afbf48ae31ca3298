#pragma once
/// The joint flow of W_V, W_K and W_Q from near zero, and what is read off its two stages.

#include "popgrad/evidence/solved.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks {

/// |W_K|^2/sqrt(d_a), the size of the logits.
double logits_size(const Layout& layout, const Vector<double>& x);
/// Of the logits, below which stage 2 is read as linear.
inline constexpr double small_logits = 1e-3;

/// Solved over both stages: the first two save points are in stage 1, when the slowest mode of W_V
/// has e^-4 and e^-8 of its way left; the others spread over stage 2.
class Stages {
 public:
  /// W_K and W_Q at `ratio` times the rate of W_V.
  Stages(const Training& start, double ratio);

  /// Rates as claimed.
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] double attention() const { return attention_; }

  /// Of |W_V - minimum norm| at the second save point. Part "next order": what faster modes made of
  /// it since the first, and what it changes by under uniform attention.
  [[nodiscard]] Quantity rate_of_value() const;
  /// Of |W_K| at the last save point with small logits. Part "next order": how it differs where
  /// logits are four times as large (growth is linear to first order in them), and half way, where
  /// modes that grow less have a larger share.
  [[nodiscard]] Quantity rate_of_keys() const;
  /// When the logits are as large as `small_logits`.
  [[nodiscard]] Quantity time_of_small() const;
  /// |W_K| over its start, when W_V has e^-8 of its way left.
  [[nodiscard]] Quantity early_growth() const;
  /// Change of W_K W_K' - weight W_Q W_Q' from the start to the end, over |W_K|^2 at the end.
  [[nodiscard]] Quantity drift(double weight) const;

 private:
  [[nodiscard]] std::vector<double> times() const;
  [[nodiscard]] double logarithmic_rate(const Vector<double>& x, Index begin,
                                        const Vector<double>& centre) const;
  [[nodiscard]] std::size_t save_below(double size) const;

  Training training_;
  Layout layout_;
  AnyRung<double> rung_;
  double value_, attention_;
  Solved run_;
};

}  // namespace popgrad::topic::checks
