// Theorem    joma.frozen-layers
// Status     derived here, against an assumption of the source
// Source     Tian et al., JoMA, arXiv 2310.00535, Assumption 1, in networks of several layers
// Statement  with E[g phi' u] of every layer frozen at the start, its input u included (more than
//            Assumption 1 freezes), W_1(0) + t W_1'(0) misses the change of W_1 by more than half
//            of it, in every layer, by the time that the loss has halved
// Hypotheses H1 the loss halves before t = 20
// Check      descent with steps of 0.04, 0.02 and 0.01, and their limit: the miss over the size of
//            the change, of W_1 at that time; reported: for what share of it the miss is below a
//            tenth
// Controls   the miss at a hundredth of the time; the gradient averaged over the way, no prediction
// Uses       rung multilayer-gd

#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/layer_logits.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::frozen_layers {
namespace {

constexpr double step_size = 0.01;
constexpr double latest = 20;
constexpr double small_miss = 0.1;
constexpr double early = 0.01;  // share of the time

// Misses of the frozen gradient on the way to half of the loss, or to an earlier end.
struct Way {
  double time = 0;  // at which the loss has halved; `latest` if it has not
  bool halved = false;
  std::vector<double> t;             // after every step
  std::vector<Vector<double>> miss;  // of every layer
  Vector<double> averaged;           // with the mean gradient over the way
};

Way way_of(const MultilayerFlow<double>& flow, double eta, double end) {
  std::vector<NetworkBlock> hidden;
  for (const NetworkBlock& block : flow.network().blocks()) {
    if (block.name.starts_with("W_1")) hidden.push_back(block);
  }
  const Vector<double> start = flow.initial();
  Vector<double> x = start;
  Vector<double> slope(x.size());
  Vector<double> first(x.size());
  Vector<double> sum = Vector<double>::Zero(x.size());
  flow.rhs(start, first, 0.0);
  double loss = flow.loss(start);
  const double half = loss / 2;
  Way way;
  const auto steps = static_cast<std::size_t>(std::llround(end / eta));
  while (way.t.size() < steps && !way.halved) {
    throw_if_stopped();
    flow.rhs(x, slope, 0.0);
    x += eta * slope;
    const double before = std::exchange(loss, flow.loss(x));
    way.halved = loss <= half;
    // The last step ends where the loss is half, so that misses do not depend on which step that is.
    const double share = way.halved ? (before - half) / (before - loss) : 1;
    x -= (1 - share) * eta * slope;
    sum += share * slope;
    way.time += share * eta;
    way.t.push_back(way.time);
    Vector<double> miss(std::ssize(hidden));
    way.averaged = miss;
    for (Index h = 0; h < miss.size(); ++h) {
      const NetworkBlock& block = hidden[static_cast<std::size_t>(h)];
      const auto own = [&](const Vector<double>& all) -> Vector<double> {
        return all.segment(block.offset, block.rows * block.cols);
      };
      miss[h] = miss_of(way.time * own(first), own(x) - own(start));
      way.averaged[h] = miss_of(eta * own(sum), own(x) - own(start));
    }
    way.miss.push_back(miss);
  }
  return way;
}

void examine(const Setting& setting, Examination& it) {
  const MultilayerFlow<double> flow(drawn_latent_network(setting));
  it.parameters = told_latent_network(setting);
  const auto ways_to = [&](double end, double largest_step) {
    std::vector<Way> found;
    for (const double step : falling_parameters(largest_step, 2, 3)) {
      found.push_back(way_of(flow, step, end));
    }
    return found;
  };
  const std::vector<Way> ways = ways_to(latest, 4 * step_size);
  const Way& fine = ways.back();
  const bool halved = std::ranges::all_of(ways, &Way::halved);
  it.require("the loss halves before t = 20", halved ? Truth::yes : Truth::no,
             fmt::format("t = {:.3g}", fine.time));
  if (!halved) return;
  const auto short_by = [&](const std::vector<Way>& all, Vector<double> (*miss)(const Way&)) {
    std::vector<Vector<double>> misses;
    for (const Way& way : all) misses.push_back(miss(way));
    return short_of(0.5, misses);
  };
  const auto at_end = [](const Way& way) { return way.miss.back(); };
  it.judge(Comparison{
      .what = "half, less the miss of the frozen gradient as the loss has halved",
      .measured = short_by(ways, at_end),
      .relation = Relation::below,
      .predicted = {0.0},
      .scale = {1.0},
      .mistakes = {measures("early",
                            [&] {
                              return short_by(ways_to(early * fine.time, early * fine.time / 4),
                                              at_end);
                            }),
                   measures("averaged", [&] {
                     return short_by(ways, [](const Way& way) { return way.averaged; });
                   })}});
  for (Index h = 0; h < fine.averaged.size(); ++h) {
    std::size_t k = 0;
    while (k + 1 < fine.t.size() && fine.miss[k][h] < small_miss) ++k;
    it.report(fmt::format("share of the time with a miss below a tenth, layer {}", h),
              fine.t[k] / fine.time,
              fmt::format("t = {:.3g} of {:.3g}; miss at the end {:.3g}", fine.t[k], fine.time,
                          fine.miss.back()[h]));
  }
}

}  // namespace

Statement statement() {
  std::vector<Knob> knobs = knobs_of_latent_networks();
  knobs.pop_back();  // shared classes are allowed here
  return {
      .id = "joma.frozen-layers",
      .claim = "gradients of a layer frozen at the start do not predict it until the loss halves",
      .paper = "arXiv 2310.00535, Assumption 1",
      .status = "derived here, against an assumption of the source",
      .hypotheses = {"the loss halves before t = 20"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"early", "the miss at a hundredth of the time"},
                   {"averaged", "the gradient averaged over the way"}},
      .knobs = knobs,
      .examine = examine};
}

}  // namespace popgrad::joma::checks::frozen_layers
