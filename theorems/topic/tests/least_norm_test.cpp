/// Measurements on topics in double and in 40 digits.

#include "theorems/topic/checks/document_moments.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "popgrad/evidence/error_ratios.hpp"
#include "popgrad/evidence/refined_digits.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "theorems/topic/contents.hpp"

namespace least_norm_test {

using namespace popgrad;
using namespace popgrad::topic::checks;
using popgrad::topic::TopicLaw;

namespace {

/// What a confirmation makes sharper in a statement, in words.
std::string refined(const Statement& statement) {
  const Refinement refinement;
  Examination it;
  it.with_controls = false;
  statement.examine(Setting{}, it);
  return refinement.made();
}

/// Of 40 digits nothing is left but what a double rounds.
void agree(const std::vector<Quantity>& in_double, const std::vector<Quantity>& in_digits) {
  REQUIRE(in_double.size() == in_digits.size());
  for (std::size_t i = 0; i < in_double.size(); ++i) {
    const Quantity& sharp = in_digits[i];
    CHECK(std::fabs(in_double[i].value() - sharp.value()) <= in_double[i].error());
    CHECK(sharp.error() <= 2.3e-16 * std::fabs(sharp.value()));
  }
}

}  // namespace

TEST_CASE("topic.value is confirmed in 40 digits, within the errors of doubles", "[topic]") {
  CHECK(refined(value::statement()) == "solves in 40 digits, limits two parameters further");
  std::vector<ErrorRatios> ratios;
  add_error_ratios(value::statement(), Setting{}, ratios, true);
  REQUIRE(ratios.back().sharper == "digits");
  CHECK(ratios.back().numbers > 0);
  CHECK(ratios.back().known_better == ratios.back().numbers);
  CHECK(ratios.back().largest <= 1);
}

TEST_CASE("topic.embedding is confirmed in double, as its flow has no digits", "[topic]") {
  CHECK(refined(embedding::statement()) == "solves in double at tolerance 1e-14");
}

TEST_CASE("the optimum of least norm is within its errors of that in 40 digits", "[topic]") {
  // [MASK] in a share 5e-6 of the positions; documents of any length and of 10 tokens.
  const TopicLaw<Rational> law{4, 2, 3, Rational(1) / 100, Rational(1) / 2, Rational(4995) / 10000};
  for (const double inverse_length : {0.0, 0.1}) {
    const LeastNorm rough = least_norm(law.cast<double>(), inverse_length);
    const DigitsScope scope(digits_of_refinement);
    const LeastNorm sharp = least_norm(law.cast<Real>(), inverse_length);
    agree(rough.gaps, sharp.gaps);
    agree(rough.masks, sharp.masks);
    agree(rough.pulled, sharp.pulled);
    agree(rough.entries, sharp.entries);
    if (inverse_length > 0) continue;
    for (const Quantity& gap : sharp.gaps) {
      CHECK(std::fabs(gap.value() - to_double(Rational(1 / law.kept()))) <= gap.error());
    }
  }
}

}  // namespace least_norm_test
