// Theorem    scb.transfer
// Status     bound proved in source; measured here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 4.1
// Statement  from
//              V(0) = mu 1' + theta (P_hat - mu 1') with <P_hat, P> > 0
//            boosting needs a smaller batch than from scratch, and the less the better the
//            correlation; but not one that is independent of T: without a threshold the noise of T
//            positions feeds back on V through
//              d = sum_k mu_k |a^k|^2
// Hypotheses H1 positive correlation; H2 eta and the instance fixed while T grows
// Check      critical batches (bisection, logistic fit at 90 %) from scratch and from three
//            correlations at two lengths; runs that leave part 2 out
// Controls   transfer claimed to need more than scratch; a batch independent of T claimed
// Uses       rung noisy-lumped, three-part

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "popgrad/scb/geometry.hpp"
#include "popgrad/scb/lumped_three_part.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/scb/success.hpp"
#include "theorems/scb/examples.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob shortest{.name = "shortest",
                        .meaning = "positions T of the shorter context",
                        .low = 500,
                        .high = 5000,
                        .usual = 1000,
                        .spacing = Spacing::logarithmic};
constexpr Knob theta{.name = "theta",
                     .meaning = "size of the transfer start, in units of P - mu 1'",
                     .low = 0.3,
                     .high = 1,
                     .usual = 0.5,
                     .spacing = Spacing::logarithmic};
constexpr Knob correlation_knob{.name = "correlation",
                                .meaning = "of the transferred kernel with P",
                                .low = 0.2,
                                .high = 0.8,
                                .usual = 0.5};
constexpr Knob lost_correlation{.name = "lost-correlation",
                                .meaning = "the same, not positive; 1: as correlation says",
                                .low = -0.5,
                                .high = 0,
                                .usual = 1,
                                .breaks = "positive correlation"};

// Without noise part 1 ends at all; a start away from P leads to the branch where it never does.
bool boosts_quietly(const Training<double>& training, const AttemptSetting& attempt) {
  const LumpedThreePart rung(training, attempt.schedule, no_noise(training.bigrams.tokens()));
  Vector<double> x = rung.initial();
  Stream unused(0, 0, 0);
  const auto positions = static_cast<double>(training.bigrams.context);
  const double rate =
      growth_rate(transition_size(training.bigrams), context_size(training.bigrams), positions);
  const auto most =
      static_cast<std::uint64_t>(std::ceil(4 * std::log(positions) / (rate * attempt.step)));
  for (std::uint64_t step = 0; step < most; ++step) {
    rung.sample_step(x, attempt.step, unused, 0);
    if (part_of(x) != Part::boost) return true;
  }
  return false;
}

// Boosting to an alpha_A of 0.2 is enough for a threshold of 0.02 to tell the support.
Crossing critical_batch(const Setting& setting, Index context, std::optional<double> correlation) {
  Training<double> training = from_scratch(3, context, 2, setting.seed);
  if (correlation) {
    training.start =
        transfer_start(training.bigrams, setting.value(theta), *correlation, setting.seed);
  }
  AttemptSetting attempt;
  attempt.schedule.boost_until = 0.2;
  attempt.schedule.threshold = 0.02;
  attempt.levels = levels_of_shape(training.bigrams, NoiseShape::multiplicative);
  attempt.seed = setting.seed;
  attempt.jobs = setting.jobs;
  CrossingRequest request;
  request.level = 0.9;
  request.runs = setting.full ? 200 : setting.only_what_varies ? 25 : 50;
  request.first = 300;
  if (correlation && *correlation <= 0 && !boosts_quietly(training, attempt)) {
    return {false, request.largest, request.largest, request.largest, 0, {}};
  }
  return find_crossing(success_counter(training, attempt), request);
}

std::string text(const Crossing& found) {
  return fmt::format("{:.3g} [{:.2g}, {:.2g}]", found.size, found.low, found.high);
}

// The smaller over the larger batch, at the ends of their intervals that are nearest: below 1 they
// are shown to be apart. A search looks for the contrary, so it takes the others, and wider.
double ratio_of(const Setting& setting, const Crossing& smaller, const Crossing& larger) {
  if (!setting.only_what_varies || setting.slack > 0) return smaller.high / larger.low;
  const double wider = widening(setting);
  return smaller.size / larger.size * std::pow(smaller.low / smaller.size, wider) *
         std::pow(larger.size / larger.high, wider);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index shorter = setting.count(shortest);
  const Index longer = (setting.only_what_varies ? 100 : 1000) * shorter;
  const double lost = setting.value(lost_correlation);
  const double correlation = lost <= 0 ? lost : setting.value(correlation_knob);
  result.parameters = {{"N", 3},
                       {"Q", 2},
                       {"theta", setting.value(theta)},
                       {"T", {shorter, longer}},
                       {"correlation", correlation},
                       {"level", 0.9},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"positive correlation", correlation > 0 ? Truth::yes : Truth::no,
                               fmt::format("{:.3g}", correlation)});
  const Bigrams<double> law = random_bigrams(3, shorter, 2, setting.seed);
  // Runs take a time 1/rate; and alpha_A can be 0.2 only where the flow settles above it.
  const double transition = transition_size(law);
  const double settled = std::sqrt(std::sqrt(transition / context_size(law)));
  if (transition < 0.01 || settled < 0.3) {
    result.hypotheses.push_back(
        {"columns of P apart, K_P at least 0.01", Truth::no,
         fmt::format("K_P = {:.3g}, alpha_A settles at {:.3g}", transition, settled)});
    return result;
  }
  const Crossing scratch = critical_batch(setting, longer, std::nullopt);
  const Crossing transferred = critical_batch(setting, longer, correlation);
  if (variant != "independent") {
    const bool reversed = variant == "worse-than-scratch";
    // Intervals apart: the higher end of the smaller below the lower end of the larger.
    const double ratio = reversed ? ratio_of(setting, scratch, transferred)
                                  : ratio_of(setting, transferred, scratch);
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "batch from transfer over batch from scratch, ends of intervals",
        ratio, 1, "95 % intervals that do not meet",
        fmt::format("T = {:.0e}: transfer {}, scratch {}", static_cast<double>(longer),
                    text(transferred), text(scratch))));
  }
  if (variant == "worse-than-scratch") return result;
  const Crossing at_shorter = critical_batch(setting, shorter, correlation);
  if (variant == "independent") {
    result.evidence.push_back(
        bounded(EvidenceKind::statistical,
                "growth of the batch from the shorter to the longer context, logarithm",
                std::log(transferred.size / at_shorter.size),
                std::log(transferred.high / transferred.low), "95 % interval"));
    return result;
  }
  result.evidence.push_back(bounded(
      EvidenceKind::statistical,
      "batch at the shorter over batch at the longer context, ends of intervals",
      ratio_of(setting, at_shorter, transferred), 1, "not independent of T: intervals apart",
      fmt::format("T = {:.0e}: {}, T = {:.0e}: {}; exponent {:.2f}", static_cast<double>(shorter),
                  text(at_shorter), static_cast<double>(longer), text(transferred),
                  std::log(transferred.size / at_shorter.size) /
                      std::log(static_cast<double>(longer) / static_cast<double>(shorter)))));
  const Crossing weak = critical_batch(setting, longer, 0.1);
  const Crossing strong = critical_batch(setting, longer, 0.9);
  result.evidence.push_back(bounded(
      EvidenceKind::statistical, "batch at correlation 0.9 over batch at 0.1, ends of intervals",
      ratio_of(setting, strong, weak), 1, "95 % intervals that do not meet",
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
          .knobs = {shortest, theta, correlation_knob, lost_correlation},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
