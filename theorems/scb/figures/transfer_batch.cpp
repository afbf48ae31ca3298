// Critical batch size (75 %) of a transferred start against T. N = 3, Q = 2, theta = 0.5,
// eta = 0.05.
//   supports  V stays for 10 steps on A, then a threshold: as many positions survive as are looked
//             at
//   whole     the same, l1 steps and normalisation: both normalised distances within 0.2
//   boost     V and A move together until alpha_A reaches its value, then a threshold
//   rise      the same without the threshold
//   sampled   supports on sequences; V(0) of another stationary law: mu 1' of its own
// The second table fits each curve by B = a + b ln T, by c T^p and by c (ln T)^m.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::transfer_batch_figure {
namespace {

struct Case {
  const char* name;
  Attempt attempt = Attempt::supports;
  double correlation = 0.5;
  bool transfer = true;
  Sampling sampling = Sampling::lumped_noise;
  bool other_law = false;

  [[nodiscard]] std::string block() const { return fmt::format("{}, ρ = {:g}", name, correlation); }
};

constexpr double theta = 0.5;
constexpr std::uint64_t steps = 10;
constexpr double step = 0.05;
// lambda over q_min K_P; eta_2; l1 steps for 8/K_P units of time.
constexpr double weight = 1;
constexpr double l1_step = 1;
constexpr double l1_time = 8;

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {.name = "supports", .correlation = 0.05},
      {.name = "supports", .correlation = 0.2},
      {.name = "supports"},
      {.name = "supports", .correlation = 0.9},
      {.name = "whole"},
      {.name = "boost", .attempt = Attempt::boost, .transfer = false},
      {.name = "rise", .attempt = Attempt::rise, .transfer = false},
      {.name = "sampled", .sampling = Sampling::sequences},
      {.name = "sampled-other-law", .sampling = Sampling::sequences, .other_law = true}};
  return all;
}

Training<double> training_of(const Case& one, Index context, const FigureRequest& request) {
  Parameters at_context = request.parameters;
  at_context.set("T", std::to_string(context));
  Training<double> training = scb::training<double>(at_context, request.seed);
  const Bigrams<double>& b = training.bigrams;
  training.start = transfer_start(b, theta, one.correlation, request.seed);
  if (one.other_law) {
    const Bigrams<double> elsewhere = random_bigrams(b.tokens(), context, 1, request.seed + 1);
    training.start.colwise() += elsewhere.stationary - b.stationary;
  }
  return training;
}

AttemptSetting setting_of(const Case& one, const Training<double>& training,
                          const FigureRequest& request) {
  const Bigrams<double>& b = training.bigrams;
  const double transition = transition_size(b);
  AttemptSetting setting;
  setting.attempt = one.attempt;
  setting.sampling = one.sampling;
  setting.levels = noise_at_solution(b);
  setting.step = step;
  setting.seed =
      request.seed + static_cast<std::uint64_t>(&one - cases().data());  // draws of its own
  setting.jobs = request.jobs;
  Schedule& schedule = setting.schedule;
  if (!one.transfer) return setting;
  if (std::string_view(one.name) == "whole") setting.attempt = Attempt::whole;
  schedule.transfer = true;
  schedule.boost_until = std::numeric_limits<double>::max();
  schedule.boost_steps = steps;
  const double product = covariance_product(training.start, b.transition, b.stationary);
  const double square = covariance_product(training.start, training.start, b.stationary);
  const double gain = product / square * (1 - std::pow(1 - step * square, double{steps}));
  const double share = 1 / static_cast<double>(b.context);
  schedule.threshold = share + gain * (b.law.minCoeff() / 2 - share);
  schedule.l1_step = l1_step;
  schedule.l1_weight = weight * b.law.minCoeff() * transition;
  schedule.l1_steps = static_cast<std::uint64_t>(std::ceil(l1_time / transition / l1_step));
  setting.steps = steps + schedule.l1_steps;
  setting.goal = 0.2;
  return setting;
}

