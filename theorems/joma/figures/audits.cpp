// What each assumption of JoMA costs: stationary gradients, the factorisation behind the softmax
// invariant, orthonormal embeddings, exp in place of softmax attention.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/joma/rungs/stationary_flow.hpp"

namespace popgrad::joma::figures::audits_figure {
namespace {

constexpr double horizon = 200;  // 2000 steps of 0.1

Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times,
                          std::string_view figure) {
  SolveRequest<double> request;
  request.end = times.back();
  request.save_at = std::move(times);
  request.relative_tolerance = 1e-8;
  request.absolute_tolerance = 1e-10;
  request.keep_states = true;
  request.find_events = false;
  Trajectory<double> run = solve(rung, request);
  require_usable(run.outcome, figure);
  return run;
}

double relative_distance(const Vector<double>& x, const Vector<double>& reference) {
  return (x - reference).norm() / reference.norm();
}

ClassInstance<double> exp_instance(std::string_view law, int embedding_dimension,
                                   std::uint64_t seed) {
  Parameters p("joma");
  p.set("law", std::string(law));
  p.set("attention", "exp");
  if (embedding_dimension > 0) p.set("embedding-dimension", std::to_string(embedding_dimension));
  return class_instance<double>(p, seed);
}

// Assumption 1, with exp attention: there `stationary` differs from `flow` by nothing else. (The
// softmax closure also replaces the normaliser of each sample, which is another clock.)
std::string stationarity(const FigureRequest& request) {
  CsvText csv{"t", "drift_mean_gradient", "error_z", "error_v"};
  for (const std::string_view law : {"gaussian", "uniform"}) {
    const ClassInstance<double> instance = exp_instance(law, 0, request.seed);
    const PopulationFlow<double> flow(instance);
    const Index d = instance.tokens();
    const Index units = instance.units();
    ReducedInstance<double> frozen;
    frozen.target = initial_mean_gradient(instance);
    frozen.start = instance.weights.topRows(d);
    frozen.logits = instance.logits;
    frozen.tau = 2 * instance.temperature * instance.temperature;
    frozen.attention = instance.attention;
    const std::vector<double> times = equally_spaced(0.0, horizon, 201);
    const Trajectory<double> full = follow(forget_type(flow), times, request.name);
    const Trajectory<double> stationary =
        follow(forget_type(StationaryFlow<double>(frozen)), times, request.name);
    const Matrix<double> gradient = flow.mean_gradient(full.states[0]);
    // The start is left out: relative errors of 0 have no place on a log axis. Where the frozen
    // gradients blow up first, the rows end there.
    for (std::size_t i = 1; i < std::min(full.states.size(), stationary.states.size()); ++i) {
      const Vector<double>& x = full.states[i];
      const Vector<double>& y = stationary.states[i];
      const Eigen::Map<const Matrix<double>> v(x.data(), instance.weights.rows(), units);
      const Vector<double> tokens = v.topRows(d).reshaped();
      csv.number(times[i])
          .number((flow.mean_gradient(x) - gradient).norm() / gradient.norm())
          .number(relative_distance(y.tail(d), x.tail(d)))
          .number(relative_distance(y.head(d * units), tokens))
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

// The softmax invariant: its error in direction and size beside what it assumes.
std::string softmax_invariant(const FigureRequest& request) {
  CsvText csv{"t", "normalised_correlation", "relative_error", "change_mean_attention",
              "factorisation_defect"};
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    const PopulationFlow<double> flow(invariant_instance(law, request.seed));
    const Trajectory<double> run =
        follow(forget_type(flow), equally_spaced(0.0, horizon, 201), request.name);
    const std::size_t nc = place_of(run.columns, "normalised_correlation");
    const std::size_t error = place_of(run.columns, "invariant_residual_relative");
    const Vector<double> attention = flow.mean_attention(run.states[0]);
    for (std::size_t i = 1; i < run.t.size(); ++i) {
      csv.number(run.t[i])
          .number(run.rows[i][nc])
          .number(run.rows[i][error])
          .number(relative_distance(flow.mean_attention(run.states[i]), attention))
          .number(flow.factorisation_defect(run.states[i]))
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

// The exp invariant with i.i.d. unit vectors of R^d for embeddings; 0 stands for orthonormal.
std::string embeddings(const FigureRequest& request) {
  constexpr std::uint64_t draws = 11;  // of embeddings, X and start; odd: the median is a run
  CsvText csv{"step", "relative_error", "dimension"};
  for (const int dimension : {0, 255, 64, 22}) {
    WalkRequest walk_request;
    walk_request.step_size = 0.1;
    walk_request.steps = 500;
    walk_request.save_steps = evenly_spread_steps(500, 101);
    walk_request.jobs = request.jobs;
    std::vector<Trajectory<double>> runs;
    for (std::uint64_t k = 0; k < draws; ++k) {
      const AnyRung<double> rung = forget_type(
          PopulationFlow<double>(exp_instance("gaussian", dimension, request.seed + k)));
      runs.push_back(std::move(walk(rung, rung.initial, walk_request).front()));
      require_usable(runs.back().outcome, request.name);
    }
    const std::size_t error = place_of(runs.front().columns, "invariant_residual_relative");
    for (std::size_t i = 0; i < walk_request.save_steps.size(); ++i) {
      std::array<double, draws> errors{};
      for (std::size_t k = 0; k < draws; ++k) errors[k] = runs[k].rows[i][error];
      std::nth_element(errors.begin(), errors.begin() + draws / 2, errors.end());
      csv.number(static_cast<double>(walk_request.save_steps[i]))
          .number(errors[draws / 2])
          .number(dimension)
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

// Entropy of the fixed-mu instance on `reduced` and `stationary`, with exp and softmax.
std::string attention_kinds(const FigureRequest& request) {
  const std::array<double, 10> mu{1.2, 1.5, 1.8, 2, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8};
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target = Eigen::Map<const Vector<double>>(mu.data(), 10);
  instance.start = Matrix<double>::Constant(10, 1, 0.05);
  instance.logits = Vector<double>::Zero(10);
  instance.tau = 3;
  std::vector<double> times;
  for (int i = 0; i <= 300; ++i) times.push_back(0.01 * std::pow(300 / 0.01, i / 300.0));
  CsvText csv{"t", "attention_entropy", "rung", "attention"};
  for (const bool reduced : {true, false}) {
    for (const Attention kind : {Attention::exp, Attention::softmax}) {
      instance.attention = kind;
      const Trajectory<double> run = follow(reduced ? forget_type(ReducedFlow<double>(instance))
                                                    : forget_type(StationaryFlow<double>(instance)),
                                            times, request.name);
      const std::vector<double> entropy = run.column("attention_entropy");
      for (std::size_t i = 0; i < run.t.size(); ++i) {
        csv.number(run.t[i]).number(entropy[i]);
        csv.word(reduced ? "reduced" : "stationary");
        csv.word(kind == Attention::exp ? "exp" : "softmax").end_row();
      }
      csv.end_block();
    }
  }
  return csv.text();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + "-stationarity.csv", stationarity(request)},
          {request.name + "-softmax.csv", softmax_invariant(request)},
          {request.name + "-embeddings.csv", embeddings(request)},
          {request.name + "-attention.csv", attention_kinds(request)}};
}

constexpr const char* script =
    R"gp(# Solid: Gaussian X, dashed: uniform X in (a) and (b); medians over starts in (c).
# -stationarity.csv (exp attention), a block a law: t, drift of E[g x], relative errors of z and v against flow.
# -softmax.csv, a block a law: t, NC, relative error of the invariant, variation of b_bar, defect.
# -embeddings.csv, a block a dimension: step, relative error of the exp invariant, dimension.
# -attention.csv, blocks reduced exp, reduced softmax, stationary exp, stationary softmax:
#   t, entropy.
height = 3.7
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,2 margins 0.125,0.965,0.085,0.955 spacing 0.145,0.125
  set key samplen 1.3 spacing 1.1*line
  set ylabel offset 0.4+right,0

  set title '(a) stationarity assumed'
  set xlabel 'time t'
  set ylabel 'relative change, error'
  set logscale y
  set format y '10^{%T}'
  set xrange [0:200]
  set yrange [1e-3:2e3]
  set key top left reverse Left
  plot name.'-stationarity.csv' index 0 using 1:2 with lines linetype 1 title 'drift of E[g x]', \
       '' index 0 using 1:3 with lines linetype 2 title 'error in z', \
       '' index 0 using 1:4 with lines linetype 3 title 'error in v', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'Gaussian X', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 2 title 'uniform X', \
       '' index 1 using 1:2 with lines linetype 1 dashtype 2 notitle, \
       '' index 1 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       '' index 1 using 1:4 with lines linetype 3 dashtype 2 notitle

  set title '(b) softmax invariant'
  set ylabel ''
  set yrange [3e-4:3e4]
  set key top left reverse Left
  plot name.'-softmax.csv' index 0 using 1:3 with lines linetype 2 title '|ẑ − z| / |z|', \
       '' index 0 using 1:(1-$2) with lines linetype 1 title '1 − NC(z, ẑ)', \
       '' index 0 using 1:5 with lines linetype 4 title 'factorisation defect', \
       '' index 1 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       '' index 1 using 1:(1-$2) with lines linetype 1 dashtype 2 notitle, \
       '' index 0 using 1:4 with lines linetype 3 title 'change of b̄', \
       '' index 1 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       '' index 1 using 1:5 with lines linetype 4 dashtype 2 notitle
  unset logscale y
  set format y '%g'

  set title '(c) embeddings not orthogonal'
  set xlabel 'step (η = 0.1)'
  set ylabel 'error of the exp invariant'
  set xrange [0:500]
  set yrange [0:1.4]
  set key top left reverse Left
  plot for [b=0:3] name.'-embeddings.csv' index b using 1:2 with lines linetype (b == 0 ? 7 : b) \
       title word('orthonormal d=255 d=64 d=22', b+1)

  set title '(d) exp or softmax attention'
  set xlabel 'time t'
  set ylabel 'entropy (nats)'
  set logscale x
  set xrange [0.01:300]
  set yrange [0:2.6]
  set key bottom left reverse Left spacing 0.85*line font ',6'
  set xtics (0.01,0.1,1,10,100)
  plot name.'-attention.csv' index 2 using 1:2 with lines linetype 2 linewidth 3 title 'stationary, exp', \
       '' index 0 using 1:2 with lines linetype 1 title 'reduced, exp', \
       '' index 3 using 1:2 with lines linetype 2 dashtype 2 title 'stat., softmax', \
       '' index 1 using 1:2 with lines linetype 1 dashtype 2 title 'red., softmax'
  set xtics autofreq
  set key font ',7'
  unset logscale x
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-audits",
                   .title = "What the assumptions cost: stationarity, factorisation, "
                            "orthogonality, exp attention",
                   .shows = {"joma.invariant-exp", "joma.invariant-softmax", "joma.clock-change",
                             "joma.frozen-layers"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::joma::figures::audits_figure
