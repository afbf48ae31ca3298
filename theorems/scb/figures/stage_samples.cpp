// Sequences (batch times steps) that each stage of Theorem 3.1 needs at its critical batch (75 %),
// against T, N, Q and eps, with exponents; lumped law with noise as SGD's.
//   stage 1  part 1 from mu 1' with eta = 0.1 until alpha_A reaches its value
//   stage 2  from states that noisy runs of part 1 left at twice its critical batch: l1 steps for
//            eight of the slowest relaxation times, then normalised, both distances within eps;
//            lambda for which expected gradients end at eps/2
//   lambda   for which expected gradients end at eps after as many steps
// Usual sizes N = 3, Q = 2, T = 10^4, eps = 0.1; three instances where N or Q
// varies.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::stage_samples_figure {
namespace {

constexpr std::array<const char*, 4> sizes{"T", "N", "Q", "eps"};
constexpr double boost_step = 0.1;  // eta
constexpr double relaxations = 8;
constexpr std::uint32_t ends_kept = 20;

struct Place {
  Index tokens = 3, support = 2;
  double context = 1e4, goal = 0.1;  // T, eps
  std::uint64_t instance = 0;
};

struct Needed {
  Crossing batch;
  double steps = 0;
  [[nodiscard]] Crossing samples() const {
    Crossing scaled = batch;
    for (double* const own : {&scaled.size, &scaled.low, &scaled.high}) *own *= steps;
    return scaled;
  }
};

// Of part 2, from a threshold at half of the least attention of an attended position.
Schedule schedule_of(const Training<double>& training, double weight) {
  const Bigrams<double>& b = training.bigrams;
  Schedule schedule = scb::checks::part_two_schedule(b, weight);
  schedule.threshold = b.law.minCoeff() * boost_goal(schedule, training) / 2;
  schedule.l1_steps = static_cast<std::uint64_t>(
      std::ceil(relaxations / (scb::checks::slowest_rate(b) * schedule.l1_step)));
  return schedule;
}

double worse_distance(const LumpedThreePart& rung, const Vector<double>& x) {
  return std::max(observed_at(rung, x, "dist_P_normalised"),
                  observed_at(rung, x, "dist_Q_normalised"));
}

// lambda for which expected gradients end at `goal`.
double weight_for(const Training<double>& training, double goal) {
  const Bigrams<double>& b = training.bigrams;
  const auto unit = scb::checks::settled_at(b, 1, scb::checks::settled_value(b));
  double weight = goal / std::max(unit.distance_P, unit.distance_Q);
  constexpr int rounds = 8;  // each leaves a fraction of the miss
  for (int round = 0; round < rounds; ++round) {
    const LumpedThreePart rung(training, schedule_of(training, weight), no_noise(b.tokens()));
    Vector<double> x = rung.initial();
    Stream unused(0, 0, 0);
    while (part_of(x) != Part::normalised) rung.sample_step(x, boost_step, unused, 0);
    weight *= goal / worse_distance(rung, x);
  }
  return weight;
}

CrossingRequest crossing_from(double first, double factor, std::uint32_t runs) {
  CrossingRequest request;
  request.level = 0.75;
  request.runs = runs;
  request.first = first;
  request.factor = factor;
  request.bisections = 3;
  request.largest = 1e18;
  return request;
}

Needed first_stage(const Training<double>& training, const AttemptSetting& setting, double guess) {
  // The share of success is Phi of a multiple of sqrt(B), which is wide in ln B.
  Needed needed;
  needed.steps = static_cast<double>(quiet_boost_steps(training, setting.schedule, setting.step));
  needed.batch = find_crossing(success_counter(training, setting), crossing_from(guess, 4, 150));
  return needed;
}

// States after the threshold of runs of part 1 that got there.
std::vector<Vector<double>> ends_of_first_stage(const LumpedThreePart& rung, Index batch,
                                                std::uint64_t most_steps, std::uint64_t seed) {
  std::vector<Vector<double>> ends;
  for (std::uint32_t run = 0; run < 2 * ends_kept && ends.size() < ends_kept; ++run) {
    Vector<double> x = rung.initial();
    for (std::uint64_t i = 0; i < most_steps && part_of(x) == Part::boost; ++i) {
      Stream stream(seed, (1U << 30U) + run, i);
      rung.sample_step(x, boost_step, stream, batch);
    }
    if (part_of(x) == Part::l1) ends.push_back(std::move(x));
  }
  return ends;
}

// `rung`: a copy, as its scratch space is of one thread.
bool recovers(LumpedThreePart rung, Vector<double> x, Index batch, double goal, std::uint64_t seed,
              std::uint32_t run) {
  try {
    for (std::uint64_t i = 0; part_of(x) != Part::normalised; ++i) {
      Stream stream(seed, run, i);
      rung.sample_step(x, boost_step, stream, batch);
      if (!rung.divergence(x, boost_step, batch).empty()) return false;
    }
  } catch (const InputError&) {
    return false;  // more nonzeros than memory holds
  }
  return worse_distance(rung, x) <= goal;
}

Needed second_stage(const Training<double>& training, const Needed& first, double weight,
                    const Place& place, double guess, const FigureRequest& request) {
  const Bigrams<double>& b = training.bigrams;
  const Schedule schedule = schedule_of(training, weight);
  const LumpedThreePart rung(training, schedule, noise_at_solution(b));
  const auto ends = ends_of_first_stage(rung, std::llround(2 * first.batch.size),
                                        2 * static_cast<std::uint64_t>(first.steps), request.seed);
  Needed needed;
  needed.steps = static_cast<double>(schedule.l1_steps);
  if (ends.empty()) return needed;
  const CountSuccesses count = [&](double size, std::uint32_t first_run, std::uint32_t runs) {
    const Index batch = std::max<Index>(1, std::llround(size));
    std::vector<char> successful(runs);
    request.each(runs, [&](std::size_t i) {
      const std::uint32_t run = first_run + static_cast<std::uint32_t>(i);
      successful[i] =
          recovers(rung, ends[run % ends.size()], batch, place.goal, request.seed, run) ? 1 : 0;
    });
    return static_cast<std::uint32_t>(std::count(successful.begin(), successful.end(), 1));
  };
  needed.batch = find_crossing(count, crossing_from(guess, 1.6, 30));
  return needed;
}

class Sweep {
 public:
  Sweep(const char* name, const FigureRequest& request, FigureTable& table, FigureTable& fits)
      : name_(name), request_(request), table_(table), fits_(fits) {
    table_.block(name);
  }

