/// The columns of joma from their definitions: b(x, z), f = U_C b + u_q, cross entropy, invariants.

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <functional>

#include "laws/columns.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::laws {
namespace {

using std::size_t;

struct State {
  Grid v;                     ///< rows tokens (query last, if any), a column a unit
  std::vector<double> query;  ///< empty without residual
  std::vector<double> z;
};

State read(const AnyRung<double>& rung, const Vector<double>& x) {
  const std::map<std::string, double> named = by_name(rung, x);
  State s;
  for (size_t k = 0;; ++k) {
    if (!named.contains("query_" + std::to_string(k))) break;
    s.query.push_back(named.at("query_" + std::to_string(k)));
  }
  for (size_t l = 0;; ++l) {
    const std::string one = "v_" + std::to_string(l);
    if (!named.contains(one) && !named.contains(one + "_0")) break;
    s.v.emplace_back();
    if (named.contains(one)) s.v.back().push_back(named.at(one));
    for (size_t k = 0; named.contains(one + "_" + std::to_string(k)); ++k) {
      s.v.back().push_back(named.at(one + "_" + std::to_string(k)));
    }
    const std::string logit = "z_" + std::to_string(l);
    if (named.contains(logit)) s.z.push_back(named.at(logit));
  }
  return s;
}

double stable_rank_of(const Grid& v) {
  Matrix<double> m(static_cast<Index>(v.size()), static_cast<Index>(v.front().size()));
  for (Index l = 0; l < m.rows(); ++l) {
    for (Index k = 0; k < m.cols(); ++k)
      m(l, k) = v[static_cast<size_t>(l)][static_cast<size_t>(k)];
  }
  if (m.norm() == 0) return 0;
  const Vector<double> singular = Eigen::JacobiSVD<Matrix<double>>(m).singularValues();
  return singular.squaredNorm() / (singular[0] * singular[0]);
}

// What is constant by Theorem 1.
std::vector<double> conserved(const std::string& attention, const State& s, double temperature,
                              const std::vector<double>& mean) {
  double all = 0;
  for (const auto& row : s.v) {
    for (const double v : row) all += v * v;
  }
  std::vector<double> r;
  for (size_t l = 0; l < s.z.size(); ++l) {
    double squares = 0;
    for (const double v : s.v[l]) squares += v * v;
    if (attention == "linear") r.push_back(s.z[l] * s.z[l] - squares);
    if (attention == "exp") r.push_back(s.z[l] - squares / (2 * temperature));
    if (attention == "softmax") {
      r.push_back(s.z[l] - (squares - all * mean[l]) / (2 * temperature));
    }
  }
  return r;
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  const auto n = static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xy / std::sqrt(xx * yy);
}

bool all_equal(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x.front(); });
}

void add_invariant(const std::string& attention, const State& now, const State& start,
                   double temperature, const std::vector<double>& mean, Columns& columns) {
  const std::vector<double> r = conserved(attention, now, temperature, mean);
  const std::vector<double> r0 = conserved(attention, start, temperature, mean);
  double largest = 0, miss = 0, size = 0;
  std::vector<double> actual, predicted;
  for (size_t l = 0; l < r.size(); ++l) {
    actual.push_back(attention == "linear" ? now.z[l] * now.z[l] : now.z[l]);
    predicted.push_back(actual.back() - (r[l] - r0[l]));
    largest = std::max(largest, std::fabs(r[l] - r0[l]));
    miss += (r[l] - r0[l]) * (r[l] - r0[l]);
    size += actual.back() * actual.back();
  }
  columns["invariant_residual"] = largest;
  columns["invariant_residual_relative"] = size > 0 ? std::sqrt(miss / size) : 0.0;
  columns["normalised_correlation"] =
      all_equal(actual) || all_equal(predicted) ? 0.0 : pearson(actual, predicted);
}

double activated(const std::string& phi, double h) {
  if (phi == "relu") return std::max(h, 0.0);
  if (phi == "tanh") return std::tanh(h);
  if (phi == "gelu") return h * 0.5 * std::erfc(-h / std::sqrt(2.0));
  return h;
}

