// With a residual connection: attention on a token that one class of each of two queries has, beside
// the token that a query's classes share and one of a single class; and when it begins to gain, over
// how much classes overlap.

#include <cmath>
#include <limits>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"

namespace popgrad::scan_snap::figures::residual_figure {
namespace {

using namespace scan_snap::checks;

constexpr double ratio = 1000;  // eta_Y/eta_Z of the trajectories
constexpr double last = 15;     // tau = eta_Y t/K
constexpr int points = 200;

// Four classes, two of each of two queries. Tokens 0 and 1: one of each query; 2: of the first class
// of either; the others of one class.
SequenceClasses<double> two_of_each(double inside, double across) {
  Matrix<double> law = Matrix<double>::Zero(4, 7);
  for (Index n = 0; n < 4; ++n) {
    const double other = n % 2 == 0 ? across : 0;
    law(n, n / 2) = std::sqrt(inside);
    law(n, 2) = std::sqrt(other);
    law(n, 3 + n) = std::sqrt(1 - inside - other);
    law.row(n) /= law.row(n).sum();
  }
  return classes_from_matrix<double>(law, {7, 7, 8, 8}, 9);
}

std::vector<double> times() {
  std::vector<double> all;
  for (int i = 1; i <= points; ++i) all.push_back(4 * last * i / points);
  return all;
}

// tau, then z M eta_Y/eta_Z of tokens 0, 2 and of the one of class 0 alone.
void add_trajectory(double inside, double across, double tokens, CsvText& csv) {
  TrainingInstance<double> training = residual_training(two_of_each(inside, across), tokens);
  training.attention_rate = training.decoder_rate / ratio;
  const ResidualFlow<double> flow(training);
  const Trajectory<double> run = follow(forget_type(flow), times());
  require_usable(run.outcome, "scan-snap-residual");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    const Vector<double> z = ratio * tokens * flow.logits_at(run.states[i]);
    csv.number(run.t[i] / 4).number(z[0]).number(z[1]).number(z[2]).end_row();
  }
  csv.end_block();
}

// Where a function that is negative at first changes sign, by halving; NaN: nowhere before `end`.
template <class F>
double sign_change(const F& f, double end) {
  constexpr int halvings = 40;
  constexpr double start = 1e-3;
  if (f(start) > 0) return start;
  if (f(end) < 0) return std::numeric_limits<double>::quiet_NaN();
  double low = start;
  double high = end;
  for (int i = 0; i < halvings; ++i) (f((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  return high;
}

double formula(double inside, double across) {
  const ResidualView at(two_of_each(inside, across));
  return sign_change([&](double tau) { return at.gains(couplings(at.kappa, tau))[1]; }, 2 * last);
}

// The same on the flow, features at rest: between two saved points the rate is taken as linear.
double integrated(double inside, double across, double tokens) {
  TrainingInstance<double> training = residual_training(two_of_each(inside, across), tokens);
  const ResidualFlow<double> moving(training);
  training.attention_rate = 0;
  const Trajectory<double> run = follow(forget_type(ResidualFlow<double>(training)), times());
  require_usable(run.outcome, "scan-snap-residual");
  double before = 0;
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    const double rate = moving.logits_at(moving.field(run.states[i]))[1];
    if (rate > 0) {
      if (i == 0) return run.t[0] / 4;
      const double step = run.t[i] - run.t[i - 1];
      return (run.t[i] - step * rate / (rate - before)) / 4;
    }
    before = rate;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText trajectories{"tau", "z_inside", "z_across", "z_own"};
  constexpr double inside = 4.0 / 49;
  for (const double quotient : {0.25, 2.25}) {
    add_trajectory(inside, quotient * inside, 1e5, trajectories);
  }
  CsvText changes{"M", "overlap", "tau", "tau_formula"};
  for (const double tokens : {1e2, 1e3, 1e4, 1e5}) {
    for (int i = 0; i <= 16; ++i) {
      const double overlap = 0.01 * std::pow(40, i / 16.0);
      changes.number(tokens).number(overlap).number(integrated(overlap, overlap, tokens));
      changes.number(formula(overlap, overlap)).end_row();
    }
    changes.end_block();
  }
  return {{request.name + ".csv", trajectories.text()},
          {request.name + "-change.csv", changes.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, overlap across queries a quarter and 9/4 of that inside them: tau, z M eta_Y/eta_Z of
# the token that a query's classes share, of the one that two queries have, of one of a single class.
# Blocks of -change.csv, M = 100, 1000, 1e4, 1e5: M, overlap of classes inside a query and
# across, tau at which z' of the second token turns positive, integrated and for M -> infinity.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.09,0.955 spacing 0,0.13
  set title '(a) overlap across/inside: 9/4 (solid), 1/4 (dashed)'
  set xlabel 'τ = η_Y t/K'
  set ylabel 'z M η_Y/η_Z' offset 0.5+right,0
  set xrange [0:8]
  set yrange [-2.6:2.4]
  set key bottom right noreverse Right
  set xzeroaxis linetype 1 linecolor rgb grey linewidth 0.5
  plot name.'.csv' index 0 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       name.'.csv' index 0 using 1:2 with lines linetype 1 dashtype 2 notitle, \
       name.'.csv' index 0 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       name.'.csv' index 1 using 1:4 with lines linetype 3 title 'token in one class', \
       name.'.csv' index 1 using 1:3 with lines linetype 2 title 'in both queries', \
       name.'.csv' index 1 using 1:2 with lines linetype 1 title 'in both classes'
  set title "(b) where z' of a token in both queries turns positive"
  set xlabel 'overlap of classes, inside a query and across'
  set ylabel 'τ' offset 0.5+right,0
  set logscale x
  set xrange [0.008:0.5]
  set yrange [0:15]
  set key top right noreverse Right
  m(b) = 'M = '.word('100 1000 10^4 10^5', b+1)
  plot for [b=0:3] name.'-change.csv' index b every ::(b==0) using 2:3 with points linetype b+1 pointtype 7 pointsize 0.5 title m(b), \
       name.'-change.csv' index 3 using 2:4 with lines linetype 7 title 'M → ∞, formula'
  unset logscale
  unset title
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-residual",
                   .title = "Residual connection: a token that two queries have loses, then gains",
                   .shows = {"scan-snap.residual-fates", "scan-snap.residual-backprop"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::residual_figure
