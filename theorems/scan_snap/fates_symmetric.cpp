// Theorem    scan-snap.fates-symmetric               Status  proved in source (Corollary 2)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Corollary 2
// Statement  if all classes of a query have the common tokens alike, all common tokens lose
// Hypotheses H1 the same P(l|n) of every common token in all classes; H2 distinct tokens of the
//            same weights, so that classes are images of each other; H3 one query
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

// Gives the common tokens 0, 1, 2 of every class other weights, over two orders of magnitude.
void make_asymmetric(Stream& stream, SequenceClasses<double>& classes) {
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index count = classes.first[static_cast<std::size_t>(n + 1)] - begin;
    for (Index e = begin; e < begin + 3; ++e) classes.law[e] *= std::exp(1.5 * stream.normal());
    classes.law.segment(begin, count) /= classes.law.segment(begin, count).sum();
  }
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const int instances = setting.full ? 100 : 10;
  result.parameters = {{"instances", instances}, {"K", 4},
                       {"common tokens", 3},     {"M", 100},
                       {"eta_Y/eta_Z", 10},      {"seed", setting.seed}};
  Stream stream(setting.seed, 0, 7);
  Gain reduced, flow;
  for (int i = 0; i < instances; ++i) {
    SequenceClasses<double> classes = random_classes(stream, 4, 3, 4, 1.0, 100, true);
    if (variant == "asymmetric") make_asymmetric(stream, classes);
    const TrainingInstance<double> instance = with_ratio(classes, 10);
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
                         "classes have distinct tokens of the same weights"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"asymmetric", "common tokens of weights that differ by class"},
                       {"common-gain", "common tokens said to gain"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::scan_snap
