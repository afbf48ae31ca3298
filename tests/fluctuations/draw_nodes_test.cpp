/// Few counts in place of all: moments, expectations and covariances against every count.

#include "popgrad/fluctuations/draw_nodes.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace draw_nodes_test {

using namespace popgrad;

namespace {

// f(frequencies) over all counts of three tokens.
template <class F>
double over_all_counts(const Vector<double>& law, int length, const F& f) {
  double sum = 0;
  for (int a = 0; a <= length; ++a) {
    for (int b = 0; a + b <= length; ++b) {
      const int c = length - a - b;
      const double chance = std::exp(std::lgamma(length + 1) - std::lgamma(a + 1) -
                                     std::lgamma(b + 1) - std::lgamma(c + 1)) *
                            std::pow(law[0], a) * std::pow(law[1], b) * std::pow(law[2], c);
      sum +=
          chance * f(Vector<double>{{a / double(length), b / double(length), c / double(length)}});
    }
  }
  return sum;
}

// A direction that is not polynomial, of two classes: the softmax of attention and what follows it.
void direction_of(Index cls, const Vector<double>& x, Vector<double>& g) {
  const Vector<double> u = x.cwiseProduct(Vector<double>{{1.0, 1.4, 0.6}});
  const Vector<double> f = u / u.norm();
  g.resize(4);
  g.head(3) = (cls == 0 ? 1.0 : -0.5) * f;
  g[3] = std::exp(f[0] - f[1]);
}

}  // namespace

TEST_CASE("draw nodes: central moments of counts are those over all counts", "[draws]") {
  const Vector<double> law{{0.2, 0.5, 0.3}};
  const std::array<std::vector<Index>, 7> lists{
      {{0}, {1, 1}, {0, 2}, {0, 0, 1}, {1, 1, 1, 1}, {0, 1, 1, 2}, {0, 0, 1, 2, 2, 2}}};
  for (const int length : {1, 2, 5, 9}) {
    for (const std::vector<Index>& list : lists) {
      const double expected = over_all_counts(law, length, [&](const Vector<double>& x) {
        double product = 1;
        for (const Index token : list) product *= x[token] - law[token];
        return product;
      });
      INFO("length " << length << ", " << list.size() << " factors");
      CHECK(central_moment(law, length, list) == Approx(expected).epsilon(1e-11).margin(1e-14));
    }
  }
}

TEST_CASE("draw nodes: exact for polynomials of their degree, and near for others", "[draws]") {
  const Vector<double> law{{0.2, 0.5, 0.3}};
  constexpr int length = 40;
  const DrawNodes nodes = draw_nodes(law, length, 3, 0);
  REQUIRE(nodes.degree == 4);
  CHECK(nodes.weights.minCoeff() > 0);
  CHECK(nodes.weights.sum() == Approx(1).epsilon(1e-12));
  CHECK(nodes.weights.size() <= Index{4} * 45);
  const auto by_nodes = [&](const auto& f) {
    double sum = 0;
    for (Index i = 0; i < nodes.weights.size(); ++i) {
      sum += nodes.weights[i] * f(Vector<double>(nodes.frequencies.col(i)));
    }
    return sum;
  };
  const auto quartic = [](const Vector<double>& x) {
    return x[0] * x[0] * x[1] * x[2] - 2 * std::pow(x[1], 4) + x[2];
  };
  CHECK(by_nodes(quartic) == Approx(over_all_counts(law, length, quartic)).epsilon(1e-12));
  // With fewer draws than nodes there are whole numbers of tokens.
  for (Index i = 0; i < nodes.weights.size(); ++i) {
    const Vector<double> counts = length * nodes.frequencies.col(i);
    CHECK((counts.array() - counts.array().round()).abs().maxCoeff() < 1e-9);
  }
  const auto ratio = [](const Vector<double>& x) { return x[0] / x.norm(); };
  const double exact = over_all_counts(law, length, ratio);
  CHECK(std::fabs(by_nodes(ratio) - exact) < 1e-5);
  // What two orders of an expansion leave is more.
  CHECK(std::fabs(ratio(law) - exact) > 1e-3);
  // The same wherever they are made, and others for another part.
  CHECK(draw_nodes(law, length, 3, 0).frequencies == nodes.frequencies);
  const Matrix<double> other = draw_nodes(law, length, 3, 1).frequencies;
  CHECK_FALSE(other.leftCols(10).isApprox(nodes.frequencies.leftCols(10)));
}

TEST_CASE("draw nodes: which laws have them", "[draws]") {
  CHECK(has_draw_nodes(Vector<double>::Constant(32, 1.0 / 32), 20));
  CHECK_FALSE(has_draw_nodes(Vector<double>::Constant(33, 1.0 / 33), 20));
  CHECK(has_draw_nodes(Vector<double>{{0.5, 0.5, 0.0}}, 20));
  CHECK_FALSE(has_draw_nodes(Vector<double>{{1 - 1e-6, 1e-6}}, 20));
  CHECK_FALSE(has_draw_nodes(Vector<double>{{0.5, 0.5}}, 0));
  CHECK_THROWS_AS(draw_nodes(Vector<double>::Constant(33, 1.0 / 33), 20, 0, 0),
                  std::invalid_argument);
}

