// B(t) of Eqn 13 from 0 with C0 = 1 and K = 1, as Figure 9 of the paper draws it, at three ratios
// of the rates: closed form and integration, with both at t = 5 and t = 50 for three vocabularies.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"

namespace popgrad::scan_snap::figures::growth_exponent_figure {
namespace {

using namespace scan_snap::checks;

CommonToken<double> lone_token(double vocabulary, double decoder_rate, double attention_rate) {
  return {.vocabulary = vocabulary,
          .decoder_rate = decoder_rate,
          .attention_rate = attention_rate,
          .classes = 1,
          .classes_of_query = 1,
          .component = 1,  // C0 = 1/(K f_c^4) = 1
          .weight = 1};
}

constexpr std::array ratios{0.1, 1.0, 10.0};

std::string label_of(double ratio) { return fmt::format("η_Y/η_Z = {:g}", ratio); }

std::vector<FigureFile> data(const FigureRequest& request) {
  const TrainingInstance<double> instance = growth_instance(request);
  const double attention_rate = instance.attention_rate;
  const auto vocabulary = static_cast<double>(instance.classes.tokens);
  std::vector<double> times;
  for (int i = 0; i <= 120; ++i) times.push_back(std::pow(10.0, -1 + 4.0 * i / 120));
  FigureTable curves, table;
  const auto integrated = [](const CommonToken<double>& token, const std::vector<double>& at) {
    return Solved(eqn_13(token), at, growth_tolerance).along([](const Vector<double>& x) {
      return x[2];
    });
  };
  for (const double ratio : ratios) {
    curves.block(label_of(ratio));
    const double rate = ratio * attention_rate;
    const CommonToken<double> token = lone_token(vocabulary, rate, attention_rate);
    const std::vector<Quantity> drawn = integrated(token, times);
    for (std::size_t i = 0; i < times.size(); ++i) {
      curves.add("t", times[i], "B", growth_from_eqn_13(token, times[i]), "B_integrated",
                 drawn[i].value());
    }
    for (const double many : {vocabulary, 10 * vocabulary, 100 * vocabulary}) {
      const CommonToken<double> other = lone_token(many, rate, attention_rate);
      const std::vector<double> at{5, 50};
      const std::vector<Quantity> found = integrated(other, at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        table.add("eta_Y/eta_Z", ratio, "eta_Y", rate, "M", many, "t", at[i], "B",
                  growth_from_eqn_13(other, at[i]), "B_integrated", found[i].value());
      }
    }
  }
  return {curves.file(request), table.file(request, "table")};
}

Picture picture() {
  Panel panel{.x = {.label = "time t (steps of batch 1)", .range = "0.1:1000", .logarithmic = true},
              .y = {.label = "growth exponent B", .range = "0:2.5", .own_range = "0:*"},
              .key = "top left",
              .curves = {}};
  const std::vector<std::string> names = labels_of(ratios, label_of);
  panel.add_each(plot::line("t", "B"), names, names);
  panel.add_each(plot::points("t", "B_integrated").every("6").mark(6, 0.6), names);
  panel.curves.push_back(plot::legend_points("integrated").coloured("grey").mark(6, 0.6));
  return {.height = 2.4, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scan-snap-exponent",
               .title = "Growth exponent `B(t)` of Eqn 13 at three ratios of the learning rates",
               .shows = {"scan-snap.rate-dependence", "scan-snap.growth-steps"},
               .parameters = growth_parameters()},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::growth_exponent_figure
