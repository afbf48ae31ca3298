// Where Theorem 2, which is about the reduced flow, does not transfer to the population flow.

#include <fmt/format.h>

#include <limits>

#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

const std::vector<double> times{1, 3, 10, 20, 30, 60, 100, 200, 400};

struct LeastGain {
  double share = std::numeric_limits<double>::infinity();  // z'/max|z'| of a distinct token
  double time = 0;
  Index token = -1;
};

template <class Rung>
LeastGain least_gain(const Rung& rung) {
  const Trajectory<double> run = follow(forget_type(rung), times);
  const Layout& layout = rung.layout();
  LeastGain least;
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    Vector<double> rate(run.states[i].size());
    rung.rhs(run.states[i], rate, run.t[i]);
    const Vector<double> dz = rung.logits_at(rate);
    for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
      const Index p = layout.entry_pair[e];
      const double share = dz[p] / dz.cwiseAbs().maxCoeff();
      if (!layout.entry_distinct[e] || share >= least.share) continue;
      least = {share, run.t[i], layout.pair_token[static_cast<std::size_t>(p)]};
    }
  }
  return least;
}

// Class 0 has tokens 0 (common) and 1, class 1 has 0, 2, 3: far inside Assumption 2 at M = 1e5.
SequenceClasses<double> small_overlap() {
  Matrix<double> law(2, 4);
  law << 1.0 / 3, 2.0 / 3, 0, 0, 1.0 / 13, 0, 2.0 / 13, 10.0 / 13;
  return classes_from_matrix<double>(law, {0, 0}, 100'000);
}

}  // namespace

Erratum fates_on_flow() {
  return {.name = "scan-snap.fates-on-flow",
          .kind = ErratumClass::does_not_transfer,
          .statement = "scan-snap.fates",
          .place = "arXiv 2305.16380v4, Theorem 2 (under Eqn 10)",
          .known = "full text, v4",
          .paper_says =
              "Theorem 2, on the attention dynamics Eqn 10 under Assumption 2: distinct "
              "tokens gain attention",
          .algebra_says =
              "does not transfer to the population flow at a finite eta_Y/eta_Z: at 10 "
              "a distinct token loses attention on flow and on fast-decoder",
          .evidence = [] {
            const TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
            const LeastGain flow = least_gain(PopulationFlow<double>(instance));
            const LeastGain fast = least_gain(PopulationFlow<double>(instance, DecoderRule::fast));
            const LeastGain reduced = least_gain(ReducedFlow<double>(instance));
            const auto at = [](const LeastGain& g) {
              return fmt::format("token {} at t = {}: z'/max|z'| = {:.3g}", g.token, g.time,
                                 g.share);
            };
            return std::vector<Evidence>{
                bounded(EvidenceKind::numerical, "lambda_max(E) of the instance, under 1/K = 0.5",
                        largest_overlap(instance.classes), 0.5, "Assumption 2"),
                bounded(EvidenceKind::numerical, "flow: smallest z'/max|z'| of a distinct token",
                        flow.share, 0, "a strict sign", at(flow)),
                bounded(EvidenceKind::numerical, "fast-decoder: the same", fast.share, 0,
                        "a strict sign", at(fast)),
                bounded(EvidenceKind::numerical, "reduced: the same, negated", -reduced.share, 0,
                        "a strict sign")};
          }};
}

}  // namespace popgrad::theorems::scan_snap
