// Theorem    joma.nonlinear-uniform
// Status     proved in source; ReLU form and rays derived here (Theorem 3)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 3
// Statement  x = xbar_c + noise, f = x, uniform attention:
//              w' = sum_c a_c (th1_c xbar_c + th2_c w/|w|);
//            for ReLU and Gaussian noise of deviation sigma
//              r_c   = w.xbar_c/|w|
//              th1_c = Phi(r_c/sigma)
//              th2_c = sigma pdf(r_c/sigma).
//            Two independent centres have critical rays for isolated values of a_2/a_1 only: off
//            one of them by e, the least |w'| beside the ray is |e| times a constant that is not 0,
//            to leading order (critical_rays.hpp)
// Hypotheses H1 rotation invariant noise; H2 g_c constant; H3 w is not 0
// Check      th1, th2 by their derivatives and values at r = 0, on symbols; the mean of sampled
//            gradients; least |w'| over the rays beside every critical one
// Controls   th1 10 % larger; th2 10 % larger; a growth off critical values 10 % larger
// Uses       closed form of the uniform mixture

#include "theorems/joma/checks/clouds.hpp"
#include "theorems/joma/checks/critical_rays.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::nonlinear_uniform {
namespace {

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

void examine(const Setting& setting, Examination& it) {
  const CloudUnit unit = drawn_unit(setting);
  const GaussianMixture& m = unit.mixture;
  const Index d = unit.w.size();
  it.parameters = {{"sigma", m.sigma},
                   {"a", std::vector<double>(m.strength.begin(), m.strength.end())},
                   {"seed", setting.seed}};
  const double uneven =
      (unit.axes * unit.axes.transpose() - Matrix<double>::Identity(d, d)).cwiseAbs().maxCoeff();
  it.require("rotation invariant noise", -uneven,
             fmt::format("covariance off sigma^2 by the share {:.3g}", uneven));
  it.require("g_c constant", -unit.slope.norm(),
             fmt::format("slope {:.3g} in the noise", unit.slope.norm()));
  it.require("w is not 0", unit.w.norm() > 0 ? Truth::yes : Truth::no);
  const Vector<double> expected = expected_field(m, unit.w);
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "mean of the sampled gradient",
                      .measured = sampled_mean(unit, setting),
                      .predicted = {expected.begin(), expected.end()},
                      .scale = {expected.norm()},
                      .mistakes = {predicts("gate", field_with(unit, 1.1, 1)),
                                   predicts("pull", field_with(unit, 1, 1.1))}});
  const PairOfClouds clouds = pair_of_clouds(m.centres, m.sigma);
  Comparison growth;
  growth.what = "least |w'| off critical values of a_2/a_1, per distance";
  for (const CriticalRay& ray : critical_rays(clouds)) {
    growth.measured.push_back(measured_growth(clouds, ray));
    growth.predicted.emplace_back(ray.growth);
    growth.places.push_back(fmt::format("a_2/a_1 = {:.6g}", ray.ratio));
  }
  growth.mistakes = {predicts_times("growth", 1.1)};
  growth.detail = fmt::format("{} critical values", growth.places.size());
  it.judge(growth);
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

void derive(Examination& it) {
  it.judge(Identity{.what = "th1, th2 of ReLU under Gaussian noise: d/dr, and at r = 0",
                    .holds = [] { return moments_are(1, 1); },
                    .mistakes = {{"gate", [] { return moments_are(1.1, 1); }},
                                 {"pull", [] { return moments_are(1, 1.1); }}}});
}

}  // namespace

Statement statement() {
  return {.id = "joma.nonlinear-uniform",
          .claim = "expected gradient of a unit on a mixture; ReLU form; critical rays isolated",
          .paper = "arXiv 2310.00535, Theorem 3",
          .status = "proved in source; ReLU form and rays derived here",
          .hypotheses = {"rotation invariant noise", "g_c constant", "w is not 0"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"gate", "th1 10 % larger"},
                       {"pull", "th2 10 % larger"},
                       {"growth", "|w'| growing 10 % faster off critical values of a_2/a_1"}},
          .knobs = knobs_of_clouds(),
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::joma::checks::nonlinear_uniform