TEST_CASE("draw nodes: twenty tokens, means and covariances of counts", "[draws]") {
  Vector<double> law(20);
  for (Index t = 0; t < 20; ++t) law[t] = 1.0 + static_cast<double>(t);
  law /= law.sum();
  constexpr double length = 60;
  const DrawNodes nodes = draw_nodes(law, 60, 0, 0);
  CHECK(nodes.degree == 2);
  CHECK((nodes.frequencies * nodes.weights - law).cwiseAbs().maxCoeff() < 1e-12);
  const Matrix<double> apart = nodes.frequencies.colwise() - law;
  const Matrix<double> seen = apart * nodes.weights.asDiagonal() * apart.transpose();
  const Matrix<double> expected =
      (Matrix<double>(law.asDiagonal()) - law * law.transpose()) / length;
  CHECK((seen - expected).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("sampled draws: mean and covariance against every count", "[draws]") {
  DrawLaw law{{{0.3, Vector<double>{{0.2, 0.5, 0.3}}}, {0.7, Vector<double>{{0.4, 0.1, 0.5}}}}, 30};
  REQUIRE(is_enumerated(law));
  const Vector<double> exact_mean = draw_mean(law, 4, direction_of);
  const Matrix<double> identity = Matrix<double>::Identity(4, 4);
  const Matrix<double> exact = draw_covariance(law, direction_of, identity);
  // The first class moves rows 0 to 3, so does the second: in another order of rows.
  const std::vector<std::vector<Index>> moved{{0, 1, 2, 3}, {3, 0, 1, 2}};
  const SampledDraws draws(law, 4, moved, 1);
  const auto directions = [](Index cls, const Matrix<double>& x, Matrix<double>& made) {
    made.resize(4, x.cols());
    Vector<double> g;
    for (Index i = 0; i < x.cols(); ++i) {
      direction_of(cls, x.col(i), g);
      if (cls == 0) {
        made.col(i) = g;
      } else {
        made.col(i) << g[3], g[0], g[1], g[2];
      }
    }
  };
  const auto sums = [&](Index cls, const Matrix<double>& x, const Vector<double>& weights,
                        Vector<double>& sum) {
    Matrix<double> made;
    directions(cls, x, made);
    sum = made * weights;
  };
  const Vector<double> mean = draws.mean(sums);
  const SampledDraws counts(law, 4, moved, 1, SampledDraws::Set::counts);
  CHECK((counts.mean(sums) - exact_mean).norm() < 1e-12 * exact_mean.norm());
  for (const NodeSet set : {NodeSet::first, NodeSet::second, NodeSet::both}) {
    CHECK((counts.covariance(directions, identity, set) - exact).norm() < 1e-12 * exact.norm());
  }
  // Of what the counts shift the mean by, a hundredth.
  Vector<double> at_laws = Vector<double>::Zero(4), g;
  for (Index c = 0; c < 2; ++c) {
    direction_of(c, law.classes[static_cast<std::size_t>(c)].tokens, g);
    at_laws += law.classes[static_cast<std::size_t>(c)].probability * g;
  }
  CHECK((mean - exact_mean).norm() < 0.02 * (exact_mean - at_laws).norm());
  const Matrix<double> whole = draws.covariance(directions, identity, NodeSet::both);
  CHECK((whole - exact).norm() < 1e-3 * exact.norm());
  // Few vectors go another way.
  const Vector<double> one{{0.3, -1.0, 0.2, 0.5}};
  CHECK((draws.covariance(directions, one, NodeSet::both) - whole * one).norm() <
        1e-12 * whole.norm());
  const auto part = [&](NodeSet which) { return draws.covariance(directions, identity, which); };
  const Matrix<double> first = part(NodeSet::first);
  const Matrix<double> second = part(NodeSet::second);
  CHECK((first - second).norm() > 1e-9 * exact.norm());
  CHECK((first + second - 2 * whole).norm() < 1e-4 * exact.norm());

  AnyRung<double> rung;
  rung.dimension = 4;
  rung.draws.covariance_of_nodes = [&](const Vector<double>&, const Matrix<double>& vectors,
                                       NodeSet which, Matrix<double>& images) {
    images = draws.covariance(directions, vectors, which);
  };
  const Matrix<double> columns = one;
  const double a = one.dot(first * one), b = one.dot(second * one);
  CHECK(sampling_error(rung, one, columns) ==
        Approx(std::fabs(a - b) / (2 * (a + b))).epsilon(1e-9));
  rung.draws.covariance_of_nodes = nullptr;
  CHECK(sampling_error(rung, one, columns) == 0);
}

}  // namespace draw_nodes_test
