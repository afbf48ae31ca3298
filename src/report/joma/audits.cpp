// What each assumption of JoMA costs: stationary gradients, the factorisation behind the softmax
// invariant, orthonormal embeddings, exp in place of softmax attention.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "popgrad/joma/population_flow.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/joma/stationary_flow.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/walk.hpp"
#include "report/joma/figures.hpp"

namespace popgrad::report {
namespace {

using namespace popgrad::joma;

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

// Two tables of one flow a law: Assumption 1, and the softmax invariant.
std::array<std::string, 2> along_the_flow(const FigureRequest& request) {
  CsvText stationarity{"t", "drift_mean_gradient", "error_z", "error_v"};
  CsvText softmax{"t", "normalised_correlation", "relative_error", "variation_mean_attention",
                  "factorisation_defect"};
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    const ClassInstance<double> instance = invariant_instance(law, request.seed);
    const PopulationFlow<double> flow(instance);
    const Index d = instance.tokens();
    const Index units = instance.units();
    ReducedInstance<double> frozen;
    frozen.target = initial_mean_gradient(instance);
    frozen.start = instance.weights.topRows(d);
    frozen.logits = instance.logits;
    frozen.tau = 2 * instance.temperature * instance.temperature;
    frozen.attention = instance.attention;

    const AnyRung<double> rung = forget_type(flow);
    const std::vector<double> times = equally_spaced(0.0, horizon, 201);
    const Trajectory<double> full = follow(rung, times, request.name);
    const Trajectory<double> stationary =
        follow(forget_type(StationaryFlow<double>(frozen)), times, request.name);
    const auto place = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(full.columns.begin(), full.columns.end(), name) -
                                      full.columns.begin());
    };
    const std::size_t nc = place("normalised_correlation");
    const std::size_t error = place("invariant_residual_relative");
    const Matrix<double> gradient = flow.mean_gradient(full.states[0]);
    const Vector<double> attention = flow.mean_attention(full.states[0]);
    // The start is left out: its relative errors are 0, which has no place on a log axis.
    for (std::size_t i = 1; i < times.size(); ++i) {
      const Vector<double>& x = full.states[i];
      const Vector<double>& y = stationary.states[i];
      const Eigen::Map<const Matrix<double>> v(x.data(), instance.weights.rows(), units);
      const Vector<double> tokens = v.topRows(d).reshaped();
      stationarity.number(times[i])
          .number((flow.mean_gradient(x) - gradient).norm() / gradient.norm())
          .number(relative_distance(y.tail(d), x.tail(d)))
          .number(relative_distance(y.head(d * units), tokens))
          .end_row();
      softmax.number(times[i])
          .number(full.rows[i][nc])
          .number(full.rows[i][error])
          .number(relative_distance(flow.mean_attention(x), attention))
          .number(flow.factorisation_defect(x))
          .end_row();
    }
    stationarity.end_block();
    softmax.end_block();
  }
  return {stationarity.text(), softmax.text()};
}

// The exp invariant with i.i.d. unit vectors of R^d for embeddings; 0 stands for orthonormal.
std::string embeddings(const FigureRequest& request) {
  CsvText csv{"step", "relative_error", "dimension"};
  for (const int dimension : {0, 255, 64, 22}) {
    Parameters p("joma", Json::object());
    p.set("law", "gaussian");
    p.set("attention", "exp");
    if (dimension > 0) p.set("embedding-dimension", std::to_string(dimension));
    const AnyRung<double> rung =
        forget_type(PopulationFlow<double>(class_instance<double>(p, request.seed)));
    const auto error = static_cast<std::size_t>(
        std::find(rung.columns.begin(), rung.columns.end(), "invariant_residual_relative") -
        rung.columns.begin());
    WalkRequest walk_request;
    walk_request.step_size = 0.1;
    walk_request.steps = 500;
    walk_request.save_steps = evenly_spread_steps(500, 101);
    walk_request.jobs = request.jobs;
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    require_usable(run.outcome, request.name);
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      csv.number(static_cast<double>(walk_request.save_steps[i]))
          .number(run.rows[i][error])
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
      for (std::size_t i = 0; i < run.t.size(); ++i) {
        csv.number(run.t[i]).number(run.rows[i][0]);
        csv.word(reduced ? "reduced" : "stationary");
        csv.word(kind == Attention::exp ? "exp" : "softmax").end_row();
      }
      csv.end_block();
    }
  }
  return csv.text();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto [stationarity, softmax] = along_the_flow(request);
  return {{request.name + "-stationarity.csv", stationarity},
          {request.name + "-softmax.csv", softmax},
          {request.name + "-embeddings.csv", embeddings(request)},
          {request.name + "-attention.csv", attention_kinds(request)}};
}

}  // namespace

FigureMaker audits_figure() {
  return {{"joma-audits",
           "What the assumptions cost: stationarity, factorisation, orthogonality, exp attention"},
          data};
}

}  // namespace popgrad::report
