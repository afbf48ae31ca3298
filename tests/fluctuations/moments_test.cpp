/// Predicted moments on problems whose law can be computed without it.

#include "popgrad/fluctuations/prediction.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "fluctuations/observable_readings.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/walks/walk.hpp"
#include "problems/any_flow.hpp"

namespace moments_test {

using namespace popgrad;

namespace {

// x' = field(x) with noise of constant variance; observables x and x^2.
template <class Field>
AnyRung<double> one_number(double start, double variance, const Field& field) {
  AnyRung<double> rung = problems::any_flow<double>(
      Vector<double>{{start}}, [field](const auto& x, auto& dx) { dx[0] = field(x[0]); },
      [](const auto&, auto&) {});
  rung.observables.columns = {"x", "square"};
  rung.state_names = {"x"};
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x[0];
    row[1] = x[0] * x[0];
  };
  rung.draws.sample = [field, variance](const Vector<double>& x, Vector<double>& dx, Stream& stream,
                                        Index batch) {
    dx[0] = field(x[0]) + std::sqrt(variance / static_cast<double>(batch)) * stream.normal();
  };
  rung.draws.covariance = [variance](const Vector<double>&, const Matrix<double>& vectors,
                                     Matrix<double>& images) { images = variance * vectors; };
  rung.clone = [=] { return one_number(start, variance, field); };
  return rung;
}

Trajectory<double> predicted(const AnyRung<double>& rung, double eta, std::uint64_t steps,
                             Index batch) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 11);
  request.batch = batch;
  request.jobs = 1;
  return predict_moments(rung, "toy").rows(request, nullptr);
}

// Mean and variance of x after steps whose noise is 0 or +-sqrt(3) deviations, with the cumulants of a normal
// number up to the fifth, over all sequences.
std::pair<double, double> over_all_draws(double start, double noise, double eta, int steps,
                                         const std::function<double(double)>& field) {
  double sum = 0, square = 0;
  const std::function<void(double, double, int)> go_on = [&](double x, double chance, int left) {
    if (left == 0) {
      sum += chance * x;
      square += chance * x * x;
      return;
    }
    const double next = x + eta * field(x), off = eta * noise * std::sqrt(3.0);
    go_on(next, chance * 2 / 3, left - 1);
    go_on(next + off, chance / 6, left - 1);
    go_on(next - off, chance / 6, left - 1);
  };
  go_on(start, 1, steps);
  return {sum, square - sum * sum};
}

}  // namespace

namespace {

// Two numbers that pull on each other, with draws whose covariance depends on both; counts its directions.
struct Coupled {
  std::shared_ptr<std::size_t> evaluations = std::make_shared<std::size_t>(0);

  [[nodiscard]] AnyRung<double> rung() const {
    AnyRung<double> any;
    any.dimension = 2;
    any.initial = Vector<double>{{1.0, -0.5}};
    any.observables.columns = {"sum", "product"};
    any.state_names = {"a", "b"};
    any.field.value = [count = evaluations](const Vector<double>& x, Vector<double>& dx,
                                            const double&) {
      ++*count;
      dx = Vector<double>{
          {-x[0] + 0.3 * x[1] + 0.4 * x[0] * x[0], 0.5 * x[0] - 2 * x[1] * (1 + x[0])}};
    };
    any.draws.covariance = [](const Vector<double>& x, const Matrix<double>& vectors,
                              Matrix<double>& images) {
      const Matrix<double> sigma{{1 + x[0] * x[0], 0.2 * x[0]},
                                 {0.2 * x[0], 0.5 + 2 * x[1] * x[1]}};
      images = sigma * vectors;
    };
    any.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
      row[0] = x[0] + 2 * x[1];
      row[1] = x[0] * x[1];
    };
    any.clone = [own = *this] { return own.rung(); };
    return any;
  }

  /// Of 600 steps, saved after these.
  [[nodiscard]] static WalkRequest request(std::vector<std::uint64_t> save_steps) {
    WalkRequest made;
    made.step_size = 0.01;
    made.steps = 600;
    made.save_steps = std::move(save_steps);
    made.batch = 200;
    made.jobs = 1;
    return made;
  }
};

