// Where Theorem 2, which is about the reduced flow, does not transfer to the population flow.

#include <string>

#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/errata.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {
namespace {

const std::vector<double> times_of_fates{1, 3, 10, 20, 30, 60, 100, 200, 400};
const std::vector<double> longer{1, 10, 100, 1e3, 1e4, 1e5};
constexpr double tolerance = 1e-10;

// (a) z' > 0 for every distinct token, in shares of the largest |z'|.
template <class Rung>
Comparison all_gain(std::string what, const Rung& rung,
                    const std::vector<double>& at = times_of_fates) {
  const Layout& layout = rung.layout();
  std::vector<Index> pairs;
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    if (layout.entry_distinct[e]) pairs.push_back(layout.entry_pair[e]);
  }
  const Solved run(forget_type(rung), at, tolerance);
  Comparison claim = below(std::move(what)).in_units_of(1);
  for (std::size_t save = 0; save < run.size(); ++save) {
    const auto shares = run.all_at(save, [&](const Vector<double>& x) -> Vector<double> {
      Vector<double> rate(x.size());
      rung.rhs(x, rate, at[save]);
      const Vector<double> dz = rung.logits_at(rate);
      return dz(pairs) / dz.cwiseAbs().maxCoeff();
    });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Index token = layout.pair_token[static_cast<std::size_t>(pairs[i])];
      claim.add(fmt::format("`t = {}`, token {}", at[save], token), 0, shares[i]);
    }
  }
  return claim;
}

// When z' of distinct tokens passes 0 on the way to the last of times_of_fates.
std::string crossings(const PopulationFlow<double>& flow) {
  const Layout& layout = flow.layout();
  AnyRung<double> rung = forget_type(flow);
  rung.events.clear();
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    if (!layout.entry_distinct[e]) continue;
    const Index pair = layout.entry_pair[e];
    const auto rate = [flow, pair](const Vector<double>& x, const double& t) {
      Vector<double> dx(x.size());
      flow.rhs(x, dx, t);
      return flow.logits_at(dx)[pair];
    };
    const Index token = layout.pair_token[static_cast<std::size_t>(pair)];
    rung.events.push_back({.name = fmt::format("token {}", token),
                           .column = fmt::format("z_{}", token),
                           .kind = EventKind::crossing,
                           .value = rate,
                           .report = rate});
  }
  std::string text;
  for (const FoundEvent& event : events_of(rung, times_of_fates.back(), tolerance)) {
    text += fmt::format("{}`z'` of {} passes 0 at `t = {:.4g}`", text.empty() ? "" : ", ",
                        event.name, event.time.value());
  }
  return text;
}

}  // namespace

Erratum fates_on_flow() {
  return {
      .name = "scan-snap.fates-on-flow",
      .kind = ErratumClass::does_not_transfer,
      .statement = "scan-snap.fates",
      .place = "arXiv 2305.16380v4, Theorem 2",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4",
      .claim = "A2, on the attention dynamics Eqn 10, where `eta_Y >> eta_Z` (A1(c))",
      .paper_says = "(a) `z' > 0` for every distinct token",
      .algebra_says =
          "true on Eqn 10; on the population flow a distinct token loses attention at "
          "`eta_Y/eta_Z = 10`, and none does at 100: it is A1(c), a finite ratio, that fails",
      .effect = "the theorem stands; what it says of training needs a ratio that grows with `M`",
      .examine = [](Examination& it) {
        TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
        require_assumption_2(instance.classes, it);
        require_uniform_classes(instance.classes, it);
        it.hypotheses.push_back(not_evaluated(
            "A1(c): `eta_Y >> eta_Z`", "10 and 100 on the instance; the paper gives no number"));
        const char* const gain = "`z'/max|z'|` of every distinct token is positive";
        const auto on = [&](const char* where) { return fmt::format("{}: {}", where, gain); };
        it.judge(all_gain(on("reduced, ratio 10"), ReducedFlow<double>(instance)));
        for (const auto& [name, rule] : {std::pair{"flow, ratio 10", DecoderRule::gradient},
                                         {"fast-decoder, ratio 10", DecoderRule::fast}}) {
          const PopulationFlow<double> flow(instance, rule);
          refute(all_gain(on(name), flow).with(crossings(flow)), it);
        }
        instance.attention_rate /= 10;
        it.judge(all_gain(on("flow, ratio 100, `t = 1` to 1e5"), PopulationFlow<double>(instance),
                          longer));
      }};
}

}  // namespace popgrad::scan_snap::checks
