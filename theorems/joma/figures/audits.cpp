// What each assumption of JoMA costs: stationary gradients, the factorisation behind the softmax
// invariant, orthonormal embeddings, exp in place of softmax attention.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/figures/ten_tokens.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/joma/rungs/stationary_flow.hpp"

namespace popgrad::joma::figures::audits_figure {
namespace {

constexpr double horizon = 200;  // 2000 steps of 0.1
constexpr std::array laws{"gaussian", "uniform"};
constexpr std::array dimensions{0, 255, 64, 22};  // of embeddings; 0: orthonormal
constexpr const char* of_reduced = "reduced";
constexpr const char* of_stationary = "stationary";
constexpr std::array kinds{"exp", "softmax"};

std::string joined(const char* rung, const char* attention) {
  return fmt::format("{}, {}", rung, attention);
}

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
FigureTable stationarity(const FigureRequest& request) {
  FigureTable table;
  for (const char* law : laws) {
    table.block(law);
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
      table.add("t", times[i], "drift_mean_gradient",
                (flow.mean_gradient(x) - gradient).norm() / gradient.norm(), "error_z",
                relative_distance(y.tail(d), x.tail(d)), "error_v",
                relative_distance(y.head(d * units), tokens));
    }
  }
  return table;
}

// The softmax invariant: its error in direction and size, with what it assumes.
FigureTable softmax_invariant(const FigureRequest& request) {
  FigureTable table;
  for (const TokenLaw law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    table.block(law == TokenLaw::gaussian ? laws[0] : laws[1]);
    const PopulationFlow<double> flow(invariant_instance(law, request.seed));
    const Trajectory<double> run =
        follow(forget_type(flow), equally_spaced(0.0, horizon, 201), request.name);
    const std::size_t nc = place_of(run.columns, "normalised_correlation");
    const std::size_t error = place_of(run.columns, "invariant_residual_relative");
    const Vector<double> attention = flow.mean_attention(run.states[0]);
    for (std::size_t i = 1; i < run.t.size(); ++i) {
      table.add("t", run.t[i], "normalised_correlation", run.rows[i][nc], "relative_error",
                run.rows[i][error], "change_mean_attention",
                relative_distance(flow.mean_attention(run.states[i]), attention),
                "factorisation_defect", flow.factorisation_defect(run.states[i]));
    }
  }
  return table;
}

std::string embedding_of(int dimension) {
  return dimension == 0 ? "orthonormal" : fmt::format("d = {}", dimension);
}

// The exp invariant with i.i.d. unit vectors of R^d for embeddings.
FigureTable embeddings(const FigureRequest& request) {
  constexpr std::uint64_t draws = 11;  // of embeddings, X and start; odd: the median is a run
  FigureTable table;
  for (const int dimension : dimensions) {
    table.block(embedding_of(dimension));
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
      table.add("step", walk_request.save_steps[i], "relative_error", errors[draws / 2],
                "dimension", dimension);
    }
  }
  return table;
}

// Entropy of the fixed-mu instance on `reduced` and `stationary`, with exp and softmax.
FigureTable attention_kinds(const FigureRequest& request) {
  ReducedInstance<double> instance = ten_tokens();
  std::vector<double> times;
  for (int i = 0; i <= 300; ++i) times.push_back(0.01 * std::pow(300 / 0.01, i / 300.0));
  FigureTable table;
  for (const char* rung : {of_reduced, of_stationary}) {
    for (const Attention kind : {Attention::exp, Attention::softmax}) {
      instance.attention = kind;
      const char* attention = kind == Attention::exp ? kinds[0] : kinds[1];
      table.block(joined(rung, attention));
      const Trajectory<double> run =
          follow(rung == of_reduced ? forget_type(ReducedFlow<double>(instance))
                                    : forget_type(StationaryFlow<double>(instance)),
                 times, request.name);
      const std::vector<double> entropy = run.column("attention_entropy");
      for (std::size_t i = 0; i < run.t.size(); ++i) {
        table.add("t", run.t[i], "attention_entropy", entropy[i], "rung", rung, "attention",
                  attention);
      }
    }
  }
  return table;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {stationarity(request).file(request, "stationarity"),
          softmax_invariant(request).file(request, "softmax"),
          embeddings(request).file(request, "embeddings"),
          attention_kinds(request).file(request, "attention")};
}

