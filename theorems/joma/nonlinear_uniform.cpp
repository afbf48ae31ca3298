// Theorem    joma.nonlinear-uniform
// Status     proved in source; ReLU form and rays derived here (Theorem 3)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 3
// Statement  x = xbar_c + noise, f = x, uniform attention:
//              w' = sum_c a_c (th1_c xbar_c + th2_c w/|w|);
//            for ReLU and Gaussian noise of deviation sigma
//              r_c   = w.xbar_c/|w|
//              th1_c = Phi(r_c/sigma)
//              th2_c = sigma pdf(r_c/sigma).
//            Two independent centres have critical rays for isolated values of a_2/a_1 only
// Hypotheses H1 rotation invariant noise; H2 g_c constant; H3 w is not 0; H4 a_2/a_1 more than
//            1e-3 from its critical values
// Check      d th/dr and the limits on symbols; Monte Carlo of the gradient; |w'| over all rays
// Controls   th2 without sigma; a_2/a_1 set to a critical value
// Uses       closed form of the uniform mixture

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/uniform_mixture.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob noise{.name = "noise",
                     .meaning = "deviation sigma of the noise, in units of the centres",
                     .low = 0.4,
                     .high = 4,
                     .usual = 0.7,
                     .spacing = Spacing::logarithmic};
constexpr Knob dimension{.name = "dimension",
                         .meaning = "dimension of x",
                         .low = 2,
                         .high = 8,
                         .usual = 3,
                         .spacing = Spacing::whole};
constexpr Knob classes{.name = "classes",
                       .meaning = "centres of the mixture",
                       .low = 1,
                       .high = 6,
                       .usual = 2,
                       .spacing = Spacing::whole};
constexpr Knob length{.name = "length",
                      .meaning = "|w|, in units of the usual one",
                      .low = 0.01,
                      .high = 100,
                      .usual = 1,
                      .spacing = Spacing::logarithmic};
constexpr Knob strength_ratio{.name = "strength-ratio",
                              .meaning = "a_2/a_1 of the two centres in the plane",
                              .low = -3,
                              .high = 3,
                              .usual = 0.7};
constexpr Knob anisotropy{.name = "anisotropy",
                          .meaning = "deviation of the logarithms of the noise's principal axes",
                          .low = 1e-3,
                          .high = 2,
                          .usual = 0,
                          .spacing = Spacing::logarithmic,
                          .breaks = "rotation invariant noise"};
constexpr Knob feedback{.name = "feedback",
                        .meaning = "slope of g_c in the noise, relative and per deviation of it",
                        .low = 1e-3,
                        .high = 3,
                        .usual = 0,
                        .spacing = Spacing::logarithmic,
                        .breaks = "g_c constant"};

// With p the density of N(0, sigma^2)
//   th1 = int_{-r}^inf p(s) ds
//   th2 = int_{-r}^inf s p(s) ds
// both vanish as r -> -inf, and
//   d th1/dr = p(-r)
//   d th2/dr = -r p(-r).
Truth moments_by_differentiation(bool without_sigma) {
  const Expression r = symbol("r");
  const Expression sigma = GiNaC::possymbol("sigma");
  const Expression density =
      GiNaC::exp(-r * r / (2 * sigma * sigma)) / (sigma * GiNaC::sqrt(2 * GiNaC::Pi));
  const Expression pull =
      without_sigma ? Expression(relu_pull(r, sigma) / sigma) : relu_pull(r, sigma);
  const auto& variable = GiNaC::ex_to<GiNaC::symbol>(r);
  const Truth gate_ok = vanishes(relu_gate(r, sigma).diff(variable) - density);
  const Truth pull_ok = vanishes(pull.diff(variable) + r * density);
  if (gate_ok == Truth::no || pull_ok == Truth::no) return Truth::no;
  return gate_ok == Truth::yes && pull_ok == Truth::yes ? Truth::yes : Truth::undecided;
}

