#include "theorems/scan_snap/checks/claim_hypotheses.hpp"

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

SequenceClasses<double> small_overlap() {
  Matrix<double> law(2, 4);
  law << 1.0 / 3, 2.0 / 3, 0, 0, 1.0 / 13, 0, 2.0 / 13, 10.0 / 13;
  return classes_from_matrix<double>(law, {0, 0}, 100'000);
}

SequenceClasses<double> one_shared_token() {
  Matrix<double> law(3, 4);
  law << 0.2, 0.8, 0, 0, 0.2, 0, 0.8, 0, 0.2, 0, 0, 0.8;
  return classes_from_matrix<double>(law, {0, 0, 0}, 100'000);
}

void require_assumption_2(const Vector<double>& eigenvalues, double m, Examination& it) {
  const auto k = static_cast<double>(eigenvalues.size());
  const double largest = eigenvalues.cwiseAbs().maxCoeff();
  const double least = eigenvalues.cwiseAbs().minCoeff();
  it.require("A2: `M >> K^2`, at least `M > 36 K^2`", m / (36 * k * k) - 1,
             fmt::format("`M = {}`, `K = {}`", m, k));
  it.require("A2: `|lambda_1(E)| < 1/K`", 1 / k - largest,
             fmt::format("{:.4g} against {:.4g}", largest, 1 / k));
  it.require("A2: `|lambda_i(E)| >= 6/sqrt(M)` for all `i`", least - 6 / std::sqrt(m),
             fmt::format("{:.4g} against {:.4g}", least, 6 / std::sqrt(m)));
}

void require_assumption_2(const SequenceClasses<double>& classes, Examination& it) {
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  const Vector<double> spectrum =
      symmetric_eigenvalues<double>(gram(layout, classes.classes(), f)).array() - 1;
  require_assumption_2(spectrum, static_cast<double>(classes.tokens), it);
}

void require_rates(double m, double decoder_rate, Examination& it) {
  it.require("`M >> 100`", m / 100 - 1, fmt::format("`M = {:g}`", m));
  it.require("`M^-0.99 << eta_Y < 1`",
             std::min(decoder_rate / std::pow(m, -0.99) - 1, 1 - decoder_rate),
             fmt::format("`eta_Y = {:g}`, `M^-0.99 = {:.2g}`", decoder_rate, std::pow(m, -0.99)));
}

void require_uniform_classes(const SequenceClasses<double>& classes, Examination& it) {
  const double apart = classes.weight.maxCoeff() - classes.weight.minCoeff();
  it.require("classes equally likely", std::numeric_limits<double>::epsilon() - apart,
             fmt::format("`P(n)` differ by {:.2g}", apart));
}

}  // namespace popgrad::scan_snap::checks
