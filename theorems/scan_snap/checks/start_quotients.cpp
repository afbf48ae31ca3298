#include "theorems/scan_snap/checks/start_quotients.hpp"

#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

namespace {

// |v(B)|; B (K x K) counts off its diagonal.
template <class T>
T pull(const SequenceClasses<T>& classes, const Vector<T>& f, const Matrix<T>& coefficients) {
  const Layout layout = lay_out(classes, true);
  const Index k = classes.classes();
  Matrix<T> dense = Matrix<T>::Zero(layout.rows(), k);
  for (std::size_t e = 0; e < layout.entry_row.size(); ++e) {
    dense(layout.entry_row[e], layout.entry_class[e]) = f[static_cast<Index>(e)];
  }
  Matrix<T> off_diagonal = coefficients;
  off_diagonal.diagonal().setZero();
  const Matrix<T> others = dense * off_diagonal.transpose();
  Matrix<T> pulled = Matrix<T>::Zero(layout.rows(), layout.queries());
  for (Index n = 0; n < k; ++n) {
    const Vector<T> own = dense.col(n);
    pulled.col(layout.class_query[static_cast<std::size_t>(n)]) +=
        own.cwiseProduct(others.col(n) - own * own.dot(others.col(n)));
  }
  return pulled.norm();
}

}  // namespace

template <class T>
StartQuotients start_quotients(const SequenceClasses<T>& classes) {
  const auto m = static_cast<T>(classes.tokens);
  const Layout layout = lay_out(classes, true);
  Vector<T> f;
  features(classes, layout, Vector<T>(Vector<T>::Zero(layout.pairs())), f);
  const Matrix<T> overlaps = gram(layout, classes.classes(), f);
  const Matrix<T> beta = beta_of<T>(
      solve_symmetric<T>(overlaps, Matrix<T>::Identity(overlaps.rows(), overlaps.cols())), m);
  const Matrix<T> even = Matrix<T>::Constant(beta.rows(), beta.cols(), T(1));
  const Matrix<T> first_order = own_scale(m) * overlaps - cross_scale(m) * even;
  const T unit = (m - T(1)) * (m - T(1)) / m / pull(classes, f, even);
  return {to_double(T(unit * pull(classes, f, beta))),
          to_double(T(unit * pull(classes, f, first_order)))};
}
template StartQuotients start_quotients(const SequenceClasses<double>&);
template StartQuotients start_quotients(const SequenceClasses<Real>&);

}  // namespace popgrad::scan_snap::checks
