#include "theorems/scan_snap/checks/assumption2_gains.hpp"

#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"

namespace popgrad::scan_snap::checks {
namespace {

constexpr Knob gain_classes = whole_knob("classes", "classes K", 2, 5, 3);
constexpr Knob gain_common_tokens = whole_knob("common-tokens", "common tokens", 1, 3, 1);
constexpr Knob gain_distinct_tokens =
    whole_knob("distinct-tokens", "distinct tokens a class", 2, 6, 3);
constexpr Knob gain_overlap = linear_knob("overlap", "lambda_1(E) in units of 1/K", 0.5, 0.99, 0.8);
constexpr Knob vocabulary_part =
    logarithmic_knob("vocabulary-part", "M in units of 36/min lambda_i^2", 1.001, 4, 1.5);
constexpr Knob gain_rate_ratio =
    logarithmic_knob("rate-ratio", "eta_Y/eta_Z, eta_Y = 0.5", 1, 100, 10);

// xi_n/gamma of all classes from F'F.
Vector<double> relative_xi_of(const Matrix<double>& gram, double m, GainForm form) {
  const PrincipalAxes axes = principal_axes(gram);
  const Eigen::ArrayXd lambda = axes.values.array() - 1;
  Eigen::ArrayXd own = lambda.square();
  if (form != GainForm::second_order) own /= 1 + lambda;
  const Matrix<double> inverse = gram.inverse();
  const Vector<double> others = inverse.rowwise().sum() - inverse.diagonal();
  const double sign = form == GainForm::other_sign ? 1 : -1;
  const Matrix<double> squares = axes.vectors.cwiseAbs2();
  return own_scale(m) * (squares * own.matrix() + sign / (m - 1) * others);
}

}  // namespace

std::vector<Knob> assumption2_knobs() {
  return {gain_classes,    gain_common_tokens, gain_distinct_tokens, gain_overlap,
          vocabulary_part, gain_rate_ratio,    assumption2_horizon};
}

namespace {

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 5);
  TrainingInstance<double> training;
  training.classes =
      inside_assumption_2(stream,
                          {setting.count(gain_classes), setting.count(gain_common_tokens),
                           setting.count(gain_distinct_tokens), setting.value(gain_overlap)},
                          setting.value(vocabulary_part));
  training.decoder_rate = 0.5;
  training.attention_rate = training.decoder_rate / setting.value(gain_rate_ratio);
  return training;
}

}  // namespace

TrainingInstance<double> assumption2_training(const Setting& setting) {
  return examined_training(setting, [&] { return drawn_training(setting); });
}

Vector<double> predicted_gains(const FatesInstance& at, const Vector<double>& f, GainForm form) {
  const Layout& layout = at.layout();
  const Index k = at.training().classes.classes();
  const Vector<double> xi = relative_xi_of(gram(layout, k, f), at.vocabulary(), form);
  Vector<double> numbers = Vector<double>::Zero(at.numbers());
  Index next = 0;
  for (const Index e : at.distinct()) {
    numbers[next++] = xi[layout.entry_class[static_cast<std::size_t>(e)]];
  }
  const Vector<double> common = at.common_parts(f);
  for (Index n = 0; n < k; ++n) {
    numbers[next + layout.class_query[static_cast<std::size_t>(n)]] -=
        (1 - common[n] * common[n]) * xi[n];
  }
  return numbers;
}

}  // namespace popgrad::scan_snap::checks
