// With a residual connection: attention on a token that one class of each of two queries has, on
// the token that a query's classes share and on one of a single class; and when the first begins to
// gain, over how much classes overlap.

#include <array>
#include <cmath>
#include <functional>
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
struct Named {
  double value;
  const char* name;
};
// Overlap of classes across queries in shares of that inside them.
constexpr std::array<Named, 2> quotients{
    {{0.25, "across/inside 1/4"}, {2.25, "across/inside 9/4"}}};
constexpr std::array<Named, 4> vocabularies{
    {{1e2, "M = 100"}, {1e3, "M = 1000"}, {1e4, "M = 10^4"}, {1e5, "M = 10^5"}}};

// Four classes, two of each of two queries. Tokens 0 and 1: one of each query; 2: of the first
// class of either; the others of one class.
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

// z M eta_Y/eta_Z of tokens 0, 2 and of the one that only class 0 has.
void add_trajectory(double inside, double across, double tokens, FigureTable& table) {
  TrainingInstance<double> training = residual_training(two_of_each(inside, across), tokens);
  training.attention_rate = training.decoder_rate / ratio;
  const ResidualFlow<double> flow(training);
  const Trajectory<double> run = follow(forget_type(flow), times());
  require_usable(run.outcome, "scan-snap-residual");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    const Vector<double> z = ratio * tokens * flow.logits_at(run.states[i]);
    table.add("tau", run.t[i] / 4, "z_inside", z[0], "z_across", z[1], "z_own", z[2]);
  }
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
  FigureTable trajectories, changes;
  constexpr double inside = 4.0 / 49;
  for (const auto& [quotient, name] : quotients) {
    add_trajectory(inside, quotient * inside, 1e5, trajectories.block(name));
  }
  for (const auto& [tokens, name] : vocabularies) {
    changes.block(name);
    for (int i = 0; i <= 16; ++i) {
      const double overlap = 0.01 * std::pow(40, i / 16.0);
      changes.add("M", tokens, "overlap", overlap, "tau", integrated(overlap, overlap, tokens),
                  "tau_formula", formula(overlap, overlap));
    }
  }
  return {trajectories.file(request), changes.file(request, "change")};
}

Picture picture() {
  Panel trajectories{.title = "(a) overlap across/inside: 9/4 (solid), 1/4 (dashed)",
                     .x = {.label = "τ = η_Y t/K", .range = "0:8"},
                     .y = {.label = "z M η_Y/η_Z", .range = "-2.6:2.4"},
                     .key = "bottom right",
                     .guides = {{.y = "0"}}};
  struct Token {
    const char *column, *name;
    int colour;
  };
  for (const Token& token :
       {Token{"z_own", "token in one class", 3}, Token{"z_across", "in both queries", 2},
        Token{"z_inside", "in both classes", 1}}) {
    const Curve curve = plot::line("tau", token.column).colour(token.colour);
    trajectories.curves.push_back(curve.of(quotients[0].name).dashed());
    trajectories.curves.push_back(curve.of(quotients[1].name).titled(token.name));
  }
  Panel changes{.title = "(b) where z' of a token in both queries turns positive",
                .x = {.label = "overlap of classes, inside a query and across",
                      .range = "0.008:0.5",
                      .logarithmic = true},
                .y = {.label = "τ", .range = "0:15"},
                .key = "top right",
                .curves = {}};
  const std::vector<std::string> names = labels_of(vocabularies, std::mem_fn(&Named::name));
  changes.add_each(plot::points("overlap", "tau").in("change").mark(7, 0.5), names, names);
  changes.curves.push_back(plot::line("overlap", "tau_formula")
                               .in("change")
                               .of(vocabularies.back().name)
                               .colour(7)
                               .titled("M → ∞, formula"));
  return {.height = 4.4, .left = 0.17, .panels = {trajectories, changes}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-residual",
                   .title = "Residual connection: a token that two queries have loses, then gains",
                   .shows = {"scan-snap.residual-fates", "scan-snap.residual-backprop"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::residual_figure
