// Does the nonlinearity change the sample complexity? Sequences that plain SGD needs until alpha_A
// reaches 0.4, median of 9 runs, the best over batch, step size and rate of attention, for linear
// and softmax attention against T. N = 3, Q = 1.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::figures::sample_complexity_figure {
namespace {

constexpr std::uint32_t runs = 9;
constexpr double goal = 0.4;
constexpr std::array<double, 5> step_sizes{0.02, 0.05, 0.1, 0.2, 0.4};
constexpr std::array<Index, 6> contexts{10, 20, 40, 80, 160, 320};
constexpr double searches = 2 * contexts.size();
constexpr const char* of_linear = "linear attention";
constexpr const char* of_softmax = "softmax attention";

struct Best {
  double median = std::numeric_limits<double>::infinity();
  double low = 0, high = 0;  // quartiles of the runs; runs end at `cut`
  double cut = 0;
  double batch = 0, step = 0, rate = 0;
};

// Sequences until the goal; infinite if more than `most` are needed.
double samples_of_run(const SequenceSgd<double>& rung, double step, Index batch, double most,
                      std::uint64_t seed, std::uint32_t run) {
  Vector<double> x = rung.initial();
  Vector<double> dx(x.size());
  const std::vector<std::string> columns = rung.columns();
  const std::size_t alpha_A = place_of(columns, "alpha_A");
  const std::size_t loss = place_of(columns, "loss");
  std::vector<double> row(columns.size());
  double used = 0;
  for (std::uint64_t i = 0; used < most && !stop_asked(); ++i) {
    Stream stream(seed, run, i);
    rung.sample_rhs(x, dx, stream, batch);
    x += step * dx;
    used += static_cast<double>(batch);
    rung.observe(x, 0.0, row);
    // Linear attention that has diverged passes the goal as well, with a loss above that of mu.
    if (row[alpha_A] >= goal)
      return row[loss] < 0.5 ? used : std::numeric_limits<double>::infinity();
    if (!(std::fabs(row[alpha_A]) < 10)) break;
  }
  return std::numeric_limits<double>::infinity();
}

struct Setting {
  double rate = 0;  // eta_A is T to this power
  double step = 0;
  Index batch = 1;
  bool operator==(const Setting&) const = default;
};

std::vector<Setting> settings(bool softmax) {
  std::vector<Setting> all;
  for (const double rate : softmax ? std::vector<double>{0.5, 1, 1.5} : std::vector<double>{0}) {
    for (const double step : step_sizes) {
      for (Index batch = 1; batch <= 256; batch *= 4) all.push_back({rate, step, batch});
    }
  }
  return all;
}

// In ascending order, of runs that are given up after `most` sequences.
std::vector<double> samples_of_runs(const Training<double>& training, const Setting& setting,
                                    double most, const FigureRequest& request) {
  std::vector<double> used(runs);
  request.each(runs, [&](std::size_t run) {
    const SequenceSgd<double> own(training);  // its scratch space is of one thread
    used[run] = samples_of_run(own, setting.step, setting.batch, most, request.seed,
                               static_cast<std::uint32_t>(run));
  });
  std::sort(used.begin(), used.end());
  return used;
}

// `likely`: the best setting of another context, tried first, as no search goes on beyond the least median;
// set to the best of this one. `begun`: searches before this one.
Best best_over_grid(Index context, bool softmax, Setting& likely, double begun,
                    const FigureRequest& request) {
  Parameters at_context = request.parameters;
  at_context.set("T", std::to_string(context));
  Training<double> training = scb::training<double>(at_context, request.seed);
  training.softmax = softmax;
  const auto with = [&](const Setting& setting) {
    training.attention_rate = std::pow(static_cast<double>(context), setting.rate);
    return training;
  };
  std::vector<Setting> tried = settings(softmax);
  const auto first = std::find(tried.begin(), tried.end(), likely);
  if (first != tried.end()) std::rotate(tried.begin(), first, first + 1);
  double median = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < tried.size(); ++k) {
    const double most = std::min(median, 3e6);
    const double found = samples_of_runs(with(tried[k]), tried[k], most, request)[runs / 2];
    if (found < median) {
      median = found;
      likely = tried[k];
    }
    request.done((begun + static_cast<double>(k + 1) / static_cast<double>(tried.size())) /
                 searches);
  }
  Best best;
  if (!std::isfinite(median)) return best;
  best.cut = 3 * median;
  const auto used = samples_of_runs(with(likely), likely, best.cut, request);
  best.median = used[runs / 2];
  best.low = used[runs / 4];
  best.high = used[3 * runs / 4];
  best.batch = static_cast<double>(likely.batch);
  best.step = likely.step;
  best.rate = with(likely).attention_rate;
  return best;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  double begun = 0;
  for (const bool softmax : {false, true}) {
    table.block(softmax ? of_softmax : of_linear);
    Setting likely;
    for (const Index context : contexts) {
      const Best best = best_over_grid(context, softmax, likely, begun++, request);
      if (!std::isfinite(best.median)) continue;
      // Where more than a quarter of the runs were cut, the upper quartile is where they were.
      table.add("T", context, "samples", best.median, "low", best.low, "high",
                std::isfinite(best.high) ? best.high : best.cut, "B", best.batch, "eta", best.step,
                "eta_A", best.rate);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto line = [](const char* name) {
    return plot::line_with_error_bars("T", "samples", "low", "high").of(name).titled(name);
  };
  return {.height = 2.7,
          .panels = {
              {.x = {.label = "context length T",
                     .range = "8:400",
                     .logarithmic = true,
                     .tics = "(10, 20, 40, 80, 160, 320)"},
               .y = {.label = "sequences until α_A = 0.4", .range = "50:1e4", .logarithmic = true},
               .key = "top left",
               .curves = {line(of_linear).colour(1).mark(7, 0.5),
                          line(of_softmax).colour(2).mark(5, 0.5),
                          plot::formula("20*x").colour(7).dashed().wide(0.6).titled("∝ T")}}}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-samples",
                   .title = "Sequences needed by linear and by softmax attention against `T`",
                   .shows = {"scb.softmax-link"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "1"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::sample_complexity_figure
