// What each assumption costs: relative distances of z between neighbouring rungs against
// eta_Z/eta_Y on the growth instance, at three vocabularies.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::rung_distances_figure {
namespace {

constexpr std::array<Index, 3> vocabularies{1000, 10'000, 100'000};

std::string name_of(Index tokens) { return fmt::format("M = {}", tokens); }

template <class Rung>
Vector<double> logits_at_end(const Rung& rung, const std::string& figure) {
  const Trajectory<double> run = checks::follow(forget_type(rung), {700});
  require_usable(run.outcome, figure);
  return rung.logits_at(run.last_state);
}

double apart(const Vector<double>& a, const Vector<double>& b) { return (a - b).norm() / b.norm(); }

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const Index tokens : vocabularies) {
    table.block(name_of(tokens));
    for (int i = 0; i <= 8; ++i) {
      const double rate = std::pow(10.0, -4 + 0.5 * i);
      TrainingInstance<double> instance;
      instance.classes = growth_classes<double>();
      instance.classes.tokens = tokens;
      instance.attention_rate = rate;
      const Vector<double> flow = logits_at_end(PopulationFlow<double>(instance), request.name);
      const Vector<double> quasi = logits_at_end(QuasiStaticFlow<double>(instance), request.name);
      const Vector<double> fast =
          logits_at_end(PopulationFlow<double>(instance, DecoderRule::fast), request.name);
      const Vector<double> reduced = logits_at_end(ReducedFlow<double>(instance), request.name);
      table.add("eta_Z/eta_Y", rate, "flow-quasi_static", apart(flow, quasi),
                "quasi_static-fast_decoder", apart(quasi, fast), "fast_decoder-reduced",
                apart(fast, reduced), "size_reduced/flow", reduced.norm() / flow.norm(), "M",
                tokens);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Panel panel{.x = {.label = "η_Z / η_Y", .range = "1e-4:1", .logarithmic = true},
              .y = {.label = "relative distance of z", .range = "1e-4:5", .logarithmic = true},
              .key = "bottom right",
              .curves = {}};
  struct Neighbours {
    const char *column, *name;
    int colour, mark;
  };
  constexpr std::array<Neighbours, 3> all{
      {{"quasi_static-fast_decoder", "quasi-static – fast-decoder", 2, 5},
       {"flow-quasi_static", "flow – quasi-static", 1, 7},
       {"fast_decoder-reduced", "fast-decoder – reduced", 3, 9}}};
  for (const Neighbours& two : all) {
    panel.curves.push_back(plot::line_with_points("eta_Z/eta_Y", two.column)
                               .of(name_of(vocabularies.front()))
                               .colour(two.colour)
                               .mark(two.mark, 0.5)
                               .titled(two.name));
  }
  for (const Neighbours& two : all) {
    panel.curves.push_back(plot::line("eta_Z/eta_Y", two.column)
                               .of(name_of(vocabularies.back()))
                               .colour(two.colour)
                               .dashed()
                               .titled(two.colour == 1 ? "M = 100 000" : ""));
  }
  panel.curves.push_back(plot::formula("x").colour(7).dashed(3).wide(0.6).titled("order 1"));
  return {.height = 2.6, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-rungs",
                   .title = "Distances of neighbouring rungs against `eta_Z/eta_Y`: two vanish, "
                            "one is a plateau",
                   .shows = {"scan-snap.assumptions"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::rung_distances_figure
