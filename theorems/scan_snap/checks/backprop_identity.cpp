#include "theorems/scan_snap/checks/backprop_identity.hpp"

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

namespace {

// I + E of three classes, its inverse by cofactors, beta and iota.
struct Generic {
  Expression m = symbol("M");
  Matrix<Expression> gram, inverse, beta;
  Vector<Expression> iota;

  explicit Generic(Beta of) {
    const Expression a = symbol("E_01");
    const Expression b = symbol("E_02");
    const Expression c = symbol("E_12");
    const Expression one(1);
    const Expression det = one + 2 * a * b * c - a * a - b * b - c * c;
    gram = Matrix<Expression>{{one, a, b}, {a, one, c}, {b, c, one}};
    inverse = Matrix<Expression>{{(one - c * c) / det, (b * c - a) / det, (a * c - b) / det},
                                 {(b * c - a) / det, (one - b * b) / det, (a * b - c) / det},
                                 {(a * c - b) / det, (a * b - c) / det, (one - a * a) / det}};
    beta = of == Beta::derived ? beta_of<Expression>(inverse, m)
                               : beta_of_eqn_88<Expression>(inverse, m);
    iota = iota_of<Expression>(inverse, m);
  }
};

}  // namespace

Truth gradient_identity(Beta beta) {
  const Generic g(beta);
  Matrix<Expression> defects(3, 3);
  for (Index n = 0; n < 3; ++n) {
    for (Index j = 0; j < 3; ++j) {
      Expression image(0);
      for (Index k = 0; k < 3; ++k) {
        image = image + g.inverse(j, k) * (k == n ? own_scale(g.m) : cross_scale(g.m));
      }
      defects(n, j) = image - (j == n ? g.iota[n] : Expression(-g.beta(n, j)));
    }
  }
  return vanishes(defects);
}

Truth xi_identity(Beta beta) {
  const Generic g(beta);
  const Vector<Expression> xi = relative_xi<Expression>(g.beta, g.gram);
  Matrix<Expression> defects(3, 1);
  for (Index n = 0; n < 3; ++n) {
    Expression others(0);
    for (Index k = 0; k < 3; ++k) others = others + (k == n ? Expression(0) : g.inverse(n, k));
    defects(n, 0) = xi[n] - own_scale(g.m) * (g.inverse(n, n) - 1 - others / (g.m - 1));
  }
  return vanishes(defects);
}

Vector<double> xi_formula(const Matrix<double>& g, double m, double sum) {
  const Vector<double> own = g.diagonal();
  const Vector<double> others = g.rowwise().sum() - own;
  return own_scale(m) * (own.array() - 1 - sum * others.array() / (m - 1)).matrix();
}

Vector<double> off_diagonal(const Matrix<double>& a) {
  std::vector<double> entries;
  for (Index n = 0; n < a.rows(); ++n) {
    for (Index j = 0; j < a.cols(); ++j) {
      if (j != n) entries.push_back(a(n, j));
    }
  }
  return Eigen::Map<const Vector<double>>(entries.data(), std::ssize(entries));
}

}  // namespace popgrad::scan_snap::checks
