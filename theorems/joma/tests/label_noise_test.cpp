// Label noise of joma against plain enumeration: every class, label and count of tokens.

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/joma/tests/three_classes.hpp"

namespace label_noise_test {

using namespace joma_of_three_classes;

namespace {

struct Enumerated {
  Vector<double> mean;
  Matrix<double> covariance;
};

Enumerated enumerated(const ClassInstance<double>& instance, const Vector<double>& state) {
  const Index n = state.size();
  Enumerated found{Vector<double>::Zero(n), Matrix<double>::Zero(n, n)};
  for (Index c = 0; c < 3; ++c) {
    for_each_x(instance.token_law.col(c), instance.length, [&](const Vector<double>& x, double p) {
      for (Index y = 0; y < 3; ++y) {
        const double chance = instance.class_law[c] * p * chance_of_label(c, y);
        const Vector<double> g = direction_of(instance, state, y, x);
        found.mean += chance * g;
        found.covariance += chance * g * g.transpose();
      }
    });
  }
  found.covariance -= found.mean * found.mean.transpose();
  return found;
}

}  // namespace

TEST_CASE("joma label noise: mean and covariance of a draw over class and label and counts",
          "[joma]") {
  for (const Attention attention : {Attention::exp, Attention::softmax, Attention::linear}) {
    for (const Index length : {0, 3}) {
      INFO("attention " << static_cast<int>(attention) << ", length " << length);
      const ClassInstance<double> instance = instance_of(attention, length);
      const PopulationFlow<double> flow(instance);
      REQUIRE(flow.known_draws() == KnownDraws::directly);
      const Vector<double> x = flow.initial();
      const Index n = x.size();
      const Enumerated expected = enumerated(instance, x);
      Vector<double> mean(n);
      flow.draw_mean(x, mean);
      CHECK((mean - expected.mean).cwiseAbs().maxCoeff() < 1e-12);
      Matrix<double> covariance;
      flow.draw_covariance(x, Matrix<double>::Identity(n, n), covariance);
      CHECK((covariance - expected.covariance).cwiseAbs().maxCoeff() < 1e-12);
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

TEST_CASE("joma label noise: the field is the mean of clean fields over labels", "[joma]") {
  const ClassInstance<double> instance = instance_of(Attention::exp, 40);
  const PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> field(x.size());
  flow.rhs(x, field, 0.0);
  ClassInstance<double> long_sequences = instance;
  long_sequences.length = 0;
  CHECK((field - enumerated(long_sequences, x).mean).cwiseAbs().maxCoeff() < 1e-14);
  // What is observed is that of the clean problem.
  const PopulationFlow<double> clean(instance_of(Attention::exp, 40, 0));
  std::vector<double> row(flow.columns().size()), of_clean(row.size());
  flow.observe(x, 0.0, row);
  clean.observe(x, 0.0, of_clean);
  CHECK(row == of_clean);
}

TEST_CASE("joma label noise: probabilities are from 0 to 1, of the rungs that train", "[joma]") {
  const Model& model = find_model("joma");
  const auto given = [](const char* value) { return Parameters("joma", {{"label_noise", value}}); };
  CHECK_THROWS_WITH(model.rung("sgd", given("-0.1"), 1), Catch::Contains("label_noise"));
  CHECK_THROWS_WITH(model.rung("sgd", given("1.01"), 1), Catch::Contains("label_noise"));
  CHECK_THROWS_AS(given("0.1").check_names(model.parameters(), "reduced"), InputError);
  CHECK_NOTHROW(given("0.1").check_names(model.parameters(), "flow"));
}

}  // namespace label_noise_test
