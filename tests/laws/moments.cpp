/// Laws of the moments of SGD: what a rung knows of one draw is the law of its draws, and means and
/// deviations over runs are those predicted, to the order claimed.

#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/linear_runs.hpp"
#include "popgrad/fluctuations/momentum_pair.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::laws::moments_laws {
namespace {

/// Deviations that a true law exceeds once in some 10^8 comparisons.
constexpr double six = 6;

Vector<double> mean_of_draw(const AnyRung<double>& rung, const Vector<double>& x) {
  Vector<double> mean(x.size());
  if (rung.draws.mean) {
    rung.draws.mean(x, mean);
  } else {
    rung.field.value(x, mean, 0.0);
  }
  return mean;
}

}  // namespace

TEST_CASE("laws: the mean and covariance known of a draw are those of draws", "[law]") {
  std::map<std::string, std::size_t> compared;
  for (const Case& made : cases()) {
    if (made.rung.kind != RungKind::random) continue;
    const AnyRung<double> rung = made.make();
    if (!rung.draws.covariance || rung.dimension > 300) continue;
    // A third of the cases: pairs of options meet in the laws of one step.
    if (compared[made.model->name() + " " + made.rung.name]++ % 3 != 0) continue;
    const Point at = points(made, rung)[1];
    const Index n = at.x.size();
    // Along four directions, so that draws need no table.
    Stream names(17, 0, 0);
    Matrix<double> directions(n, 4);
    for (double& value : directions.reshaped()) value = names.normal();
    Matrix<double> images;
    rung.draws.covariance(at.x, directions, images);
    const Matrix<double> known = directions.transpose() * images;
    const Vector<double> mean = directions.transpose() * mean_of_draw(rung, at.x);
    constexpr int draws = 4000;
    Matrix<double> seen(draws, 4);
    Vector<double> draw(n);
    for (int i = 0; i < draws; ++i) {
      Stream stream(made.seed, 21, static_cast<std::uint64_t>(i));
      rung.draws.sample(at.x, draw, stream, 1);
      seen.row(i) = directions.transpose() * draw - mean;
    }
    INFO(made.text());
    for (Index k = 0; k < 4; ++k) {
      const double variance = seen.col(k).squaredNorm() / draws;
      const double fourth = seen.col(k).array().square().square().sum() / draws;
      const double error = std::sqrt(std::max(0.0, fourth - variance * variance) / draws);
      CHECK(std::fabs(variance - known(k, k)) <= six * error + 1e-12);
      CHECK(std::fabs(seen.col(k).mean()) <= six * std::sqrt(variance / draws) + 1e-9);
    }
  }
  for (const char* name : {"joma sgd", "scan-snap sgd", "scb sgd", "scb noisy"}) {
    INFO(name);
    CHECK(compared[name] > 3);
  }
}

// Millions of steps: shorter runs of the same rungs go through the sanitizers in other cases.
namespace {

struct Training {
  const char* model;
  Record parameters;
  double eta;
  std::uint64_t steps;
  Index batch;
  double momentum = 0;
};

Value rows(const std::vector<std::vector<double>>& values) {
  Value::List list;
  for (const std::vector<double>& row : values) {
    Value::List own;
    for (const double value : row) own.emplace_back(to_text(value));
    list.emplace_back(std::move(own));
  }
  return Value(std::move(list));
}

Matrix<double> covariance_of(Matrix<double> runs) {
  const Vector<double> mean = runs.rowwise().mean();
  runs.colwise() -= mean;
  return runs * runs.transpose() / static_cast<double>(runs.cols() - 1);
}

// The loss at all pairs of rows: covariances over runs and over linear runs.
void check_linear_runs(const Training& training, const AnyRung<double>& sgd,
                       const std::vector<std::uint64_t>& steps,
                       const std::vector<Trajectory<double>>& runs) {
  constexpr Index count = 4000;
  const Matrix<double> seen = covariance_of(curves(runs, "loss"));
  const Matrix<double> linear = covariance_of(
      curves(linear_runs(sgd, {training.eta, static_cast<double>(training.batch), steps, count, 1}),
             "loss"));
  const double statistics = std::sqrt(2.0 / count + 2.0 / static_cast<double>(runs.size()));
  for (Index k = 1; k < seen.rows(); ++k) {
    for (Index l = 1; l <= k; ++l) {
      INFO(training.model << " rows " << k << " and " << l);
      // Statistics, and the next order in the step size.
      CHECK(std::fabs(linear(k, l) - seen(k, l)) <=
            (4.5 * statistics + 0.05) * std::sqrt(seen(k, k) * seen(l, l)));
    }
  }
}

}  // namespace

