#pragma once
/// Whether reductions, closed forms and invariants that are written with a training belong to it.
///
/// With F and S the field and the step of the finer rung, G the law of its own, L its lift and m its map, a residual is
///
///   F(L(z)) - DL(z) G(z)     S(L(z)) - L(G(z))     where there is a lift, and m(L(z)) - z with a map
///   Dm(x) F(x) - G(m(x))     m(S(x)) - G(m(x))     where there is a map only
///   c'(t) - G(c(t))          c(0) - start          of a closed form c
///   DI(x) F(x)                                     of an invariant I
///   E loss(x, draws) - e(x)                        of an expectation e that is written
///
/// with G times time'(t) where the rung has a time of its own.

#include <cstdint>
#include <string>
#include <vector>

#include "popgrad/learning/sample_loss.hpp"

namespace popgrad {

struct Residual {
  enum class Outcome {
    proved,          ///< its normal form is empty: 0 for all values
    zero_at_points,  ///< 0 at drawn points, exactly or in 50 digits
    refuted,         ///< not 0 at a point
    measured,        ///< along the flow, in double: of approximations and of sampled fields
    not_examined,
  };
  std::string subject;  ///< "rung.pair", "rung.pair.closed", "invariant.balance", "loss.expected"
  Outcome outcome = Outcome::not_examined;
  /// Of the largest of the terms that it is the difference of; where it is measured, of the largest on the way.
  double largest = 0;
  /// Of a sampled field: the largest residual over its standard error, and that error as `largest` is.
  double standard_errors = 0, error = 0;
  std::string component;  ///< "s[0]"; empty where nothing is off
  std::string place;      ///< "x = 1/3, y = 2"
  std::string value;      ///< "4/9"
  std::string how;        ///< "for all values at sizes n = 3 and 2 others", "at 8 rational points"

  [[nodiscard]] bool is_zero() const {
    return outcome == Outcome::proved || outcome == Outcome::zero_at_points;
  }
};

/// One line: "rung.pair: proved for all values", "refuted: s[0] at x = 1/3, y = 2: 4/9, should be 0".
std::string to_text(const Residual& residual);

struct ResidualRequest {
  std::vector<std::string> subjects = {};  ///< empty: all
  std::uint64_t seed = 1;                  ///< of points, and of samples and starts
  /// Points at the given sizes only: neither proofs nor other sizes.
  bool only_points = false;
  /// Measured along the flow where they could be proved, too, at nine equally spaced times.
  bool along = false;
  double tolerance = 1e-10;  ///< of the flow along which they are measured
};

/// One for each expectation of the loss that is written, each rung of its own, each closed form next to a flow, and each
/// invariant. Sizes and parameters: first all parameters are drawn within their ranges; where a residual is not 0 then,
/// those that are given are taken. Cost: the expected field as a formula, 8 evaluations of it on rationals, and the same
/// at sizes one larger. Throws InputError.
std::vector<Residual> residuals(const SampleLoss& loss, const Parameters& given = {},
                                const ResidualRequest& request = {});

/// Subjects of residuals, in their order. Cheap.
std::vector<std::string> residual_subjects(const SampleLoss& loss);

}  // namespace popgrad
