// Fig 3 as it was run: four components of one unit's weights under softmax attention with linear
// phi, beside Theorem 2's law with the gradients of the start, on the best clock and on that of exp
// attention; what each misses of all weights.

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"

namespace popgrad::theorems::joma::figures::softmax_growth_figure {
namespace {

using namespace popgrad::joma;
namespace parts = theorems::joma;

constexpr std::uint64_t starts = 10;
constexpr std::uint64_t last_step = 2000;
constexpr std::uint64_t every = 50;
constexpr std::array<Index, 4> shown{0, 5, 10, 15};  // which four the figure shows is not known
constexpr double tolerance = 1e-8;

struct Misses {
  double best = 0, own = 0, straight = 0;
};

// One start of one law: components on the way, and what is missed.
struct Way {
  parts::GrowthRun run;
  parts::GrowthLaw law;
  std::vector<Misses> missed;
};

Way way(TokenLaw law, std::uint64_t seed) {
  const ClassInstance<double> instance = invariant_instance(law, seed);
  Way found;
  found.run = parts::growth_run(instance, last_step, every, HUGE_VAL);
  found.law = parts::growth_law(instance, last_step * parts::growth_step, 0.5, tolerance);
  for (std::size_t i = 0; i < found.run.v.size(); ++i) {
    const Matrix<double>& v = found.run.v[i];
    found.missed.push_back({parts::nearest(found.law, v).miss,
                            parts::miss_at(found.law, v, parts::growth_step * found.run.step[i]),
                            parts::nearest_straight(instance, v)});
  }
  return found;
}

// A block a component: step, v of the run, by the law on its best clock, on that of exp attention
// (empty after the blow-up).
std::string components(const Way& found) {
  CsvText csv{"step", "v", "best_clock", "exp_clock"};
  for (const Index l : shown) {
    for (std::size_t i = 0; i < found.run.v.size(); ++i) {
      const parts::NearestGrowth best = parts::nearest(found.law, found.run.v[i]);
      const auto at = [&](double s) {
        const auto k = std::lower_bound(found.law.s.begin(), found.law.s.end(), s);
        return k == found.law.s.end()
                   ? std::nan("")
                   : found.law.v[static_cast<std::size_t>(k - found.law.s.begin())](l, 0);
      };
      csv.number(found.run.step[i])
          .number(found.run.v[i](l, 0))
          .number(at(best.s))
          .number(at(parts::growth_step * found.run.step[i]))
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

void add_misses(CsvText& csv, const std::vector<Way>& all) {
  for (std::size_t i = 0; i < all.front().missed.size(); ++i) {
    csv.number(all.front().run.step[i]);
    for (const auto kind : {&Misses::best, &Misses::own, &Misses::straight}) {
      std::vector<double> values;
      for (const Way& each : all) values.push_back(each.missed[i].*kind);
      std::sort(values.begin(), values.end());
      const std::size_t n = values.size();
      csv.number((values[(n - 1) / 2] + values[n / 2]) / 2)
          .number(values.front())
          .number(values.back());
    }
    csv.end_row();
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText misses{"step",    "best",    "best_min", "best_max",     "own",
                 "own_min", "own_max", "straight", "straight_min", "straight_max"};
  std::vector<FigureFile> files;
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    std::vector<Way> all;
    for (std::uint64_t k = 0; k < starts; ++k) all.push_back(way(law, request.seed + k));
    add_misses(misses, all);
    const char* name = law == TokenLaw::gaussian ? "-gaussian.csv" : "-uniform.csv";
    files.push_back({request.name + name, components(all.front())});
  }
  files.push_back({request.name + "-misses.csv", misses.text()});
  return files;
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-softmax-growth",
               .title = "Fig 3 as it was run, with softmax attention, against the law of Theorem 2",
               .shows = {"joma.softmax-growth"}},
      .data = data};
}

}  // namespace popgrad::theorems::joma::figures::softmax_growth_figure