  void add(double x, const Place& place) {
    const Training<double> training = from_scratch(place.tokens, std::llround(place.context),
                                                   place.support, request_.seed + place.instance);
    AttemptSetting setting;
    setting.attempt = Attempt::rise;
    setting.levels = noise_at_solution(training.bigrams);
    setting.step = boost_step;
    setting.seed = request_.seed;
    setting.jobs = request_.jobs;
    const Needed first = first_stage(training, setting, first_guess_);
    if (!first.batch.found) return;
    first_guess_ = first.batch.size;
    // lambda for eps and for eps/2: half of the time of the figure, and the two have nothing in common.
    std::array<double, 2> weights{};
    request_.each(weights.size(), [&](std::size_t i) {
      weights.at(i) = weight_for(training, i == 0 ? place.goal : place.goal / 2);
    });
    const auto [weight, second_weight] = weights;
    const Needed second =
        second_stage(training, first, second_weight, place, second_guess_, request_);
    if (!second.batch.found) return;
    second_guess_ = second.batch.size;
    x_.push_back(x);
    first_.push_back(first.samples());
    second_.push_back(second.samples());
    Crossing exact;
    exact.size = weight;
    exact.low = weight / exactness;
    exact.high = weight * exactness;
    weight_.push_back(exact);
    table_.add("x", x, "samples_1", first_.back().size, "low_1", first_.back().low, "high_1",
               first_.back().high, "samples_2", second_.back().size, "low_2", second_.back().low,
               "high_2", second_.back().high, "B_1", first.batch.size, "B_2", second.batch.size,
               "steps_1", first.steps, "steps_2", second.steps, "lambda", weight, "K_P",
               transition_size(training.bigrams), "against", name_);
  }

