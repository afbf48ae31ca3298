#include "popgrad/fluctuations/moments_rung.hpp"

#include <fmt/format.h>

#include <memory>

#include "fluctuations/moment_steps.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/adjoint_moments.hpp"
#include "popgrad/rungs/steps_in_blocks.hpp"

namespace popgrad {

AnyRung<double> moments_rung(const AnyRung<double>& sgd, const std::string& where,
                             const std::string& why) {
  if (!sgd.draw_covariance) {
    throw InputError(fmt::format(
        "{} moments: the law of one draw is not known for these parameters{}{}; take an "
        "ensemble: the rung sgd with --runs 200",
        where, why.empty() ? "" : ": ", why));
  }
  if (sgd.dimension > largest_full_covariance) return adjoint_moments_rung(sgd, where);
  return rung_of_moments(sgd, longest_moment_block, {});
}

AnyRung<double> rung_of_moments(const AnyRung<double>& sgd, std::uint64_t longest_block,
                                const std::function<void(double, Index)>& prepare) {
  const auto steps = std::make_shared<MomentSteps>(sgd, longest_block, prepare);
  AnyRung<double> rung;
  rung.dimension = steps->dimension();
  rung.initial = steps->initial();
  rung.columns = steps->columns();
  rung.state_names = StateNames::made_by([steps] { return steps->state_names(); });
  rung.observe = [steps](const Vector<double>& x, const double& t, std::span<double> row) {
    steps->observe(x, t, row);
  };
  rung.sample_step = StepsInBlocks{[steps](Vector<double>& x, double eta, Stream& /*stream*/,
                                           Index batch) { steps->step(x, eta, batch); },
                                   [steps](const Vector<double>& x) { return steps->within(x); },
                                   [steps](const Vector<double>& x) { return steps->settled(x); }};
  rung.divergence = [steps](const Vector<double>& x, double eta, Index batch) {
    return steps->divergence(x, eta, batch);
  };
  rung.clone = [sgd, longest_block, prepare] {
    AnyRung<double> own = sgd.clone();
    own.initial = sgd.initial;
    return rung_of_moments(own, longest_block, prepare);
  };
  return rung;
}

Rung moments_of(const Rung& sgd, std::string model, WhyNotKnown why) {
  Rung rung;
  RungInfo& info = rung.info;
  info = sgd.info;
  info.name = "moments";
  info.kind = RungKind::moments;
  info.summary = "mean and standard deviation over runs of sgd, predicted: no ensemble";
  info.cost = fmt::format(
      "an evaluation of the mean direction a step, 8 n and O(n^3 log(steps)) a block of steps, 4 n "
      "+ 512 "
      "observations a row, memory O(n^2), for n <= {} numbers of the state (with --optimiser "
      "momentum twice as many); above, where the direction is a "
      "gradient, 36 evaluations a step and 2 n observations a row",
      largest_full_covariance);
  info.column_note =
      "X_sd, its standard deviation over runs, for each; second_order; sampling, if the "
      "law of one draw is known from samples";
  rung.reads = sgd.reads;
  rung.observables = sgd.observables;
  rung.observables.insert(
      rung.observables.end(),
      {{"X_sd", "standard deviation of column X over runs of sgd", ">= 0",
        "not a number where the two orders of the prediction disagree"},
       {"second_order", "largest gap of the two orders, over the deviation of the state",
        "0 to 1/2", "beyond 1/2 the prediction ends, status 4"},
       {"sampling", "relative error of the deviations by the draws that their law is known from",
        ">= 0", "only where the law of one draw is sampled"}});
  rung.make = [make = sgd.make, model = std::move(model), why = std::move(why)](
                  const Parameters& p, std::uint64_t seed) {
    const AnyRung<double> steps = make(p, seed);
    return moments_rung(steps, model, steps.draw_covariance || !why ? "" : why(p, seed));
  };
  rung.why_no_symbols = "has no right-hand side of its own; take the rung 'flow'";
  return rung;
}

}  // namespace popgrad
