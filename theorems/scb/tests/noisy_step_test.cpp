/// The dense noisy step.

#include <omp.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"

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

}  // namespace

TEST_CASE("noisy step: noise in pieces is that of independent normals less their mean", "[scb]") {
  constexpr Index n = 3;
  constexpr Index positions = 2 * noise_piece + 300;
  constexpr double eta = 0.4;
  constexpr Index batch = 3;
  const Training<double> training = moving(n, positions);
  const NoisyDescent rung(training, even_noise(n, 0, 0.2));
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
  // Only of rounding: of one number, T times.
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

TEST_CASE("noisy step: the sum of a column stays at 1 to the rounding of one step", "[scb]") {
  constexpr Index n = 3;
  const Training<double> training = moving(n, 5000);
  const NoiseLevels levels = even_noise(n, 0.3, 0.3);
  WalkRequest request = steps_of(600, 0.05, 100, 1, 4);
  request.keep_states = true;
  const Trajectory<double> run = walks_in_double(training, levels, request).front();
  // The start itself is 1/T, all rounded alike.
  for (std::size_t at = 1; at < run.states.size(); ++at) {
    for (Index k = 0; k < n; ++k) {
      const auto a = run.states[at].segment(n * n + k * 5000, 5000);
      // Roundings of independent signs; what earlier steps have left is gone.
      INFO(a.sum() - 1);
      CHECK(std::fabs(a.sum() - 1) < 6 * 0x1p-53 * a.norm() + 1e-14);
    }
  }
}

TEST_CASE("noisy step: runs do not depend on threads, nor on where they were stopped", "[scb]") {
  // Large enough for threads within a step.
  const Training<double> training = moving(40, 3000);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  const AnyRung<double> rung = forget_type(NoisyDescent(training, levels));
  WalkRequest request = steps_of(12, 0.05, 1000, 3, 7);
  request.keep_states = true;
  request.jobs = 1;
  const auto one = walk(rung, rung.initial, request);
  request.jobs = 3;
  const auto three = walk(rung, rung.initial, request);
  for (std::size_t run = 0; run < one.size(); ++run) {
    CHECK(one[run].last_state == three[run].last_state);
    CHECK(one[run].rows == three[run].rows);
  }
  request.runs = 1;
  omp_set_num_threads(3);
  const auto alone = walk(rung, rung.initial, request);
  omp_set_num_threads(omp_get_num_procs());
  CHECK(alone.front().last_state == one.front().last_state);
  // From the state half way on, which a checkpoint has as doubles.
  request.start_step = 6;
  request.save_steps = {12};
  const auto rest = walk(rung, one.front().states[1], request);
  CHECK(rest.front().last_state == one.front().last_state);
  CHECK(rest.front().rows.back() == one.front().rows.back());
  CHECK(rung.state_names.size() == static_cast<std::size_t>(one.front().last_state.size()));
}

}  // namespace noisy_step_test
