// Theorem    joma.nonlinear-uniform                  Status  proved in source (Theorem 3); ReLU
// form ours Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 3 Statement  x = xbar_c +
// noise, f = x, uniform attention:
//            w' = sum_c a_c (th1_c xbar_c + th2_c w/|w|); ReLU and Gaussian noise of deviation
//            sigma: th1 = Phi(r/sigma), th2 = sigma pdf(r/sigma), r = w.xbar/|w|. Two independent
//            centres have critical rays for isolated values of a_2/a_1 only
// Hypotheses H1 noise rotation invariant; H2 g_c constant; H3 w != 0
// Check      d th/dr and the limits on symbols; Monte Carlo of the gradient; |w'| over all rays
// Controls   th2 without sigma; a_2/a_1 set to a critical value
// Uses       uniform mixture

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/uniform_mixture.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

// th1 = int_{-r}^inf p, th2 = int_{-r}^inf s p with p the density of N(0, sigma^2): both vanish as
// r -> -inf, and d th1/dr = p(-r), d th2/dr = -r p(-r).
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

double least_field(const GaussianMixture& m) {
  double least = 1e300;
  constexpr int grid = 20000;
  int at = 0;
  const auto size = [&](double theta) {
    return expected_field(m, Vector<double>{{std::cos(theta), std::sin(theta)}}).norm();
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

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const bool without_sigma = variant == "no-sigma";
  result.evidence.push_back(identity(EvidenceKind::symbolic,
                                     "d th1/dr, d th2/dr of ReLU under Gaussian noise",
                                     moments_by_differentiation(without_sigma)));
  // At r = -40 sigma both integrals are below e^{-800}: the constants of integration are 0.
  result.evidence.push_back(bounded(EvidenceKind::numerical, "th1, th2 at r = -40 sigma",
                                    relu_gate(-40.0, 1.0) + relu_pull(-40.0, 1.0), 0.0,
                                    "below the smallest double"));
  if (without_sigma) return result;

  GaussianMixture mixture;
  mixture.sigma = 0.7;
  mixture.centres.resize(3, 2);
  mixture.centres << 1.0, -0.5, 0.2, 1.0, -0.3, 0.4;
  mixture.strength = Vector<double>{{1.0, -0.6}};
  result.parameters = {{"sigma", 0.7}, {"a", {1.0, -0.6}}, {"seed", setting.seed}};
  const Vector<double> w{{0.4, 0.9, -0.2}};
  const Vector<double> expected = expected_field(mixture, w);
  const int draws = setting.full ? 2'000'000 : 200'000;
  Vector<double> sum = Vector<double>::Zero(3);
  Vector<double> squares = Vector<double>::Zero(3);
  Stream stream(setting.seed, 0, 0);
  for (int k = 0; k < draws; ++k) {
    const Vector<double> draw = sampled_field(mixture, w, stream);
    sum += draw;
    squares += draw.cwiseProduct(draw);
  }
  const Vector<double> mean = sum / draws;
  double largest = 0;
  for (Index i = 0; i < 3; ++i) {
    const double variance = squares[i] / draws - mean[i] * mean[i];
    largest = std::max(largest, std::fabs(mean[i] - expected[i]) / std::sqrt(variance / draws));
  }
  result.evidence.push_back(bounded(EvidenceKind::statistical,
                                    "largest |Z| of the sampled gradient, 3 components", largest,
                                    two_sided_normal_bound(setting.false_alarm, 3),
                                    fmt::format("level {:.2g} over 3 looks", setting.false_alarm),
                                    fmt::format("{} draws", draws)));

  GaussianMixture plane;
  plane.centres.resize(2, 2);
  plane.centres << 1.0, 0.3, 0.2, -0.8;
  plane.strength = Vector<double>{{1.0, 0.7}};
  const std::vector<double> ratios = critical_ratios(plane);
  if (variant == "critical-ratio" && !ratios.empty()) plane.strength[1] = ratios.front();
  double nearest = 1e300;
  for (const double ratio : ratios) {
    nearest = std::min(nearest, std::fabs(ratio - plane.strength[1] / plane.strength[0]));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "minus the least |w'| over all rays, a_2/a_1 generic",
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
      .hypotheses = {"rotation invariant noise", "g_c constant", "w is not 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"no-sigma", "th2 = pdf(r/sigma), sigma missing"},
                   {"critical-ratio", "a_2/a_1 at one of its isolated critical values"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::joma
