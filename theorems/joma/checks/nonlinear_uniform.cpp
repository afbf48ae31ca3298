#include <Eigen/QR>

#include "popgrad/walks/ensemble.hpp"
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
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
    .false_version = "range"};

const Clause mean_gradient = sheet.clause(
    "mean gradient of a ReLU unit on Gaussian clouds: `sum_c a_c` (th1 `xbar_c` + th2 `w/|w|`)");
const Clause moments = sheet.clause("closed th1, th2");
const Clause isolated =
    sheet.clause("two clouds have critical rays at isolated values of `a_2/a_1` only");
[[maybe_unused]] const Clause other_units =
    sheet.not_checked("other `phi` than ReLU, other noise than Gaussian");

const Hypothesis round_noise = sheet.assume("rotation invariant noise");
const Hypothesis constant_gradient = sheet.assume("`g_c` constant");
const Hypothesis nonzero_weight = sheet.assume("`w` is not 0");

const Control larger_gate = sheet.control("gate", "th1 10 % larger");
const Control larger_pull = sheet.control("pull", "th2 10 % larger");
const Control faster_growth =
    sheet.control("growth", "`|w'|` growing 10 % faster off critical values of `a_2/a_1`");
const Control range = sheet.control(
    "range", "two clouds have critical rays at all values of `a_2/a_1` near one that has them");

const Rival as_centres = sheet.rival(
    "as-centres", "clouds pull like their centres: the gate is open or shut for all of a cloud",
    "a rate");
const Rival half_open = sheet.rival(
    "half-open", "the gate is open to half of every cloud, wherever it is", "a pull along `w`");

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

// The nearest to the theorem's field among `fixed` + c `direction`.
std::vector<Quantity> nearest_field(const CloudUnit& unit, const Vector<double>& fixed,
                                    const Vector<double>& direction) {
  const Vector<double> left = expected_field(unit.mixture, unit.w) - fixed;
  const double square = direction.squaredNorm();
  const double c = square > 0 ? left.dot(direction) / square : 0;
  const Vector<double> field = fixed + c * direction;
  return {field.begin(), field.end()};
}

// sum_c a_c times the centres to which w is open.
Vector<double> field_of_centres(const CloudUnit& unit) {
  const GaussianMixture& m = unit.mixture;
  const Vector<double> open =
      (m.centres.transpose() * unit.w).unaryExpr([](double r) { return r > 0 ? 1.0 : 0.0; });
  return m.centres * m.strength.cwiseProduct(open);
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
  it.judge(moments, identity("th1, th2 of ReLU under Gaussian noise: `d/dr`, and at `r = 0`", [] {
                      return moments_are(1, 1);
                    }).unless(larger_gate, [] {
                        return moments_are(1.1, 1);
                      }).unless(larger_pull, [] { return moments_are(1, 1.1); }));
}

// th1 xbar + th2 w for w at an angle to the first axis of the plane of two centres, and its
// derivative. With p the density of the noise
//   d th1/dr = p(r), d th2/dr = -r p(r), r = w.xbar.
struct Term {
  Vector<double> value, slope;
};
Term term_at(double angle, const Vector<double>& centre, double sigma) {
  const Vector<double> w{{std::cos(angle), std::sin(angle)}};
  const Vector<double> turned{{-w[1], w[0]}};
  const double r = w.dot(centre);
  const double pull = relu_pull(r, sigma);
  const double change = gaussian_pdf(r / sigma) / sigma * turned.dot(centre);
  return {relu_gate(r, sigma) * centre + pull * w, change * (centre - r * w) + pull * turned};
}

double cross(const Vector<double>& a, const Vector<double>& b) { return a[0] * b[1] - a[1] * b[0]; }

// Least |u + (ratio + e) v|/|e| near a critical ray as e goes to 0, by search over the angle.
Quantity least_growth(const auto& u, const auto& v, double ray, double ratio) {
  const auto growth = [&](double off) -> Quantity {
    const auto size = [&](double angle) {
      return (u(angle).value + (ratio + off) * v(angle).value).norm();
    };
    // |w'| is that of a line that passes by the origin: one minimum near the ray.
    double low = ray - 0.1, high = ray + 0.1;
    for (int i = 0; i < 100; ++i) {
      const double third = (high - low) / 3;
      const bool in_lower = size(low + third) < size(high - third);
      (in_lower ? high : low) = in_lower ? high - third : low + third;
    }
    // Two vectors cancel.
    return {size((low + high) / 2) / off, {ErrorPart::rounding(4, 2 * u(ray).value.norm() / off)}};
  };
  return limit_of(growth, 1e-3 * std::fabs(ratio), 2, 2);
}

