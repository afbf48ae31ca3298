#include "popgrad/fluctuations/prediction.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "fluctuations/moment_steps.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/adjoint_moments.hpp"
#include "walks/walk_runs.hpp"

namespace popgrad {

Prediction predict_moments(const AnyRung<double>& sgd, const std::string& where,
                           const std::string& why) {
  if (!sgd.draws.covariance) {
    throw InputError(fmt::format(
        "{} moments: the law of one draw is not known for these parameters{}{}; take an "
        "ensemble: the rung sgd with --runs 200",
        where, why.empty() ? "" : ": ", why));
  }
  if (sgd.dimension > largest_full_covariance) return predict_by_adjoints(sgd, where);
  return predict_in_blocks([sgd] {
    FollowedSteps own{sgd.clone()};
    own.sgd.initial = sgd.initial;
    return own;
  });
}

Prediction predict_in_blocks(const std::function<FollowedSteps()>& make,
                             std::uint64_t longest_block) {
  const AnyRung<double> sgd = make().sgd;
  return {columns_of_moments(sgd), StateNames::made_by([sgd] { return names_of_law(sgd); }),
          [make, longest_block](const WalkRequest& request, const Vector<double>* from) {
            MomentSteps steps(make(), longest_block, request);
            return walking::one_run(steps, from ? steps.state_of(*from) : steps.initial(), request);
          }};
}

Rung moments_of(const Rung& sgd, std::string model, WhyNotKnown why) {
  Rung rung;
  RungInfo& info = rung.info;
  info = sgd.info;
  info.name = "moments";
  info.kind = RungKind::moments;
  info.summary = "mean and standard deviation over runs of sgd, predicted: no ensemble";
  info.cost = fmt::format(
      "an evaluation of the mean direction a step, 8 n and O(n^3 log(steps)) a block of steps, up "
      "to {} numbers of the state n^2 and O(n^4 log(steps)) more; 4 n + 2 min(n, {})^2 + 1024 to "
      "8192 observations a row, memory O(n^2), for n <= {} numbers of the state (with --optimiser "
      "momentum twice as many); above, where the "
      "direction is a gradient, 36 evaluations a step and 2 n observations a row",
      most_third_axes, most_third_axes, largest_full_covariance);
  info.column_note =
      "X_sd, its standard deviation over runs, for each; second_order; sampling, if the "
      "law of one draw is known from samples";
  rung.reads = sgd.reads;
  rung.observables = sgd.observables;
  rung.observables.insert(
      rung.observables.end(),
      {{"X_sd", "standard deviation of column `X` over runs of sgd", "`>= 0`",
        "`X` and `X_sd` are not numbers where the two orders of the prediction disagree"},
       {"second_order", "largest gap of the two orders, over the deviation of the state",
        "0 to 1/2",
        "beyond 1/5 means and deviations are left out, beyond 1/2 the prediction ends, status 4"},
       {"sampling", "relative error of the deviations by the draws that their law is known from",
        "`>= 0`", "only where the law of one draw is sampled"}});
  rung.predict = [make = sgd.make, model = std::move(model), why = std::move(why)](
                     const Parameters& p, std::uint64_t seed) {
    auto steps = std::make_shared<const AnyRung<double>>(make(p, seed));
    Prediction law =
        predict_moments(*steps, model, steps->draws.covariance || !why ? "" : why(p, seed));
    law.steps = std::move(steps);
    return std::make_shared<const Prediction>(std::move(law));
  };
  rung.why_no_symbols = "has no right-hand side of its own; take the rung 'flow'";
  return rung;
}

}  // namespace popgrad
