#include "theorems/joma/checks/conservation.hpp"

#include <functional>

#include "solving/common_error.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/invariant.hpp"

namespace popgrad::joma::checks {
namespace {

// The two sides of the invariant at a state, an entry a token: z^2 or z, and what v makes of it.
class Sides {
 public:
  explicit Sides(const ClassInstance<double>& instance) : instance_(instance) {}

  [[nodiscard]] Vector<double> logits(const Vector<double>& x) const {
    const Vector<double> z = x.tail(instance_.tokens());
    return instance_.attention == Attention::linear ? Vector<double>(z.cwiseProduct(z)) : z;
  }
  /// With the first `units` hidden units only.
  [[nodiscard]] Vector<double> weights(const Vector<double>& x, Index units) const {
    const Matrix<double> v = contextual(x).leftCols(units);
    return predicted_logits<double>(instance_.attention, v, instance_.temperature, {});
  }
  [[nodiscard]] Vector<double> weights(const Vector<double>& x) const {
    return weights(x, instance_.units());
  }
  /// What a step of descent with the slope dx adds to `logits` minus `weights`, over eta^2: both
  /// are polynomials of degree 2, whose first-order terms cancel.
  [[nodiscard]] Vector<double> second_order(const Vector<double>& dx) const {
    const Vector<double> of_weights = weights(dx);
    if (instance_.attention == Attention::linear) return logits(dx) - of_weights;
    return -of_weights;
  }
  /// Size of the first-order terms that cancel, units apart: |z z'| and sum_k |v_k v_k'|.
  [[nodiscard]] double cancelled(const Vector<double>& x, const Vector<double>& dx) const {
    const Vector<double> v = contextual(x).cwiseProduct(contextual(dx)).cwiseAbs().rowwise().sum();
    return v.maxCoeff() + x.tail(v.size()).cwiseProduct(dx.tail(v.size())).cwiseAbs().maxCoeff();
  }
  [[nodiscard]] double terms() const {
    return static_cast<double>(instance_.tokens() + instance_.classes() + instance_.units());
  }

 private:
  [[nodiscard]] Matrix<double> contextual(const Vector<double>& x) const {
    return Eigen::Map<const Matrix<double>>(x.data(), instance_.weights.rows(), instance_.units())
        .topRows(instance_.tokens());
  }
  const ClassInstance<double>& instance_;
};

double largest(const std::vector<Quantity>& tokens) {
  double size = 0;
  for (const Quantity& token : tokens) size = std::max(size, std::fabs(token.value()));
  return size;
}

// A token's growth may be small compared with that of the others, so the largest is the unit of all.
void judge_growth(const Sides& sides, const ClassInstance<double>& instance, const Solved& run,
                  const Clause& grows, Examination& it) {
  const Vector<double> initial = PopulationFlow<double>(instance).initial();
  const auto growth = [&](const std::function<Vector<double>(const Vector<double>&)>& side) {
    std::vector<Quantity> tokens;
    for (Index l = 0; l < instance.tokens(); ++l) {
      tokens.push_back(run.at(0, [&](const Vector<double>& x) { return side(x)[l]; }) -
                       Quantity(side(initial)[l]));
    }
    return with_common_error(tokens);
  };
  const auto of_units = [&](Index units) {
    return growth([&](const Vector<double>& x) { return sides.weights(x, units); });
  };
  const std::vector<Quantity> predicted = of_units(instance.units());
  it.judge(grows, equal("growth of the logits against that of the weights",
                        growth([&](const Vector<double>& x) { return sides.logits(x); }), predicted)
                      .in_units_of(largest(predicted))
                      .unless(larger_weights, times(1.1))
                      .unless(unit_short, of_units(instance.units() - 1))
                      .with(run.places().front()));
}

// Full-batch descent over one unit of time. A slope that is read after the step in place of before
// it is a mistake of the next order.
void judge_descent(const Sides& sides, const PopulationFlow<double>& flow, double unit,
                   const Clause& drifts, Examination& it) {
  constexpr int steps = 20;
  const double eta = unit / steps;
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const Vector<double> at_start = sides.logits(x) - sides.weights(x);
  flow.rhs(x, slope, 0.0);
  const Vector<double> first = sides.second_order(slope);
  Vector<double> predicted = Vector<double>::Zero(at_start.size());
  double size = 0;
  for (int step = 0; step < steps; ++step) {
    throw_if_stopped();
    predicted += eta * eta * sides.second_order(slope);
    size += sides.logits(x).cwiseAbs().maxCoeff() + sides.weights(x).maxCoeff() +
            sides.terms() * eta * sides.cancelled(x, slope);
    x += eta * slope;
    flow.rhs(x, slope, 0.0);
  }
  const Vector<double> late = predicted + eta * eta * (sides.second_order(slope) - first);
  const Vector<double> drift = sides.logits(x) - sides.weights(x) - at_start;
  std::vector<Quantity> measured;
  for (const double token : drift) {
    measured.push_back({token, {ErrorPart::rounding(sides.terms(), size)}});
  }
  const std::vector<Quantity> claimed(predicted.begin(), predicted.end());
  it.judge(drifts, equal("drift of the invariant under descent", measured, claimed)
                       .in_units_of(largest(claimed))
                       .unless(late_slope, std::vector<Quantity>(late.begin(), late.end()))
                       .unless(descent_conserves, 0.0)
                       .with(fmt::format("{} steps of {:.4g}", steps, eta)));
}

}  // namespace

void judge_conservation(const ClassInstance<double>& instance, const Clause& grows,
                        const Clause& drifts, Examination& it) {
  const Sides sides(instance);
  const PopulationFlow<double> flow(instance);
  const double unit = time_unit(flow);
  // One solve a time: between the ends of its steps a solver has errors of another kind.
  for (const double time : {unit / 2, unit}) {
    judge_growth(sides, instance, Solved(forget_type(flow), {time}, 1e-11), grows, it);
  }
  judge_descent(sides, flow, unit, drifts, it);
}

}  // namespace popgrad::joma::checks
