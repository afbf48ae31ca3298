/// The columns of scan-snap from their definitions, on whole M x M tables.

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>

#include "laws/columns.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::laws {
namespace {

struct Data {
  Matrix<double> law;  ///< P(l|n), K x M
  std::vector<Index> query, next;
  Vector<double> weight;
  double rate_y = 1, rate_z = 1;
  bool paper = false;
};

Data data_of(const Case& made) {
  Parameters p = made.parameters;
  // The one preset with one common token.
  if (made.rung.name == "closed-form" && !p.has("P")) p.set_default("preset", "growth");
  const scan_snap::TrainingInstance<double> drawn =
      scan_snap::training_instance<double>(p, made.seed);
  Data d;
  d.query = drawn.classes.query;
  d.next = drawn.classes.next;
  const Index k = drawn.classes.classes();
  d.law = Matrix<double>::Zero(k, drawn.classes.tokens);
  d.weight = Vector<double>::Constant(k, 1.0 / static_cast<double>(k));
  if (p.has("P")) {
    const Matrix<double> given = p.matrix<double>("P");
    d.law.leftCols(given.cols()) = given;
    const auto whole = [&](const char* name, std::vector<Index>& to) {
      if (!p.has(name)) return;
      const Vector<double> list = p.vector<double>(name);
      for (Index n = 0; n < k; ++n) to[static_cast<std::size_t>(n)] = static_cast<Index>(list[n]);
    };
    whole("psi", d.query);
    whole("next", d.next);
    if (p.has("class_law")) d.weight = p.vector<double>("class_law");
  } else {
    for (Index n = 0; n < k; ++n) {
      const auto at = static_cast<std::size_t>(n);
      for (Index e = drawn.classes.first[at]; e < drawn.classes.first[at + 1]; ++e) {
        d.law(n, drawn.classes.token[static_cast<std::size_t>(e)]) = drawn.classes.law[e];
      }
    }
  }
  const bool growth = p.text("preset", "") == "growth";
  d.rate_y = p.number<double>("eta_Y", p.text("preset", "") == "syn-medium" ? "2" : "1");
  d.rate_z = p.number<double>("eta_Z", growth ? "0.5" : "1");
  d.paper = p.text("reading", "consistent") == "paper";
  return d;
}

std::string pair(const char* name, Index a, Index b) {
  return std::string(name) + "_" + std::to_string(a) + "_" + std::to_string(b);
}

// `table_r_c`, with `table_r_other` for the columns that have no name of their own.
double entry(const std::map<std::string, double>& named, const char* table, Index row, Index col) {
  if (const auto own = named.find(pair(table, row, col)); own != named.end()) return own->second;
  const auto shared = named.find(std::string(table) + "_" + std::to_string(row) + "_other");
  return shared == named.end() ? 0.0 : shared->second;
}

// exp(M h) + (M - 1) M h = M eta_Y s + 1 by bisection.
double scale_after(double vocabulary, double rate, double draws) {
  double low = 0, high = 1 + rate * draws;
  for (int i = 0; i < 200; ++i) {
    const double h = (low + high) / 2;
    const double miss =
        std::expm1(vocabulary * h) + (vocabulary - 1) * vocabulary * h - vocabulary * rate * draws;
    (miss > 0 ? high : low) = h;
  }
  return (low + high) / 2;
}

Columns closed_form(const Data& d, double t) {
  const auto k = static_cast<double>(d.law.rows());
  const auto m = static_cast<double>(d.law.cols());
  double members = 0;  // classes of the first query
  for (const Index q : d.query) members += q == d.query.front() ? 1 : 0;
  // The common token: the one that every class has.
  double component = 0;
  for (Index l = 0; l < d.law.cols(); ++l) {
    if (d.law.col(l).minCoeff() > 0) component = d.law(0, l) / d.law.row(0).norm();
  }
  const double w = d.paper ? 1.0 : 1 / k;
  const double c0 = 1 / ((k - 1) * std::pow(component, 4));
  Columns columns;
  const double h = scale_after(m, d.rate_y, t / k);
  columns["h"] = h;
  columns["gamma"] = (m - 1) * (m - 1) * h / (m - 1 + std::exp(m * h));
  const double total = d.rate_z / d.rate_y * k * (m - 1) * (m - 1) * h * h / 2;
  columns["Gamma"] = total;
  columns["B"] = std::log(1 + 4 * w * members * total / c0) / (4 * members);
  const double c0_of_paper = 1 / (k * std::pow(component, 4));
  columns["B_paper"] = std::log(c0_of_paper + 4 * total) / 4;
  columns["B_eqn_13"] = std::log1p(4 * total / c0_of_paper) / 4;
  return columns;
}

}  // namespace