// Largest differences of the two, in deviations of the second.
void check_alike(const Trajectory<double>& found, const Trajectory<double>& known, double error) {
  REQUIRE(found.t == known.t);
  for (std::size_t k = 1; k < known.rows.size(); ++k) {
    INFO("t = " << known.t[k]);
    for (std::size_t c = 0; c < 2; ++c) {
      const double deviation = known.rows[k][2 + c];
      CHECK(std::fabs(found.rows[k][c] - known.rows[k][c]) <= error * deviation);
      CHECK(found.rows[k][2 + c] == Approx(deviation).epsilon(error));
    }
    CHECK(found.rows[k][4] == Approx(known.rows[k][4]).margin(error));
  }
}

}  // namespace

TEST_CASE("moments: at a kink observables have the law that they have", "[moments]") {
  // x falls to 0, about which |x| and its square fluctuate; x itself is normal.
  constexpr double start = 0.3, eta = 0.05, batch = 4;
  AnyRung<double> toy;
  toy.dimension = 1;
  toy.initial = Vector<double>{{start}};
  toy.observables.columns = {"x", "size", "square"};
  toy.state_names = {"x"};
  toy.field.value = [](const Vector<double>& x, Vector<double>& dx, const double&) { dx = -x; };
  toy.draws.covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                            Matrix<double>& images) { images = vectors; };
  toy.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x[0];
    row[1] = std::fabs(x[0]);
    row[2] = x[0] * x[0];
  };
  toy.clone = [toy] { return toy; };
  const Trajectory<double> found = predicted(toy, eta, 100, static_cast<Index>(batch));
  REQUIRE(found.outcome.ending == Ending::reached_end);
  int near_the_kink = 0;
  for (std::size_t k = 1; k < found.rows.size(); ++k) {
    const double steps = std::round(found.t[k] / eta);
    const double kept = std::pow(1 - eta, steps);
    const double mean = start * kept;
    const double variance = eta * eta / batch * (1 - kept * kept) / (1 - (1 - eta) * (1 - eta));
    const double deviation = std::sqrt(variance);
    INFO("t = " << found.t[k] << ", mean over deviation " << mean / deviation);
    CHECK(found.rows[k][0] == Approx(mean).epsilon(1e-9));
    CHECK(found.rows[k][3] == Approx(deviation).epsilon(1e-7));
    // Of a folded normal law.
    const double density = std::sqrt(2 / std::acos(-1.0)) * std::exp(-mean * mean / 2 / variance);
    const double size = deviation * density + mean * std::erf(mean / std::sqrt(2 * variance));
    // At the kink slopes say nothing, so that there the orders differ.
    if (std::isnan(found.rows[k][1])) {
      CHECK(mean < deviation);
      CHECK(std::isnan(found.rows[k][4]));
      continue;
    }
    CHECK(found.rows[k][1] == Approx(size).margin(0.05 * deviation));
    const double seen = found.rows[k][4];
    if (std::isnan(seen)) continue;
    CHECK(seen == Approx(std::sqrt(mean * mean + variance - size * size)).epsilon(0.05));
    if (mean < 1.5 * deviation) ++near_the_kink;
    CHECK(found.rows[k][2] == Approx(mean * mean + variance).epsilon(1e-7));
    if (std::isnan(found.rows[k][5])) continue;
    CHECK(found.rows[k][5] ==
          Approx(deviation * std::sqrt(4 * mean * mean + 2 * variance)).epsilon(1e-6));
  }
  CHECK(near_the_kink > 0);
}

TEST_CASE("readings: of a product of two numbers", "[moments]") {
  AnyRung<double> rung;
  rung.observables.columns = {"product"};
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x[0] * x[1];
  };
  const Vector<double> x{{0.3, -0.2}};
  const Matrix<double> covariance = Vector<double>{{0.25, 0.64}}.asDiagonal();
  const auto found = ObservableReadings(rung).read(x, covariance, {}, 0);
  CHECK(found.mean[0] == Approx(-0.06).margin(1e-12));
  const double of_lines = 0.04 * 0.25 + 0.09 * 0.64;  // x_1^2 s_0^2 + x_0^2 s_1^2
  const double of_both = 0.25 * 0.64;
  CHECK(found.variance[0] == Approx(of_lines + of_both).epsilon(1e-6));
}

