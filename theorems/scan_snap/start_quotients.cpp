#include "theorems/scan_snap/start_quotients.hpp"

#include <Eigen/LU>

#include "popgrad/scan_snap/backprop.hpp"
#include "popgrad/scan_snap/features.hpp"
#include "popgrad/scan_snap/layout.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

namespace {

// |v(B)|; B (K x K) counts off its diagonal.
double pull(const SequenceClasses<double>& classes, const Vector<double>& f,
            const Matrix<double>& coefficients) {
  const Layout layout = lay_out(classes, true);
  const Index k = classes.classes();
  Matrix<double> dense = Matrix<double>::Zero(layout.rows(), k);
  for (std::size_t e = 0; e < layout.entry_row.size(); ++e) {
    dense(layout.entry_row[e], layout.entry_class[e]) = f[static_cast<Index>(e)];
  }
  Matrix<double> off_diagonal = coefficients;
  off_diagonal.diagonal().setZero();
  const Matrix<double> others = dense * off_diagonal.transpose();
  Matrix<double> pulled = Matrix<double>::Zero(layout.rows(), layout.queries());
  for (Index n = 0; n < k; ++n) {
    const Vector<double> own = dense.col(n);
    pulled.col(layout.class_query[static_cast<std::size_t>(n)]) +=
        own.cwiseProduct(others.col(n) - own * own.dot(others.col(n)));
  }
  return pulled.norm();
}

}  // namespace

StartQuotients start_quotients(const SequenceClasses<double>& classes) {
  const auto m = static_cast<double>(classes.tokens);
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  const Matrix<double> overlaps = gram(layout, classes.classes(), f);
  const Matrix<double> beta = beta_of<double>(overlaps.inverse(), m);
  const Matrix<double> even = Matrix<double>::Constant(beta.rows(), beta.cols(), 1);
  const Matrix<double> first_order = own_scale(m) * overlaps - cross_scale(m) * even;
  const double unit = (m - 1) * (m - 1) / m / pull(classes, f, even);
  return {unit * pull(classes, f, beta), unit * pull(classes, f, first_order)};
}

}  // namespace popgrad::theorems::scan_snap
