// Theorem    scb.transfer                            Status  proved in source as a bound; measured
// here Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 4.1
// Statement  from V(0) = mu 1' + theta (P_hat - mu 1') with <P_hat, P> > 0 boosting needs a smaller
//            batch than from scratch, and the less the better the correlation; but not one that is
//            independent of T: without a threshold the noise of T positions feeds back on V through
//            d = sum_k mu_k |a^k|^2
// Hypotheses H1 the correlation is positive; H2 step size and instance fixed while T grows
// Check      critical batches (bisection, logistic fit at 90 %) from scratch and from three
//            correlations at two lengths; runs that leave part 2 out
// Controls   transfer claimed to need more than scratch; a batch independent of T claimed
// Uses       rung noisy-lumped, three-part

#include <fmt/format.h>

#include <cmath>

#include "popgrad/scb/success.hpp"
#include "theorems/scb/examples.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

// Boosting to an alpha_A of 0.2 is enough for a threshold of 0.02 to tell the support.
Crossing critical_batch(const Setting& setting, Index context, double correlation) {
  Training<double> training = from_scratch(3, context, 2, setting.seed);
  if (correlation > 0) {
    training.start = transfer_start(training.bigrams, 0.5, correlation, setting.seed);
  }
  AttemptSetting attempt;
  attempt.schedule.boost_until = 0.2;
  attempt.schedule.threshold = 0.02;
  attempt.levels = levels_of_shape(training.bigrams, NoiseShape::multiplicative);
  attempt.seed = setting.seed;
  attempt.jobs = setting.jobs;
  CrossingRequest request;
  request.level = 0.9;
  request.runs = setting.full ? 200 : 50;
  request.first = 300;
  return find_crossing(success_counter(training, attempt), request);
}

std::string text(const Crossing& found) {
  return fmt::format("{:.3g} [{:.2g}, {:.2g}]", found.size, found.low, found.high);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index shorter = 1'000;
  const Index longer = 1'000'000;
  result.parameters = {{"N", 3},          {"Q", 2},       {"theta", 0.5},
                       {"T", "1e3, 1e6"}, {"level", 0.9}, {"seed", setting.seed}};
  const Crossing scratch = critical_batch(setting, longer, 0);
  const Crossing transferred = critical_batch(setting, longer, 0.5);
  if (variant != "independent") {
    const bool reversed = variant == "worse-than-scratch";
    // Intervals apart: the higher end of the smaller below the lower end of the larger.
    const double ratio = reversed ? scratch.high / transferred.low : transferred.high / scratch.low;
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "batch from transfer over batch from scratch, ends of intervals",
        ratio, 1, "95 % intervals that do not meet",
        fmt::format("T = 1e6: transfer {}, scratch {}", text(transferred), text(scratch))));
  }
  if (variant == "worse-than-scratch") return result;
  const Crossing at_shorter = critical_batch(setting, shorter, 0.5);
  if (variant == "independent") {
    result.evidence.push_back(
        bounded(EvidenceKind::statistical, "growth of the batch from T = 1e3 to 1e6, logarithm",
                std::log(transferred.size / at_shorter.size),
                std::log(transferred.high / transferred.low), "95 % interval"));
    return result;
  }
  result.evidence.push_back(bounded(
      EvidenceKind::statistical, "batch at T = 1e3 over batch at T = 1e6, ends of intervals",
      at_shorter.high / transferred.low, 1, "not independent of T: intervals apart",
      fmt::format("T = 1e3: {}, T = 1e6: {}; exponent {:.2f}", text(at_shorter), text(transferred),
                  std::log(transferred.size / at_shorter.size) /
                      std::log(static_cast<double>(longer) / shorter))));
  const Crossing weak = critical_batch(setting, longer, 0.1);
  const Crossing strong = critical_batch(setting, longer, 0.9);
  result.evidence.push_back(bounded(
      EvidenceKind::statistical, "batch at correlation 0.9 over batch at 0.1, ends of intervals",
      strong.high / weak.low, 1, "95 % intervals that do not meet",
      fmt::format("0.1: {}, 0.5: {}, 0.9: {}", text(weak), text(transferred), text(strong))));
  return result;
}

}  // namespace

Statement transfer() {
  return {.id = "scb.transfer",
          .claim =
              "transfer lowers the critical batch, the more the better correlated, but not to "
              "a constant in T",
          .paper = "arXiv 2410.23438, Theorem 4.1",
          .status = "bound proved in source",
          .hypotheses = {"positive correlation", "eta and the instance fixed while T grows"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"worse-than-scratch", "transfer needs the larger batch"},
                       {"independent", "a batch independent of T"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::scb