TEST_CASE("moments: of a jump that no draw crosses the deviation is left out, not the mean",
          "[moments]") {
  // Nodes along the first axis cross it, draws have the other numbers far from 0.
  constexpr Index n = 10;
  constexpr double eta = 0.1, batch = 4;
  constexpr int steps = 20;
  const double left = std::pow(1 - eta, 2 * steps);
  const double deviation = eta * std::sqrt((1 - left) / batch / (1 - (1 - eta) * (1 - eta)));
  AnyRung<double> toy =
      problems::any_flow<double>(Vector<double>::Zero(n), [](const auto& x, auto& dx) { dx = -x; });
  toy.observables.columns = {"jump", "first"};
  toy.observables.read = [deviation](const Vector<double>& x, const double&,
                                     std::span<double> row) {
    const double others = x.tail(n - 1).cwiseAbs().maxCoeff();
    row[0] = x[0] > 1.7 * deviation && others < 0.05 * deviation ? 1 : 0;
    row[1] = x[0];
  };
  toy.draws.covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                            Matrix<double>& images) {
    images = Vector<double>::LinSpaced(n, 1, 0.1).asDiagonal() * vectors;
  };
  toy.clone = [toy] { return toy; };
  const std::vector<double> row = predicted(toy, eta, steps, static_cast<Index>(batch)).rows.back();
  CHECK(row[3] == Approx(deviation).epsilon(1e-7));
  CHECK(row[0] == 0);
  CHECK(std::isnan(row[2]));
}

TEST_CASE("moments: blocks of steps are the steps", "[moments]") {
  const Coupled toy;
  const WalkRequest request = Coupled::request({0, 1, 2, 7, 40, 100, 173, 256, 400, 600});
  const Prediction plain = predict_in_blocks([&] { return FollowedSteps{toy.rung()}; }, 1);
  const Trajectory<double> known = plain.rows(request, nullptr);
  const std::size_t of_steps = std::exchange(*toy.evaluations, 0);
  const Trajectory<double> found = predict_moments(toy.rung(), "toy").rows(request, nullptr);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  check_alike(found, known, 1e-3);
  // One direction a step and a few at each block, instead of ten a step.
  CHECK(*toy.evaluations < of_steps / 5);
}

TEST_CASE("moments: blocks depend neither on rows nor, but for their error, on stops",
          "[moments]") {
  const Prediction moments = predict_moments(Coupled{}.rung(), "toy");
  WalkRequest request = Coupled::request({0, 137, 600});
  request.keep_states = true;
  const Trajectory<double> once = moments.rows(request, nullptr);
  std::vector<std::uint64_t> all(601);
  std::iota(all.begin(), all.end(), 0);
  const Trajectory<double> often = moments.rows(Coupled::request(all), nullptr);
  CHECK(often.rows[137] == once.rows[1]);
  CHECK(often.rows[600] == once.rows[2]);
  WalkRequest part = Coupled::request({0, 137});
  part.steps = 137;
  const Trajectory<double> stopped = moments.rows(part, nullptr);
  CHECK(stopped.rows[1] == once.rows[1]);
  part = Coupled::request({600});
  part.start_step = 137;
  Trajectory<double> rest = moments.rows(part, &stopped.last_state);
  rest.t.insert(rest.t.begin(), 0.0);
  rest.rows.insert(rest.rows.begin(), std::vector<double>(5));
  Trajectory<double> end = once;
  end.t.erase(end.t.begin() + 1);
  end.rows.erase(end.rows.begin() + 1);
  check_alike(rest, end, 1e-3);
  // A state of a file is the law at its time, of which the sum is linear.
  const Vector<double>& state = once.states[1];
  const Matrix<double> root = state.segment(2, 4).reshaped(2, 2);
  CHECK(state[0] + 2 * state[1] == Approx(once.rows[1][0]).epsilon(1e-12));
  CHECK((root.transpose() * Vector<double>{{1.0, 2.0}}).norm() ==
        Approx(once.rows[1][2]).epsilon(1e-12));
  CHECK(state.size() == std::ssize(moments.law_names.all()));
}

