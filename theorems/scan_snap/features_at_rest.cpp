#include "theorems/scan_snap/features_at_rest.hpp"

#include <fmt/format.h>

#include <Eigen/LU>

#include "popgrad/linear_algebra.hpp"
#include "popgrad/scan_snap/features.hpp"
#include "theorems/scan_snap/knobs.hpp"

namespace popgrad::theorems::scan_snap {

TrainingInstance<double> chosen_training(const Setting& setting,
                                         const std::function<SequenceClasses<double>()>& drawn) {
  TrainingInstance<double> training;
  if (setting.instance != nullptr) {
    training = training_instance<double>(*setting.instance, setting.seed);
    training.track_growth = false;
  } else {
    training.classes = drawn();
  }
  training.attention_rate = setting.value(attention_rate_knob);
  return training;
}

Features::Features(const SequenceClasses<double>& of) : layout(lay_out(of, true)) {
  Vector<double> f;
  features(of, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  dense = Matrix<double>::Zero(layout.rows(), of.classes());
  for (Index e = 0; e < f.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    dense(layout.entry_row[at], layout.entry_class[at]) = f[e];
  }
  gram = popgrad::scan_snap::gram(layout, of.classes(), f);
  inverse = gram.inverse();
  spectrum = symmetric_eigenvalues<double>(gram);
}

double Features::operations() const {
  return static_cast<double>(classes()) * spectrum[classes() - 1] / spectrum[0];
}

std::vector<Quantity> Features::table(const Matrix<double>& x) const {
  const RowMatrix<double> y = dense * x;
  const double largest = y.cwiseAbs().maxCoeff();
  std::vector<Quantity> entries;
  for (const double entry : y.reshaped<Eigen::RowMajor>()) {
    entries.push_back({entry, {ErrorPart::rounding(operations(), largest)}});
  }
  return entries;
}

std::vector<DeclaredHypothesis> rest_hypotheses() {
  return {"features at rest", "F has full rank", "Y(0) = 0"};
}

void require_rest(const TrainingInstance<double>& training, const Features& at, double moved,
                  Examination& it) {
  it.require("features at rest", -moved, fmt::format("|z| up to {:.3g}", moved));
  Quantity smallest(at.spectrum[0]);
  smallest.add(
      ErrorPart::rounding(static_cast<double>(at.classes()), at.spectrum[at.classes() - 1]));
  it.require("F has full rank", smallest,
             fmt::format("smallest eigenvalue of F'F {:.3g}", at.spectrum[0]));
  it.require("Y(0) = 0", training.start == Start::zero ? Truth::yes : Truth::no);
}

}  // namespace popgrad::theorems::scan_snap