Columns scan_snap_columns(const Case& made, const AnyRung<double>& rung, const Point& at) {
  const Data d = data_of(made);
  const std::string& name = made.rung.name;
  if (name == "closed-form") return closed_form(d, at.t);
  const std::map<std::string, double> now = by_name(rung, at.x);
  const std::map<std::string, double> start = by_name(rung, rung.initial);
  const Index k = d.law.rows();
  const Index m = d.law.cols();
  Matrix<double> f(m, k);
  Columns columns;
  for (Index n = 0; n < k; ++n) {
    std::vector<double> all, distinct;
    const Index q = d.query[static_cast<std::size_t>(n)];
    Vector<double> c = Vector<double>::Zero(m);
    for (Index l = 0; l < m; ++l) {
      if (d.law(n, l) == 0) continue;
      c[l] = d.law(n, l) * std::exp(now.at(pair("z", q, l)));
      all.push_back(c[l]);
      if ((d.law.col(l).array() > 0).count() == 1) distinct.push_back(c[l]);
    }
    c /= c.sum();
    f.col(n) = c / c.norm();
    columns["entropy_" + std::to_string(n)] = entropy_of(all);
    if (!distinct.empty()) columns["distinct_entropy_" + std::to_string(n)] = entropy_of(distinct);
    const std::string growth = "B_" + std::to_string(n);
    if (now.contains(growth)) columns[growth] = now.at(growth);
  }
  const Matrix<double> gram = f.transpose() * f;
  const Vector<double> lambda =
      Eigen::SelfAdjointEigenSolver<Matrix<double>>(gram - Matrix<double>::Identity(k, k))
          .eigenvalues();
  columns["lambda_max_E"] = lambda.maxCoeff();
  columns["lambda_min_abs_E"] = lambda.cwiseAbs().minCoeff();
  for (const std::string& watched : rung.observables.columns) {
    if (!watched.starts_with("f_")) continue;
    const std::size_t cut = watched.find('_', 2);
    const Index n = std::stol(watched.substr(2, cut - 2));
    const Index l = std::stol(watched.substr(cut + 1));
    const std::string logit = pair("z", d.query[static_cast<std::size_t>(n)], l);
    columns[watched] = f(l, n);
    columns[pair("chi", n, l)] = std::exp(2 * (now.at(logit) - start.at(logit)));
  }
  if (name == "reduced") {
    const double h = now.at("h");
    const auto v = static_cast<double>(m);
    const double gamma = (v - 1) * (v - 1) * h / (v - 1 + std::exp(v * h));
    columns["h"] = h;
    columns["gamma"] = gamma;
    columns["loss"] = -std::log(std::exp(v * h) / (v - 1 + std::exp(v * h)));
    columns["accuracy"] = h > 0 ? 1.0 : 1 / v;
    const Matrix<double> g = gram.inverse();
    for (Index n = 0; n < k; ++n) {
      double others = 0;
      for (Index j = 0; j < k; ++j) {
        if (j != n) others += g(n, j);
      }
      columns["xi_" + std::to_string(n)] = gamma * v / (v - 1) * (g(n, n) - 1 - others / (v - 1));
    }
    return columns;
  }
  Matrix<double> y = Matrix<double>::Zero(m, m);
  if (name == "quasi-static") {
    for (Index n = 0; n < k; ++n) {
      for (Index l = 0; l < m; ++l) {
        for (Index c = 0; c < m; ++c) y(l, c) += f(l, n) * entry(now, "s", n, c);
      }
    }
  } else {
    for (Index l = 0; l < m; ++l) {
      for (Index c = 0; c < m; ++c) y(l, c) = entry(now, "y", l, c);
    }
  }
  columns["loss"] = 0;
  columns["accuracy"] = 0;
  for (Index n = 0; n < k; ++n) {
    const Index label = d.next[static_cast<std::size_t>(n)];
    const Vector<double> logits = y.transpose() * f.col(n);
    double partition = 0, ties = 0;
    bool beaten = false;
    for (Index c = 0; c < m; ++c) {
      partition += std::exp(logits[c]);
      // Columns that are equal by construction are summed up alike.
      if (std::fabs(logits[c] - logits[label]) < 1e-13) {
        ties += 1;
      } else if (logits[c] > logits[label]) {
        beaten = true;
      }
    }
    columns["loss"] += d.weight[n] * (std::log(partition) - logits[label]);
    columns["accuracy"] += beaten ? 0.0 : d.weight[n] / ties;
    Vector<double> miss = -(logits.array().exp() / partition).matrix();
    miss[label] += 1;
    const Vector<double> g = y * miss;
    const Vector<double> fit = gram.fullPivLu().solve(f.transpose() * g);
    columns["xi_" + std::to_string(n)] = fit[n] - f.col(n).dot(g);
  }
  return columns;
}

}  // namespace popgrad::laws