TEST_CASE("moments: exact for a linear field", "[moments]") {
  const auto rung = one_number(1.0, 4.0, [](double x) { return -x; });
  const Trajectory<double> found = predicted(rung, 0.1, 50, 2);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  CHECK(found.columns ==
        std::vector<std::string>{"x", "square", "x_sd", "square_sd", "second_order"});
  const double q = 0.81;
  const std::vector<double>& row = found.rows.back();
  CHECK(row[0] == Approx(std::pow(0.9, 50)).epsilon(1e-9));
  const double variance = 0.1 * 0.1 * 2.0 * (1 - std::pow(q, 50)) / (1 - q);
  CHECK(row[2] == Approx(std::sqrt(variance)).epsilon(1e-9));
  CHECK(row[1] == Approx(row[0] * row[0] + variance).epsilon(1e-9));
  CHECK(row[4] < 1e-6);
  // x^2 at its minimum has no linear part: its deviation is not one of first order.
  CHECK(std::isnan(row[3]));
  CHECK(found.rows.front()[2] == 0);
}

TEST_CASE("moments: neglects the orders that it says", "[moments]") {
  const std::function<double(double)> field = [](double x) { return -x - 0.8 * x * x; };
  constexpr double eta = 0.1;
  constexpr int steps = 11;
  std::vector<double> of_mean, of_variance, ratio;
  for (const Index batch : {8, 16, 32, 64}) {
    const auto [mean, variance] =
        over_all_draws(0.5, 1 / std::sqrt(static_cast<double>(batch)), eta, steps, field);
    AnyRung<double> rung = one_number(0.5, 1.0, field);
    rung.draws.sample = nullptr;  // Draws of its own have no third cumulant.
    // One by one: what blocks leave out is a share of what third cumulants add.
    WalkRequest request;
    request.step_size = eta;
    request.steps = steps;
    request.save_steps = {steps};
    request.batch = batch;
    const Prediction plain = predict_in_blocks([&] { return FollowedSteps{rung}; }, 1);
    const Trajectory<double> found = plain.rows(request, nullptr);
    REQUIRE(found.outcome.ending == Ending::reached_end);
    of_mean.push_back(std::fabs(found.rows.back()[0] - mean));
    of_variance.push_back(std::fabs(std::pow(found.rows.back()[2], 2) / variance - 1));
    ratio.push_back(found.rows.back()[4]);
  }
  for (std::size_t i = 0; i + 1 < of_mean.size(); ++i) {
    CHECK(std::log2(of_mean[i] / of_mean[i + 1]) == Approx(3.0).margin(0.4));
    CHECK(std::log2(of_variance[i] / of_variance[i + 1]) == Approx(2.0).margin(0.4));
    // What is reported of the error is of the order of the error.
    CHECK(std::log2(ratio[i] / ratio[i + 1]) == Approx(1.0).margin(0.2));
    CHECK(of_variance[i] < ratio[i]);
  }
}

TEST_CASE("moments: of a bend with noise from little to much, to 2 in 100 or left out",
          "[moments]") {
  constexpr double eta = 0.1;
  constexpr int steps = 11;
  int known = 0, left_out = 0;
  for (const double bend : {-0.8, -0.4, 0.4}) {
    const std::function<double(double)> field = [bend](double x) { return -x + bend * x * x; };
    double deviation_before = 1;
    for (const Index batch : {1, 2, 4, 8, 16, 32}) {
      const auto [mean, variance] =
          over_all_draws(0.5, 3 / std::sqrt(static_cast<double>(batch)), eta, steps, field);
      AnyRung<double> rung = one_number(0.5, 9.0, field);
      rung.draws.sample = nullptr;
      rung.clone = [rung] { return rung; };
      const Trajectory<double> found = predicted(rung, eta, steps, batch);
      INFO("bend " << bend << " batch " << batch);
      if (found.outcome.ending != Ending::reached_end) {
        ++left_out;
        continue;
      }
      const std::vector<double>& row = found.rows.back();
      INFO("second_order " << row[4] << ": " << row[0] << " +- " << row[2] << ", in truth " << mean
                           << " +- " << std::sqrt(variance));
      if (std::isnan(row[2])) {
        ++left_out;
        CHECK(row[4] > 0.1);
        CHECK((std::isnan(row[0]) || row[4] < 0.2));
        continue;
      }
      ++known;
      CHECK(row[4] < 0.2);
      CHECK(std::fabs(row[0] - mean) < 0.02 * std::sqrt(variance));
      CHECK(row[2] == Approx(std::sqrt(variance)).epsilon(0.02));
      CHECK(std::sqrt(variance) < deviation_before);
      deviation_before = std::sqrt(variance);
    }
  }
  CHECK(known >= 8);
  CHECK(left_out >= 1);
}