// `begun`: cases before this one.
void add_case(const Case& one, double begun, const FigureRequest& request, FigureTable& table,
              FigureTable& fits) {
  table.block(one.block());
  const bool sequences = one.sampling == Sampling::sequences;
  CrossingRequest crossing;
  crossing.level = 0.75;
  crossing.runs = sequences ? 40 : 100;
  crossing.factor = 1.5;
  crossing.bisections = 3;
  crossing.first = one.transfer ? 6e3 * std::pow(0.5 / one.correlation, 2) : 500;
  crossing.largest = 1e18;
  std::vector<double> lengths;
  std::vector<Crossing> found;
  // From T = 1.2e6 on the rung draws only large entries at the threshold.
  const std::vector<double> contexts = sequences
                                           ? std::vector<double>{100, 300, 1000}
                                           : std::vector<double>{100, 1000, 1e4, 1.2e6, 1e7, 1e8};
  double part = 0;
  for (const double context : contexts) {
    request.done((begun + part++ / static_cast<double>(contexts.size())) /
                 static_cast<double>(cases().size()));
    const Training<double> training = training_of(one, std::llround(context), request);
    const AttemptSetting setting = setting_of(one, training, request);
    const Crossing own = find_crossing(success_counter(training, setting), crossing);
    if (!own.found) continue;
    lengths.push_back(context);
    found.push_back(own);
    table.add("T", context, "B", own.size, "low", own.low, "high", own.high, "correlation",
              one.correlation, "curve", one.name);
    crossing.first = own.size;
  }
  if (found.size() < 3) return;
  std::vector<double> logarithms;
  for (const double context : lengths) logarithms.push_back(std::log(context));
  const LogarithmicGrowth growth = fit_logarithm(lengths, found);
  const Exponent power = fit_exponent(lengths, found);
  const Exponent of_logarithm = fit_exponent(logarithms, found);
  fits.add("curve", one.name, "correlation", one.correlation, "a", growth.start, "b", growth.slope,
           "b_half_width", growth.half_width, "misfit_ln_T", growth.misfit, "p", power.value,
           "p_half_width", power.half_width, "misfit_power", power.misfit, "m", of_logarithm.value,
           "m_half_width", of_logarithm.half_width, "misfit_power_of_ln_T", of_logarithm.misfit,
           "degrees_of_freedom", found.size() - 2);
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  FigureTable fits;
  double begun = 0;
  for (const Case& one : cases()) add_case(one, begun++, request, table, fits);
  return {table.file(request), fits.file(request, "fits")};
}

Picture picture() {
  Panel panel{.x = {.label = "context length T", .range = "50:3e8", .logarithmic = true},
              .y = {.label = "batch size for 75 % success",
                    .range = "1:1e10",
                    .logarithmic = true,
                    .own_range = "*:*"},
              .key = "top left",
              .curves = {}};
  struct Look {
    std::size_t place;
    const char* title;
    int colour, mark;
    double size;
  };
  for (const Look& look :
       std::initializer_list<Look>{{6, "V and A together, no threshold", 2, 5, 0.5},
                                   {5, "V and A together, threshold", 4, 13, 0.6},
                                   {4, "V kept, threshold, l1 to 0.2", 3, 9, 0.6},
                                   {0, "V kept, threshold: ρ = 0.05, 0.2, 0.5, 0.9", 1, 7, 0.4},
                                   {1, "", 1, 7, 0.4},
                                   {2, "", 1, 7, 0.4},
                                   {3, "", 1, 7, 0.4},
                                   {7, "the same on sequences", 7, 6, 0.9},
                                   {8, "  and of another stationary law", 7, 1, 0.9}}) {
    const Case& one = cases()[look.place];
    const auto curve =
        one.sampling == Sampling::sequences ? plot::error_bars : plot::line_with_error_bars;
    panel.curves.push_back(curve("T", "B", "low", "high")
                               .of(one.block())
                               .colour(look.colour)
                               .mark(look.mark, look.size)
                               .titled(look.title));
  }
  return {.height = 2.7, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scb-transfer",
               .title = "Critical batch size of a transferred start against `T`, and its growth",
               .shows = {"scb.transfer", "scb.transfer-growth"},
               .parameters = {{parameter::N, "3"}, {parameter::Q, "2"}}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scb::figures::transfer_batch_figure
