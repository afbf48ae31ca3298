/// The dense noisy step, in double and in single precision.

#include <omp.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <vector>

#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"
#include "theorems/scb/rungs/single_descent.hpp"

namespace noisy_step_test {

using namespace popgrad;
using namespace popgrad::scb;

namespace {

// A transfer start: V and A move from the first step on.
Training<double> moving(Index tokens, Index positions) {
  Training<double> made;
  made.bigrams = random_bigrams(tokens, positions, 2, 1);
  made.start = transfer_start(made.bigrams, 0.5, 0.5, 1);
  made.attention_rate = 1.3;
  return made;
}

NoiseLevels even_noise(Index tokens, double value, double attention) {
  return {value, Vector<double>::Constant(tokens, attention), NoiseShape::constant};
}

// The state after one step, as doubles.
Vector<double> stepped(const NoisyDescent& rung, double eta, Index batch, std::uint64_t step) {
  Stream stream(3, 1, step);
  Vector<double> x = rung.initial();
  rung.sample_step(x, eta, stream, batch);
  return x;
}
Vector<double> stepped(const SingleDescent& rung, double eta, Index batch, std::uint64_t step) {
  Stream stream(3, 1, step);
  SingleState x = rung.initial();
  rung.sample_step(x, eta, stream, batch);
  return x.in_double();
}

WalkRequest steps_of(std::uint64_t steps, double eta, Index batch, std::uint32_t runs,
                     std::uint64_t seed) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = {0, steps / 2, steps};
  request.batch = batch;
  request.runs = runs;
  request.seed = seed;
  return request;
}

std::vector<Trajectory<double>> walks_in_double(const Training<double>& training,
                                                const NoiseLevels& levels,
                                                const WalkRequest& request) {
  const AnyRung<double> rung = forget_type(NoisyDescent(training, levels));
  return walk(rung, rung.initial, request);
}

// Means and variances of the last row, each over `runs`.
struct Moments {
  std::vector<double> mean, variance;
};
Moments moments_at_end(const std::vector<Trajectory<double>>& runs) {
  const std::size_t columns = runs.front().columns.size();
  Moments found{std::vector<double>(columns), std::vector<double>(columns)};
  const auto count = static_cast<double>(runs.size());
  for (std::size_t c = 0; c < columns; ++c) {
    for (const auto& run : runs) found.mean[c] += run.rows.back()[c] / count;
    for (const auto& run : runs) {
      found.variance[c] += std::pow(run.rows.back()[c] - found.mean[c], 2) / (count - 1);
    }
  }
  return found;
}

}  // namespace

TEMPLATE_TEST_CASE("noisy step: noise in pieces is that of independent normals less their mean",
                   "[scb]", NoisyDescent, SingleDescent) {
  constexpr Index n = 3;
  constexpr Index positions = 2 * noise_piece + 300;
  constexpr double eta = 0.4;
  constexpr Index batch = 3;
  const Training<double> training = moving(n, positions);
  const TestType rung(training, even_noise(n, 0, 0.2));
  const Vector<double> center = stepped(rung, eta, 0, 0);
  const double level = eta * training.attention_rate * 0.2 / std::sqrt(double{batch});
  // Sums over ranges of one column, and a contrast of two.
  const auto range = [](const Vector<double>& a, Index from, Index count) {
    return a.segment(from, count).sum();
  };
  constexpr std::array<std::array<Index, 2>, 7> ranges{{{0, noise_piece},
                                                        {noise_piece, noise_piece},
                                                        {2 * noise_piece, 300},
                                                        {0, noise_piece / 2},
                                                        {noise_piece / 2, noise_piece},
                                                        {1, 1},
                                                        {noise_piece - 100, 1300}}};
  constexpr int draws = 3000;
  Matrix<double> products = Matrix<double>::Zero(8, 8);
  Vector<double> sums = Vector<double>::Zero(8);
  double mass = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const Vector<double> off = stepped(rung, eta, batch, draw) - center;
    Vector<double> seen(8);
    for (Index i = 0; i < 7; ++i) {
      const auto& at = ranges[static_cast<std::size_t>(i)];
      seen[i] = range(off.segment(n * n, positions), at[0], at[1]);
    }
    seen[7] = range(off.segment(n * n + positions, positions), 0, noise_piece);
    mass = std::max(mass, std::fabs(off.segment(n * n, positions).sum()));
    sums += seen;
    products += seen * seen.transpose();
  }
  // Cov(sum over R, sum over S) = level^2 (|R and S| - |R| |S|/T) within a column, 0 between two.
  const double all = positions;
  for (Index i = 0; i < 8; ++i) {
    for (Index j = 0; j <= i; ++j) {
      const auto covariance = [&](Index k, Index l) {
        if ((k == 7) != (l == 7)) return 0.0;
        const auto& r = ranges[k == 7 ? 0 : static_cast<std::size_t>(k)];
        const auto& s = ranges[l == 7 ? 0 : static_cast<std::size_t>(l)];
        const Index common =
            std::max<Index>(0, std::min(r[0] + r[1], s[0] + s[1]) - std::max(r[0], s[0]));
        return level * level *
               (static_cast<double>(common) -
                static_cast<double>(r[1]) * static_cast<double>(s[1]) / all);
      };
      INFO("sums " << i << " and " << j);
      const double error =
          std::sqrt((covariance(i, i) * covariance(j, j) + std::pow(covariance(i, j), 2)) / draws);
      CHECK(std::fabs(products(i, j) / draws - covariance(i, j)) < 5 * error);
    }
    CHECK(std::fabs(sums[i] / draws) < 5 * std::sqrt(products(i, i) / draws / draws));
  }
  // Of rounding alone: of one number, T times.
  CHECK(mass < level * 1e-3);
}

