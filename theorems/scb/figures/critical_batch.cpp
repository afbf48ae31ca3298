// Critical batch size of boosting against T: from scratch with constant and multiplicative noise
// (75 %), from transfer (75 %), and SGD on sequences where it can follow.
// N = 3, Q = 2, eta = 0.05.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::critical_batch_figure {
namespace {

enum class Kind { constant, multiplicative, transfer, sequences };

struct Shown {
  Kind kind;
  const char* name;
};

constexpr std::array<Shown, 4> kinds{{{Kind::constant, "from scratch, constant noise"},
                                      {Kind::multiplicative, "from scratch, multiplicative noise"},
                                      {Kind::transfer, "from transfer, multiplicative noise"},
                                      {Kind::sequences, "from scratch, SGD on sequences"}}};

void add_curve(FigureTable& table, Kind kind, const FigureRequest& request) {
  CrossingRequest crossing;
  crossing.level = 0.75;
  crossing.runs = 60;
  crossing.first = 100;
  crossing.largest = 1e18;
  const double decades = kind == Kind::sequences ? 3 : 9;
  for (double power = 2; power <= decades; power += kind == Kind::sequences ? 0.5 : 1) {
    const auto context = static_cast<Index>(std::llround(std::pow(10.0, power)));
    Parameters at_context = request.parameters;
    at_context.set("T", std::to_string(context));
    Training<double> training = scb::training<double>(at_context, request.seed);
    AttemptSetting setting;
    setting.seed = request.seed;
    setting.jobs = request.jobs;
    if (kind == Kind::transfer) {
      training.start = transfer_start(training.bigrams, 0.5, 0.5, request.seed);
    }
    if (kind == Kind::sequences) setting.sampling = Sampling::sequences;
    setting.levels = noise_at_solution(training.bigrams);
    if (kind == Kind::constant) setting.levels.shape = NoiseShape::constant;
    const Crossing found = find_crossing(success_counter(training, setting), crossing);
    if (!found.found) continue;
    table.add("T", context, "B", found.size, "low", found.low, "high", found.high);
    crossing.first = found.size;
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const auto& [kind, name] : kinds) {
    table.block(name);
    add_curve(table, kind, request);
  }
  return {table.file(request)};
}

Picture picture() {
  const auto shown = [](const Curve& curve, std::size_t kind) {
    return curve.of(kinds[kind].name).titled(kinds[kind].name);
  };
  const Curve line = plot::line_with_error_bars("T", "B", "low", "high");
  return {
      .height = 2.7,
      .panels = {
          {.x = {.label = "context length T", .range = "50:2e9", .logarithmic = true},
           .y = {.label = "batch size for 75 % success",
                 .range = "3:1e18",
                 .logarithmic = true,
                 .tics = "1000",
                 .format = "10^{%T}",
                 .own_range = "*:*"},
           .key = "top left",
           .curves = {shown(line, 0).colour(2).mark(5, 0.5), shown(line, 1).colour(1).mark(7, 0.5),
                      shown(line, 2).colour(3).mark(9, 0.5),
                      shown(plot::error_bars("T", "B", "low", "high"), 3).colour(7).mark(6, 0.9),
                      plot::formula("0.01*x**2").colour(7).dashed(3).wide(0.6).titled("∝ T^2"),
                      plot::formula("0.01*x").colour(7).dashed().wide(0.6).titled("∝ T")}}}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-critical",
                   .title = "Critical batch size of boosting against the context length, to 1e9",
                   .shows = {"scb.two-stages", "scb.transfer"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "2"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::critical_batch_figure
