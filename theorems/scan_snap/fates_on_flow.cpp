// Where Theorem 2, which is about the reduced flow, does not transfer to the population flow.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/rung.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "theorems/scan_snap/claim_hypotheses.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

const std::vector<double> times{1, 3, 10, 20, 24, 26, 30, 60, 100, 200, 400};
const std::vector<double> longer{1, 10, 100, 1e3, 1e4, 1e5};

struct LeastGain {
  double share = std::numeric_limits<double>::infinity();  // z'/max|z'| of a distinct token
  double time = 0;
  Index token = -1;
  double first_loss = std::numeric_limits<double>::infinity();  // time at which a share is negative
};

template <class Rung>
LeastGain least_gain(const Rung& rung, const std::vector<double>& at = times) {
  const Trajectory<double> run = follow(forget_type(rung), at);
  const Layout& layout = rung.layout();
  LeastGain least;
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    Vector<double> rate(run.states[i].size());
    rung.rhs(run.states[i], rate, run.t[i]);
    const Vector<double> dz = rung.logits_at(rate);
    for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
      const Index p = layout.entry_pair[e];
      const double share = dz[p] / dz.cwiseAbs().maxCoeff();
      if (!layout.entry_distinct[e]) continue;
      if (share < 0) least.first_loss = std::min(least.first_loss, run.t[i]);
      if (share >= least.share) continue;
      least.share = share;
      least.time = run.t[i];
      least.token = layout.pair_token[static_cast<std::size_t>(p)];
    }
  }
  return least;
}

}  // namespace

Erratum fates_on_flow() {
  return {.name = "scan-snap.fates-on-flow",
          .kind = ErratumClass::does_not_transfer,
          .statement = "scan-snap.fates",
          .place = "arXiv 2305.16380v4, Theorem 2",
          .grades = {SourceGrade::full_text},
          .known = "read in full, v4",
          .claim = "A2, on the attention dynamics Eqn 10, where eta_Y >> eta_Z (A1(c))",
          .paper_says = "(a) z' > 0 for every distinct token",
          .algebra_says =
              "true on Eqn 10; on the population flow a distinct token loses attention at "
              "eta_Y/eta_Z = 10, and none does at 100: it is A1(c), a finite ratio, that fails",
          .effect = "the theorem stands; what it says of training needs a ratio that grows with M",
          .examine = [](Examination& it) {
            TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
            require_assumption_2(instance.classes, it);
            require_uniform_classes(instance.classes, it);
            it.hypotheses.push_back(not_evaluated(
                "A1(c): eta_Y >> eta_Z", "10 and 100 on the instance; the paper gives no number"));
            const auto at = [](const LeastGain& g) {
              const bool loses = std::isfinite(g.first_loss);
              return fmt::format(
                  "token {} at t = {}: z'/max|z'| = {:.3g}{}", g.token, g.time, g.share,
                  loses ? fmt::format("; negative from t = {} on", g.first_loss) : std::string());
            };
            const auto shows = [&](const char* what, const LeastGain& gain, bool gains) {
              const auto sign = gains ? at_least : bounded;
              it.evidence.push_back(
                  sign(EvidenceKind::numerical, what, gain.share, 0, "a strict sign", at(gain)));
            };
            shows("reduced, ratio 10: least z'/max|z'| of a distinct token",
                  least_gain(ReducedFlow<double>(instance)), true);
            shows("flow, ratio 10: the same", least_gain(PopulationFlow<double>(instance)), false);
            shows("fast-decoder, ratio 10: the same",
                  least_gain(PopulationFlow<double>(instance, DecoderRule::fast)), false);
            instance.attention_rate /= 10;
            shows("flow, ratio 100, t = 1 to 1e5: the same",
                  least_gain(PopulationFlow<double>(instance), longer), true);
          }};
}

}  // namespace popgrad::theorems::scan_snap
