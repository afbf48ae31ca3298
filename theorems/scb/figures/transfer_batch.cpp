// Critical batch size (75 %) of a transferred start against T. N = 3, Q = 2, theta = 0.5,
// eta = 0.05.
//   supports  V stays for 10 steps on A, then a threshold: as many positions survive as are looked
//             at
//   whole     the same, l1 steps and normalisation: both normalised distances within 0.2
//   boost     V and A move together until alpha_A reaches its value, then a threshold
//   rise      the same without the threshold
//   sampled   supports on sequences; V(0) of another stationary law: mu 1' of its own
// The second table fits each curve by B = a + b ln T, by c T^p and by c (ln T)^m.

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::transfer_batch_figure {
namespace {

struct Curve {
  const char* name;
  Attempt attempt = Attempt::supports;
  double correlation = 0.5;
  bool transfer = true;
  Sampling sampling = Sampling::lumped_noise;
  bool other_law = false;
};

constexpr double theta = 0.5;
constexpr std::uint64_t steps = 10;
constexpr double step = 0.05;
// lambda over q_min K_P; eta_2; l1 steps for 8/K_P units of time.
constexpr double weight = 1;
constexpr double l1_step = 1;
constexpr double l1_time = 8;

const std::vector<Curve>& curves() {
  static const std::vector<Curve> all{
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

Training<double> training_of(const Curve& curve, Index context, const FigureRequest& request) {
  Parameters at_context = request.parameters;
  at_context.set("T", std::to_string(context));
  Training<double> training = scb::training<double>(at_context, request.seed);
  const Bigrams<double>& b = training.bigrams;
  training.start = transfer_start(b, theta, curve.correlation, request.seed);
  if (curve.other_law) {
    const Bigrams<double> elsewhere = random_bigrams(b.tokens(), context, 1, request.seed + 1);
    training.start.colwise() += elsewhere.stationary - b.stationary;
  }
  return training;
}

AttemptSetting setting_of(const Curve& curve, const Training<double>& training,
                          const FigureRequest& request) {
  const Bigrams<double>& b = training.bigrams;
  const double transition = transition_size(b);
  AttemptSetting setting;
  setting.attempt = curve.attempt;
  setting.sampling = curve.sampling;
  setting.levels = noise_at_solution(b);
  setting.step = step;
  setting.seed =
      request.seed + static_cast<std::uint64_t>(&curve - curves().data());  // draws of its own
  setting.jobs = request.jobs;
  Schedule& schedule = setting.schedule;
  if (!curve.transfer) return setting;
  if (std::string_view(curve.name) == "whole") setting.attempt = Attempt::whole;
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

void add_curve(const Curve& curve, const FigureRequest& request, CsvText& csv, CsvText& fits) {
  const bool sequences = curve.sampling == Sampling::sequences;
  CrossingRequest crossing;
  crossing.level = 0.75;
  crossing.runs = sequences ? 40 : 100;
  crossing.factor = 1.5;
  crossing.bisections = 3;
  crossing.first = curve.transfer ? 6e3 * std::pow(0.5 / curve.correlation, 2) : 500;
  crossing.largest = 1e18;
  std::vector<double> lengths;
  std::vector<Crossing> found;
  // From T = 1.2e6 on the rung draws large entries alone at the threshold.
  const std::vector<double> contexts = sequences
                                           ? std::vector<double>{100, 300, 1000}
                                           : std::vector<double>{100, 1000, 1e4, 1.2e6, 1e7, 1e8};
  for (const double context : contexts) {
    const Training<double> training = training_of(curve, std::llround(context), request);
    const AttemptSetting setting = setting_of(curve, training, request);
    const Crossing own = find_crossing(success_counter(training, setting), crossing);
    if (!own.found) continue;
    lengths.push_back(context);
    found.push_back(own);
    csv.number(context).number(own.size).number(own.low).number(own.high);
    csv.number(curve.correlation).word(curve.name).end_row();
    crossing.first = own.size;
  }
  csv.end_block();
  if (found.size() < 3) return;
  std::vector<double> logarithms;
  for (const double context : lengths) logarithms.push_back(std::log(context));
  const LogarithmicGrowth growth = fit_logarithm(lengths, found);
  const Exponent power = fit_exponent(lengths, found);
  const Exponent of_logarithm = fit_exponent(logarithms, found);
  fits.word(curve.name).number(curve.correlation).number(growth.start).number(growth.slope);
  fits.number(growth.half_width).number(growth.misfit).number(power.value).number(power.half_width);
  fits.number(power.misfit).number(of_logarithm.value).number(of_logarithm.half_width);
  fits.number(of_logarithm.misfit).number(static_cast<double>(found.size() - 2)).end_row();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"T", "B", "low", "high", "correlation", "curve"};
  CsvText fits{"curve",
               "correlation",
               "a",
               "b",
               "b_half_width",
               "misfit_ln_T",
               "p",
               "p_half_width",
               "misfit_power",
               "m",
               "m_half_width",
               "misfit_power_of_ln_T",
               "degrees_of_freedom"};
  for (const Curve& curve : curves()) add_curve(curve, request, csv, fits);
  return {{request.name + ".csv", csv.text()}, {request.name + "-fits.csv", fits.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, one a curve: T, critical B, its 95 % interval, correlation, name.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set format xy '10^{%T}'
  set xrange [50:3e8]
  eval y_range('1:1e10', '*:*')
  set xlabel 'context length T'
  set ylabel 'batch size for 75 % success' offset 0+right,0
  set key top left reverse Left
  plot data index 6 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'V and A together, no threshold', \
       data index 5 using 1:2:3:4 with yerrorlines linetype 4 pointtype 13 pointsize 0.6 title 'V and A together, threshold', \
       data index 4 using 1:2:3:4 with yerrorlines linetype 3 pointtype 9 pointsize 0.6 title 'V kept, threshold, l1 to 0.2', \
       data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.4 title 'V kept, threshold: ρ = 0.05, 0.2, 0.5, 0.9', \
       for [i=1:3] data index i using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.4 notitle, \
       data index 7 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'the same on sequences', \
       data index 8 using 1:2:3:4 with yerrorbars linetype 7 pointtype 1 pointsize 0.9 title '  and of another stationary law'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-transfer",
                   .title = "Critical batch size of a transferred start against T, and its growth",
                   .shows = {"scb.transfer", "scb.transfer-growth"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "2"}}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::transfer_batch_figure
