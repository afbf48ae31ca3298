#include "popgrad/rungs/parameters.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/layer_logits.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::logits_ahead {
namespace {

Statement sheet{.id = "joma.logits-ahead",
                .paper = "arXiv 2310.00535, Theorem 1 and Assumption 1",
                .status = "derived here, against assumptions of the source",
                .about = "full-batch descent in the limit of small steps",
                .theorem = R"(
In networks of several layers with softmax attention, weights that keep the velocity of the start
miss the change of the logits of every layer by more than a tenth of it by the time at which the
loss has halved (a quarter of that time can be too early: 0.0896 in layer 0, --seed 3 --set
children=2 --set classes=12 --set d=14 --set latents=10 --set layers=3 --set phi=0); and
Theorem 1, with the network's own weights at the time, misses it by more than half at all times:
keys, queries and embeddings that are trained are not its z on orthonormal fixed embeddings.
Reported: for what share of that time the first miss is below a tenth, the best factor for
Theorem 1 and what it leaves.)",
                .hypotheses = {loss_halves},
                .reaches = {EvidenceKind::numerical},
                .knobs = knobs_of_latent_networks()};

const Clause frozen_misses = sheet.clause(
    "frozen velocities miss a trained layer's logits by over a tenth as the loss has halved");
const Clause theorem_misses = sheet.clause("Theorem 1 by over half at all times up to then");

const Control too_early =
    sheet.control("early", "the miss of frozen velocities as soon as t = 0.002");
const Control own_model = sheet.control("own-model", "Theorem 1 in its own model, with z trained");

constexpr double early = 0.002;
constexpr double small_miss = 0.1;
constexpr double large_miss = 0.5;

std::vector<Quantity> short_of_small_early(const MultilayerFlow<double>& flow) {
  std::vector<Vector<double>> misses;
  for (const double step : falling_parameters(early / 2, 2, 3)) {
    misses.push_back(
        logits_looks(flow, {.step = step, .unit = early, .end = early}).front().frozen);
  }
  return short_of(small_miss, misses);
}

// The miss of Theorem 1 in its own model, with z trained, on the authors' Gaussian law.
std::vector<Quantity> short_of_large_in_own_model(const NetworkShape& shape, double end) {
  Parameters p("joma");
  p.set("units", std::to_string(shape.width));
  const PopulationFlow<double> flow(class_instance<double>(p, 1));
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const double step = LogitsWay{}.step;
  for (double t = 0; t < end; t += step) {
    throw_if_stopped();
    flow.rhs(x, slope, 0.0);
    x += step * slope;
  }
  const Vector<double> change = flow.logits(x) - flow.logits(flow.initial());
  const Vector<double> predicted = flow.predicted(x) - flow.predicted(flow.initial());
  return {Quantity(large_miss - (predicted - change).norm() / change.norm())};
}

void report(const std::vector<LogitsLook>& looks, Examination& it) {
  const LogitsLook& end = looks.back();
  for (Index h = 0; h < end.frozen.size(); ++h) {
    std::size_t k = 0;
    while (k + 1 < looks.size() && looks[k].frozen[h] < small_miss) ++k;
    it.report(fmt::format("share of the time with a miss below a tenth, layer {}", h),
              looks[k].t / end.t,
              fmt::format("t = {:.3g} of {:.3g}; miss at the end {:.3g}", looks[k].t, end.t,
                          end.frozen[h]));
    it.report(fmt::format("miss of Theorem 1 as the loss has halved, layer {}", h), end.theorem[h],
              fmt::format("{:.3g} with the best factor, {:.3g}", end.scaled[h], end.factor[h]));
  }
}

void examine(const Setting& setting, Examination& it) {
  const MultilayerInstance<double> instance = drawn_latent_network(setting);
  it.parameters = latent_network_parameters(setting);
  const MultilayerFlow<double> flow(instance);
  std::vector<std::vector<LogitsLook>> looks;  // a step each, at the same times but for the last
  for (const double step : falling_parameters(2 * LogitsWay{}.step, 2, 3)) {
    looks.push_back(logits_looks(flow, {.step = step}));
  }
  const double end = looks.back().back().t;
  const bool halved =
      std::ranges::all_of(looks, [](const auto& of_step) { return of_step.back().halved; });
  if (!it.require(loss_halves, halved, fmt::format("t = {:.3g}", end))) return;
  // Less the miss at a look, counted from the first or the last.
  const auto short_at = [&](double least, Vector<double> LogitsLook::*miss, const auto& look) {
    std::vector<Vector<double>> misses;
    for (const std::vector<LogitsLook>& of_step : looks) misses.push_back(look(of_step).*miss);
    return short_of(least, misses);
  };
  const auto at_half = [](const std::vector<LogitsLook>& of_step) { return of_step.back(); };
  it.judge(frozen_misses,
           below("a tenth, less the miss of frozen velocities as the loss has halved",
                 short_at(small_miss, &LogitsLook::frozen, at_half), 0)
               .in_units_of(1)
               .unless(too_early, [&] { return short_of_small_early(flow); }));
  std::vector<Quantity> by_theorem = short_at(large_miss, &LogitsLook::theorem, at_half);
  const std::size_t least = std::ranges::min(looks, {}, &std::vector<LogitsLook>::size).size();
  for (std::size_t k = 0; k + 1 < least; ++k) {
    for (const Quantity& layer : short_at(large_miss, &LogitsLook::theorem,
                                          [k](const auto& of_step) { return of_step[k]; })) {
      by_theorem.push_back(layer);
    }
  }
  it.judge(theorem_misses, below("half, less the miss of Theorem 1, at all times", by_theorem, 0)
                               .in_units_of(1)
                               .unless(own_model, [&] {
                                 return short_of_large_in_own_model(instance.shape, end);
                               }));
  report(looks.back(), it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::logits_ahead
