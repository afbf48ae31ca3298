#include "theorems/scb/checks/scratch.hpp"

#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/instance_record.hpp"

namespace popgrad::scb::checks {

Training<double> scratch_instance(const Setting& setting, const Knob& length, const Knob& support,
                                  Examination& it) {
  return scratch_instance(
      setting,
      [&] {
        return from_scratch(setting.count(tokens_knob), setting.count(length),
                            setting.count(support), setting.seed);
      },
      it);
}

Training<double> scratch_instance(const Setting& setting,
                                  const std::function<Training<double>()>& drawn, Examination& it) {
  const Training<double> training = examined(setting, scb::training<double>, drawn);
  const Bigrams<double>& b = training.bigrams;
  const Matrix<double> ground = b.stationary * Vector<double>::Ones(b.tokens()).transpose();
  double apart = (training.start - ground).cwiseAbs().maxCoeff();
  if (training.attention_start.size() > 0) {
    const double share = training.softmax ? 0.0 : 1 / static_cast<double>(b.context);
    apart = std::max(apart, (training.attention_start.array() - share).abs().maxCoeff());
  }
  it.require(from_scratch_text, -apart, fmt::format("apart by {:.3g}", apart));
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"seed", setting.seed}};
  return training;
}

double least_pull(const Bigrams<double>& b) {
  return b.law.minCoeff() * transition_size(b) * settled_value(b);
}

void require_light_weight(const Bigrams<double>& b, double weight, double alpha_V,
                          Examination& it) {
  const double pull = least_pull(b) * std::min(1.0, alpha_V / settled_value(b));
  it.require(light_weight_text, pull - weight,
             fmt::format("`lambda = {:.4g}`, `q_min <V,P> = {:.4g}`", weight, pull));
}

double weight_of(const Setting& setting, const Bigrams<double>& b) {
  const double heavy = setting.value(heavy_weight);
  return (heavy > 0 ? heavy : setting.value(l1_weight)) * least_pull(b);
}

}  // namespace popgrad::scb::checks
