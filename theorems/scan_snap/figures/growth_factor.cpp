// Growth factor chi of the leading distinct token on the growth instance, reduced flow and flow,
// with the transition times of four decoder rates.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::growth_factor_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table, marks;
  for (const double rate : decoder_rates) {
    table.block(name_of(rate));
    const TrainingInstance<double> instance = growth_instance(request, rate);
    const double t0 = transition_time(static_cast<double>(instance.classes.tokens), rate, 10);
    std::vector<double> times;
    for (int i = 0; i <= 140; ++i) {
      const double t = 5.0 * i;
      if (!times.empty() && times.back() < t0 && t0 < t) times.push_back(t0);
      times.push_back(t);
    }
    const ReducedFlow<double> reduced(instance);
    const PopulationFlow<double> flow(instance);
    const Trajectory<double> a = growth_run(forget_type(reduced), times, request);
    const Trajectory<double> b = growth_run(forget_type(flow), times, request);
    constexpr Index leading = 99;  // weight 1 among the distinct tokens of class 0
    for (std::size_t i = 0; i < a.t.size(); ++i) {
      const auto growth = [&](double z) { return std::expm1(2 * z); };
      const double on_reduced = growth(reduced.logits_at(a.states[i])[leading]);
      table.add("t", a.t[i], "chi_minus_1_reduced", on_reduced, "chi_minus_1_flow",
                growth(flow.logits_at(b.states[i])[leading]));
      if (a.t[i] == t0) {
        marks.add("eta_Y", rate, "t0", t0, "chi_minus_1_reduced", on_reduced);
      }
    }
  }
  return {table.file(request), marks.file(request, "marks")};
}

Picture picture() {
  Panel panel{.x = {.label = "time t (steps of batch 1)", .range = "0:700"},
              .y = {.label = "growth χ − 1",
                    .range = "1e-7:1e-2",
                    .logarithmic = true,
                    .own_range = "1e-9<*:*"},
              .key = "bottom right samplen 1.5 width -1",
              .curves = {}};
  const std::vector<std::string> names = labels_of(decoder_rates, name_of);
  panel.add_each(plot::line("t", "chi_minus_1_reduced"), names, names);
  panel.add_each(plot::line("t", "chi_minus_1_flow").dashed(), names);
  panel.curves.push_back(plot::legend_line("reduced").coloured("grey"));
  panel.curves.push_back(plot::legend_line("flow").coloured("grey").dashed());
  panel.curves.push_back(plot::points("t0", "chi_minus_1_reduced")
                             .in("marks")
                             .coloured("black")
                             .mark(7, 0.7)
                             .titled("transition t_0"));
  return {.height = 2.4, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-growth",
                   .title = "Growth factor of the leading distinct token, with transition times",
                   .in_report = true,
                   .shows = {"scan-snap.growth"},
                   .parameters = growth_parameters()},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::growth_factor_figure
