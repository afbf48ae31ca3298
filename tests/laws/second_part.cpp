/// Law: one step of part 2 of the three-part algorithm, dense and lumped, against
///
///   a   <- soft(a + eta g + s z, eta lambda)
///   g_t  = q_t <V,P> - a_t <V,V> - (<V,P> - S <V,V>)/T
///   s    = eta sigma_A/sqrt(B)
/// with eta = eta_2 eta_A, position by position: mean, second moment and the share that is not zero.

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"

#include "laws/cases.hpp"
#include "theorems/scb/tests/law.hpp"

namespace popgrad::laws::second_part_laws {
namespace {

constexpr double six = 6;

struct Moments {
  double first = 0, second = 0, fourth = 0, nonzero = 0;
};

// Of soft(c + s z, threshold) for a standard normal z, by the trapezoidal rule.
Moments soft_moments(double c, double s, double threshold) {
  Moments m;
  constexpr int points = 8000;
  constexpr double reach = 9;
  for (int i = 0; i <= points; ++i) {
    const double z = reach * (2.0 * i / points - 1);
    const double weight =
        std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) * 2 * reach / points;
    const double moved = c + s * z;
    const double left =
        std::fabs(moved) > threshold ? (moved > 0 ? moved - threshold : moved + threshold) : 0.0;
    m.first += weight * left;
    m.second += weight * left * left;
    m.fourth += weight * left * left * left * left;
    if (left != 0) m.nonzero += weight;
  }
  return m;
}

double inner(const BigramLaw& b, const Matrix<double>& left, const Matrix<double>& right) {
  double sum = 0;
  for (Index k = 0; k < b.tokens(); ++k) sum += b.mu[k] * left.col(k).dot(right.col(k));
  return sum - (left * b.mu).dot(right * b.mu);
}

void check_step(const Case& made) {
  const AnyRung<double> rung = made.make();
  const BigramLaw b = bigram_law(made);
  const Parameters& p = made.parameters;
  const bool three = rung.observables.columns.back() == "nonzeros";
  REQUIRE(three);
  const auto part = static_cast<std::size_t>(column(rung, "part"));
  Vector<double> start = rung.initial;
  constexpr Index batch = 2;
  std::uint64_t before = 0;
  // Into part 2, and a step further, so that zeros and others are both there.
  while (observed(rung, {start, 0.0})[part] < 2) {
    Stream stream(made.seed, 1, before++);
    rung.draws.step(start, 0.4, stream, batch);
    REQUIRE(before < 100);
  }
  Stream further(made.seed, 1, before);
  rung.draws.step(start, 0.4, further, batch);
  const Whole now = whole(made, b, rung, start);
  const Index n = b.tokens();
  const Index positions = b.positions();
  const double eta = p.number<double>("eta_2", "") * p.number<double>("eta_A", "1");
  const double threshold = eta * p.number<double>("lambda", "");
  const double product = inner(b, now.values, b.kernel);
  const double square = inner(b, now.values, now.values);
  double overlap = 0, size = 0, of_context = 0;
  for (Index k = 0; k < n; ++k) {
    overlap += b.mu[k] * now.attention.col(k).dot(b.context.col(k));
    size += b.mu[k] * now.attention.col(k).squaredNorm();
    of_context += b.mu[k] * b.context.col(k).squaredNorm();
  }
  const bool constant = p.text("noise", "multiplicative") == "constant";
  const double shape = constant ? 1 : std::sqrt(square / inner(b, b.kernel, b.kernel));
  const double s = eta * shape * p.number<double>("sigma_A", "") / std::sqrt(double{batch});
  const double s_values = p.number<double>("eta_2", "") * p.number<double>("sigma_V", "") *
                          (constant ? 1 : std::sqrt(size / of_context)) / std::sqrt(double{batch});
  // What each token's support entries, and the others together, become.
  constexpr std::uint64_t draws = 6000;
  Matrix<double> first = Matrix<double>::Zero(positions, n), second = first, nonzero = first;
  Matrix<double> values = Matrix<double>::Zero(n, n), values_square = values;
  Vector<double> rest_first = Vector<double>::Zero(n), rest_second = rest_first,
                 rest_nonzero = rest_first;
  for (std::uint64_t i = 0; i < draws; ++i) {
    Stream stream(made.seed, 2, i);
    Vector<double> x = start;
    rung.draws.step(x, 0.4, stream, batch);
    const Whole next = whole(made, b, rung, x);
    first += next.attention;
    second += next.attention.cwiseAbs2();
    nonzero += (next.attention.array() != 0).cast<double>().matrix();
    values += next.values;
    values_square += next.values.cwiseAbs2();
    for (Index k = 0; k < n; ++k) {
      for (Index t = 0; t < positions; ++t) {
        if (b.context(t, k) > 0) continue;
        rest_first[k] += next.attention(t, k);
        rest_second[k] += next.attention(t, k) * next.attention(t, k);
        rest_nonzero[k] += next.attention(t, k) != 0 ? 1.0 : 0.0;
      }
    }
  }
  const auto count = static_cast<double>(draws);
  INFO(made.text());
  for (Index k = 0; k < n; ++k) {
    const double mass = now.attention.col(k).sum();
    const double shift = (product - mass * square) / static_cast<double>(positions);
    Moments rest;
    double rest_variance = 0;
    for (Index t = 0; t < positions; ++t) {
      const double a = now.attention(t, k);
      const double moved = a + eta * (b.context(t, k) * product - a * square - shift);
      const Moments expected = soft_moments(moved, s, threshold);
      if (b.context(t, k) == 0) {
        rest.first += expected.first;
        rest.second += expected.second;
        rest.fourth += expected.fourth;
        rest.nonzero += expected.nonzero;
        rest_variance += expected.second - expected.first * expected.first;
        continue;
      }
      INFO("token " << k << ", position " << t);
      const double variance = expected.second - expected.first * expected.first;
      CHECK(std::fabs(first(t, k) / count - expected.first) <=
            six * std::sqrt(variance / count) + 1e-9);
      CHECK(std::fabs(second(t, k) / count - expected.second) <=
            six * std::sqrt(expected.fourth / count) + 1e-9);
      CHECK(std::fabs(nonzero(t, k) / count - expected.nonzero) <=
            six / std::sqrt(4 * count) + 2e-3);
    }
    INFO("token " << k << ", off its support");
    CHECK(std::fabs(rest_first[k] / count - rest.first) <=
          six * std::sqrt(rest_variance / count) + 1e-9);
    CHECK(std::fabs(rest_second[k] / count - rest.second) <=
          six * std::sqrt(rest.fourth / count) + 1e-9);
    CHECK(std::fabs(rest_nonzero[k] / count - rest.nonzero) <=
          six * std::sqrt(static_cast<double>(positions) / (4 * count)) + 2e-3);
  }
  const Matrix<double> rows =
      Matrix<double>::Identity(n, n) - Matrix<double>::Constant(n, n, 1.0 / static_cast<double>(n));
  const Matrix<double> cols =
      Matrix<double>::Identity(n, n) - b.mu * Vector<double>::Ones(n).transpose();
  const Matrix<double> right = cols.transpose() * cols;
  const Vector<double> mean_value = now.values * b.mu;
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < n; ++k) {
      const double moved = now.values(i, k) + p.number<double>("eta_2", "") *
                                                  (overlap * (b.kernel(i, k) - b.mu[i]) -
                                                   size * (now.values(i, k) - mean_value[i]));
      const double variance = s_values * s_values * rows(i, i) * right(k, k);
      INFO("V_" << i << "_" << k);
      const double seen = values(i, k) / count;
      CHECK(std::fabs(seen - moved) <= six * std::sqrt(variance / count) + 1e-12);
      CHECK(std::fabs(values_square(i, k) / count - seen * seen - variance) <=
            six * variance * std::sqrt(2 / count) + 1e-12);
    }
  }
}

}  // namespace

TEST_CASE("laws: one step of part 2 of the Gaussian scb rungs", "[law]") {
  for (const char* rung : {"noisy", "noisy-lumped"}) {
    for (const char* noise : {"constant", "multiplicative"}) {
      Case made;
      made.model = &find_model("scb");
      made.rung = find_rung(*made.model, rung);
      made.parameters = Parameters("scb", {{"N", "3"},
                                           {"T", "6"},
                                           {"Q", "2"},
                                           {"algorithm", "three-part"},
                                           {"boost_steps", "2"},
                                           {"tau", "0"},
                                           {"eta_2", "0.3"},
                                           {"lambda", "0.2"},
                                           {"eta_A", "1.7"},
                                           {"sigma_V", "0.3"},
                                           {"sigma_A", "0.4"},
                                           {"noise", noise}});
      check_step(made);
    }
  }
}

}  // namespace popgrad::laws::second_part_laws
