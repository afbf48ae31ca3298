// Both ends and the sign of the fall of the entropy, for joma.linear-growth.

#include <boost/math/special_functions/erf.hpp>

#include "scalars/softmax.hpp"
#include "theorems/joma/checks/growth_parts.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

// Correlation of the logits z = v^2/tau with their rates under the attention weights: the entropy
// falls at the rate of their covariance. At v = 0, where z' = 2 z/t, the limit.
double falling(const ReducedFlow<double>& flow, const Vector<double>& v) {
  Vector<double> slope(v.size());
  flow.rhs(v, slope, 0.0);
  const Index d = flow.instance().tokens();
  const Vector<double> z = flow.attention_logits(v);
  const Vector<double> rate =
      v.cwiseProduct(slope).reshaped(d, flow.instance().units()).rowwise().sum();
  const Vector<double> p = softmax<double>(z);
  const Vector<double> around = z.array() - p.dot(z);
  const Vector<double> rate_around = rate.array() - p.dot(rate);
  const double square = p.dot(around.cwiseAbs2()) * p.dot(rate_around.cwiseAbs2());
  if (v.cwiseAbs().maxCoeff() == 0) return 1;
  return p.dot(around.cwiseProduct(rate_around)) / std::sqrt(square);
}

double variance(const Vector<double>& x) { return (x.array() - x.mean()).square().mean(); }

// The entropy's distance from `from` at a time, in units of `unit`, an entropy of its own.
Quantity share_of(const ReducedFlow<double>& flow, double time, double from, double unit) {
  const Solved run(forget_type(flow), {time}, growth_tolerance);
  const auto distance = [&](const Vector<double>& v) {
    return (flow.attention_entropy(v) - from) / unit;
  };
  Quantity share = run.at(0, distance);
  share.add(ErrorPart::rounding(static_cast<double>(flow.instance().tokens()),
                                std::log(static_cast<double>(flow.dimension())) / unit));
  return share;
}

// (ln d - H)/(t^4 Var(Delta^2)/(2 tau^2)) as t goes to 0: what is left out is of order t^2.
void judge_first_fall(const ReducedFlow<double>& flow, Examination& it) {
  const ReducedInstance<double>& instance = flow.instance();
  const double time = 0.1 * std::sqrt(instance.tau) / largest_gradient(instance);
  const double even = std::log(static_cast<double>(instance.tokens()));
  const double coefficient =
      variance(instance.target.col(0).cwiseAbs2()) / 2 / (instance.tau * instance.tau);
  const auto share = [&](double t) {
    return share_of(flow, t, even, -coefficient * std::pow(t, 4));
  };
  std::vector<double> squares;
  std::vector<Quantity> shares;
  for (const double t : falling_parameters(time, 2, 2)) {
    squares.push_back(t * t);
    shares.push_back(share(t));
  }
  it.judge(Comparison{.what = "first fall of the entropy over t^4 Var(Delta^2)/(2 tau^2)",
                      .measured = {limit_in(squares, shares)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("first-fall", 1.1)}});
}

// (H - ln m) over its leading term as 1 - t/t* goes to 0, from the blow-up as measured.
void judge_last_fall(const ReducedFlow<double>& flow, const BlowUp& blow_up, Examination& it) {
  const ReducedInstance<double>& instance = flow.instance();
  const std::vector<double> left = falling_parameters(1e-5, 10, 2);
  const double end = blow_up.time.value();
  const double top = largest_gradient(instance);
  const auto ties = static_cast<double>((instance.target.col(0).cwiseAbs().array() == top).count());
  std::vector<Quantity> shares;
  for (const double part : left) {
    const double x = boost::math::erfc_inv(part);
    double leading = 0;
    for (Index l = 0; l < instance.tokens(); ++l) {
      if (std::fabs(instance.target(l, 0)) == top) continue;
      const double deficit = x * x - std::pow(limit_of(instance, l, 1), 2);
      leading += (1 + deficit) * std::exp(-deficit) / ties;
    }
    Quantity share = share_of(flow, (1 - part) * end, std::log(ties), leading);
    // The leading term is nearly in proportion to 1 - t/t*.
    share.add(ErrorPart::solver(0, blow_up.time.error() / end / part));
    shares.push_back(share);
  }
  it.judge(Comparison{.what = "entropy above ln m over its leading term",
                      .measured = {limit_in(left, shares)},
                      .predicted = {1.0},
                      .mistakes = {predicts("tie-more", ties / (ties + 1))},
                      .detail = fmt::format("m = {}", ties)});
}

}  // namespace

void judge_entropy(const ReducedInstance<double>& instance, const BlowUp& blow_up,
                   Examination& it) {
  const Vector<double> squares = instance.target.col(0).cwiseAbs2();
  const double spread = squares.maxCoeff() - squares.minCoeff();
  if (spread == 0) return;
  const ReducedFlow<double> flow(instance);
  Quantity least = smallest_along(forget_type(flow), 0.95 * blow_up.time.value(), growth_tolerance,
                                  [&](const Vector<double>& v) { return falling(flow, v); });
  least.add(
      ErrorPart::rounding(static_cast<double>(instance.tokens()), squares.maxCoeff() / spread));
  it.judge(Comparison{.what = "correlation of logits and rates, the sign of the entropy's fall",
                      .measured = {0.0},
                      .relation = Relation::below,
                      .predicted = {least},
                      .scale = {1}});
  judge_first_fall(flow, it);
  judge_last_fall(flow, blow_up, it);
}

}  // namespace popgrad::joma::checks
