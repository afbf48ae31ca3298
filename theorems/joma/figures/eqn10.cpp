// Eqn 10 against the unit that it stands for: attention entropy over time, and how much faster the
// salient token is learned.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/figures/ten_tokens.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures::eqn10_figure {
namespace {

using joma::checks::attended_unit;
using joma::checks::AttendedUnit;

constexpr double output_weight = 0.5;
constexpr double start = 0.05;
constexpr std::array laws{"Eqn 10: a ∘ (μ − v)", "a ∘ (μ − a ∘ v)"};

struct Trained {
  Activation phi;
  const char* name;
};

constexpr std::array units{Trained{Activation::tanh, "trained unit, tanh"},
                           Trained{Activation::relu, "trained unit, ReLU"},
                           Trained{Activation::gelu, "trained unit, GELU"}};

void add_entropy(FigureTable& table, const AnyRung<double>& rung, double unit_of_time,
                 std::string_view figure) {
  SolveRequest<double> request;
  constexpr double first = 1e-4;
  constexpr double last = 20;
  constexpr int points = 500;
  for (int i = 0; i <= points; ++i) {
    request.save_at.push_back(unit_of_time * first * std::pow(last / first, i * 1.0 / points));
  }
  request.end = request.save_at.back();
  request.relative_tolerance = 1e-9;
  request.absolute_tolerance = 1e-11;
  request.find_events = false;
  const Trajectory<double> run = solve(rung, request);
  require_usable(run.outcome, figure);
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    table.add("t", run.t[i] / unit_of_time, "attention_entropy", entropy[i]);
  }
}

// Time in units of 1/h, h the slope of the field at mu.
FigureTable entropies(std::string_view figure) {
  ReducedInstance<double> instance = ten_tokens();
  FigureTable table;
  for (const bool attended : {false, true}) {
    instance.attended = attended;
    table.block(laws[attended ? 1 : 0]);
    add_entropy(table, forget_type(ReducedFlow<double>(instance)), 1, figure);
  }
  for (const Trained& trained : {units[1], units[2]}) {
    const AttendedUnit unit =
        attended_unit(trained.phi, instance.target.col(0), instance.tau, output_weight, start);
    table.block(trained.name);
    add_entropy(table, forget_type(PopulationFlow<double>(unit.training)), 1 / unit.slope, figure);
  }
  return table;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  constexpr double tau = 2;
  constexpr double weak = 1;
  FigureTable ratio;
  for (int i = 0; i <= 100; ++i) {
    const double mu = weak + 0.02 * i;
    ratio.add("mu", mu, "eqn_10", std::exp((mu * mu - weak * weak) / tau), "attended",
              attended_rate(mu, tau) / attended_rate(weak, tau));
  }
  FigureTable measured;
  for (const Trained& trained : units) {
    measured.block(trained.name);
    for (const double mu : {1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0}) {
      const Vector<double> target{{weak, mu}};
      const auto end =
          joma::checks::train(attended_unit(trained.phi, target, tau, output_weight, start));
      const Quantity found = end.rate[1] / end.rate[0];
      measured.add("mu", mu, "ratio", found.value(), "error", found.error());
    }
  }
  return {entropies(request.name).file(request, "entropy"), ratio.file(request, "ratio"),
          measured.file(request, "trained")};
}

Picture picture() {
  const auto curve = [](const char* block) {
    return plot::line("t", "attention_entropy").in("entropy").of(block).titled(block);
  };
  const Panel entropy{
      .title = "(a) attention entropy, μ = 1.2, …, 3.8, τ = 3",
      .x = {.label = "time t in units of 1/h", .range = "1e-2:20", .logarithmic = true},
      .y = {.label = "entropy (nats)", .range = "0.7:2.5", .tics = "0.5"},
      .key = "bottom left",
      .curves = {curve(laws[0]).colour(2), curve(laws[1]).colour(1),
                 curve(units[1].name).colour(3).dashed(),
                 curve(units[2].name).colour(5).dashed(3)}};
  const auto points = [](const Trained& trained) {
    return plot::points("mu", "ratio").in("trained").of(trained.name).titled(trained.name);
  };
  const Panel order{
      .title = "(b) order of learning, μ_k = 1, τ = 2",
      .x = {.label = "μ_j of the salient token", .range = "1:3.05"},
      .y = {.label = "ln(1/δ_j) / ln(1/δ_k), late",
            .range = "0.9:60",
            .logarithmic = true,
            .tics = "(1, 2, 5, 10, 20, 50)"},
      .key = "top left",
      .curves = {
          plot::line("mu", "eqn_10").in("ratio").colour(2).titled("Eqn 10: exp((μ_j^2 − μ_k^2)/τ)"),
          plot::line("mu", "attended")
              .in("ratio")
              .colour(1)
              .titled("μ_j^2(1 + 1/W_j) / (μ_k^2(1 + 1/W_k))"),
          points(units[0]).coloured("green").mark(1, 2),
          points(units[1]).coloured("black").mark(6, 0.9),
          points(units[2]).coloured("orange").mark(2, 0.7)}};
  return {.height = 4.2, .left = 0.14, .panels = {entropy, order}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-eqn10",
                   .title = "Eqn 10 against trained units: size of the bounce, order of learning",
                   .shows = {"joma.attended-target", "joma.salient-first"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::eqn10_figure
