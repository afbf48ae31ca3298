#pragma once
/// The global minimum of a landscape over a box, with a certificate in exact rationals.
///
/// L - u is positive on a box if the polynomial (L - u) N_0^2 N_1^2 is, and a polynomial is
/// positive on a box if its Bernstein coefficients there are. The box is halved until, on every
/// part, L lies above the value `upper` that a point attains, or at least at `lower`. All in
/// rationals, so that the certificate can be checked without trust in any rounding. Cost: a few
/// hundred boxes of 25 coefficients for the default setting.

#include <string>
#include <vector>

#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/landscape.hpp"

namespace popgrad::topic {

/// alpha and beta >= 0.
template <class T>
struct Box {
  T alpha_low{0}, alpha_high{0}, beta_low{0}, beta_high{0};
};

struct Minimum {
  double alpha = 0, beta = 0, value = 0;
};

/// The best of a grid, then Newton steps within the box, in double.
Minimum find_minimum(const Landscape<double>& landscape, const Box<double>& box);

/// The least over alpha from 0 to infinity, both included, at beta = 0: the least of all attention where
/// L depends on g = alpha + (v - 1) beta only. To rounding. Cost O(1).
Minimum find_minimum_on_line(const Landscape<double>& landscape);
/// L as alpha -> infinity at fixed beta.
template <class T>
T loss_at_infinity(const Landscape<T>& landscape);

struct CertificateLeaf {
  std::string path;    ///< halvings from the whole box: a, A (lower, upper half in alpha), b, B
  bool above = false;  ///< L > upper there; otherwise only L >= lower
};

/// lower <= min L <= upper; every minimiser lies in a leaf that is not `above`.
struct Certificate {
  Rational lower, upper;
  Rational alpha, beta;  ///< where L = upper, exactly
  Box<Rational> box;
  /// Of L in g = alpha + (v - 1) beta, where it depends on nothing else: leaves are intervals
  /// of g, the minimisers a line.
  bool on_line = false;
  std::vector<CertificateLeaf> leaves;
  Box<Rational> minimisers;  ///< hull of the leaves that are not above (g in alpha, if on a line)
  std::size_t boxes = 0;     ///< that the search has taken
};

/// Encloses the minimum to `tolerance` > 0 in the value. Throws std::runtime_error if `most_boxes`
/// are not enough. `claimed`, if not null, is taken for the upper value instead of what the
/// landscape has at its minimum: a wrong one fails, and the function then throws std::domain_error
/// that names a box where L is below claimed - tolerance.
Certificate certify_minimum(const TopicLaw<Rational>& law, const Landscape<Rational>& landscape,
                            const Box<Rational>& box, const Rational& tolerance,
                            const Rational* claimed = nullptr, std::size_t most_boxes = 200'000);

/// Signs of the eigenvalues of a symmetric 2 x 2 matrix, exact.
struct Inertia {
  int positive = 0, zero = 0, negative = 0;
};
Inertia inertia(const Matrix<Rational>& symmetric);

}  // namespace popgrad::topic
