#include "theorems/joma/checks/token_a_unit.hpp"

#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

constexpr Knob dominant = logarithmic_knob("dominant", "size of the dominant token of Mu", 1, 3, 3);
constexpr Knob weakest = linear_knob(
    "weakest", "size of the weakest token, in units of the dominant one", 0.05, 0.95, 0.5);
constexpr Knob start =
    logarithmic_knob("start", "deviation of V(0), in units of the dominant token", 1e-9, 0.3, 0)
        .breaking("V(0) = 0");
constexpr Knob mixing =
    logarithmic_knob("mixing", "deviation of Mu off the diagonal, in units of a row's size", 1e-3,
                     10, 0)
        .breaking("rows of Mu orthogonal");

}  // namespace

std::vector<Knob> knobs_of_token_a_unit() {
  return {tau, token_count, dominant, weakest, start, mixing};
}

ReducedInstance<double> token_a_unit(const Setting& setting) {
  const Index d = setting.count(token_count);
  Stream stream(setting.seed, stream_of_drawn_instances, 10);
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = setting.value(tau);
  instance.target.resize(d, d);
  instance.start.resize(d, d);
  instance.logits = Vector<double>::Zero(d);
  for (Index l = 0; l < d; ++l) {
    const double place = l == 0 ? 0.0 : l + 1 == d ? 1.0 : stream.uniform();
    for (Index k = 0; k < d; ++k) {
      instance.target(l, k) = (k == l ? 1 : 0) + setting.value(mixing) * stream.normal();
      instance.start(l, k) = setting.value(start) * setting.value(dominant) * stream.normal();
    }
    instance.target.row(l) *= setting.value(dominant) * (1 - (1 - setting.value(weakest)) * place) /
                              instance.target.row(l).norm();
  }
  return instance;
}

}  // namespace popgrad::joma::checks
