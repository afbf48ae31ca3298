// Theorem    scan-snap.assumptions                   Status  derived here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10
// Statement  relative distances of z at a fixed time, eta_Y fixed: flow - quasi-static and
//            fast-decoder - reduced are O(eta_Z/eta_Y); quasi-static - fast-decoder tends to a
//            constant that is not 0 and grows with M: reduced does not tend to flow
// Hypotheses H1 overlapping classes
// Check      orders in eta_Z/eta_Y over two decades; the plateau, and its ratio at several M
// Controls   reduced said to tend to flow; order 2 claimed for Assumption 1
// Uses       rungs flow, quasi-static, fast-decoder, reduced

#include <fmt/format.h>

#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/quasi_static_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr double horizon = 700;

template <class Rung>
Vector<double> logits_of(const Rung& rung) {
  return rung.logits_at(follow(forget_type(rung), {horizon}).states.front());
}

struct Ladder {
  Vector<double> flow, quasi_static, fast, reduced;
};

Ladder climb(Index tokens, double ratio) {
  TrainingInstance<double> instance = with_ratio(growth_classes<double>(), ratio);
  instance.classes.tokens = tokens;
  return {logits_of(PopulationFlow<double>(instance)), logits_of(QuasiStaticFlow<double>(instance)),
          logits_of(PopulationFlow<double>(instance, DecoderRule::fast)),
          logits_of(ReducedFlow<double>(instance))};
}

double apart(const Vector<double>& a, const Vector<double>& b) { return (a - b).norm() / b.norm(); }

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  result.parameters = {
      {"preset", "growth"}, {"eta_Y", 1}, {"eta_Y/eta_Z", "10, 100, 1000"}, {"t", horizon}};
  std::vector<double> rates, first, plateau, last, whole;
  for (const double ratio : {10.0, 100.0, 1000.0}) {
    const Ladder z = climb(1000, ratio);
    rates.push_back(1 / ratio);
    first.push_back(apart(z.flow, z.quasi_static));
    plateau.push_back(apart(z.quasi_static, z.fast));
    last.push_back(apart(z.fast, z.reduced));
    whole.push_back(apart(z.flow, z.reduced));
  }
  const auto order = [&](const char* what, const std::vector<double>& distances, double claimed) {
    const double slope = log_log_slope(rates, distances);
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, what, std::fabs(slope - claimed), 0.1,
        "over two decades the next order, a fraction of the distance at ratio 10, bends the "
        "slope by less",
        fmt::format("order {:.3f}; {:.2e}, {:.2e}, {:.2e}", slope, distances[0], distances[1],
                    distances[2])));
  };
  if (variant == "tends-to-flow") {
    order("reduced - flow: order in eta_Z/eta_Y, minus 1", whole, 1);
    return result;
  }
  order("flow - quasi-static: order minus the claimed one", first,
        variant == "order-two" ? 2.0 : 1.0);
  if (!variant.empty()) return result;
  order("quasi-static - fast-decoder: order, claimed 0", plateau, 0);
  order("fast-decoder - reduced: order minus 1", last, 1);
  for (const Index tokens : {1000, 10'000, 100'000}) {
    const Ladder z = climb(tokens, 1000);
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
      .examine = examine};
}

}  // namespace popgrad::theorems::scan_snap
