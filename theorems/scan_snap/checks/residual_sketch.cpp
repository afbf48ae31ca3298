// Erratum: what a residual connection leaves of Theorem 2 inside the classes of one query.

#include <boost/math/tools/roots.hpp>

#include "popgrad/scalars/rational.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/errata.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks {
namespace {

// Four classes, two of each of two queries, with rational features: tokens x K, over `unit`.
struct RationalClasses {
  Matrix<double> parts;
  int unit = 1;
  int tokens = 0;

  [[nodiscard]] Rational feature(Index token, Index n) const {
    return Rational(static_cast<int>(parts(token, n))) / unit;
  }
  [[nodiscard]] static bool same_query(Index n, Index j) { return n / 2 == j / 2; }
  [[nodiscard]] Rational product(Index n, Index j) const {
    Rational sum(0);
    for (Index l = 0; l < parts.rows(); ++l) sum += feature(l, n) * feature(l, j);
    return sum;
  }
  // beta of G = (s (F'F + B))^-1, B and s = 1/2 with a residual connection, 0 and 1 without.
  [[nodiscard]] Matrix<Rational> beta(bool residual) const {
    const Index k = parts.cols();
    Matrix<Rational> gram(k, k), inverse(k, k);
    for (Index n = 0; n < k; ++n) {
      for (Index j = 0; j < k; ++j) {
        gram(n, j) = product(n, j);
        if (residual) gram(n, j) = (gram(n, j) + (same_query(n, j) ? 1 : 0)) / 2;
      }
    }
    for (Index j = 0; j < k; ++j) {
      Vector<Rational> unit_vector = Vector<Rational>::Constant(k, Rational(0));
      unit_vector[j] = 1;
      inverse.col(j) = solve_square<Rational>(gram, unit_vector);
    }
    return beta_of<Rational>(inverse, Rational(tokens));
  }
  // What class n adds to 2 z_l'/(eta_Z w gamma), by the classes of its query alone if asked for.
  [[nodiscard]] Rational gain(const Matrix<Rational>& beta, Index token, Index n,
                              bool inside = false) const {
    Rational sum(0);
    for (Index j = 0; j < parts.cols(); ++j) {
      if (j == n || (inside && !same_query(n, j))) continue;
      sum += beta(n, j) * (feature(token, n) * product(n, j) - feature(token, j));
    }
    return feature(token, n) * sum;
  }
  [[nodiscard]] SequenceClasses<double> classes() const {
    Matrix<double> law = parts.transpose();
    for (Index n = 0; n < law.rows(); ++n) law.row(n) /= law.row(n).sum();
    return classes_from_matrix<double>(
        law, {parts.rows(), parts.rows(), parts.rows() + 1, parts.rows() + 1}, tokens);
  }
};

// Tokens 0 and 1: one of all classes of a query each; 2: of the first class of either; the others
// of one class.
RationalClasses shared_across() {
  Matrix<double> parts = Matrix<double>::Zero(9, 4);
  parts.topRows(3) << 2, 2, 0, 0, 0, 0, 2, 2, 3, 0, 3, 0;
  parts(3, 0) = parts(5, 1) = parts(6, 2) = parts(8, 3) = 6;
  parts(4, 1) = parts(7, 3) = 3;
  return {.parts = parts, .unit = 7, .tokens = 100'000};
}

// Classes share tokens with those of the other query only: 0 of classes 0 and 2, 1 of 1 and 2, 2 of
// 1 and 3.
RationalClasses only_across() {
  Matrix<double> parts = Matrix<double>::Zero(9, 4);
  parts.topRows(3) << 1, 0, 1, 0, 0, 4, 4, 0, 0, 1, 0, 8;
  parts(3, 0) = parts(5, 1) = parts(6, 2) = 8;
  parts(4, 0) = parts(7, 3) = 4;
  parts(8, 3) = 1;
  return {.parts = parts, .unit = 9, .tokens = 2'000'000};
}

// `paper_gains`: the sign that the paper has.
void show(const char* what, const Rational& gain, bool gains, bool paper_gains, Examination& it) {
  const auto truth = [&gain](bool positive) {
    return (positive ? gain > 0 : gain < 0) ? Truth::yes : Truth::no;
  };
  Identity sign = identity(what, [&] { return truth(gains); })
                      .of_kind(EvidenceKind::exact)
                      .with(fmt::format("{:.4g}", to_double(gain)));
  if (paper_gains != gains) sign.unless(in_paper, [&] { return truth(paper_gains); });
  it.judge(sign);
}

// What token 1 gains by the true gradient at tau = eta_Y s; roundings move kappa, neighbours apart.
Quantity gain_at(const ResidualView& view, double tau) {
  const auto of = [&](double spacing) {
    Matrix<double> kappa = view.kappa;
    for (Index i = 0; i < kappa.size(); ++i) {
      kappa.data()[i] *= 1 + (i % 2 == 0 ? spacing : -spacing);
    }
    return view.gains(couplings(kappa, tau))[1];
  };
  const double gain = of(0);
  const double moved = of(std::numeric_limits<double>::epsilon());
  const auto operations = static_cast<double>(view.kappa.size());
  return {gain, {ErrorPart::rounding_moved(moved - gain, operations, gain)}};
}

// When the token that both queries have begins to gain.
void show_time(const RationalClasses& at, Examination& it) {
  const ResidualView view(at.classes());
  const auto gain = [&](double tau) { return gain_at(view, tau).value(); };
  std::uintmax_t steps = 100;
  const auto root = boost::math::tools::toms748_solve(
      gain, 1.0, 20.0, boost::math::tools::eps_tolerance<double>(40), steps);
  refute(below("true gradient, `M -> infinity`: its gain at `eta_Y s = 1` is positive", 0,
               gain_at(view, 1))
             .with(fmt::format("it gains from `eta_Y s = {:.3g}` on", root.first)),
         it);
}

}  // namespace

Erratum residual_sketch() {
  return {
      .name = "scan-snap.residual-sketch",
      .kind = ErratumClass::does_not_transfer,
      .statement = "scan-snap.residual-fates",
      .place = "arXiv 2305.16380v4, Section 7",
      .grades = {SourceGrade::full_text},
      .known =
          "read in full, v4; a sketch without hypotheses, judged inside those of Theorem 2; which "
          "token is distinct inside `psi^-1(m)` is not said: one of a single class of `psi^-1(m)` "
          "is "
          "our "
          "reading",
      .claim = "residual connection, A2 for `F`: Theorem 2 holds inside each `psi^-1(m)`",
      .paper_says =
          "`beta ~ f_n.f_n'` + [`psi(n) = psi(n')`], and Theorem 2 inside each `psi^-1(m)`",
      .algebra_says =
          "two classes of a query put `lambda_1` of the decoder's inputs at 1/2 and more, beyond "
          "A2's `1/K`; `beta` is that of `G = 2 (F'F + B)^-1`, `2/(1 + K_m)` inside a query and of "
          "the "
          "order of the overlaps across, which moves tokens as much as overlaps inside do: a "
          "token of a single class of `psi^-1(m)` loses where a class of another query has it more "
          "than the classes of `m` have another in common",
      .effect =
          "tokens that have one class of all gain if overlaps inside the query outweigh the rest, "
          "and `M >> K^2` is not needed then; what other queries share is not settled inside "
          "`psi^-1(m)`",
      .examine = [](Examination& it) {
        const RationalClasses at = shared_across();
        require_assumption_2(at.classes(), it);
        require_uniform_classes(at.classes(), it);
        const ResidualView view(at.classes());
        const auto k = static_cast<double>(view.classes());
        const double largest = symmetric_eigenvalues<double>(
                                   Matrix<double>(view.kappa - Matrix<double>::Identity(
                                                                   view.classes(), view.classes())))
                                   .maxCoeff();
        refute(below("`lambda_1` of the decoder's inputs is below A2's `1/K`",
                     Quantity(largest, {ErrorPart::rounding(k * k, 1 + largest)}), 1 / k),
               it);
        const Matrix<Rational> beta = at.beta(true);
        show("a token of one class of its query, and one of another: it loses", at.gain(beta, 2, 0),
             false, true, it);
        show("by the classes of its query only it would gain", at.gain(beta, 2, 0, true), true,
             true, it);
        show_time(at, it);
        const RationalClasses other = only_across();
        const Vector<double> spectrum =
            symmetric_eigenvalues<double>(ResidualView(other.classes()).overlap);
        Examination also;
        require_assumption_2(spectrum, other.tokens, also);
        it.require("A2 of the classes that overlap across queries only",
                   also.verdict() != Verdict::not_applicable);
        show("a token of one class of all gains without the residual connection",
             other.gain(other.beta(false), 3, 0), true, true, it);
        show("and loses with it", other.gain(other.beta(true), 3, 0), false, true, it);
      }};
}

}  // namespace popgrad::scan_snap::checks
