// B(t) of Eqn 13 from 0 with C0 = 1 and K = 1, as Figure 9 of the paper draws it, at three ratios of
// the rates: closed form and integration, with both at t = 5 and t = 50 for three vocabularies.

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

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto [tokens, attention_rate] = growth_setting(request);
  const auto vocabulary = static_cast<double>(tokens);
  const std::vector<double> ratios{0.1, 1, 10};
  std::vector<double> times;
  for (int i = 0; i <= 120; ++i) times.push_back(std::pow(10.0, -1 + 4.0 * i / 120));
  CsvText csv{"t", "B", "B_integrated"};
  CsvText table{"eta_Y/eta_Z", "eta_Y", "M", "t", "B", "B_integrated"};
  const auto integrated = [](const CommonToken<double>& token, const std::vector<double>& at) {
    return Solved(eqn_13(token), at, growth_tolerance).along([](const Vector<double>& x) {
      return x[2];
    });
  };
  for (const double ratio : ratios) {
    const double rate = ratio * attention_rate;
    const CommonToken<double> token = lone_token(vocabulary, rate, attention_rate);
    const std::vector<Quantity> drawn = integrated(token, times);
    for (std::size_t i = 0; i < times.size(); ++i) {
      csv.number(times[i]).number(growth_from_eqn_13(token, times[i])).number(drawn[i].value());
      csv.end_row();
    }
    csv.end_block();
    for (const double many : {vocabulary, 10 * vocabulary, 100 * vocabulary}) {
      const CommonToken<double> other = lone_token(many, rate, attention_rate);
      const std::vector<double> told{5, 50};
      const std::vector<Quantity> found = integrated(other, told);
      for (std::size_t i = 0; i < told.size(); ++i) {
        table.number(ratio).number(rate).number(many).number(told[i]);
        table.number(growth_from_eqn_13(other, told[i])).number(found[i].value()).end_row();
      }
    }
  }
  return {{request.name + ".csv", csv.text()}, {request.name + "-table.csv", table.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, a ratio eta_Y/eta_Z each (0.1, 1, 10): t, B in closed form, B integrated.
# -table.csv: ratio, eta_Y, M, t (5 and 50), B in closed form, B integrated.
height = 2.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.155
  set rmargin at screen 0.97
  set bmargin at screen 0.15
  set tmargin at screen 0.97
  set logscale x
  set format x '10^{%T}'
  eval x_range('0.1:1000', '0.1:1000')
  eval y_range('0:2.5', '0:*')
  set xlabel 'time t (steps of batch 1)'
  set ylabel 'growth exponent B' offset 0+right,0
  set key top left reverse Left
  plot for [b=0:2] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y/η_Z = '.word('0.1 1 10', b+1), \
       for [b=0:2] name.'.csv' index b every 6::1 using 1:3 with points linetype b+1 pointtype 6 \
         pointsize 0.6 notitle, \
       1/0 with points linecolor rgb grey pointtype 6 pointsize 0.6 title 'integrated'
  unset logscale
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-exponent",
                   .title = "Growth exponent B(t) of Eqn 13 at three ratios of the learning rates",
                   .shows = {"scan-snap.rate-dependence", "scan-snap.growth-steps"},
                   .parameters = growth_parameters()},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::growth_exponent_figure
