// Theorem    scan-snap.assumptions
// Status     derived here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10
// Statement  relative distances of z at a fixed time, eta_Y fixed:
//              flow - quasi-static          O(eta_Z/eta_Y)
//              fast-decoder - reduced       O(eta_Z/eta_Y)
//              quasi-static - fast-decoder  tends to a constant that is not 0 and grows with M
//            so that reduced does not tend to flow
// Hypotheses H1 overlapping classes
// Check      orders in eta_Z/eta_Y over two decades; the plateau, and its ratio at several M
// Controls   reduced said to tend to flow; order 2 claimed for Assumption 1
// Uses       rungs flow, quasi-static, fast-decoder, reduced

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "popgrad/fit.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/quasi_static_flow.hpp"
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
constexpr Knob vocabulary{.name = "vocabulary",
                          .meaning = "tokens M",
                          .low = 50,
                          .high = 1e5,
                          .usual = 1000,
                          .spacing = Spacing::logarithmic};
constexpr Knob common_weight{.name = "common-weight",
                             .meaning = "weight of a common token in units of a distinct one",
                             .low = 0.3,
                             .high = 3,
                             .usual = 1,
                             .spacing = Spacing::logarithmic};
constexpr Knob horizon{.name = "time",
                       .meaning = "t at which logits are compared, draws",
                       .low = 50,
                       .high = 1000,
                       .usual = 700,
                       .spacing = Spacing::logarithmic};
constexpr Knob dilution{.name = "dilution",
                        .meaning = "weight of common tokens in units of what it was",
                        .low = 1e-5,
                        .high = 0.5,
                        .usual = 1,
                        .spacing = Spacing::logarithmic,
                        .breaks = "overlapping classes"};

template <class Rung>
Vector<double> logits_of(const Rung& rung, double t) {
  return rung.logits_at(follow(forget_type(rung), {t}).states.front());
}

struct Ladder {
  Vector<double> flow, quasi_static, fast, reduced;
};

Ladder climb(const SequenceClasses<double>& classes, double ratio, double t) {
  const TrainingInstance<double> instance = with_ratio(classes, ratio);
  return {logits_of(PopulationFlow<double>(instance), t),
          logits_of(QuasiStaticFlow<double>(instance), t),
          logits_of(PopulationFlow<double>(instance, DecoderRule::fast), t),
          logits_of(ReducedFlow<double>(instance), t)};
}

// Growth, or random classes of one common token or two.
SequenceClasses<double> chosen_classes(const Setting& setting) {
  if (!setting.only_what_varies) return growth_classes<double>();
  Stream stream(setting.seed, 0, 12);
  const auto common = 1 + static_cast<Index>(stream.index(2));
  return random_classes(stream, setting.count(class_count), common, 5,
                        setting.value(common_weight) * setting.value(dilution),
                        setting.count(vocabulary));
}

double apart(const Vector<double>& a, const Vector<double>& b) { return (a - b).norm() / b.norm(); }

// quasi-static - fast-decoder is p + c eta_Z/eta_Y: where p is small a plateau shows only where the
// ratio is beyond c/p, so a search goes out to it, a decade at a time. A distance that tends to 0
// keeps its order all the way.
constexpr double farthest = 1e8;
constexpr double order_allowed = 0.1;
struct Decade {
  std::vector<double> rates, distances;
};
Decade plateau_decade(const SequenceClasses<double>& classes, double t, Decade seen) {
  while (std::fabs(log_log_slope(seen.rates, seen.distances)) > order_allowed &&
         1 / seen.rates.back() < farthest) {
    const double ratio = 10 / seen.rates.back();
    const TrainingInstance<double> instance = with_ratio(classes, ratio);
    const double distance =
        apart(logits_of(QuasiStaticFlow<double>(instance), t),
              logits_of(PopulationFlow<double>(instance, DecoderRule::fast), t));
    seen = {{seen.rates.back(), 1 / ratio}, {seen.distances.back(), distance}};
  }
  return seen;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double t = setting.value(horizon);
  const SequenceClasses<double> classes = chosen_classes(setting);
  // Random classes overlap more than those of growth: orders show later.
  const std::vector<double> ratios =
      setting.only_what_varies ? std::vector<double>{1e4, 1e5} : std::vector<double>{10, 100, 1000};
  result.parameters = {{"preset", setting.only_what_varies ? "random classes" : "growth"},
                       {"K", classes.classes()},
                       {"M", classes.tokens},
                       {"common weight", setting.value(common_weight)},
                       {"dilution", setting.value(dilution)},
                       {"eta_Y", 1},
                       {"eta_Y/eta_Z", fmt::format("{}", fmt::join(ratios, ", "))},
                       {"t", t},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"overlapping classes",
                               setting.value(dilution) == 1 ? Truth::yes : Truth::no,
                               fmt::format("lambda_max(E) = {:.3g}", largest_overlap(classes))});
  std::vector<double> rates, first, plateau, last, whole;
  for (const double ratio : ratios) {
    const Ladder z = climb(classes, ratio, t);
    rates.push_back(1 / ratio);
    first.push_back(apart(z.flow, z.quasi_static));
    plateau.push_back(apart(z.quasi_static, z.fast));
    last.push_back(apart(z.fast, z.reduced));
    whole.push_back(apart(z.flow, z.reduced));
  }
  const auto order = [&](const char* what, const std::vector<double>& distances, double claimed,
                         std::span<const double> at) {
    const double slope = log_log_slope(at, distances);
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, what, std::fabs(slope - claimed), order_allowed,
        "over two decades the next order, a fraction of the distance at ratio 10, bends the "
        "slope by less",
        fmt::format("order {:.3f}; {:.2e}, {:.2e}, {:.2e}", slope, distances[0], distances[1],
                    distances.back())));
  };
  if (variant == "tends-to-flow") {
    order("reduced - flow: order in eta_Z/eta_Y, minus 1", whole, 1, rates);
    return result;
  }
  order("flow - quasi-static: order minus the claimed one", first,
        variant == "order-two" ? 2.0 : 1.0, rates);
  if (!variant.empty()) return result;
  Decade flat{rates, plateau};
  if (setting.only_what_varies) flat = plateau_decade(classes, t, std::move(flat));
  order("quasi-static - fast-decoder: order, claimed 0", flat.distances, 0, flat.rates);
  order("fast-decoder - reduced: order minus 1", last, 1, rates);
  if (setting.only_what_varies) return result;
  for (const Index tokens : {1000, 10'000, 100'000}) {
    SequenceClasses<double> more = classes;
    more.tokens = tokens;
    const Ladder z = climb(more, 1000, t);
    result.evidence.push_back(reported(fmt::format("|z_reduced|/|z_flow|, M = {}", tokens),
                                       z.reduced.norm() / z.flow.norm()));
  }
  return result;
}

}  // namespace

Statement assumptions() {
  return {
      .id = "scan-snap.assumptions",
      .claim = "the two slow-attention assumptions cost O(eta_Z/eta_Y), the fast decoder a plateau",
      .paper = "arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10",
      .status = "derived here",
      .hypotheses = {"overlapping classes"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"tends-to-flow", "reduced said to tend to flow"},
                   {"order-two", "O((eta_Z/eta_Y)^2) claimed for Assumption 1"}},
      .knobs = {class_count, vocabulary, common_weight, horizon, dilution},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
