#pragma once
/// The passage from SGD to the population flow, checked in the same way for every model.
///
/// Descent with step eta on the expected gradient is off the flow by O(eta); SGD fluctuates about
/// descent with the mean and covariance of fluctuations/moment_blocks.hpp, which neglect O((eta/B)^2) and a
/// relative O(eta/B). What they neglect is measured at an eighth of the batch, where it is 64 and 8
/// times as large.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {

/// A model's training, small enough that its moments can be followed.
struct OdeLimit {
  AnyRung<double> rung;       ///< expected field and `draws.sample`
  double step_size = 0;       ///< eta, the largest that is compared
  std::uint64_t steps = 0;    ///< to the time at which all are compared
  Index batch = 2;            ///< B, a multiple of 8
  std::uint32_t runs = 2000;  ///< of each of two ensembles, for Setting::draws
  /// Of the field at each step of the prediction, where the rung has no `draws.covariance`.
  std::uint32_t variance_draws = 2048;
  /// Of the state, whose means are compared; empty where `draws.sample` is biased or has no `draws.covariance`.
  std::vector<Index> components;
  /// Where the field of `rung` contains a correction for a bias of `draws.sample`: the rung without
  /// it, and a bound of what the correction leaves of the bias, as a share of it.
  AnyRung<double> uncorrected = {};
  double left = 0;
  /// Probability that a step takes the minibatch of the step before; breaks independence.
  double repetition = 0;
};

/// Chance that a step takes the minibatch of the step before.
inline constexpr Knob repetition_knob =
    logarithmic_knob("repetition", "chance that a step takes the minibatch of the step before",
                     1e-3, 0.9, 0)
        .breaking("independent minibatches");
/// Of a prediction of SGD with a learning rate that is wrong.
inline constexpr Control wrong_learning_rate{
    "learning-rate", "moments predicted with a learning rate 10 % too large"};

/// With the clauses, hypotheses and controls that every ode limit has; `exact_noise`: of a rung with
/// `draws.covariance`, for which the order of the spread in eta is judged as well.
Statement ode_limit_sheet(Statement own, bool exact_noise = true);
/// Requires the hypotheses and judges order, means and spread.
void examine_ode_limit(const OdeLimit& training, const Setting& setting, Examination& it);

}  // namespace popgrad
