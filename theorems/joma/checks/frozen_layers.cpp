#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/layer_logits.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::frozen_layers {
namespace {

Statement sheet{.id = "joma.frozen-layers",
                .paper = "arXiv 2310.00535, Assumption 1",
                .status = "derived here, against an assumption of the source",
                .about = "full-batch descent in the limit of small steps",
                .theorem = R"(
In networks of one to three layers, d <= 64, W_1' = E[(g phi') u'], u the input of the layer and g phi' what is
propagated back. With all of it frozen at the start,
  W_1(0) + t W_1'(0)
misses the change of W_1 by more than a third of it, in every layer, by the time that the loss has
halved, and by more than a fifth of it at the best rate in place of t: the gradient has not changed in
size only. (It may be less than half: 0.46, --seed 34 --set d=37 --set classes=10 --set latents=13 --set
phi=3; the miss falls as networks become wider and sequences fewer.) With g phi' frozen, as Assumption 1 has it, and u as it becomes,
  W_1(0) + int E[(g phi')(0) u'] dt
misses it by more than a third as well. Reported: for what share of that time the first miss is below a
tenth.)",
                .hypotheses = {loss_halves},
                .reaches = {EvidenceKind::numerical},
                .false_version = "early",
                .knobs = knobs_of_latent_networks()};

const Clause frozen_misses = sheet.clause(
    "a layer's gradient frozen at the start misses over a third of its change as the loss has "
    "halved");
const Clause turned = sheet.clause("at its best rate over a fifth");
const Clause inputs_move =
    sheet.clause("also with only what is propagated back frozen, as by Assumption 1");

const Control too_early =
    sheet.control("early", "it misses as much as soon as a thousandth of that time");
const Control mean_gradient = sheet.control("averaged", "the gradient averaged over the way");

const Rival rate_only = sheet.rival(
    "rate-only", "the gradient keeps its direction and changes its size only", "a rate");

constexpr double step_size = 0.01;
constexpr double latest = 20;
constexpr double small_miss = 0.1;
constexpr double third_missed = 1.0 / 3;
constexpr double fifth_missed = 0.2;
constexpr double early = 0.001;  // share of the time

// Misses of the frozen gradient on the way to half of the loss, or to an earlier end.
struct Way {
  double time = 0;  // at which the loss has halved; `latest` if it has not
  bool halved = false;
  std::vector<double> t;             // after every step
  std::vector<Vector<double>> miss;  // of every layer
  Vector<double> at_best_rate;       // the last miss, the frozen gradient at its best rate
  Vector<double> by_assumption;      // the last miss, only g phi' frozen
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
  std::vector<Matrix<double>> pulled, moved;  // g phi' of the start; its integral with u
  for (Index h = 0; h < std::ssize(hidden); ++h) {
    pulled.emplace_back(flow.network().pulled(h));
    moved.emplace_back(Matrix<double>::Zero(pulled.back().rows(), flow.instance().shape.dimension));
  }
  double loss = flow.loss(start);
  const double half = loss / 2;
  Way way;
  const auto steps = static_cast<std::size_t>(std::llround(end / eta));
  while (way.t.size() < steps && !way.halved) {
    throw_if_stopped();
    flow.rhs(x, slope, 0.0);
    std::vector<Matrix<double>> inputs;
    for (Index h = 0; h < std::ssize(hidden); ++h) inputs.emplace_back(flow.network().inputs(h));
    x += eta * slope;
    const double before = std::exchange(loss, flow.loss(x));
    way.halved = loss <= half;
    // The last step ends where the loss is half: misses do not depend on which step that is.
    const double share = way.halved ? (before - half) / (before - loss) : 1;
    x -= (1 - share) * eta * slope;
    sum += share * slope;
    way.time += share * eta;
    way.t.push_back(way.time);
    Vector<double> miss(std::ssize(hidden));
    way.averaged = way.at_best_rate = way.by_assumption = miss;
    for (Index h = 0; h < miss.size(); ++h) {
      const NetworkBlock& block = hidden[static_cast<std::size_t>(h)];
      const auto own = [&](const Vector<double>& all) -> Vector<double> {
        return all.segment(block.offset, block.rows * block.cols);
      };
      const Vector<double> change = own(x) - own(start);
      const Vector<double> frozen = own(first);
      miss[h] = miss_of(way.time * frozen, change);
      way.at_best_rate[h] = miss_of(frozen.dot(change) / frozen.squaredNorm() * frozen, change);
      way.averaged[h] = miss_of(eta * own(sum), change);
      const auto layer = static_cast<std::size_t>(h);
      moved[layer] += share * eta * pulled[layer] * inputs[layer].transpose();
      way.by_assumption[h] = miss_of(moved[layer].reshaped(), change);
    }
    way.miss.push_back(miss);
  }
  return way;
}

void examine(const Setting& setting, Examination& it) {
  const MultilayerFlow<double> flow(drawn_latent_network(setting));
  it.parameters = latent_network_parameters(setting);
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
  if (!it.require(loss_halves, halved, fmt::format("`t = {:.3g}`", fine.time))) return;
  const auto short_by = [&](double least, const std::vector<Way>& all,
                            Vector<double> (*miss)(const Way&)) {
    std::vector<Vector<double>> misses;
    for (const Way& way : all) misses.push_back(miss(way));
    return short_of(least, misses);
  };
  const auto at_end = [](const Way& way) { return way.miss.back(); };
  const auto at_best_rate = [](const Way& way) { return way.at_best_rate; };
  const auto averaged = [](const Way& way) { return way.averaged; };
  it.judge(frozen_misses,
           below("a third, less the miss of the frozen gradient as the loss has halved",
                 short_by(third_missed, ways, at_end), 0)
               .in_units_of(1)
               .unless(too_early,
                       [&] {
                         return short_by(third_missed,
                                         ways_to(early * fine.time, early * fine.time / 4), at_end);
                       })
               .unless(mean_gradient, [&] { return short_by(third_missed, ways, averaged); }));
  const auto by_assumption = [](const Way& way) { return way.by_assumption; };
  it.judge(inputs_move,
           below("a third, less its miss with the inputs of the layer not frozen",
                 short_by(third_missed, ways, by_assumption), 0)
               .in_units_of(1)
               .unless(mean_gradient, [&] { return short_by(third_missed, ways, averaged); }));
  // What keeps its direction is not missed at all.
  it.judge(turned, below("a fifth, less its miss at the best rate",
                         short_by(fifth_missed, ways, at_best_rate), 0)
                       .in_units_of(1)
                       .against(rate_only, [] { return fifth_missed; }));
  for (Index h = 0; h < fine.averaged.size(); ++h) {
    std::size_t k = 0;
    while (k + 1 < fine.t.size() && fine.miss[k][h] < small_miss) ++k;
    it.report(
        fmt::format("share of the time with a miss below a tenth, layer {}", h),
        fine.t[k] / fine.time,
        fmt::format("`t = {:.3g}` of {:.3g}; miss at the end {:.3g}, at the best rate {:.3g}, "
                    "with inputs not frozen {:.3g}",
                    fine.t[k], fine.time, fine.miss.back()[h], fine.at_best_rate[h],
                    fine.by_assumption[h]));
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::frozen_layers