// Both terms of the field of a centre in the plane, at the ray of angle theta.
Vector<double> centre_term(const GaussianMixture& m, Index c, double theta) {
  GaussianMixture one = m;
  one.centres = m.centres.col(c);
  one.strength = Vector<double>::Ones(1);
  return expected_field(one, Vector<double>{{std::cos(theta), std::sin(theta)}});
}

double determinant(const GaussianMixture& m, double theta) {
  const Vector<double> u = centre_term(m, 0, theta);
  const Vector<double> v = centre_term(m, 1, theta);
  return u[0] * v[1] - u[1] * v[0];
}

// Values of a_2/a_1 that have a critical ray: where the two terms are parallel.
std::vector<double> critical_ratios(const GaussianMixture& m) {
  std::vector<double> ratios;
  constexpr int grid = 4000;
  for (int k = 0; k < grid; ++k) {
    double low = 2 * M_PI * k / grid;
    double high = 2 * M_PI * (k + 1) / grid;
    if ((determinant(m, low) > 0) == (determinant(m, high) > 0)) continue;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      ((determinant(m, middle) > 0) == (determinant(m, low) > 0) ? low : high) = middle;
    }
    const Vector<double> u = centre_term(m, 0, low);
    const Vector<double> v = centre_term(m, 1, low);
    ratios.push_back(-u.dot(v) / v.squaredNorm());
  }
  return ratios;
}

// Of |w'| over the sizes of its two terms, which fall off like a Gaussian away from the centres.
double least_field(const GaussianMixture& m) {
  double least = 1e300;
  constexpr int grid = 20000;
  int at = 0;
  const auto size = [&](double theta) {
    const Vector<double> u = m.strength[0] * centre_term(m, 0, theta);
    const Vector<double> v = m.strength[1] * centre_term(m, 1, theta);
    const double terms = u.norm() + v.norm();
    return terms > 0 ? (u + v).norm() / terms : 1.0;  // 0: both too small for a double
  };
  for (int k = 0; k < grid; ++k) {
    const double s = size(2 * M_PI * k / grid);
    if (s < least) {
      least = s;
      at = k;
    }
  }
  // Refines around the best ray.
  double centre = 2 * M_PI * at / grid;
  for (double step = 2 * M_PI / grid; step > 1e-14; step /= 2) {
    for (const double theta : {centre - step, centre + step}) {
      if (const double s = size(theta); s < least) {
        least = s;
        centre = theta;
      }
    }
  }
  return least;
}

struct Unit {
  GaussianMixture mixture;
  Vector<double> w;
};

// The fixed instance that verify looks at, or one that is drawn.
Unit unit(const Setting& setting) {
  Unit u;
  u.mixture.sigma = setting.value(noise);
  const Index d = setting.count(dimension);
  const Index c = setting.count(classes);
  if (!setting.only_what_varies && d == 3 && c == 2) {
    u.mixture.centres.resize(3, 2);
    u.mixture.centres << 1.0, -0.5, 0.2, 1.0, -0.3, 0.4;
    u.mixture.strength = Vector<double>{{1.0, -0.6}};
    u.w = setting.value(length) * Vector<double>{{0.4, 0.9, -0.2}};
    return u;
  }
  Stream stream(setting.seed, stream_of_drawn_instances, 4);
  const auto normal = [&](Index rows, Index cols) {
    Matrix<double> drawn(rows, cols);
    for (double& entry : drawn.reshaped()) entry = stream.normal();
    return drawn;
  };
  u.mixture.centres = normal(d, c).colwise().normalized();
  u.mixture.strength = normal(c, 1);
  u.w = setting.value(length) * normal(d, 1).colwise().normalized();
  return u;
}