Picture picture() {
  const auto add_both_laws = [](Panel& panel, const char* part, const char* y, int colour,
                                const char* title) {
    const Curve curve = plot::line("t", y).in(part).colour(colour);
    panel.curves.push_back(curve.of(laws[0]).titled(title));
    panel.curves.push_back(curve.of(laws[1]).dashed());
  };
  Panel frozen{.title = "(a) stationarity assumed",
               .x = {.label = "time t", .range = "0:200"},
               .y = {.label = "relative change, error", .range = "1e-3:2e3", .logarithmic = true},
               .key = "top left samplen 1.3",
               .curves = {}};
  add_both_laws(frozen, "stationarity", "drift_mean_gradient", 1, "drift of E[g x]");
  add_both_laws(frozen, "stationarity", "error_z", 2, "error in z");
  add_both_laws(frozen, "stationarity", "error_v", 3, "error in v");
  frozen.curves.push_back(plot::legend_line("Gaussian X").coloured("grey"));
  frozen.curves.push_back(plot::legend_line("uniform X").coloured("grey").dashed());
  Panel invariant{.title = "(b) softmax invariant",
                  .x = {.label = "time t", .range = "0:200"},
                  .y = {.label = "error, change", .range = "3e-4:3e4", .logarithmic = true},
                  .key = "top left samplen 1.3",
                  .curves = {}};
  add_both_laws(invariant, "softmax", "relative_error", 2, "|ẑ − z| / |z|");
  add_both_laws(invariant, "softmax", "(1 - [normalised_correlation])", 1, "1 − NC(z, ẑ)");
  add_both_laws(invariant, "softmax", "factorisation_defect", 4, "factorisation defect");
  add_both_laws(invariant, "softmax", "change_mean_attention", 3, "change of b̄");
  Panel skew{.title = "(c) embeddings not orthogonal",
             .x = {.label = "step (η = 0.1)", .range = "0:500"},
             .y = {.label = "error of the exp invariant", .range = "0:1.7", .tics = "0.5"},
             .key = "top left samplen 1.3",
             .curves = {}};
  for (const int dimension : dimensions) {
    const std::string of = embedding_of(dimension);
    const auto place = static_cast<int>(skew.curves.size());
    skew.curves.push_back(plot::line("step", "relative_error")
                              .in("embeddings")
                              .of(of)
                              .colour(place == 0 ? 7 : place)
                              .titled(of));
  }
  const auto entropy = [](const char* rung, const char* attention) {
    return plot::line("t", "attention_entropy").in("attention").of(joined(rung, attention));
  };
  const Panel attention{
      .title = "(d) exp or softmax attention",
      .x = {.label = "time t",
            .range = "0.01:300",
            .logarithmic = true,
            .tics = "(0.01, 0.1, 1, 10, 100)"},
      .y = {.label = "entropy (nats)", .range = "0:2.6"},
      .key = "bottom left samplen 1.3 spacing 0.85*line font ',6'",
      .curves = {entropy(of_stationary, kinds[0]).colour(2).wide(3).titled("stationary, exp"),
                 entropy(of_reduced, kinds[0]).colour(1).titled("reduced, exp"),
                 entropy(of_stationary, kinds[1]).colour(2).dashed().titled("stationary, softmax"),
                 entropy(of_reduced, kinds[1]).colour(1).dashed().titled("reduced, softmax")}};
  return {.height = 3.7,
          .columns = 2,
          .left = 0.13,
          .right = 0.97,
          .between = 0.145,
          .panels = {frozen, invariant, skew, attention}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-audits",
                   .title = "What the assumptions cost: stationarity, factorisation, "
                            "orthogonality, exp attention",
                   .shows = {"joma.invariant-exp", "joma.invariant-softmax", "joma.clock-change",
                             "joma.frozen-layers"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::audits_figure
