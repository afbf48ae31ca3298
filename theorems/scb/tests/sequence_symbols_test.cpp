#include "theorems/scb/rungs/sequence_symbols.hpp"

#include <catch2/catch.hpp>

#include <cmath>

#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace sequence_symbols_test {

using namespace popgrad;
using scb::SequenceSymbols;

namespace {

Vector<double> uneven_law(Index tokens) {
  Vector<double> law = Vector<double>::LinSpaced(tokens, 1.0, 3.0);
  return law / law.sum();
}

std::vector<std::uint16_t> drawn(const SequenceSymbols& some, std::uint64_t step) {
  const auto count = static_cast<std::size_t>(some.count());
  std::vector<std::uint32_t> bits(count);
  Stream(5, 0, step).fill(bits);
  std::vector<std::uint16_t> symbols(count);
  some.draw(bits, symbols);
  return symbols;
}

}  // namespace

TEST_CASE("SequenceSymbols: sums over positions are those of the plain loops", "[scb][symbols]") {
  const Index tokens = GENERATE(2, 3, 20, 32);
  const Index length = GENERATE(1, 2, 7, 5000, 5001);
  const int each = GENERATE(1, 2);
  const SequenceSymbols some(uneven_law(tokens), length, each);
  const std::vector<std::uint16_t> symbols = drawn(some, 1);
  Stream stream(3, 0, 0);
  Vector<double> a(length);
  for (double& value : a) value = stream.normal();
  const Vector<double> pull = Vector<double>::LinSpaced(tokens, -1.0, 2.0);

  Vector<double> plain = Vector<double>::Zero(tokens);
  Vector<double> pulled = a;
  for (Index t = 0; t < length; ++t) {
    const Index token = some.token(symbols.data(), t);
    REQUIRE(token >= 0);
    REQUIRE(token < tokens);
    plain[token] += a[t];
    pulled[t] += pull[token];
  }
  Vector<double> histogram(tokens);
  some.weigh(symbols.data(), a.data(), histogram.data());
  // Sums in another order: a rounding for each of at most `length` terms.
  const double rounding = 1e-16 * static_cast<double>(length) * a.cwiseAbs().sum();
  CHECK((histogram - plain).cwiseAbs().maxCoeff() <= rounding);
  some.add_pulls(symbols.data(), pull.data(), a.data());
  CHECK(a == pulled);
}

TEST_CASE("SequenceSymbols: tokens at all positions are independent and have the law",
          "[scb][symbols]") {
  const Index tokens = 5;
  const int each = GENERATE(1, 2);
  const Index length = 1001;
  const Vector<double> law = uneven_law(tokens);
  const SequenceSymbols some(law, length, each);
  // Of tokens, and of pairs of neighbours inside and across symbols of two.
  Matrix<double> even = Matrix<double>::Zero(tokens, tokens);
  Matrix<double> odd = even;
  constexpr int sequences = 400;
  for (int s = 0; s < sequences; ++s) {
    const auto symbols = drawn(some, static_cast<std::uint64_t>(s));
    for (Index t = 0; t + 2 < length; t += 2) {
      const Index middle = some.token(symbols.data(), t + 1);
      even(some.token(symbols.data(), t), middle) += 1;
      odd(middle, some.token(symbols.data(), t + 2)) += 1;
    }
  }
  const double pairs = even.sum();
  for (const Matrix<double>& counts : {even, odd}) {
    const Matrix<double> expected = pairs * law * law.transpose();
    const double chi_square = ((counts - expected).array().square() / expected.array()).sum();
    // 24 degrees of freedom: above 67.9 with a chance of 5e-6.
    CHECK(chi_square < 67.9);
  }
}

TEST_CASE("SequenceSymbols: two tokens a symbol where pairs are few", "[scb][symbols]") {
  CHECK(SequenceSymbols::fastest(20, 5000) == 2);
  CHECK(SequenceSymbols::fastest(20, 3199) == 1);
  CHECK(SequenceSymbols::fastest(33, 1'000'000) == 1);
  CHECK_THROWS_AS(SequenceSymbols(uneven_law(33), 100, 2), std::invalid_argument);
  CHECK_THROWS_AS(SequenceSymbols(uneven_law(3), 100, 3), std::invalid_argument);
}

}  // namespace sequence_symbols_test
