/// Sequences of middle length: mean and covariance of one draw from nodes, against every count.

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/momentum_pair.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"

namespace sampled_law_test {

using namespace popgrad;

namespace {

struct Instance {
  double noise, temperature;
  int length = 70;  // of the context; 2 * 2556 counts
};

AnyRung<double> rung_of(const Instance& made) {
  const Value law(Value::List{Value(Value::List{"0.5", "0.2", "0.3", "0"}),
                              Value(Value::List{"0.25", "0.45", "0", "0.3"})});
  return find_model("scan-snap")
      .rung("sgd",
            Parameters("scan-snap", Record{{"P", law},
                                           {"start", "uniform"},
                                           {"eta_Y", "2"},
                                           {"T", std::to_string(made.length + 1)},
                                           {"label_noise", to_text(made.noise)},
                                           {"temperature", to_text(made.temperature)}}),
            3);
}

// Lemma 1 by its words, over all counts and labels.
void exact_moments(const Instance& made, const AnyRung<double>& rung, const Vector<double>& x,
                   Vector<double>& mean, Matrix<double>& covariance) {
  std::map<std::string, Index> at;
  for (Index i = 0; i < rung.dimension; ++i) at[rung.state_names[static_cast<std::size_t>(i)]] = i;
  const Matrix<double> law{{0.5, 0.2, 0.3, 0}, {0.25, 0.45, 0, 0.3}};
  const Index n = rung.dimension;
  const int length = made.length;
  mean = Vector<double>::Zero(n);
  Matrix<double> square = Matrix<double>::Zero(n, n);
  for (Index cls = 0; cls < 2; ++cls) {
    std::vector<Index> tokens;
    for (Index l = 0; l < 4; ++l) {
      if (law(cls, l) > 0) tokens.push_back(l);
    }
    const auto z = [&](Index l) { return at.at("z_0_" + std::to_string(l)); };
    const auto y = [&](Index l, Index c) {
      return at.at("y_" + std::to_string(l) + "_" + std::to_string(c));
    };
    for (int a = 0; a <= length; ++a) {
      for (int b = 0; a + b <= length; ++b) {
        const std::vector<int> counts{a, b, length - a - b};
        double log = std::lgamma(length + 1);
        Vector<double> u(3);
        for (std::size_t i = 0; i < 3; ++i) {
          log += counts[i] * std::log(law(cls, tokens[i])) - std::lgamma(counts[i] + 1);
          u[static_cast<Index>(i)] = counts[i] * std::exp(x[z(tokens[i])] / made.temperature);
        }
        const Vector<double> f = u / u.norm();
        Vector<double> alpha = Vector<double>::Zero(4);
        for (Index c = 0; c < 4; ++c) {
          for (Index i = 0; i < 3; ++i)
            alpha[c] += f[i] * x[y(tokens[static_cast<std::size_t>(i)], c)];
        }
        alpha = alpha.array().exp();
        alpha /= alpha.sum();
        for (Index label = 0; label < 2; ++label) {
          const double chance =
              std::exp(log) / 2 * ((label == cls ? 1 - made.noise : 0.0) + made.noise / 2);
          Vector<double> error = -alpha;
          error[label] += 1;
          Vector<double> g = Vector<double>::Zero(n);
          Vector<double> pull = Vector<double>::Zero(3);
          for (Index i = 0; i < 3; ++i) {
            for (Index c = 0; c < 4; ++c) {
              const Index entry = y(tokens[static_cast<std::size_t>(i)], c);
              g[entry] = 2 * f[i] * error[c];
              pull[i] += x[entry] * error[c];
            }
          }
          const double along = f.dot(pull);
          for (Index i = 0; i < 3; ++i) {
            g[z(tokens[static_cast<std::size_t>(i)])] =
                f[i] * (pull[i] - f[i] * along) / made.temperature;
          }
          mean += chance * g;
          square += chance * g * g.transpose();
        }
      }
    }
  }
  covariance = square - mean * mean.transpose();
}

}  // namespace

TEST_CASE("scan-snap: the law of one draw of middle length against every count", "[scan_snap]") {
  for (const Instance& made : {Instance{0, 1}, Instance{0.2, 0.7}}) {
    const AnyRung<double> rung = rung_of(made);
    REQUIRE(rung.draws.covariance);
    CHECK(rung.draws.known_from_nodes());
    Vector<double> x = 3 * rung.initial;
    Vector<double> mean, known(x.size()), long_sequences(x.size());
    Matrix<double> covariance, images;
    exact_moments(made, rung, x, mean, covariance);
    rung.draws.mean(x, known);
    rung.field.value(x, long_sequences, 0.0);
    const Matrix<double> identity = Matrix<double>::Identity(x.size(), x.size());
    rung.draws.covariance(x, identity, images);
    // What finite sequences shift is a hundred times as much.
    const double bias = (mean - long_sequences).norm();
    CHECK(bias > 1e-4);
    CHECK((known - mean).norm() < 1e-2 * bias);
    CHECK((images - covariance).norm() < 1e-3 * covariance.norm());
    // Copies have it likewise, with the same nodes.
    Matrix<double> again;
    rung.clone().draws.covariance(x, identity, again);
    CHECK(again == images);
    CHECK(sampling_error(rung, x, identity) < 1e-2);
    // Its Jacobian, against differences.
    Matrix<double> jacobian;
    rung.draws.mean_jacobian(x, jacobian);
    Vector<double> ahead(x.size()), behind(x.size());
    for (Index j = 0; j < x.size(); ++j) {
      constexpr double h = 1e-5;
      Vector<double> at = x;
      at[j] += h;
      rung.draws.mean(at, ahead);
      at[j] -= 2 * h;
      rung.draws.mean(at, behind);
      INFO(rung.state_names[static_cast<std::size_t>(j)]);
      CHECK((jacobian.col(j) - (ahead - behind) / (2 * h)).norm() < 1e-7 * (1 + jacobian.norm()));
    }
    // That of heavy ball has it too.
    const AnyRung<double> pair = momentum_pair(rung, 0.6, 0.1);
    REQUIRE(pair.draws.mean_jacobian);
    Vector<double> at(2 * x.size());
    at << x, 0.1 * x.reverse();
    Matrix<double> known_of_pair;
    pair.draws.mean_jacobian(at, known_of_pair);
    Vector<double> direction = Vector<double>::LinSpaced(at.size(), -1, 1.5);
    Vector<double> later(at.size()), earlier(at.size());
    pair.draws.mean(at + 1e-5 * direction, later);
    pair.draws.mean(at - 1e-5 * direction, earlier);
    CHECK((known_of_pair * direction - (later - earlier) / 2e-5).norm() <
          1e-6 * (1 + known_of_pair.norm()));
  }
}

TEST_CASE("scan-snap: the law of one draw over counts that are evaluated together is exact",
          "[scan_snap]") {
  // 2 * 861 counts; with noisy labels twice as many pairs of them.
  for (const Instance& made : {Instance{0, 1, 40}, Instance{0.2, 0.7, 40}}) {
    const AnyRung<double> rung = rung_of(made);
    const Vector<double> x = 3 * rung.initial;
    Vector<double> mean, known(x.size());
    Matrix<double> covariance, images;
    exact_moments(made, rung, x, mean, covariance);
    rung.draws.mean(x, known);
    const Matrix<double> identity = Matrix<double>::Identity(x.size(), x.size());
    rung.draws.covariance(x, identity, images);
    // Of sums of 1e3 terms, and of logarithms of gamma near 1e2.
    constexpr double rounding = 1e-11;
    CHECK((known - mean).norm() < rounding * mean.norm());
    CHECK((images - covariance).norm() < rounding * covariance.norm());
    CHECK(sampling_error(rung, x, identity) == 0);
    CHECK(rung.draws.mean_jacobian);
  }
}

}  // namespace sampled_law_test
