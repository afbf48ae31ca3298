// Theorem    scan-snap.fates-symmetric
// Status     proved in source (Corollary 2)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Corollary 2
// Statement  if all classes of one query have the common tokens alike, all common tokens lose
// Hypotheses H1 P(l|n) of a common token is the same in all classes of the query; H2 classes have
//            distinct tokens of the same weights, so that they are images of each other;
//            H3 eta_Y/eta_Z >= 10 on flow
// Check      sign of z' of every common token along reduced and flow
// Controls   classes with common tokens of different weights; common tokens said to gain
// Uses       rungs reduced, flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr Knob class_count{.name = "classes",
                           .meaning = "classes K",
                           .low = 2,
                           .high = 8,
                           .usual = 4,
                           .spacing = Spacing::whole};
constexpr Knob common_count{.name = "common-tokens",
                            .meaning = "tokens that all classes have",
                            .low = 1,
                            .high = 6,
                            .usual = 3,
                            .spacing = Spacing::whole};
constexpr Knob distinct_count{.name = "distinct-tokens",
                              .meaning = "distinct tokens a class",
                              .low = 1,
                              .high = 6,
                              .usual = 4,
                              .spacing = Spacing::whole};
constexpr Knob common_weight{.name = "common-weight",
                             .meaning = "weight of a common token in units of a distinct one",
                             .low = 0.05,
                             .high = 20,
                             .usual = 1,
                             .spacing = Spacing::logarithmic};
constexpr Knob rate_ratio{.name = "rate-ratio",
                          .meaning = "eta_Y/eta_Z, eta_Y = 1",
                          .low = 10,
                          .high = 1000,
                          .usual = 10,
                          .spacing = Spacing::logarithmic};
constexpr Knob fast_attention{.name = "attention-rate",
                              .meaning = "eta_Z/eta_Y; 0: what the rate ratio makes it",
                              .low = 0.11,
                              .high = 100,
                              .usual = 0,
                              .spacing = Spacing::logarithmic,
                              .breaks = "eta_Y/eta_Z >= 10 on flow"};
constexpr Knob common_spread{
    .name = "spread-of-common-weights",
    .meaning = "standard deviation of ln P(l|n) of a common token between classes",
    .low = 0.01,
    .high = 3,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "P(l|n) of a common token is the same in all classes of the query"};
constexpr Knob distinct_spread{
    .name = "spread-of-distinct-weights",
    .meaning = "standard deviation of ln P(l|n) of a distinct token between classes",
    .low = 0.01,
    .high = 3,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "classes have distinct tokens of the same weights"};

struct Gain {
  double largest = -std::numeric_limits<double>::infinity();  // z'/max|z'| of a common token
  std::string where;
};

template <class Rung>
void take_gain(const Rung& rung, const std::string& name, Gain& gain) {
  const Trajectory<double> run = follow(forget_type(rung), {1, 3, 10, 30, 100, 300});
  const Layout& layout = rung.layout();
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    Vector<double> rate(run.states[i].size());
    rung.rhs(run.states[i], rate, run.t[i]);
    const Vector<double> dz = rung.logits_at(rate);
    const double size = dz.cwiseAbs().maxCoeff();
    for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
      if (layout.entry_distinct[e]) continue;
      const double relative = dz[layout.entry_pair[e]] / size;
      if (relative > gain.largest) {
        gain.largest = relative;
        gain.where = fmt::format("{}, token {} at t = {}", name,
                                 layout.pair_token[static_cast<std::size_t>(layout.entry_pair[e])],
                                 run.t[i]);
      }
    }
  }
}

// Gives common and distinct tokens of every class weights of its own.
void make_asymmetric(Stream& stream, SequenceClasses<double>& classes, Index commons,
                     double spread_of_common, double spread_of_distinct) {
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index count = classes.first[static_cast<std::size_t>(n + 1)] - begin;
    for (Index e = begin; e < begin + commons; ++e) {
      classes.law[e] *= std::exp(spread_of_common * stream.normal());
    }
    // Draws of the distinct ones come last, so that the common ones do not depend on them.
    if (spread_of_distinct > 0) {
      for (Index e = begin + commons; e < begin + count; ++e) {
        classes.law[e] *= std::exp(spread_of_distinct * stream.normal());
      }
    }
    classes.law.segment(begin, count) /= classes.law.segment(begin, count).sum();
  }
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const int instances = setting.only_what_varies ? 1 : setting.full ? 100 : 10;
  const Index k = setting.count(class_count);
  const Index commons = setting.count(common_count);
  const double fast = setting.value(fast_attention);
  const double ratio = fast > 0 ? 1 / fast : setting.value(rate_ratio);
  const double spread_of_common =
      variant == "asymmetric" ? 1.5 : setting.value(common_spread);  // two orders of magnitude
  const double spread_of_distinct = setting.value(distinct_spread);
  result.parameters = {{"instances", instances},
                       {"K", k},
                       {"common tokens", commons},
                       {"distinct tokens", setting.count(distinct_count)},
                       {"common weight", setting.value(common_weight)},
                       {"M", 100},
                       {"eta_Y/eta_Z", ratio},
                       {"spread of common weights", setting.value(common_spread)},
                       {"spread of distinct weights", spread_of_distinct},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"P(l|n) of a common token is the same in all classes of the query",
                               setting.value(common_spread) == 0 ? Truth::yes : Truth::no, ""});
  result.hypotheses.push_back({"classes have distinct tokens of the same weights",
                               spread_of_distinct == 0 ? Truth::yes : Truth::no, ""});
  result.hypotheses.push_back({"eta_Y/eta_Z >= 10 on flow", ratio >= 10 ? Truth::yes : Truth::no,
                               fmt::format("{:.3g}", ratio)});
  Stream stream(setting.seed, 0, 7);
  Gain reduced, flow;
  for (int i = 0; i < instances; ++i) {
    SequenceClasses<double> classes = random_classes(
        stream, k, commons, setting.count(distinct_count), setting.value(common_weight), 100, true);
    if (spread_of_common > 0 || spread_of_distinct > 0) {
      make_asymmetric(stream, classes, commons, spread_of_common, spread_of_distinct);
    }
    const TrainingInstance<double> instance = with_ratio(classes, ratio);
    take_gain(ReducedFlow<double>(instance), fmt::format("instance {}", i), reduced);
    take_gain(PopulationFlow<double>(instance), fmt::format("instance {}", i), flow);
  }
  const double sign = variant == "common-gain" ? -1 : 1;
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "reduced: largest z'/max|z'| of a common token",
                                    sign * reduced.largest, 0, "a strict sign", reduced.where));
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "flow: largest z'/max|z'| of a common token",
                                    sign * flow.largest, 0, "a strict sign", flow.where));
  return result;
}

}  // namespace

Statement fates_symmetric() {
  return {.id = "scan-snap.fates-symmetric",
          .claim = "common tokens all lose attention if classes have them alike",
          .paper = "arXiv 2305.16380, Corollary 2",
          .status = "proved in source",
          .hypotheses = {"P(l|n) of a common token is the same in all classes of the query",
                         "classes have distinct tokens of the same weights",
                         "eta_Y/eta_Z >= 10 on flow"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"asymmetric", "common tokens of weights that differ by class"},
                       {"common-gain", "common tokens said to gain"}},
          .knobs = {class_count, common_count, distinct_count, common_weight, rate_ratio,
                    fast_attention, common_spread, distinct_spread},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
