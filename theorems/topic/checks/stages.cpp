#include "theorems/topic/checks/stages.hpp"

#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

constexpr double stage_tolerance = 1e-10;
constexpr int saves_of_growth = 120;

AnyRung<double> with_ratio(const Training& training, double ratio) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  rung.field.value = [inner = rung.field.value, keys = Layout(training).values(), ratio](
                         const Vector<double>& x, Vector<double>& dx, const double& t) {
    inner(x, dx, t);
    dx.head(keys) *= ratio;
  };
  return rung;
}

}  // namespace

double logits_size(const Layout& layout, const Vector<double>& x) {
  return x.head(layout.queries()).squaredNorm() / std::sqrt(static_cast<double>(layout.key_width));
}

Stages::Stages(const Training& start, double ratio)
    : training_(start),
      layout_(start),
      rung_(with_ratio(start, ratio)),
      value_(value_rate(start.law)),
      attention_(ratio * attention_rate(start.law, start.key_width)),
      run_(rung_, times(), stage_tolerance) {}

// To the time at which W_K, from sigma, would be e^4 in size were growth linear: it has saturated.
std::vector<double> Stages::times() const {
  std::vector<double> all{4 / value_, 8 / value_};
  const double duration = (std::log1p(1 / training_.scale) + 4) / attention_;
  for (int i = 1; i <= saves_of_growth; ++i) {
    all.push_back(all[1] + duration * i / saves_of_growth);
  }
  return all;
}

// d/dt ln |y - centre| for the part y of the state from `begin` on.
double Stages::logarithmic_rate(const Vector<double>& x, Index begin,
                                const Vector<double>& centre) const {
  Vector<double> dx(x.size());
  rung_.field.value(x, dx, 0.0);
  const Vector<double> apart = x.segment(begin, centre.size()) - centre;
  return apart.dot(dx.segment(begin, centre.size())) / apart.squaredNorm();
}

// The last save point with smaller logits, but one of stage 2.
std::size_t Stages::save_below(double size) const {
  std::size_t save = run_.size() - 1;
  while (save > 2 && logits_size(layout_, run_.state(save)) > size) --save;
  return save;
}

Quantity Stages::rate_of_value() const {
  const Matrix<double> least = expand(training_.law, minimum_norm_value(training_.law));
  const auto rate = [&](const Vector<double>& x) {
    return -logarithmic_rate(x, layout_.values(), Vector<double>(least.reshaped()));
  };
  Quantity measured = run_.at(1, rate);
  measured.add(ErrorPart::next_order(rate(run_.state(1)) - rate(run_.state(0))));
  Vector<double> uniform = run_.state(1);
  uniform.head(layout_.values()).setZero();
  measured.add(ErrorPart::next_order(rate(run_.state(1)) - rate(uniform)));
  return measured;
}

Quantity Stages::rate_of_keys() const {
  const Vector<double> zero = Vector<double>::Zero(layout_.queries());
  const auto rate = [&](const Vector<double>& x) { return logarithmic_rate(x, 0, zero); };
  const std::size_t save = save_below(small_logits);
  const std::size_t larger = save_below(4 * small_logits);
  Quantity measured = run_.at(save, rate);
  const double here = rate(run_.state(save));
  measured.add(ErrorPart::next_order(rate(run_.state(larger)) - here));
  measured.add(ErrorPart::next_order(rate(run_.state(save / 2)) - here));
  return measured;
}

Quantity Stages::time_of_small() const {
  const std::size_t save = save_below(small_logits);
  const Quantity size =
      run_.at(save, [&](const Vector<double>& x) { return logits_size(layout_, x); });
  return Quantity(run_.times()[save]) +
         (Quantity(std::log(small_logits)) - log(size)) / (Quantity(2) * rate_of_keys());
}

Quantity Stages::early_growth() const {
  const double first = rung_.initial.head(layout_.queries()).norm();
  return run_.at(1,
                 [&](const Vector<double>& x) { return x.head(layout_.queries()).norm() / first; });
}

Quantity Stages::drift(double weight) const {
  const auto difference = [&](const Vector<double>& x) {
    const ConstView keys(x.data() + layout_.keys(), layout_.key_width, layout_.width);
    const ConstView queries(x.data() + layout_.queries(), layout_.key_width, layout_.width);
    return Matrix<double>(keys * keys.transpose() - weight * queries * queries.transpose());
  };
  const Matrix<double> first = difference(rung_.initial);
  const std::size_t last = run_.size() - 1;
  const double size = run_.state(last).head(layout_.queries()).squaredNorm();
  Quantity change =
      run_.at(last, [&](const Vector<double>& x) { return (difference(x) - first).norm() / size; });
  // At least a product at every step of the solver, and a step between any two save points.
  change.add(ErrorPart::rounding(
      static_cast<double>(layout_.width) * static_cast<double>(run_.size()), 1 + weight));
  return change;
}

}  // namespace popgrad::topic::checks