// E[sum_c a_c (1 + e.n) 1[w.x_c > 0] x_c], x_c = xbar_c + sigma A n with n standard normal: noise
// of any covariance, and gradients that change with it. With
//   u = A'w/|A'w|
//   k = w.xbar_c/(sigma |A'w|)
// the event is n.u > -k, and on it
//   E 1    = Phi(k)
//   E n    = pdf(k) u
//   E n n' = Phi(k) I - k pdf(k) u u'.
Vector<double> field_of(const Unit& unit, const Matrix<double>& axes, const Vector<double>& slope) {
  const GaussianMixture& m = unit.mixture;
  Vector<double> direction = axes.transpose() * unit.w;
  const double stretched = direction.norm();
  direction /= stretched;
  Vector<double> field = Vector<double>::Zero(unit.w.size());
  for (Index c = 0; c < m.centres.cols(); ++c) {
    const double k = unit.w.dot(m.centres.col(c)) / (m.sigma * stretched);
    const double gate = gaussian_cdf(k);
    const double density = gaussian_pdf(k);
    const double along = slope.dot(direction);
    const Vector<double> mean_noise =
        density * direction + gate * slope - k * density * along * direction;
    field += m.strength[c] *
             ((gate + density * along) * m.centres.col(c) + m.sigma * (axes * mean_noise));
  }
  return field;
}

// The theorem's field against the exact one where the noise or the gradients are not its own.
void examine_broken(const Setting& setting, const Unit& unit, Examination& result) {
  const Index d = unit.w.size();
  Stream stream(setting.seed, stream_of_drawn_instances, 5);
  Matrix<double> axes = Matrix<double>::Identity(d, d);
  if (const double size = setting.value(anisotropy); size > 0) {
    Matrix<double> drawn(d, d);
    for (double& entry : drawn.reshaped()) entry = stream.normal();
    const Matrix<double> turn = Eigen::HouseholderQR<Matrix<double>>(drawn).householderQ();
    Vector<double> widths(d);
    for (double& width : widths) width = std::exp(size * stream.normal());
    // The mean square deviation stays sigma^2.
    widths *= std::sqrt(static_cast<double>(d) / widths.squaredNorm());
    axes = turn * widths.asDiagonal();
    result.hypotheses.push_back(
        {"rotation invariant noise", Truth::no, fmt::format("axes vary by e^{}", size)});
  }
  Vector<double> slope = Vector<double>::Zero(d);
  if (const double size = setting.value(feedback); size > 0) {
    for (double& entry : slope) entry = stream.normal();
    slope *= size / slope.norm();
    result.hypotheses.push_back(
        {"g_c constant", Truth::no, fmt::format("relative slope {}", size)});
  }
  const Vector<double> expected = expected_field(unit.mixture, unit.w);
  const Vector<double> actual = field_of(unit, axes, slope);
  const double size = actual.norm();
  result.evidence.push_back(bounded(EvidenceKind::numerical, "exact mean gradient minus the form",
                                    (actual - expected).norm(), allowance(setting, 1e-13, size),
                                    "rounding of some tens of terms of order 1"));
}

