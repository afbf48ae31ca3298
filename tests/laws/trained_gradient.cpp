#include "laws/trained_gradient.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "popgrad/rungs/rung.hpp"

namespace popgrad::laws {
namespace {

Value as_value(const Vector<double>& values) {
  Value::List list;
  for (const double value : values) list.emplace_back(to_text(value));
  return list;
}

Value as_value(const Matrix<double>& m) {
  Value::List rows;
  for (Index i = 0; i < m.rows(); ++i) rows.push_back(as_value(Vector<double>(m.row(i))));
  return rows;
}

bool is_joma(const Case& made) { return made.model->name() == "joma"; }

}  // namespace

Case relabelled(const Case& made, Index shift) {
  Case other = made;
  // By classes: the columns of X, the rows of P.
  Matrix<double> laws = made.parameters.matrix<double>(is_joma(made) ? "X" : "P");
  if (is_joma(made)) laws.transposeInPlace();
  const Index classes = laws.rows();
  const auto from = [&](Index y) { return (y + shift) % classes; };
  Matrix<double> moved(classes, laws.cols());
  for (Index y = 0; y < classes; ++y) moved.row(y) = laws.row(from(y));
  if (is_joma(made)) moved.transposeInPlace();
  other.parameters.set(is_joma(made) ? "X" : "P", as_value(moved));
  for (const char* name : {"class_law", "psi"}) {
    if (!made.parameters.has(name)) continue;
    const Vector<double> list = made.parameters.vector<double>(name);
    Vector<double> own(classes);
    for (Index y = 0; y < classes; ++y) own[y] = list[from(y)];
    other.parameters.set(name, as_value(own));
  }
  return other;
}

Gradient trained_gradient(const Case& made, const AnyRung<double>& rung, const Point& at,
                          Index most, double step) {
  const Parameters& p = made.parameters;
  const double noise = p.number<double>("label_noise", "0");
  const double temperature = is_joma(made) ? 1 : p.number<double>("temperature", "1");
  Point tempered = at;
  Vector<double> slope = Vector<double>::Ones(at.x.size());
  for (Index i = 0; i < at.x.size(); ++i) {
    if (temperature == 1) break;
    if (!rung.state_names[static_cast<std::size_t>(i)].starts_with("z_")) continue;
    tempered.x[i] /= temperature;
    slope[i] = 1 / temperature;
  }
  Gradient g = loss_gradient(rung, tempered, most, step);
  if (noise > 0 && !p.has(is_joma(made) ? "X" : "P")) {
    g.value.setConstant(std::numeric_limits<double>::quiet_NaN());
  } else if (noise > 0) {
    const Matrix<double> laws = p.matrix<double>(is_joma(made) ? "X" : "P");
    const Index classes = is_joma(made) ? laws.cols() : laws.rows();
    const double share = noise / static_cast<double>(classes);
    g.value *= 1 - noise + share;
    for (Index shift = 1; shift < classes; ++shift) {
      const AnyRung<double> other = relabelled(made, shift).make();
      REQUIRE(other.state_names == rung.state_names);
      const Gradient of_others = loss_gradient(other, tempered, most, step);
      g.value += share * of_others.value;
      g.error = std::max(g.error, of_others.error);
    }
  }
  g.value.array() *= slope.array();
  return g;
}

}  // namespace popgrad::laws
