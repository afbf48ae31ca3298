#include "theorems/scan_snap/checks/residual_classes.hpp"

#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks {

SequenceClasses<double> classes_of_queries(Stream stream, const QueryDraw& draw) {
  std::vector<Index> query;  // by classes, numbered from 0
  for (Index q = 0; q < draw.queries; ++q) {
    const Index members =
        2 + static_cast<Index>(stream.index(static_cast<std::uint32_t>(draw.most - 1)));
    query.insert(query.end(), static_cast<std::size_t>(members), q);
  }
  const auto k = static_cast<Index>(query.size());
  const Index contextual = draw.queries + 2 + k * draw.distinct;
  const auto weight = [&] { return 0.1 + 0.9 * stream.uniform(); };
  Matrix<double> law = Matrix<double>::Zero(k, contextual);
  for (Index n = 0; n < k; ++n) {
    const Index q = query[static_cast<std::size_t>(n)];
    const bool leads = n == 0 || query[static_cast<std::size_t>(n - 1)] != q;
    const bool ends = n + 1 == k || query[static_cast<std::size_t>(n + 1)] != q;
    law(n, q) = draw.inside * weight();
    if (leads) law(n, draw.queries) = draw.across * weight();
    if ((ends && q == 0) || (leads && q == 1)) law(n, draw.queries + 1) = draw.across * weight();
    for (Index i = 0; i < draw.distinct; ++i) {
      law(n, draw.queries + 2 + n * draw.distinct + i) = weight();
    }
    law.row(n) /= law.row(n).sum();
  }
  for (Index& q : query) q += contextual;
  return classes_from_matrix<double>(law, query, std::max(draw.tokens, contextual + draw.queries));
}

ResidualView::ResidualView(const SequenceClasses<double>& of) : layout(lay_out(of, true)) {
  const Index k = of.classes();
  features(of, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  dense = Matrix<double>::Zero(layout.rows(), k);
  for (Index e = 0; e < f.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    dense(layout.entry_row[at], layout.entry_class[at]) = f[e];
  }
  const Matrix<double> products = gram(layout, k, f);
  overlap = products - Matrix<double>::Identity(k, k);
  same = Matrix<double>::Zero(k, k);
  for (Index n = 0; n < k; ++n) {
    for (Index j = 0; j < k; ++j) {
      same(n, j) = layout.class_query[static_cast<std::size_t>(n)] ==
                           layout.class_query[static_cast<std::size_t>(j)]
                       ? 1
                       : 0;
    }
  }
  kappa = (products + same) / 2;
  inverse = kappa.inverse();
  for (const Index query : layout.query_token) {
    queries_in_contexts_ += std::count(of.token.begin(), of.token.end(), query);
  }
}

double ResidualView::spread() const {
  return symmetric_eigenvalues<double>(overlap).cwiseAbs().maxCoeff();
}

double ResidualView::condition() const {
  const Vector<double> spectrum = symmetric_eigenvalues<double>(kappa);
  return spectrum.maxCoeff() / spectrum.minCoeff();
}

Index ResidualView::of_query(Index n) const {
  return static_cast<Index>(std::lround(same.row(n).sum()));
}

Matrix<double> ResidualView::first_order() const {
  Matrix<double> c = Matrix<double>::Identity(classes(), classes());
  for (Index n = 0; n < classes(); ++n) c.row(n) -= same.row(n) / (1 + same.row(n).sum());
  return 2 * c - 2 * c * overlap * c;
}

Matrix<double> ResidualView::isolated_beta(double tokens, double one) const {
  Matrix<double> beta(classes(), classes());
  for (Index n = 0; n < classes(); ++n) {
    for (Index j = 0; j < classes(); ++j) {
      const double unit = 2 * own_scale(tokens) / (one + same.row(j).sum());
      beta(n, j) = unit * (same(n, j) > 0 ? 1 + 2 / (tokens - 1) : 1 / (tokens - 1));
    }
  }
  return beta;
}

Vector<double> ResidualView::gains(const Matrix<double>& beta) const {
  Vector<double> gains = Vector<double>::Zero(layout.pairs());
  for (Index e = 0; e < f.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    const Index n = layout.entry_class[at];
    const Index row = layout.entry_row[at];
    double sum = 0;
    for (Index j = 0; j < classes(); ++j) {
      if (j != n) sum += beta(n, j) * (f[e] * overlap(n, j) - dense(row, j));
    }
    gains[layout.entry_pair[at]] += f[e] * sum;
  }
  return gains;
}

std::vector<Index> ResidualView::distinct_pairs() const {
  std::vector<Index> pairs;
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    if (layout.entry_distinct[e]) pairs.push_back(layout.entry_pair[e]);
  }
  return pairs;
}

void ResidualView::require_apart(Examination& it) const {
  it.require(queries_apart, -static_cast<double>(queries_in_contexts_),
             fmt::format("{} entries of `P(l|n)` are of query tokens", queries_in_contexts_));
}

void ResidualView::require_independent(Examination& it) const {
  const Vector<double> spectrum = symmetric_eigenvalues<double>(kappa);
  const double found = spectrum.minCoeff();
  Quantity least(found, {ErrorPart::rounding(static_cast<double>(classes()), spectrum.maxCoeff())});
  for (Index n = 0; n < classes(); ++n) {
    for (Index j = 0; j < n; ++j) {
      if (same(n, j) > 0 && dense.col(n) == dense.col(j)) least = 0;  // for certain
    }
  }
  it.require_positive(independent_inputs, least,
                      fmt::format("smallest eigenvalue of `kappa` {:.3g}", found));
}

TrainingInstance<double> residual_training(const SequenceClasses<double>& classes, double tokens) {
  TrainingInstance<double> training;
  training.classes = classes;
  training.classes.tokens = static_cast<Index>(tokens);
  return training;
}

Vector<double> random_state(Stream& stream, Index size, double scale) {
  Vector<double> x(size);
  for (double& value : x) value = scale * stream.normal();
  return x;
}

std::vector<Quantity> short_rates(const ResidualFlow<double>& flow, const Vector<double>& x) {
  const Matrix<double> f = flow.averages_at(x);
  const Matrix<double> g = flow.pulls_at(x);
  const Layout& layout = flow.layout();
  const double rate = flow.instance().attention_rate / std::sqrt(2.0);
  Vector<double> sums = Vector<double>::Zero(layout.pairs());
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    const Index n = layout.entry_class[e];
    const Index row = layout.entry_row[e];
    sums[layout.entry_pair[e]] += rate * flow.instance().classes.weight[n] * f(row, n) *
                                  (g(row, n) - f(row, n) * f.col(n).dot(g.col(n)));
  }
  const ErrorPart rounding = ErrorPart::rounding(static_cast<double>(f.size() * layout.columns()),
                                                 rate * g.cwiseAbs().maxCoeff());
  std::vector<Quantity> rates;
  for (const double sum : sums) rates.push_back({sum, {rounding}});
  return rates;
}

Matrix<double> input_coefficients(const ResidualFlow<double>& flow, const Vector<double>& x) {
  const Matrix<double> phi = flow.inputs_at(x);
  return solve_symmetric<double>(phi.transpose() * phi, phi.transpose() * flow.pulls_at(x));
}

double coupling(double x) { return x == 0 ? 1 : std::expm1(x) * (1 + 1 / x); }

Matrix<double> couplings(const Matrix<double>& kappa, double tau) {
  return kappa.unaryExpr([tau](double overlap) { return coupling(tau * overlap); });
}

}  // namespace popgrad::scan_snap::checks
