#include <Eigen/QR>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/critical_rays.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/uniform_mixture.hpp"

namespace popgrad::joma::checks::nonlinear_uniform {
namespace {

Statement sheet{
    .id = "joma.nonlinear-uniform",
    .paper = "arXiv 2310.00535, Theorem 3",
    .status = "proved in source; ReLU form and rays derived here",
    .about = "a ReLU unit on sampled Gaussian clouds",
    .theorem = R"(
x = xbar_c + noise, f = x, uniform attention:
  w' = sum_c a_c (th1_c xbar_c + th2_c w/|w|);
for ReLU and Gaussian noise of deviation sigma
  r_c   = w.xbar_c/|w|
  th1_c = Phi(r_c/sigma)
  th2_c = sigma pdf(r_c/sigma).
Two independent centres have critical rays for isolated values of a_2/a_1 only: off one of them by
e, the least |w'| over the rays near it is |e| times a constant that is not 0, to leading order.)",
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical}};

const Clause mean_gradient = sheet.clause(
    "mean gradient of a ReLU unit on Gaussian clouds: sum_c a_c (th1 xbar_c + th2 w/|w|)");
const Clause moments = sheet.clause("closed th1, th2");
const Clause isolated = sheet.clause("two clouds have isolated critical rays");

const Hypothesis round_noise = sheet.assume("rotation invariant noise");
const Hypothesis constant_gradient = sheet.assume("g_c constant");
const Hypothesis nonzero_weight = sheet.assume("w is not 0");

const Control larger_gate = sheet.control("gate", "th1 10 % larger");
const Control larger_pull = sheet.control("pull", "th2 10 % larger");
const Control faster_growth =
    sheet.control("growth", "|w'| growing 10 % faster off critical values of a_2/a_1");

const Knob noise = sheet.knob(logarithmic_knob(
    "noise", "deviation sigma of the noise, in units of the centres", 0.4, 4, 0.7));
const Knob dimension = sheet.knob(whole_knob("dimension", "dimension of x", 2, 8, 3));
const Knob classes = sheet.knob(whole_knob("classes", "centres of the mixture", 2, 6, 2));
const Knob length = sheet.knob(logarithmic_knob("length", "|w|", 0.01, 100, 1));
const Knob anisotropy = sheet.knob(
    logarithmic_knob("anisotropy", "deviation of the logarithms of the noise's principal axes",
                     1e-3, 2, 0)
        .breaking(round_noise));
const Knob feedback = sheet.knob(
    logarithmic_knob("feedback", "slope of g_c in the noise, relative and per deviation of it",
                     1e-3, 3, 0)
        .breaking(constant_gradient));

// One unit on x_c = xbar_c + sigma A n, gradients a_c (1 + e.n), n standard normal; the theorem is
// about A = 1 and e = 0.
struct CloudUnit {
  GaussianMixture mixture;
  Vector<double> w;
  Matrix<double> axes;
  Vector<double> slope;
};

CloudUnit drawn_unit(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_instances, 4);
  const auto normal = [&](Index rows, Index cols) {
    Matrix<double> drawn(rows, cols);
    for (double& entry : drawn.reshaped()) entry = stream.normal();
    return drawn;
  };
  const Index d = setting.count(dimension);
  CloudUnit unit;
  unit.mixture.sigma = setting.value(noise);
  unit.mixture.centres = normal(d, setting.count(classes)).colwise().normalized();
  unit.mixture.strength.resize(setting.count(classes));
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

// Means of w' over draws of all x_c, 64 draws to a row, whose law is then close to normal. Part:
// sampling.
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

// The theorem's field with th1 and th2 times these factors.
std::vector<Quantity> field_with(const CloudUnit& unit, double gate, double pull) {
  const GaussianMixture& m = unit.mixture;
  const Vector<double> direction = unit.w.normalized();
  Vector<double> field = Vector<double>::Zero(unit.w.size());
  for (Index c = 0; c < m.centres.cols(); ++c) {
    const double r = direction.dot(m.centres.col(c));
    field += m.strength[c] * (gate * relu_gate(r, m.sigma) * m.centres.col(c) +
                              pull * relu_pull(r, m.sigma) * direction);
  }
  return {field.begin(), field.end()};
}

// With p the density of N(0, sigma^2), th1 = int_{-r}^inf p(s) ds and th2 = int_{-r}^inf s p(s) ds:
//   d th1/dr = p(r)      th1(0) = 1/2
//   d th2/dr = -r p(r)   th2(0) = sigma/sqrt(2 pi)
Truth moments_are(double gate_factor, double pull_factor) {
  const Expression r = symbol("r");
  const Expression sigma = GiNaC::possymbol("sigma");
  const Expression root = GiNaC::sqrt(2 * GiNaC::Pi);
  const Expression density = GiNaC::exp(-r * r / (2 * sigma * sigma)) / (sigma * root);
  const Expression gate = GiNaC::numeric(gate_factor) * relu_gate(r, sigma);
  const Expression pull = GiNaC::numeric(pull_factor) * relu_pull(r, sigma);
  const auto& variable = GiNaC::ex_to<GiNaC::symbol>(r);
  Matrix<Expression> misses(4, 1);
  misses << gate.diff(variable) - density, pull.diff(variable) + r * density,
      gate.subs(r == 0) - GiNaC::numeric(1, 2), pull.subs(r == 0) - sigma / root;
  return vanishes(misses);
}

void prove(Examination& it) {
  it.judge(moments, identity("th1, th2 of ReLU under Gaussian noise: d/dr, and at r = 0", [] {
                      return moments_are(1, 1);
                    }).unless(larger_gate, [] {
                        return moments_are(1.1, 1);
                      }).unless(larger_pull, [] { return moments_are(1, 1.1); }));
}

void examine(const Setting& setting, Examination& it) {
  const CloudUnit unit = drawn_unit(setting);
  const GaussianMixture& m = unit.mixture;
  const Index d = unit.w.size();
  it.parameters = {{"sigma", m.sigma}, {"a", numbers_of(m.strength)}, {"seed", setting.seed}};
  const double uneven =
      (unit.axes * unit.axes.transpose() - Matrix<double>::Identity(d, d)).cwiseAbs().maxCoeff();
  it.require(round_noise, -uneven,
             fmt::format("covariance off sigma^2 by the share {:.3g}", uneven));
  it.require(constant_gradient, -unit.slope.norm(),
             fmt::format("slope {:.3g} in the noise", unit.slope.norm()));
  it.require(nonzero_weight, unit.w.norm() > 0);
  const Vector<double> expected = expected_field(m, unit.w);
  it.judge(mean_gradient, equal("mean of the sampled gradient", sampled_mean(unit, setting),
                                std::vector<Quantity>(expected.begin(), expected.end()))
                              .of_kind(EvidenceKind::statistical)
                              .in_units_of(expected.norm())
                              .unless(larger_gate, field_with(unit, 1.1, 1))
                              .unless(larger_pull, field_with(unit, 1, 1.1)));
  const PairOfClouds clouds = pair_of_clouds(m.centres, m.sigma);
  Comparison growth = equal("least |w'| off critical values of a_2/a_1, per distance");
  for (const CriticalRay& ray : critical_rays(clouds)) {
    growth.add(fmt::format("a_2/a_1 = {:.6g}", ray.ratio), measured_growth(clouds, ray),
               ray.growth);
  }
  it.judge(isolated, growth.with(fmt::format("{} critical values", growth.places.size()))
                         .unless(faster_growth, times(1.1)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::nonlinear_uniform
