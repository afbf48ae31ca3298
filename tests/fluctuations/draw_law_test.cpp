/// Mean and covariance of the direction of one sample, against every sequence of tokens.

#include "popgrad/fluctuations/draw_law.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace draw_law_test {

using namespace popgrad;

namespace {

// Not polynomial, and of the class.
void direction_of(Index cls, const Vector<double>& x, Vector<double>& g) {
  g.resize(3);
  g << std::exp(x[0] - (cls == 0 ? 2.0 : 0.5) * x[1]), x[1] * x[2] + x[0],
      std::sin(3 * x[2]) - (cls == 0 ? 1.0 : 0.0);
}

// Calls visit(class, chance, frequencies) for every sequence of every class.
template <class Visit>
void for_each_sequence(const DrawLaw& law, const Visit& visit) {
  for (Index c = 0; c < std::ssize(law.classes); ++c) {
    const DrawClass& one = law.classes[static_cast<std::size_t>(c)];
    const Index tokens = one.tokens.size();
    const auto sequences = static_cast<Index>(std::lround(std::pow(tokens, law.length)));
    for (Index sequence = 0; sequence < sequences; ++sequence) {
      Vector<double> frequencies = Vector<double>::Zero(tokens);
      double chance = one.probability;
      Index rest = sequence;
      for (Index position = 0; position < law.length; ++position, rest /= tokens) {
        frequencies[rest % tokens] += 1.0 / static_cast<double>(law.length);
        chance *= one.tokens[rest % tokens];
      }
      visit(c, chance, frequencies);
    }
  }
}

DrawLaw two_tokens(Index length) { return {{{1.0, Vector<double>{{0.5, 0.5, 0.0}}}}, length}; }

}  // namespace

TEST_CASE("draw law: mean and covariance are those over every sequence", "[draws][law]") {
  // A token that does not occur, at either place that a walk through the counts may treat apart.
  for (const Vector<double>& second :
       {Vector<double>{{0.0, 0.4, 0.6}}, Vector<double>{{0.7, 0.3, 0.0}}}) {
    for (const Index length : {1, 2, 5}) {
      CAPTURE(length, second.transpose());
      const DrawLaw law{{{0.3, Vector<double>{{0.2, 0.5, 0.3}}}, {0.7, second}}, length};
      REQUIRE(is_enumerated(law));
      Vector<double> mean = Vector<double>::Zero(3);
      Matrix<double> squares = Matrix<double>::Zero(3, 3);
      for_each_sequence(law, [&](Index cls, double chance, const Vector<double>& x) {
        Vector<double> g;
        direction_of(cls, x, g);
        mean += chance * g;
        squares += chance * g * g.transpose();
      });
      const Matrix<double> covariance = squares - mean * mean.transpose();
      CHECK((draw_mean(law, 3, direction_of) - mean).cwiseAbs().maxCoeff() < 1e-13);
      CHECK((draw_covariance(law, direction_of, Matrix<double>::Identity(3, 3)) - covariance)
                .cwiseAbs()
                .maxCoeff() < 1e-13);
    }
  }
}

TEST_CASE("draw law: counts are run through while they are at most 4000", "[draws]") {
  // Of two tokens that occur there are length + 1.
  CHECK(is_enumerated(two_tokens(3998)));
  CHECK_FALSE(is_enumerated(two_tokens(4001)));
  CHECK(is_enumerated(two_tokens(0)));
}

}  // namespace draw_law_test