// All critical rays of the first two clouds, a_1 = 1, that a grid of 4000 angles resolves. With u
// and v their terms at a_1 = a_2 = 1,
//   w' = u + a_2 v
// vanishes where D = u x v = 0 and a_2 = -u.v/|v|^2. Off such a value by e, the least |w'| over the
// rays near it is
//   |e| |D'| / |u' + a_2 v'| + O(e^2):
// the value is isolated where D' is not 0.
void judge_rays(const GaussianMixture& mixture, Examination& it) {
  const Vector<double> axis = mixture.centres.col(0).normalized();
  const double along = mixture.centres.col(1).dot(axis);
  const Vector<double> first{{mixture.centres.col(0).norm(), 0.0}};
  const Vector<double> second{{along, (mixture.centres.col(1) - along * axis).norm()}};
  const auto u = [&](double angle) { return term_at(angle, first, mixture.sigma); };
  const auto v = [&](double angle) { return term_at(angle, second, mixture.sigma); };
  const auto falls_short = [&](double angle) { return cross(u(angle).value, v(angle).value) < 0; };
  Comparison growth = equal("least `|w'|` off critical values of `a_2/a_1`, per distance");
  constexpr int grid = 4000;
  for (int k = 0; k < grid; ++k) {
    double ray = 2 * M_PI * k / grid;
    double high = 2 * M_PI * (k + 1) / grid;
    const bool rises = falls_short(ray);
    if (rises == falls_short(high)) continue;
    for (int i = 0; i < 60; ++i) {
      const double middle = (ray + high) / 2;
      (falls_short(middle) == rises ? ray : high) = middle;
    }
    const Term own_u = u(ray), own_v = v(ray);
    const double ratio = -own_u.value.dot(own_v.value) / own_v.value.squaredNorm();
    const double slope = cross(own_u.slope, own_v.value) + cross(own_u.value, own_v.slope);
    growth.add(fmt::format("`a_2/a_1 = {:.6g}`", ratio), least_growth(u, v, ray, ratio),
               std::fabs(slope) / (own_u.slope + ratio * own_v.slope).norm());
  }
  it.judge(isolated, growth.with(fmt::format("{} critical values", growth.places.size()))
                         .unless(faster_growth, times(1.1))
                         .unless(range, times(0)));
}

void examine(const Setting& setting, Examination& it) {
  const CloudUnit unit = drawn_unit(setting);
  const GaussianMixture& m = unit.mixture;
  const Index d = unit.w.size();
  it.parameters = {{"sigma", m.sigma}, {"a", numbers_of(m.strength)}, {"seed", setting.seed}};
  const double uneven =
      (unit.axes * unit.axes.transpose() - Matrix<double>::Identity(d, d)).cwiseAbs().maxCoeff();
  it.require(round_noise, -uneven,
             fmt::format("covariance off `sigma^2` by the share {:.3g}", uneven));
  it.require(constant_gradient, -unit.slope.norm(),
             fmt::format("slope {:.3g} in the noise", unit.slope.norm()));
  it.require(nonzero_weight, unit.w.norm() > 0);
  const Vector<double> expected = expected_field(m, unit.w);
  it.judge(mean_gradient,
           equal("mean of the sampled gradient", sampled_mean(unit, setting),
                 std::vector<Quantity>(expected.begin(), expected.end()))
               .of_kind(EvidenceKind::statistical)
               .in_units_of(expected.norm())
               .unless(larger_gate, field_with(unit, 1.1, 1))
               .unless(larger_pull, field_with(unit, 1, 1.1))
               .against(as_centres, nearest_field(unit, 0 * unit.w, field_of_centres(unit)))
               .against(half_open, nearest_field(unit, m.centres * m.strength / 2, unit.w)));
  judge_rays(m, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::nonlinear_uniform