TEST_CASE("noisy step: a column of one piece takes the first normals of its stream", "[scb]") {
  const Training<double> training = moving(3, 130);
  const NoisyDescent rung(training, even_noise(3, 0, 0.2));
  const Vector<double> off = stepped(rung, 0.4, 1, 5) - stepped(rung, 0.4, 0, 5);
  Vector<double> z(130);
  Stream(3, 1, 5).skip(2 * Stream::groups(130)).normals({z.data(), 130});
  z.array() -= z.mean();
  CHECK((off.tail(130) - 0.4 * 1.3 * 0.2 * z).norm() < 1e-14);
}

TEST_CASE("noisy step: in floats it is the step in double but for rounding", "[scb]") {
  constexpr Index n = 5;
  constexpr Index positions = 3000;
  constexpr double eta = 0.2;
  constexpr std::uint64_t steps = 100;
  const Training<double> training = moving(n, positions);
  const NoisyDescent wide(training, no_noise(n));
  const SingleDescent narrow(training, no_noise(n));
  Vector<double> x = wide.initial();
  SingleState y = narrow.initial();
  for (std::uint64_t step = 0; step < steps; ++step) {
    Stream stream(1, 0, step);
    wide.sample_step(x, eta, stream, 0);
    narrow.sample_step(y, eta, stream, 0);
  }
  // Every step moves an entry by less than it is: floats round the change twice and the sum once, 2^-22
  // of the entry. What is apart grows with the flow, at sqrt(K_P K_Q) per unit of time or less.
  const Bigrams<double>& b = training.bigrams;
  const double rate = std::sqrt(1.3 * transition_size(b) * context_size(b));
  const double bound = 0x1p-22 * (1 + steps) * std::exp(rate * eta * steps);
  const Vector<double> narrow_x = y.in_double();
  const Eigen::Map<const Matrix<double>> a(x.data() + n * n, positions, n);
  const Matrix<double> apart = (y.attention.cast<double>() - a).cwiseQuotient(a).cwiseAbs();
  INFO("rate " << rate << ", bound " << bound << ", apart by " << apart.maxCoeff() << ", V by "
               << (narrow_x - x).head(n * n).norm());
  CHECK(apart.maxCoeff() < bound);
  CHECK(apart.maxCoeff() > 0x1p-26);
  CHECK((narrow_x - x).head(n * n).cwiseAbs().maxCoeff() < bound);
}

TEST_CASE("noisy step: the sum of a column stays at 1 to the rounding of one step", "[scb]") {
  constexpr Index n = 3;
  const Training<double> training = moving(n, 5000);
  const NoiseLevels levels = even_noise(n, 0.3, 0.3);
  WalkRequest request = steps_of(600, 0.05, 100, 1, 4);
  request.keep_states = true;
  const auto check = [&](const Trajectory<double>& run, double rounding) {
    // The start itself is 1/T, all rounded alike.
    for (std::size_t at = 1; at < run.states.size(); ++at) {
      for (Index k = 0; k < n; ++k) {
        const auto a = run.states[at].segment(n * n + k * 5000, 5000);
        // Roundings of independent signs; what earlier steps have left is gone.
        INFO(a.sum() - 1);
        CHECK(std::fabs(a.sum() - 1) < 6 * rounding * a.norm() + 1e-14);
      }
    }
  };
  check(walks_in_double(training, levels, request).front(), 0x1p-53);
  check(single_walk(training, levels).runs(nullptr, request).front(), 0x1p-24);
}

