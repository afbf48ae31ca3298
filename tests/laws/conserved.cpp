/// Law: what the theory says is conserved has no rate, in any state.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "laws/cases.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/tests/law.hpp"
#include "theorems/scb/tests/law.hpp"
#include "theorems/topic/tests/law.hpp"

namespace popgrad::laws::conserved_laws {
namespace {

/// The rate of every conserved number at a state, from the field there.
using Rates = std::function<std::vector<double>(const Case&, const AnyRung<double>&, const Point&,
                                                const Vector<double>& field)>;

Index find(const AnyRung<double>& rung, const std::string& name) {
  const auto found = std::find(rung.state_names.begin(), rung.state_names.end(), name);
  return found == rung.state_names.end() ? -1 : found - rung.state_names.begin();
}

// Theorem 1: d/dt (T z - sum v^2/2) = 0 for exp, d/dt (z^2 - sum v^2) = 0 for linear attention; of
// softmax, d/dt sum z = 0.
std::vector<double> joma(const Case& made, const AnyRung<double>& rung, const Point& at,
                         const Vector<double>& field) {
  const Parameters& p = made.parameters;
  const std::string attention = p.text("attention", "exp");
  if (p.flag("normalise", false) || p.count("embedding-dimension", 0, 0, 100) > 0) return {};
  const bool frozen = made.rung.name == "stationary";
  const bool standard = !p.has("mu") && !p.has("delta") && !p.has("X");
  double temperature = p.number<double>("temperature", "1");
  if (frozen && !p.has("temperature") && !p.has("X")) {
    temperature = std::sqrt(p.number<double>("tau", standard ? "3" : "2") / 2);
  }
  std::vector<double> rates;
  double sum = 0;
  for (Index l = 0; find(rung, "z_" + std::to_string(l)) >= 0; ++l) {
    const Index z = find(rung, "z_" + std::to_string(l));
    sum += field[z];
    double squares = 0;  // d/dt sum v^2 / 2
    const std::string own = "v_" + std::to_string(l);
    if (const Index i = find(rung, own); i >= 0) squares += at.x[i] * field[i];
    for (Index k = 0; find(rung, own + "_" + std::to_string(k)) >= 0; ++k) {
      const Index i = find(rung, own + "_" + std::to_string(k));
      squares += at.x[i] * field[i];
    }
    if (attention == "exp") rates.push_back(temperature * field[z] - squares);
    if (attention == "linear") rates.push_back(at.x[z] * field[z] - squares);
  }
  if (attention == "softmax") rates.push_back(sum);
  return rates;
}

// Rows of Y and Z keep their sum.
std::vector<double> scan_snap(const Case& made, const AnyRung<double>& rung, const Point& /*at*/,
                              const Vector<double>& field) {
  const Index tokens = vocabulary_of(made.parameters);
  std::map<std::string, double> rows;
  std::map<std::string, double> named;
  for (const std::string& name : rung.state_names) {
    if (!name.ends_with("_other")) named[name.substr(0, name.find('_', 2))] += 1;
  }
  for (Index i = 0; i < field.size(); ++i) {
    const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
    if (!name.starts_with("y_") && !name.starts_with("z_") && !name.starts_with("s_")) continue;
    const std::string row = name.substr(0, name.find('_', 2));
    const double many =
        name.ends_with("_other") ? static_cast<double>(tokens) - named.at(row) : 1.0;
    rows[row] += many * field[i];
  }
  std::vector<double> rates;
  for (const auto& [row, rate] : rows) rates.push_back(rate);
  return rates;
}

// 1'V, V mu and the sums of a^k, where gradients are projected.
std::vector<double> scb(const Case& made, const AnyRung<double>& rung, const Point& /*at*/,
                        const Vector<double>& field) {
  const Parameters& p = made.parameters;
  if (!p.flag("project", true) || made.rung.name == "reduced") return {};
  const BigramLaw b = bigram_law(made);
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(field.data(), n, n);
  std::vector<double> rates;
  for (Index k = 0; k < n; ++k) rates.push_back(v.col(k).sum());
  const Vector<double> along = v * b.mu;
  rates.insert(rates.end(), along.begin(), along.end());
  Vector<double> mass = Vector<double>::Zero(n);
  for (Index i = n * n; i < field.size(); ++i) {
    const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
    if (!name.starts_with("a_") && !name.starts_with("w_") && !name.starts_with("m_")) continue;
    const Index k = std::stol(name.substr(2));
    const bool all = name.starts_with("m_") || name.ends_with("_rest");
    mass[k] +=
        field[i] * (all ? static_cast<double>((b.context.col(k).array() == 0).count()) : 1.0);
  }
  rates.insert(rates.end(), mass.begin(), mass.end());
  return rates;
}

// W_K W_K' - W_Q W_Q'; of the products, tr K - tr Q.
std::vector<double> topic(const Case& made, const AnyRung<double>& rung, const Point& at,
                          const Vector<double>& field) {
  if (find(rung, "K_00") >= 0) {
    const auto words = static_cast<double>(topic_world(made.parameters).vocabulary() - 1);
    const auto trace = [&](const std::string& m) {
      return field[find(rung, m + "_00")] + words * field[find(rung, m + "_diagonal")];
    };
    return {trace("K") - trace("Q")};
  }
  if (find(rung, "W_K_0_0") < 0) return {};
  const Weights now = weights_of(made, rung, at.x);
  const Weights rate = weights_of(made, rung, field);
  const Matrix<double> keys = now.keys * rate.keys.transpose();
  const Matrix<double> queries = now.queries * rate.queries.transpose();
  const Matrix<double> d = keys + keys.transpose() - queries - queries.transpose();
  return {d.reshaped().begin(), d.reshaped().end()};
}

}  // namespace

TEST_CASE("laws: conserved quantities have no rate", "[law]") {
  const std::map<std::string, Rates> conserved{
      {"joma", joma}, {"scan-snap", scan_snap}, {"scb", scb}, {"topic", topic}};
  std::map<std::string, std::size_t> compared;
  for (const Case& made : cases()) {
    const auto law = conserved.find(made.model->name());
    if (law == conserved.end()) continue;
    const AnyRung<double> rung = made.make();
    if (!rung.field.value) continue;
    for (const Point& at : points(made, rung)) {
      Vector<double> field(at.x.size());
      rung.field.value(at.x, field, at.t);
      INFO(made.text());
      for (const double rate : law->second(made, rung, at, field)) {
        ++compared[made.model->name() + " " + made.rung.name];
        CHECK(std::fabs(rate) <= 1e-11 * (1 + field.cwiseAbs().maxCoeff()) * (1 + at.x.norm()));
      }
    }
  }
  for (const char* name : {"joma sgd", "joma gd", "joma flow", "joma stationary", "scan-snap flow",
                           "scan-snap quasi-static", "scan-snap fast-decoder", "scan-snap reduced",
                           "scb sgd", "scb gd", "scb flow", "scb noisy", "scb noisy-lumped",
                           "topic flow", "topic two-stage", "topic symmetric"}) {
    INFO(name);
    CHECK(compared[name] > 0);
  }
}

}  // namespace popgrad::laws::conserved_laws