TEST_CASE("laws: moments are those of many runs", "[law][unsanitized]") {
  const Record joma{{"X", rows({{0.5, 0.1, 0.2}, {0.2, 0.6, 0.1}, {0.3, 0, 0.3}, {0, 0.3, 0.4}})},
                    {"scale", "0.3"},
                    {"length", "3"}};
  const Record scan_snap{
      {"P", rows({{0.5, 0.2, 0.3, 0, 0}, {0.25, 0.45, 0, 0.3, 0}, {0.3, 0.1, 0, 0.2, 0.4}})},
      {"start", "uniform"},
      {"T", "4"}};
  const Record scb{{"N", "3"}, {"T", "6"}, {"Q", "2"}, {"start", "transfer"}};
  const Record topic{{"T", "2"},   {"tau", "1"}, {"v", "2"},
                     {"d_a", "2"}, {"N", "2"},   {"sigma", "0.3"}};
  // Of middle length: by nodes, and by documents that are drawn once.
  Record longer_scan_snap = scan_snap;
  longer_scan_snap["T"] = "32";
  const Record longer_topic{{"T", "3"},   {"tau", "2"}, {"v", "2"},
                            {"d_a", "2"}, {"N", "100"}, {"sigma", "0.3"}};
  Record warmer_scb = scb;
  warmer_scb["temperature"] = "1.5";
  constexpr std::uint32_t count = 1500;
  for (const Training& training :
       {Training{"joma", joma, 0.05, 100, 16}, Training{"scan-snap", scan_snap, 0.05, 100, 16},
        Training{"scb", scb, 0.05, 80, 32}, Training{"scb", warmer_scb, 0.1, 80, 16},
        Training{"topic", topic, 0.2, 100, 64},
        Training{"scan-snap", longer_scan_snap, 0.1, 100, 16},
        Training{"topic", longer_topic, 0.2, 60, 32}, Training{"joma", joma, 0.02, 100, 16, 0.7},
        Training{"scb", scb, 0.02, 80, 32, 0.5}}) {
    const Model& model = find_model(training.model);
    const Parameters parameters(training.model, training.parameters);
    WalkRequest request;
    request.step_size = training.eta;
    request.steps = training.steps;
    request.save_steps = evenly_spread_steps(training.steps, 6);
    request.batch = training.batch;
    request.seed = 5;
    const AnyRung<double> sgd = model.rung("sgd", parameters, 3);
    const bool heavy = training.momentum > 0;
    const AnyRung<double> in_plain_steps =
        heavy ? momentum_pair(sgd, training.momentum, training.eta) : sgd;
    const Prediction moments = heavy ? predict_moments(in_plain_steps, training.model)
                                     : *model.row("moments").predict(parameters, 3);
    const Trajectory<double> predicted = moments.rows(request, nullptr);
    INFO(training.model << " momentum " << training.momentum);
    REQUIRE(predicted.outcome.ending == Ending::reached_end);
    request.runs = count;
    if (heavy) request.optimiser = {Optimiser::Rule::momentum, training.momentum};
    const std::vector<Trajectory<double>> runs = walk(sgd, sgd.initial, request);
    const std::size_t columns = sgd.observables.columns.size();
    check_linear_runs(training, in_plain_steps, request.save_steps, runs);
    std::size_t judged = 0;
    for (std::size_t save = 1; save < predicted.rows.size(); ++save) {
      const double neglected = predicted.rows[save][2 * columns];
      CHECK(neglected < 0.2);
      for (std::size_t c = 0; c < columns; ++c) {
        double mean = 0, square = 0, fourth = 0;
        for (const Trajectory<double>& run : runs) mean += run.rows[save][c] / count;
        for (const Trajectory<double>& run : runs) {
          const double gap = run.rows[save][c] - mean;
          square += gap * gap / count;
          fourth += gap * gap * gap * gap / count;
        }
        const double deviation = predicted.rows[save][columns + c];
        if (std::isnan(deviation)) continue;
        const std::string& name = sgd.observables.columns[c];
        // A jump, and functions with kinks or an extremum where training starts.
        if (name == "accuracy") continue;
        const bool rough =
            name.starts_with("invariant_residual") || name == "normalised_correlation";
        const double neglected_of_column = neglected + (rough ? 0.1 : 0.02);
        INFO(name << " at t = " << predicted.t[save]);
        ++judged;
        const double seen = std::sqrt(square);
        CHECK(std::fabs(mean - predicted.rows[save][c]) <=
              (six / std::sqrt(count) + neglected_of_column) * seen + 1e-9);
        const double error = std::sqrt(std::max(0.0, fourth - square * square) / count);
        CHECK(std::fabs(square - deviation * deviation) <=
              six * error + neglected_of_column * square + 1e-12);
      }
    }
    CHECK(judged >= 2 * columns);
  }
}

}  // namespace popgrad::laws::moments_laws