TEST_CASE("moments: ends at a saddle, by its own word", "[moments]") {
  // The mean stays at 0 by symmetry, so that the variance alone can tell.
  const auto rung = one_number(0.0, 1.0, [](double x) { return x - x * x * x; });
  constexpr double eta = 0.02;
  constexpr Index batch = 100;
  const Trajectory<double> found = predicted(rung, eta, 1000, batch);
  REQUIRE(found.outcome.ending == Ending::diverged);
  CHECK_THAT(found.outcome.notes.back(), Catch::Contains("the prediction ends here"));
  CHECK(found.outcome.t_reached > 2);
  CHECK(found.outcome.t_reached < 6);
  // The ensemble: as predicted at the last row that has a deviation, and the runs part soon after.
  WalkRequest request;
  request.step_size = eta;
  request.steps = 1000;
  std::size_t row = found.rows.size() - 1;
  while (row > 0 && std::isnan(found.rows[row][2])) --row;
  REQUIRE(row > 0);
  const auto last = static_cast<std::uint64_t>(std::lround(found.t[row] / eta));
  request.save_steps = {last, 1000};
  request.batch = batch;
  request.runs = 4000;
  request.seed = 3;
  double at_last = 0, at_end = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    at_last += run.rows[0][1] / 4000;
    at_end += run.rows[1][1] / 4000;
  }
  CHECK(std::sqrt(at_last) == Approx(found.rows[row][2]).epsilon(0.05));
  CHECK(at_end == Approx(1.0).margin(0.1));
}

TEST_CASE("moments: the law at rest solves its equations", "[moments]") {
  // x' = 1 - x^2 rests at 1; there C = M C M' + eta^2 V/B with M = 1 - 2 eta, and s = -C/(2 M').
  const auto rung = one_number(0.2, 3.0, [](double x) { return 1 - x * x; });
  constexpr double eta = 0.1;
  constexpr Index batch = 50;
  WalkRequest request;
  request.step_size = eta;
  request.batch = batch;
  const std::vector<double> row = predict_at_rest(rung, "toy", request).rows.front();
  const double variance = eta * eta * 3.0 / batch / (1 - 0.8 * 0.8);
  // Relative errors of order C.
  CHECK(row[0] == Approx(1 - variance / 2).epsilon(variance * variance));
  CHECK(row[2] == Approx(std::sqrt(variance)).epsilon(2 * variance));
  // Where the steps themselves end.
  const Trajectory<double> steps = predicted(rung, eta, 400, batch);
  CHECK(row[0] == Approx(steps.rows.back()[0]).epsilon(2 * variance * variance));
  CHECK(row[2] == Approx(steps.rows.back()[2]).epsilon(2 * variance));
  CHECK_THROWS_WITH(
      predict_at_rest(one_number(0.0, 1.0, [](double x) { return x - x * x * x; }), "toy", request),
      Catch::Contains("is not stable under steps of --eta 0.1"));
  CHECK_THROWS_WITH(
      predict_at_rest(one_number(0.0, 1.0, [](double) { return 1.0; }), "toy", request),
      Catch::Contains("does not come to rest"));
}

TEST_CASE("moments: refuses what it does not know", "[moments]") {
  AnyRung<double> rung = one_number(0.0, 1.0, [](double x) { return -x; });
  rung.draws.covariance = nullptr;
  CHECK_THROWS_WITH(predict_moments(rung, "toy"), Catch::Contains("law of one draw is not known"));
}

TEST_CASE("moments: a row of every model, and steps of none", "[moments]") {
  for (const Theory& theory : theories()) {
    const Model& model = *theory.model;
    INFO(model.name());
    CHECK(model.row("moments").predict);
    CHECK_THROWS_WITH(model.rung("moments", Parameters(model.name()), 1),
                      Catch::Contains("is predicted"));
  }
}

}  // namespace moments_test
