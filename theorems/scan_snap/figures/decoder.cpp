// h in continuous time, its two regimes, and the discrete h*: M = 1000, eta_Y = 1; the gap h* - h
// at three decoder rates in units of eta_Y/M.

#include "theorems/scan_snap/rungs/decoder.hpp"

#include <cmath>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::theorems::scan_snap::figures::decoder_figure {
namespace {

using namespace popgrad::scan_snap;

constexpr double vocabulary = 1000;

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"s", "h", "early", "late"};
  for (int i = 0; i <= 200; ++i) {
    const double s = 0.1 * std::pow(1e5, i / 200.0);
    csv.number(s).number(decoder_scale(vocabulary, 1.0, s));
    csv.number(early_decoder_scale(vocabulary, 1.0, s));
    csv.number(late_decoder_scale(vocabulary, 1.0, s)).end_row();
  }
  csv.end_block();
  double h = 0;
  double next = 1;
  for (long s = 1; s <= 10'000; ++s) {
    h += decoder_rate_of(vocabulary, 1.0, h);
    if (static_cast<double>(s) < next) continue;
    next *= 1.35;
    csv.number(static_cast<double>(s)).number(h).number(h).number(h).end_row();
  }
  CsvText gap{"eta_Y_s", "gap"};
  for (const double rate : {0.01, 1.0, 5.0}) {
    double discrete = 0;
    for (long s = 1; static_cast<double>(s) * rate <= 60; ++s) {
      discrete += decoder_rate_of(vocabulary, rate, discrete);
      const double units = static_cast<double>(s) * rate;
      // At the smallest rate a tenth of the points draws the curve.
      if (rate < 0.1 && s % 10 != 0) continue;
      const double continuous = decoder_scale(vocabulary, rate, static_cast<double>(s));
      gap.number(units).number((discrete - continuous) * vocabulary / rate).end_row();
    }
    gap.end_block();
  }
  const double t0 = crossover(vocabulary);
  CsvText marks{"name", "s"};
  marks.word("ln M").number(std::log(vocabulary)).end_row();
  marks.word("t0/K").number(2 * t0).end_row();
  return {{request.name + ".csv", csv.text()},
          {request.name + "-gap.csv", gap.text()},
          {request.name + "-marks.csv", marks.text()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-decoder",
                   .title = "The decoder's scale h, its regimes, and the discrete h*",
                   .shows = {"scan-snap.decoder-recursion", "scan-snap.decoder-closed-form"}},
          .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::decoder_figure
