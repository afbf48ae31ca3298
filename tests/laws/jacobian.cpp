/// Law: the Jacobian of a rung is the derivative of its field.

#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::laws::jacobian_laws {

TEST_CASE("laws: Jacobians are the derivatives of fields", "[law]") {
  // Columns of larger states are alike.
  constexpr Index largest = 60;
  std::size_t compared = 0;
  for (const Case& made : cases()) {
    const AnyRung<double> rung = made.make();
    // Kinks have no derivative.
    if (!rung.field.jacobian || rung.dimension > largest ||
        made.parameters.text("phi", "") == "relu") {
      continue;
    }
    const Point at = points(made, rung)[1];
    const Index n = rung.dimension;
    Matrix<double> jacobian;
    rung.field.jacobian(at.x, jacobian, at.t);
    INFO(made.text());
    REQUIRE(jacobian.rows() == n);
    REQUIRE(jacobian.cols() == n);
    Vector<double> above(n), below(n), moved = at.x;
    const auto difference = [&](Index j, double h) -> Vector<double> {
      moved[j] = at.x[j] + h;
      rung.field.value(moved, above, at.t);
      moved[j] = at.x[j] - h;
      rung.field.value(moved, below, at.t);
      moved[j] = at.x[j];
      return (above - below) / (2 * h);
    };
    const double size = 1 + jacobian.cwiseAbs().maxCoeff();
    for (Index j = 0; j < n; ++j) {
      const Vector<double> slope = (4 * difference(j, 5e-4) - difference(j, 1e-3)) / 3;
      INFO("by " << rung.state_names[static_cast<std::size_t>(j)]);
      CHECK((jacobian.col(j) - slope).cwiseAbs().maxCoeff() <= 1e-8 * size);
    }
    ++compared;
  }
  CHECK(compared >= 20);
}

}  // namespace popgrad::laws::jacobian_laws