  void end() {
    fit("stage 1", x_, first_, name_);
    fit("stage 2", x_, second_, name_);
    fit("lambda", x_, weight_, name_);
    if (std::string_view(name_) != "T") return;
    std::vector<double> logarithms;
    for (const double context : x_) logarithms.push_back(std::log(context));
    fit("stage 1", logarithms, first_, "ln T");
    fit("stage 2", logarithms, second_, "ln T");
  }

 private:
  // Of lambda, whose interval is that of its scatter about the power.
  static constexpr double exactness = 1.0001;

  void fit(const char* what, const std::vector<double>& x, const std::vector<Crossing>& y,
           const char* against) {
    if (x.size() < 3) return;
    const Exponent exponent = fit_exponent(x, y);
    fits_.add("what", what, "against", against, "exponent", exponent.value, "half_width",
              exponent.half_width, "misfit", exponent.misfit, "degrees_of_freedom", x.size() - 2);
  }

  const char* name_;
  const FigureRequest& request_;
  FigureTable& table_;
  FigureTable& fits_;
  double first_guess_ = 30, second_guess_ = 2e4;
  std::vector<double> x_;
  std::vector<Crossing> first_, second_, weight_;
};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  FigureTable fits;
  struct Point {
    double x;
    Place place;
  };
  std::array<std::vector<Point>, sizes.size()> sweeps;
  for (const double context : {100.0, 1e3, 1e4, 1e5, 1.2e6, 1e7, 1e8}) {
    sweeps[0].push_back({context, {.context = context}});
  }
  for (const std::uint64_t instance : {0U, 1U, 2U}) {
    for (const Index tokens : {3, 6, 12, 24}) {
      sweeps[1].push_back({static_cast<double>(tokens), {.tokens = tokens, .instance = instance}});
    }
    for (const Index support : {2, 3, 4, 6}) {
      sweeps[2].push_back(
          {static_cast<double>(support), {.support = support, .instance = instance}});
    }
  }
  for (const double goal : {0.2, 0.14, 0.1, 0.07, 0.05})
    sweeps[3].push_back({goal, {.goal = goal}});
  const double points = std::accumulate(
      sweeps.begin(), sweeps.end(), 0.0,
      [](double sum, const auto& sweep) { return sum + static_cast<double>(sweep.size()); });
  double done = 0;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    Sweep sweep(sizes[i], request, table, fits);
    for (const Point& point : sweeps[i]) {
      sweep.add(point.x, point.place);
      request.done(++done / points);
    }
    sweep.end();
  }
  return {table.file(request), fits.file(request, "fits")};
}

Picture picture() {
  const std::array<Axis, sizes.size()> axes{
      {{.label = "T", .range = "50:2e8", .tics = "100", .format = "10^{%T}"},
       {.label = "N", .range = "2.4:30", .tics = "(3, 6, 12, 24)"},
       {.label = "Q", .range = "1.7:7", .tics = "(2, 3, 4, 6)"},
       {.label = "ε", .range = "0.04:0.25", .tics = "(0.05, 0.1, 0.2)"}}};
  Picture made{.height = 3.4, .columns = 2, .left = 0.15, .right = 0.985, .between = 0.14};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // No line joins the instances that differ at the same N or Q.
    const auto curve = i == 0 || i == 3 ? plot::line_with_error_bars : plot::error_bars;
    Panel& panel = made.panels.emplace_back();
    panel.x = axes[i];
    panel.x.logarithmic = true;
    panel.y = {.label = i % 2 == 0 ? "sequences" : "",
               .range = "1e3:1e10",
               .logarithmic = true,
               .tics = "100",
               .format = "10^{%T}"};
    panel.key = i == 0 ? "top left" : "";
    panel.curves = {curve("x", "samples_1", "low_1", "high_1")
                        .of(sizes[i])
                        .colour(1)
                        .mark(7, 0.5)
                        .titled("stage 1"),
                    curve("x", "samples_2", "low_2", "high_2")
                        .of(sizes[i])
                        .colour(3)
                        .mark(9, 0.6)
                        .titled("stage 2")};
  }
  return made;
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scb-stages",
               .title =
                   "Sequences needed by each stage of Theorem 3.1, and `lambda`, with exponents",
               .shows = {"scb.two-stages", "scb.convergence"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scb::figures::stage_samples_figure
