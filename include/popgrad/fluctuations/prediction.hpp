#pragma once
/// Mean and standard deviation of the observables of SGD over its runs, predicted: no ensemble.
///
/// With f the expected direction of a sample, J its Jacobian, Sigma(x) the covariance of one sample
/// and B the batch, the mean m and the covariance C = U U' of the state go as
///   m <- m + eta E f
///   C <- (I + eta J) C (I + eta J)' + (eta^2/B) E Sigma + what third cumulants add
/// with E f and J from f at m +- sqrt(3) times the principal axes of C, exact where f is cubic along
/// each, and E Sigma from Sigma at the same points. Third cumulants of the state, from second
/// derivatives of f, slopes of Sigma and 1024 draws a block, are followed for states of at most 32
/// numbers (src/fluctuations/third_cumulants.hpp). What this neglects of a deviation is of relative order
/// (eta/B)^2; without third cumulants it is eta/B, and Sigma is its mean at two points m +- U r, with
/// random signs r of their own wherever it is taken. As a measure of it a second prediction is carried along, of
/// first order about descent alone:
///   x <- x + eta f(x)
///   s <- s + eta (J(x) s + 1/2 sum_ij C_ij d^2 f/dx_i dx_j)
/// with the covariance that Sigma(x) makes about x, and the column `second_order` is the largest of
/// |m - x - s|/sqrt(tr C), |s|^2/tr C, and the change of tr C from the one to the other, without third
/// cumulants and by them, each in absolute value. Above 1/2 the prediction ends.
///
/// What is not a number:
///   X and X_sd  where second_order is above 1/5, unless X is conserved, or the means of the two
///               predictions differ by half of X_sd
///   X_sd        where its two predictions differ by as much, X is shifted by s and C by half of the
///               deviation of the first order, third cumulants change X_sd by more than 8 in 100, or
///               draws show its square to 2 in 100 only
/// Second derivatives of X, and what 512 to 4096 pairs of draws find in addition
/// (src/fluctuations/observable_readings.hpp), count in the prediction, and not in the other. Draws do
/// not show jumps that few runs reach: of `accuracy` a deviation of 0 may be that of one run in a thousand.
///
/// Measured against 20 000 runs of a training, second_order below 1/4: of 502 deviations of 18 trainings,
/// from which the limits are, 11 are more than 2 in 100 off, one of them by more than three standard
/// errors of these runs (an accuracy, as above); of 75 of two other trainings 5, one by more. Of 651
/// means none is more than 0.02 X_sd and three standard errors off.
///
/// Where the law of one draw is known from nodes alone (popgrad/fluctuations/sampled_draws.hpp) a
/// column `sampling` is their relative error of the standard deviations, and counts with the second
/// order in what is left out; third cumulants are not followed. If that law has a Jacobian of the mean and
/// the state more than 64 numbers, J is its mean at two such points as well, and second derivatives are
/// taken along 8 such sums of columns, whose mean is the sum over columns.
///
/// x goes step by step. J, Sigma and second derivatives are taken twice in a block of steps and
/// interpolated (src/fluctuations/moment_blocks.hpp), a block being as long as that changes no deviation by more than
/// 1e-3 of it by its own estimate. Measured against steps one by one, deviations of 12 observables in
/// trainings of 60 to 1000 steps: 9e-4 at the most where the law of one draw is known in closed form or
/// its counts are run through; 2e-3 where it is known from nodes and 5e-3 where from samples, with steps
/// of 0.2, where random signs are taken at fewer steps and second_order is 2e-3 and 1e-2. Rows and
/// their number change nothing of it; a prediction that goes on from a saved law differs by as much from one
/// that was not stopped.
///
/// A saved law (Trajectory::states and last_state) is m, U, x, s, U of the second prediction and third cumulants,
/// 2 n^2 + 3 n numbers for a state of n, and 2 n^2 + n (n + 1) (n + 2)/6 of third cumulants. Cost of a step one evaluation; of
/// a block, of which there are some 10 to 30 in a training, 8 n evaluations, six of Sigma and O(n^3 log(steps)), with third cumulants n^2 more,
/// 4 n of Sigma, 1024 draws and O(n^4 log(steps)); of a row 4 n + 2 min(n, 32)^2 + 1024 to 8192 observations. Of 19
/// to 30 numbers third cumulants and these observations take 5 to 11 times as long as all else. Memory O(n^2), with
/// third cumulants O(n^3). Derived here.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

/// The law of the runs of `sgd`. A prediction may be asked by several threads at once.
struct Prediction {
  std::vector<std::string> columns;  ///< X and X_sd of each observable X, second_order, sampling
  StateNames law_names;              ///< of the numbers of a saved law
  /// Means and deviations after the steps of the request, whose batch, step size and save points it reads;
  /// `from` is a saved law after `start_step` steps, null: the start of `sgd`. Ends as `diverged`, with a note,
  /// where the orders differ by more than is said above. Throws InputError unless steps are plain.
  std::function<Trajectory<double>(const WalkRequest&, const Vector<double>* from)> rows;
  /// Of moments_of: the steps whose law it is, with the law of one draw.
  std::shared_ptr<const AnyRung<double>> steps{};
};

/// Numbers of a state whose covariance is followed in full.
inline constexpr Index largest_full_covariance = 512;

/// Of plain steps of `sgd`, whose law of one draw has to be known. `where` names it in errors, `why` says
/// why the law is not known, where that is so. States of more numbers than above go by adjoints,
/// popgrad/fluctuations/adjoint_moments.hpp. Throws InputError if the law is not known, or there is no adjoint.
Prediction predict_moments(const AnyRung<double>& sgd, const std::string& where,
                           const std::string& why = {});

/// Steps whose law is followed.
struct FollowedSteps {
  AnyRung<double> sgd;  ///< with a law of one draw; at most 512 numbers
  /// Called with step size and batch before a direction is asked for; may be empty.
  std::function<void(double, Index)> prepare = nullptr;
  /// Adds to a row what the law of `sgd` leaves out, at this mean state; may be empty.
  std::function<void(const Vector<double>&, std::span<double>)> amend = nullptr;
};

inline constexpr std::uint64_t longest_moment_block = std::uint64_t{1} << 14U;

/// The same in blocks of at most `longest_block` steps, a power of 2; 1 is the plain form, which takes steps
/// one by one. `make` is called for every prediction, which has its own.
Prediction predict_in_blocks(const std::function<FollowedSteps()>& make,
                             std::uint64_t longest_block = longest_moment_block);

/// The law of `sgd` as time goes to infinity, in one row (and state, if the request keeps them): about the point
/// where the mean direction vanishes, with C and s from their fixed-point equations. Cost O(n^3) a step on the
/// way there. Throws InputError if there is no such point on the way of the flow, steps of that size are not
/// stable there, or the state has more than 512 numbers.
Trajectory<double> predict_at_rest(const AnyRung<double>& sgd, const std::string& where,
                                   const WalkRequest& request);

/// Why the law of one draw is not known at these parameters.
using WhyNotKnown = std::function<std::string(const Parameters&, std::uint64_t seed)>;

/// The row `moments` of a model, of its row `sgd`, or of one that differs in the law of one draw being known: the same
/// parameters; for each observable X of it, its mean and X_sd.
Rung moments_of(const Rung& sgd, std::string model, WhyNotKnown why = {});

}  // namespace popgrad
