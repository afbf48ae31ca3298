// h in continuous time, its two regimes, and the discrete h*: M = 1000, eta_Y = 1; the gap h* - h
// at three decoder rates in units of eta_Y/M.

#include "theorems/scan_snap/rungs/decoder.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::scan_snap::figures::decoder_figure {
namespace {

constexpr double vocabulary = 1000;
constexpr std::array rates{0.01, 1.0, 5.0};

std::string name_of(double rate) { return fmt::format("η_Y = {:g}", rate); }

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  const auto add = [&](double s, double h, double early, double late) {
    table.add("s", s, "h", h, "early", early, "late", late);
  };
  table.block("h");
  for (int i = 0; i <= 200; ++i) {
    const double s = 0.1 * std::pow(1e5, i / 200.0);
    add(s, decoder_scale(vocabulary, 1.0, s), early_decoder_scale(vocabulary, 1.0, s),
        late_decoder_scale(vocabulary, 1.0, s));
  }
  table.block("h*, step by step");
  double h = 0;
  double next = 1;
  for (long s = 1; s <= 10'000; ++s) {
    h += decoder_rate_of(vocabulary, 1.0, h);
    if (static_cast<double>(s) < next) continue;
    next *= 1.35;
    add(static_cast<double>(s), h, h, h);
  }
  FigureTable gap;
  for (const double rate : rates) {
    gap.block(name_of(rate));
    double discrete = 0;
    for (long s = 1; static_cast<double>(s) * rate <= 60; ++s) {
      discrete += decoder_rate_of(vocabulary, rate, discrete);
      const double units = static_cast<double>(s) * rate;
      // At the smallest rate a tenth of the points draws the curve.
      if (rate < 0.1 && s % 10 != 0) continue;
      const double continuous = decoder_scale(vocabulary, rate, static_cast<double>(s));
      gap.add("eta_Y_s", units, "gap", (discrete - continuous) * vocabulary / rate);
    }
  }
  FigureTable marks;
  marks.add("name", "ln M", "s", std::log(vocabulary));
  marks.add("name", "t0/K", "s", 2 * crossover(vocabulary));
  return {table.file(request), gap.file(request, "gap"), marks.file(request, "marks")};
}

Picture picture() {
  Panel scale{
      .x = {.label = "draws of the class s = t/K (η_Y = 1, M = 1000)",
            .range = "0.1:1e4",
            .logarithmic = true},
      .y = {.label = "M h", .range = "0:18"},
      .key = "top left",
      .curves = {plot::line("s", "[h]*1000").of("h").colour(1).titled("h"),
                 plot::line("s", "[early]*1000").of("h").colour(2).dashed().titled("η_Y s/M"),
                 plot::line("s", "[late]*1000").of("h").colour(3).dashed().titled("ln(M η_Y s)/M"),
                 plot::points("s", "[h]*1000")
                     .of("h*, step by step")
                     .coloured("black")
                     .mark(6, 0.6)
                     .wide(0.7)
                     .titled("h*, step by step")},
      .guides = {{.x = fmt::format("{:.6g}", std::log(vocabulary)), .text = "ln M"},
                 {.x = fmt::format("{:.6g}", 2 * crossover(vocabulary)),
                  .text = "t_0/K",
                  .text_at = 0.08,
                  .after = true}}};
  Panel gap{.x = {.label = "η_Y s", .range = "0:60"},
            .y = {.label = "(h* − h) M/η_Y", .range = "0:0.5"},
            .key = "top right",
            .guides = {{.y = "exp(-1)/2", .text = "1/(2e)"}}};
  const std::vector<std::string> names = labels_of(rates, name_of);
  gap.add_each(plot::line("eta_Y_s", "gap").in("gap"), names, names);
  return {.height = 3.3, .left = 0.15, .panels = {scale, gap}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-decoder",
                   .title = "The decoder's scale `h`, its regimes, and the discrete `h*`",
                   .shows = {"scan-snap.decoder-recursion", "scan-snap.decoder-closed-form"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::decoder_figure