TEST_CASE("noisy step: in floats runs have the law of those in double", "[scb]") {
  const Training<double> training = moving(3, 1500);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  constexpr std::uint32_t runs = 300;
  const auto wide = walks_in_double(training, levels, steps_of(100, 0.05, 2000, runs, 5));
  const AnyWalk narrow = single_walk(training, levels);
  const auto other = narrow.runs(nullptr, steps_of(100, 0.05, 2000, runs, 6));
  const Moments a = moments_at_end(wide);
  const Moments b = moments_at_end(other);
  // Both moments of eight observables, at 1e-4 in all.
  const double z = two_sided_normal_bound(1e-4, 16);
  for (std::size_t c = 0; c < a.mean.size(); ++c) {
    if (narrow.columns[c] == "S_mean") continue;  // is 1
    INFO(narrow.columns[c]);
    CHECK(std::fabs(a.mean[c] - b.mean[c]) < z * std::sqrt((a.variance[c] + b.variance[c]) / runs));
    // Of the logarithm of a variance: 2/(n - 1) for normal observables, which these are nearly.
    CHECK(std::fabs(std::log(a.variance[c] / b.variance[c])) < z * std::sqrt(4.0 / (runs - 1)));
  }
  // The same words make the same run: what is apart is rounding, of normals as of entries.
  const auto same = narrow.runs(nullptr, steps_of(100, 0.05, 2000, 3, 5));
  for (std::size_t run = 0; run < same.size(); ++run) {
    for (std::size_t c = 0; c < narrow.columns.size(); ++c) {
      INFO(narrow.columns[c]);
      CHECK(same[run].rows.back()[c] == Approx(wide[run].rows.back()[c]).epsilon(0x1p-18));
    }
  }
}

TEST_CASE("noisy step: runs do not depend on threads, nor on where they were stopped", "[scb]") {
  // Large enough for threads within a step.
  const Training<double> training = moving(40, 3000);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  const AnyWalk narrow = single_walk(training, levels);
  const AnyRung<double> rung = forget_type(NoisyDescent(training, levels));
  const AnyWalk wide = any_walk(rung);
  for (const AnyWalk* walks : {&narrow, &wide}) {
    WalkRequest request = steps_of(12, 0.05, 1000, 3, 7);
    request.keep_states = true;
    request.jobs = 1;
    const auto one = walks->runs(nullptr, request);
    request.jobs = 3;
    const auto three = walks->runs(nullptr, request);
    for (std::size_t run = 0; run < one.size(); ++run) {
      CHECK(one[run].last_state == three[run].last_state);
      CHECK(one[run].rows == three[run].rows);
    }
    request.runs = 1;
    omp_set_num_threads(3);
    const auto alone = walks->runs(nullptr, request);
    omp_set_num_threads(omp_get_num_procs());
    CHECK(alone.front().last_state == one.front().last_state);
    // From the state half way on, which a checkpoint has as doubles.
    request.start_step = 6;
    request.save_steps = {12};
    const auto rest = walks->runs(&one.front().states[1], request);
    CHECK(rest.front().last_state == one.front().last_state);
    CHECK(rest.front().rows.back() == one.front().rows.back());
    CHECK(walks->state_names().size() == static_cast<std::size_t>(one.front().last_state.size()));
  }
}

TEST_CASE("noisy step: divergence of floats is told", "[scb]") {
  const Training<double> training = moving(3, 500);
  const AnyWalk narrow = single_walk(training, no_noise(3));
  const Trajectory<double> run = narrow.runs(nullptr, steps_of(2000, 60, 1, 1, 1)).front();
  CHECK(run.outcome.ending == Ending::diverged);
  REQUIRE(run.outcome.notes.size() == 1);
  CHECK_THAT(run.outcome.notes.front(), Catch::Contains("stable below 2"));
}

}  // namespace noisy_step_test
