// Fig 3 as it was run: four components of one unit's weights under softmax attention with linear
// phi, next to Theorem 2's law with the gradients of the start, for softmax attention on the best
// clock and for exp attention on its own; what each misses of all weights, and what attention as it
// starts and the gradients of the time do.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"
#include "theorems/joma/figures/series.hpp"

namespace popgrad::joma::figures::softmax_growth_figure {
namespace {

namespace parts = joma::checks;

constexpr std::uint64_t starts = 10;
constexpr std::uint64_t last_step = 2000;
constexpr std::uint64_t every = 50;
constexpr std::array<Index, 4> shown{0, 5, 10, 15};  // which four the figure shows is not known
constexpr double tolerance = 1e-8;

struct Law {
  TokenLaw law;
  const char *name, *file;
};
constexpr std::array laws{Law{TokenLaw::gaussian, "Gaussian", "gaussian"},
                          Law{TokenLaw::uniform, "uniform", "uniform"}};

std::string token_of(Index l) { return fmt::format("token {}", l); }

struct Misses {
  double best = 0, own = 0, straight = 0, of_the_time = 0;
};

// One start of one law: components on the way, and what is missed.
struct Way {
  parts::GrowthRun run;
  parts::GrowthLaw softmax, exp;
  std::vector<Misses> missed;
};

Way way(TokenLaw law, std::uint64_t seed) {
  const ClassInstance<double> instance = invariant_instance(law, seed);
  Way found;
  found.run = parts::growth_run(instance, last_step, every, {HUGE_VAL});
  const auto law_of = [&](Attention attention) {
    return parts::growth_law(instance, attention, last_step * parts::growth_step, 0.5, tolerance);
  };
  found.softmax = law_of(Attention::softmax);
  found.exp = law_of(Attention::exp);
  for (std::size_t i = 0; i < found.run.v.size(); ++i) {
    const Matrix<double>& v = found.run.v[i];
    found.missed.push_back({parts::nearest(found.softmax, v).miss,
                            parts::miss_at(found.exp, v, parts::growth_step * found.run.step[i]),
                            parts::nearest_straight(instance, v),
                            parts::miss_at_best_rate(found.run.attended[i], v,
                                                     instance.weights.topRows(instance.tokens()))});
  }
  return found;
}

// By the law on the clock of exp attention: empty after the blow-up.
FigureTable components(const Way& found) {
  FigureTable table;
  for (const Index l : shown) {
    table.block(token_of(l));
    for (std::size_t i = 0; i < found.run.v.size(); ++i) {
      const parts::NearestGrowth best = parts::nearest(found.softmax, found.run.v[i]);
      const auto at = [l](const parts::GrowthLaw& law, double s) {
        const auto k = std::lower_bound(law.s.begin(), law.s.end(), s);
        return k == law.s.end() ? std::nan("")
                                : law.v[static_cast<std::size_t>(k - law.s.begin())](l, 0);
      };
      table.add("step", found.run.step[i], "v", found.run.v[i](l, 0), "best_clock",
                at(found.softmax, best.s), "exp_clock",
                at(found.exp, parts::growth_step * found.run.step[i]));
    }
  }
  return table;
}

void add_misses(FigureTable& table, const std::vector<Way>& all) {
  for (std::size_t i = 0; i < all.front().missed.size(); ++i) {
    std::vector<Cell> row{{"step", all.front().run.step[i]}};
    for (const auto& [name, kind] : {std::pair{"best", &Misses::best},
                                     {"own", &Misses::own},
                                     {"straight", &Misses::straight},
                                     {"of_the_time", &Misses::of_the_time}}) {
      std::vector<double> values;
      for (const Way& each : all) values.push_back(each.missed[i].*kind);
      const auto [median, least, largest] = spread(values);
      row.emplace_back(name, median);
      row.emplace_back(fmt::format("{}_min", name), least);
      row.emplace_back(fmt::format("{}_max", name), largest);
    }
    table.add(row);
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable misses;
  std::vector<FigureFile> files;
  for (const Law& law : laws) {
    std::vector<Way> all;
    for (std::uint64_t k = 0; k < starts; ++k) all.push_back(way(law.law, request.seed + k));
    misses.block(law.name);
    add_misses(misses, all);
    files.push_back(components(all.front()).file(request, law.file));
  }
  files.push_back(misses.file(request, "misses"));
  return files;
}

Panel components_of(const Law& law, const std::string& title, bool in_legend) {
  Panel panel{.title = title,
              .x = {.label = "step", .range = "0:2000", .tics = "500"},
              .y = {.label = "component of v_0"},
              .curves = {},
              .guides = {{.y = "0"}}};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto curve = [&](const char* column) {
      return plot::line("step", column)
          .in(law.file)
          .of(token_of(shown[i]))
          .colour(static_cast<int>(i) + 1);
    };
    panel.curves.push_back(curve("v").titled(in_legend ? token_of(shown[i]) : ""));
    panel.curves.push_back(curve("best_clock").dashed());
    panel.curves.push_back(curve("exp_clock").dashed(3).wide(0.7));
  }
  // The laws may leave the range of descent.
  panel.settings = {
      {fmt::format("stats name.'-{}.csv' skip 1 using 2 nooutput", law.file), ""},
      {"set yrange [1.15*STATS_min-0.15*STATS_max:1.45*STATS_max-0.45*STATS_min]", ""}};
  return panel;
}

Picture picture() {
  Panel gaussian = components_of(laws[0], "(a) weights of four tokens, Gaussian law", false);
  gaussian.key = "top left maxrows 3";
  for (const Curve& entry :
       {plot::legend_line("descent"), plot::legend_line("law, best clock").dashed(),
        plot::legend_line("law, clock of exp attention").dashed(3).wide(0.7)}) {
    gaussian.curves.push_back(entry.coloured("black"));
  }
  Panel uniform = components_of(laws[1], "(b) weights of the same tokens, uniform law", true);
  uniform.key = "top left maxrows 2";
  Panel missed{.title = "(c) distance to the law, median of 10 starts",
               .x = gaussian.x,
               .y = {.label = "share of the change of v", .range = "1e-3:100", .logarithmic = true},
               .key = "top left maxrows 4 width -2",
               .curves = {},
               .guides = {{.y = "0.1"}}};
  for (const Law& law : laws) {
    const auto curve = [&](const Curve& made) {
      return made.in("misses").of(law.name).colour(law.law == TokenLaw::gaussian ? 1 : 2);
    };
    const auto add = [&](const Curve& made, const char* what) {
      missed.curves.push_back(curve(made).titled(fmt::format("{}, {}", law.name, what)));
    };
    missed.curves.insert(missed.curves.begin(), curve(plot::band("step", "best_min", "best_max")));
    add(plot::line("step", "best"), "best clock");
    add(plot::line("step", "own").dashed(3).wide(0.8), "exp clock");
    add(plot::line("step", "straight").dashed().wide(0.8), "straight");
    add(plot::line("step", "of_the_time").wide(0.6), "of the time");
  }
  return {.height = 6.2, .left = 0.13, .right = 0.96, .panels = {gaussian, uniform, missed}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-softmax-growth",
               .title = "Fig 3 as it was run, with softmax attention, against the law of Theorem 2",
               .shows = {"joma.softmax-growth"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::softmax_growth_figure