// -ln of the probability of its class, for one x.
double sample_loss(const Parameters& p, const joma::ClassInstance<double>& drawn, const State& s,
                   const std::vector<double>& x, size_t label, double temperature) {
  const std::string attention = p.text("attention", "exp");
  const std::string phi = p.text("phi", "linear");
  std::vector<double> f;  // coefficients on [U_C, u_q]
  double total = 0;
  for (size_t l = 0; l < x.size(); ++l) {
    const double gain =
        attention == "linear" ? s.z[l] / temperature : std::exp(s.z[l] / temperature);
    f.push_back(gain * x[l]);
    total += f.back();
  }
  if (attention == "softmax") {
    for (double& b : f) b /= total;
  }
  if (!s.query.empty()) f.push_back(1.0);
  double length = 1;
  if (p.flag("normalise", false)) {
    double square = 0;
    for (size_t a = 0; a < f.size(); ++a) {
      for (size_t b = 0; b < f.size(); ++b) {
        const Matrix<double>& gram = drawn.features.gram;
        const double product = gram.size() > 0 ? gram(static_cast<Index>(a), static_cast<Index>(b))
                                               : (a == b ? 1.0 : 0.0);
        square += f[a] * f[b] * product;
      }
    }
    length = std::sqrt(square);
  }
  std::vector<double> hidden;
  for (size_t k = 0; k < s.v.front().size(); ++k) {
    double h = s.query.empty() ? 0.0 : s.query[k];
    for (size_t l = 0; l < x.size(); ++l) h += f[l] * s.v[l][k];
    hidden.push_back(activated(phi, h / length));
  }
  std::vector<double> logits = hidden;
  if (drawn.decoder.size() > 0) {
    logits.assign(static_cast<size_t>(drawn.decoder.rows()), 0.0);
    for (size_t c = 0; c < logits.size(); ++c) {
      for (size_t k = 0; k < hidden.size(); ++k) {
        logits[c] += drawn.decoder(static_cast<Index>(c), static_cast<Index>(k)) * hidden[k];
      }
    }
  }
  double partition = 0;
  for (const double a : logits) partition += std::exp(a);
  return std::log(partition) - logits[label];
}

}  // namespace

Columns joma_columns(const Case& made, const AnyRung<double>& rung, const Point& at) {
  if (made.rung.name.starts_with("multilayer")) return multilayer_columns(made, rung, at);
  const Parameters& p = made.parameters;
  const std::string attention = p.text("attention", "exp");
  const State now = read(rung, at.x);
  const State start = read(rung, rung.initial);
  const std::string& name = made.rung.name;
  Columns columns;
  columns["stable_rank"] = stable_rank_of(now.v);
  if (name == "reduced" || name == "attended" || name == "closed-form") {
    const joma::ReducedInstance<double> drawn = joma::reduced_instance<double>(p, made.seed);
    const bool standard = !p.has("mu") && !p.has("delta") && !p.has("X");
    const double given =
        p.has("temperature") || p.has("X")
            ? 2 * p.number<double>("temperature", "1") * p.number<double>("temperature", "1")
            : p.number<double>("tau", standard ? "3" : "2");
    std::vector<double> weights;
    for (size_t l = 0; l < now.v.size(); ++l) {
      double squares = 0;
      for (const double v : now.v[l]) squares += v * v;
      double logit = squares / given;
      if (attention == "linear") {
        // z^2 = v^2 + c with c from the start; tau = 2 T^2.
        const double z0 = drawn.logits[static_cast<Index>(l)];
        const double c = z0 * z0 - start.v[l][0] * start.v[l][0];
        logit = std::sqrt(squares + c) / std::sqrt(given / 2);
      }
      weights.push_back(std::exp(logit));
    }
    columns["attention_entropy"] = entropy_of(weights);
    if (!p.has("delta") && !p.has("X")) {
      double largest = 0;
      for (size_t l = 0; l < now.v.size(); ++l) {
        for (size_t k = 0; k < now.v[l].size(); ++k) {
          const double mu =
              p.has("mu") ? p.matrix<double>("mu")(static_cast<Index>(k), static_cast<Index>(l))
                          : drawn.target(static_cast<Index>(l), 0);
          const double reached = (name == "attended" ? weights[l] : 1.0) * now.v[l][k];
          largest = std::max(largest, std::fabs(1 - reached / mu));
        }
      }
      columns["largest_delta"] = largest;
    }
    return columns;
  }
  double temperature = p.number<double>("temperature", "1");
  std::vector<double> mean(now.z.size(), 1.0 / static_cast<double>(now.z.size()));
  if (name == "stationary") {
    const bool standard = !p.has("mu") && !p.has("delta") && !p.has("X");
    if (!p.has("temperature") && !p.has("X")) {
      temperature = std::sqrt(p.number<double>("tau", standard ? "3" : "2") / 2);
    }
  } else {
    const joma::ClassInstance<double> drawn = joma::class_instance<double>(p, made.seed);
    const Matrix<double> law = p.has("X") ? p.matrix<double>("X") : drawn.token_law;
    std::vector<double> classes(static_cast<size_t>(law.cols()),
                                1.0 / static_cast<double>(law.cols()));
    if (p.has("class_law")) {
      const Vector<double> given = p.vector<double>("class_law");
      classes.assign(given.begin(), given.end());
    }
    mean.assign(mean.size(), 0.0);
    double loss = 0;
    for (size_t c = 0; c < classes.size(); ++c) {
      std::vector<double> x;
      for (Index l = 0; l < law.rows(); ++l) {
        x.push_back(law(l, static_cast<Index>(c)));
        mean[static_cast<size_t>(l)] += classes[c] * x.back();
      }
      loss += classes[c] * sample_loss(p, drawn, now, x, c, temperature);
    }
    columns["loss"] = loss;
  }
  std::vector<double> weights;
  for (const double z : now.z) weights.push_back(std::exp(z / temperature));
  columns["attention_entropy"] = entropy_of(weights);
  add_invariant(attention, now, start, temperature, mean, columns);
  return columns;
}

}  // namespace popgrad::laws
