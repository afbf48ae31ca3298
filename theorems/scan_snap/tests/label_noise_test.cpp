// Label noise of scan-snap against plain enumeration: every class, label and sequence of two
// tokens.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/tests/three_classes.hpp"

namespace label_noise_test {

using namespace scan_snap_of_three_classes;

TEST_CASE("scan-snap label noise: mean and covariance of a draw over class and label and tokens",
          "[scan_snap]") {
  for (const double rho : {0.0, noise}) {
    for (const double temperature : {1.0, 1.5}) {
      INFO("label noise " << rho << ", temperature " << temperature);
      const TrainingInstance<double> instance = instance_of(rho, temperature);
      const PopulationFlow<double> flow(instance);
      REQUIRE(flow.known_draws() == KnownDraws::directly);
      const Vector<double> x = some_state(flow);
      const Index n = x.size();
      Vector<double> expected = Vector<double>::Zero(n);
      Matrix<double> square = Matrix<double>::Zero(n, n);
      for (const Sample& s : all_samples(instance, x, pairs_of(flow))) {
        expected += s.probability * s.direction;
        square += s.probability * s.direction * s.direction.transpose();
      }
      Vector<double> mean(n);
      flow.draw_mean(x, mean);
      CHECK((mean - expected).cwiseAbs().maxCoeff() < 1e-12);
      Matrix<double> covariance;
      flow.draw_covariance(x, Matrix<double>::Identity(n, n), covariance);
      CHECK((covariance - (square - expected * expected.transpose())).cwiseAbs().maxCoeff() <
            1e-12);
      // A hundred thousand draws, within five standard errors.
      constexpr Index draws = 100'000;
      Vector<double> sampled(n);
      Stream stream(5, 0, 0);
      flow.sample_rhs(x, sampled, stream, draws);
      for (Index i = 0; i < n; ++i) {
        CHECK(std::fabs(sampled[i] - mean[i]) <=
              5 * std::sqrt(covariance(i, i) / double(draws)) + 1e-14);
      }
    }
  }
}

TEST_CASE("scan-snap label noise: the field is the mean of clean fields over labels",
          "[scan_snap]") {
  for (const double temperature : {1.0, 1.5}) {
    const TrainingInstance<double> instance = instance_of(noise, temperature);
    const PopulationFlow<double> flow(instance);
    const Vector<double> x = some_state(flow);
    Vector<double> tempered = x;
    tempered.tail(pairs_of(flow)) /= temperature;
    Vector<double> expected = Vector<double>::Zero(x.size());
    // Labels moved on by 0, 1 or 2 classes together: every label as often as any other.
    for (std::size_t shift = 0; shift < 3; ++shift) {
      TrainingInstance<double> clean = instance_of(0, 1);
      for (std::size_t n = 0; n < 3; ++n) {
        clean.classes.next[n] = instance.classes.next[(n + shift) % 3];
      }
      Vector<double> field(x.size());
      PopulationFlow<double>(clean).rhs(tempered, field, 0.0);
      expected += ((shift == 0 ? 1 - noise : 0.0) + noise / 3) * field;
    }
    expected.tail(pairs_of(flow)) /= temperature;
    Vector<double> field(x.size());
    flow.rhs(x, field, 0.0);
    CHECK((field - expected).cwiseAbs().maxCoeff() < 1e-14);
  }
}

TEST_CASE("scan-snap label noise: classes and tokens drawn are those of no noise", "[scan_snap]") {
  const PopulationFlow<double> clean(instance_of(0, 1));
  const PopulationFlow<double> noisy(instance_of(noise, 1));
  const Vector<double> x = some_state(clean);
  const std::vector<Sample> samples = all_samples(noisy.instance(), x, pairs_of(noisy));
  const auto drawn = [&](const PopulationFlow<double>& flow, std::uint64_t step) -> const Sample& {
    Vector<double> direction(x.size());
    Stream stream(7, 2, step);
    flow.sample_rhs(x, direction, stream, 1);
    const auto nearest =
        std::min_element(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
          return (a.direction - direction).norm() < (b.direction - direction).norm();
        });
    REQUIRE((nearest->direction - direction).norm() < 1e-13);
    return *nearest;
  };
  constexpr int steps = 2000;
  int replaced = 0;
  const auto token = [&](Index entry) {
    return clean.instance().classes.token[static_cast<std::size_t>(entry)];
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    const Sample& of_clean = drawn(clean, step);
    const Sample& of_noisy = drawn(noisy, step);
    // Two classes of one query can show the same tokens.
    CHECK(token(of_clean.first) == token(of_noisy.first));
    CHECK(token(of_clean.second) == token(of_noisy.second));
    replaced += of_clean.label != of_noisy.label ? 1 : 0;
  }
  // Two of three replacements are another label.
  const double share = noise * 2 / 3;
  CHECK(std::fabs(replaced - steps * share) < 5 * std::sqrt(steps * share * (1 - share)));
}

}  // namespace label_noise_test