void examine_samples(const Setting& setting, const Unit& unit, Examination& result) {
  const Index d = unit.w.size();
  const Vector<double> expected = expected_field(unit.mixture, unit.w);
  const int draws = setting.full ? 2'000'000 : setting.only_what_varies ? 50'000 : 200'000;
  Vector<double> sum = Vector<double>::Zero(d);
  Vector<double> squares = Vector<double>::Zero(d);
  Vector<double> cubes = Vector<double>::Zero(d);
  Stream stream(setting.seed, 0, 0);
  for (int k = 0; k < draws; ++k) {
    const Vector<double> draw = sampled_field(unit.mixture, unit.w, stream);
    sum += draw;
    squares += draw.cwiseProduct(draw);
    cubes += draw.cwiseProduct(draw).cwiseProduct(draw);
  }
  const Vector<double> mean = sum / draws;
  double largest = 0;
  double most_skewed = 0;
  for (Index i = 0; i < d; ++i) {
    const double m = mean[i];
    const double variance = squares[i] / draws - m * m;
    largest = std::max(largest, std::fabs(m - expected[i]) / std::sqrt(variance / draws));
    const double third = cubes[i] / draws - 3 * m * squares[i] / draws + 2 * m * m * m;
    most_skewed = std::max(most_skewed, std::fabs(third) / std::pow(variance, 1.5));
  }
  double bound = two_sided_normal_bound(setting.false_alarm, static_cast<int>(d));
  // Far out, where a search looks, a rarely active unit makes the mean skewed: the next term of
  // Cornish and Fisher, for a mean divided by its own deviation.
  if (setting.only_what_varies) {
    bound += most_skewed * (2 * bound * bound + 1) / (6 * std::sqrt(static_cast<double>(draws)));
  }
  result.evidence.push_back(
      bounded(EvidenceKind::statistical,
              fmt::format("largest |Z| of the sampled gradient, {} components", d), largest, bound,
              fmt::format("level {:.2g} over {} looks", setting.false_alarm, d),
              fmt::format("{} draws", draws)));
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const bool without_sigma = variant == "no-sigma";
  if (!setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "d th1/dr, d th2/dr of ReLU under Gaussian noise",
                                       moments_by_differentiation(without_sigma)));
    // At r = -40 sigma both integrals are below e^{-800}: the constants of integration are 0.
    result.evidence.push_back(bounded(EvidenceKind::numerical, "th1, th2 at r = -40 sigma",
                                      relu_gate(-40.0, 1.0) + relu_pull(-40.0, 1.0), 0.0,
                                      "below the smallest double"));
  }
  if (without_sigma) return result;

  const Unit drawn = unit(setting);
  result.parameters = {{"sigma", drawn.mixture.sigma}, {"seed", setting.seed}};
  for (const double a : drawn.mixture.strength) result.parameters["a"].push_back(a);
  if (setting.slack > 0) {
    // Samples would need 1e6 draws to see what the slack allows; the rays are another matter.
    examine_broken(setting, drawn, result);
    return result;
  }
  examine_samples(setting, drawn, result);

  GaussianMixture plane;
  plane.sigma = setting.only_what_varies ? setting.value(noise) : 1.0;
  plane.centres.resize(2, 2);
  plane.centres << 1.0, 0.3, 0.2, -0.8;
  if (setting.only_what_varies) {
    Stream stream(setting.seed, stream_of_drawn_instances, 6);
    for (double& entry : plane.centres.reshaped()) entry = stream.normal();
  }
  plane.strength = Vector<double>{{1.0, setting.value(strength_ratio)}};
  const std::vector<double> ratios = critical_ratios(plane);
  if (variant == "critical-ratio" && !ratios.empty()) plane.strength[1] = ratios.front();
  double nearest = 1e300;
  for (const double ratio : ratios) {
    nearest = std::min(nearest, std::fabs(ratio - plane.strength[1] / plane.strength[0]));
  }
  if (variant.empty()) {
    result.hypotheses.push_back({"a_2/a_1 more than 1e-3 from its critical values",
                                 nearest > 1e-3 ? Truth::yes : Truth::no,
                                 fmt::format("{:.4g} away", nearest)});
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "minus the least |w'| over its terms, all rays, a_2/a_1 generic",
      -least_field(plane), -1e-6, "bounded away from 0",
      fmt::format("{} critical values of a_2/a_1, nearest {:.4g} away", ratios.size(), nearest)));
  return result;
}

}  // namespace

Statement nonlinear_uniform() {
  return {
      .id = "joma.nonlinear-uniform",
      .claim = "expected gradient of a unit on a mixture; ReLU form; no critical ray generically",
      .paper = "arXiv 2310.00535, Theorem 3",
      .status = "proved in source; ReLU form and rays derived here",
      .hypotheses = {"rotation invariant noise", "g_c constant", "w is not 0",
                     "a_2/a_1 more than 1e-3 from its critical values"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"no-sigma", "th2 = pdf(r/sigma), sigma missing"},
                   {"critical-ratio", "a_2/a_1 at one of its isolated critical values"}},
      .knobs = {noise, dimension, classes, length, strength_ratio, anisotropy, feedback},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
