#include "theorems/joma/checks/clouds.hpp"

#include <Eigen/QR>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

constexpr Knob noise =
    logarithmic_knob("noise", "deviation sigma of the noise, in units of the centres", 0.4, 4, 0.7);
constexpr Knob cloud_dimension = whole_knob("dimension", "dimension of x", 2, 8, 3);
constexpr Knob cloud_classes = whole_knob("classes", "centres of the mixture", 2, 6, 2);
constexpr Knob length = logarithmic_knob("length", "|w|", 0.01, 100, 1);
constexpr Knob anisotropy =
    logarithmic_knob("anisotropy", "deviation of the logarithms of the noise's principal axes",
                     1e-3, 2, 0)
        .breaking("rotation invariant noise");
constexpr Knob feedback =
    logarithmic_knob("feedback", "slope of g_c in the noise, relative and per deviation of it",
                     1e-3, 3, 0)
        .breaking("g_c constant");

}  // namespace

std::vector<Knob> knobs_of_clouds() {
  return {noise, cloud_dimension, cloud_classes, length, anisotropy, feedback};
}

CloudUnit drawn_unit(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_instances, 4);
  const auto normal = [&](Index rows, Index cols) {
    Matrix<double> drawn(rows, cols);
    for (double& entry : drawn.reshaped()) entry = stream.normal();
    return drawn;
  };
  const Index d = setting.count(cloud_dimension);
  CloudUnit unit;
  unit.mixture.sigma = setting.value(noise);
  unit.mixture.centres = normal(d, setting.count(cloud_classes)).colwise().normalized();
  unit.mixture.strength.resize(setting.count(cloud_classes));
  for (double& a : unit.mixture.strength) a = 2 * stream.uniform() - 0.5;  // of both signs
  unit.w = setting.value(length) * normal(d, 1).normalized();
  const Matrix<double> turn = Eigen::HouseholderQR<Matrix<double>>(normal(d, d)).householderQ();
  const Vector<double> widths = (setting.value(anisotropy) * normal(d, 1)).array().exp();
  // The mean square deviation stays sigma^2.
  unit.axes = setting.value(anisotropy) > 0
                  ? Matrix<double>(turn * widths.asDiagonal() *
                                   std::sqrt(static_cast<double>(d) / widths.squaredNorm()))
                  : Matrix<double>::Identity(d, d);
  unit.slope = setting.value(feedback) * normal(d, 1).normalized();
  return unit;
}

std::vector<Quantity> sampled_mean(const CloudUnit& unit, const Setting& setting) {
  constexpr Index draws = 64;
  const GaussianMixture& m = unit.mixture;
  const Index d = unit.w.size();
  Matrix<double> means = Matrix<double>::Zero(setting.draws(1U << 15U), d);
  Matrix<double> n(d, draws * m.centres.cols());
  for (Index row = 0; row < means.rows(); ++row) {
    throw_if_stopped();
    Stream stream(setting.draw_seed(), 0, static_cast<std::uint64_t>(row));
    stream.normals({n.data(), static_cast<std::size_t>(n.size())});
    const Matrix<double> deviation = m.sigma * unit.axes * n;
    for (Index k = 0; k < n.cols(); ++k) {
      const Index c = k / draws;
      const Vector<double> x = m.centres.col(c) + deviation.col(k);
      const double gradient = m.strength[c] * (1 + unit.slope.dot(n.col(k))) / draws;
      if (unit.w.dot(x) > 0) means.row(row) += gradient * x;
    }
  }
  return sample_moments(means, setting.false_alarm).mean;
}

}  // namespace popgrad::joma::checks
