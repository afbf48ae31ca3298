#include "theorems/joma/entropy_curve.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "popgrad/order.hpp"
#include "popgrad/softmax.hpp"
#include "popgrad/solved.hpp"

namespace popgrad::theorems::joma {

using popgrad::joma::Attention;
using popgrad::joma::ReducedFlow;

namespace {

constexpr double tolerance = 1e-12;
/// Logits change by so little along the segments integrated here that its error is below rounding.
using Quadrature = boost::math::quadrature::gauss<double, 10>;

// ln d - H(z) = int_0^1 s Var(z) ds, the variance under softmax(s z): no difference of entropies.
double below_even(const Vector<double>& z) {
  const Eigen::ArrayXd centred = z.array() - z.mean();
  return Quadrature::integrate(
      [&](double s) {
        const Vector<double> p = softmax<double>(s * z);
        const double mean = (p.array() * centred).sum();
        return s * (p.array() * (centred - mean).square()).sum();
      },
      0.0, 1.0);
}

// The flow of u = mu - v near mu, where v keeps no digits of u; and its attention entropy.
class GapFlow {
 public:
  explicit GapFlow(const ReducedFlow<double>& flow)
      : mu_(flow.instance().target.col(0)),
        tau_(flow.instance().tau),
        softmax_(flow.instance().attention == Attention::softmax) {}

  [[nodiscard]] const Vector<double>& mu() const { return mu_; }

  // exp(v_j^2/tau), or its softmax.
  [[nodiscard]] Vector<double> rates(const Vector<double>& v) const {
    const Vector<double> z = v.cwiseProduct(v) / tau_;
    return softmax_ ? softmax<double>(z) : Vector<double>(z.array().exp());
  }

  // dH/dv_j = -2 v_j/tau p_j sum_k p_k (z_j - z_k): logits are subtracted first, as their sum
  // cancels where all tokens are alike or one has nearly all attention.
  [[nodiscard]] Vector<double> entropy_slope(const Vector<double>& v) const {
    const Vector<double> p = softmax<double>(v.cwiseProduct(v) / tau_);
    Vector<double> slope(v.size());
    for (Index j = 0; j < v.size(); ++j) {
      const Eigen::ArrayXd lead = (v[j] - v.array()) * (v[j] + v.array()) / tau_;
      slope[j] = -2 * v[j] / tau_ * p[j] * (p.array() * lead).sum();
    }
    return slope;
  }

  // H(mu) - H(mu - u), as the integral of dH/dv along the segment.
  [[nodiscard]] double left(const Vector<double>& u) const {
    return Quadrature::integrate([&](double s) { return entropy_slope(mu_ - s * u).dot(u); }, 0.0,
                                 1.0);
  }

  [[nodiscard]] double entropy_rate(const Vector<double>& u) const {
    const Vector<double> v = mu_ - u;
    return entropy_slope(v).dot(u.cwiseProduct(rates(v)));
  }

  [[nodiscard]] AnyRung<double> rung(const AnyRung<double>& of_v) const {
    AnyRung<double> gaps = of_v;
    gaps.initial = mu_ - of_v.initial;
    gaps.events.clear();
    gaps.rhs = [this](const Vector<double>& u, Vector<double>& du, const double&) {
      du = -u.cwiseProduct(rates(mu_ - u));
    };
    gaps.jacobian = [this, of_v](const Vector<double>& u, Matrix<double>& jacobian,
                                 const double& t) { of_v.jacobian(mu_ - u, jacobian, t); };
    return gaps;
  }

  // d ln(H(mu) - H)/dt, linearised: near mu token j comes at the rate a_j = exp(mu_j^2/tau), or its
  // softmax, and adds w_j = dH/dv_j u_j to H(mu) - H. What is neglected is less than what
  // sum w_j a_j and sum w_j change where slopes and rates are taken at v in place of mu.
  [[nodiscard]] Quantity linearised_rate(const Vector<double>& u) const {
    const auto sums = [&](const Vector<double>& at) {
      const Vector<double> weights = entropy_slope(at).cwiseProduct(u);
      return std::pair{weights.dot(rates(at)), weights.sum()};
    };
    const auto [rise, left] = sums(mu_);
    const auto [rise_at_v, left_at_v] = sums(mu_ - u);
    return {rise / left,
            {ErrorPart::next_order(rise / left * (rise_at_v / rise - 1)),
             ErrorPart::next_order(rise / left * (left_at_v / left - 1))}};
  }

 private:
  Vector<double> mu_;
  double tau_;
  bool softmax_;
};

}  // namespace

Quantity first_fall(const ReducedFlow<double>& flow, const AnyRung<double>& rung) {
  Vector<double> slope(rung.dimension);
  rung.rhs(rung.initial, slope, 0.0);
  const auto leading_fall = [&](double t) {
    const Vector<double> v = rung.initial + t * slope;
    const Vector<double> z = v.cwiseProduct(v) / flow.instance().tau;
    return (z.array() - z.mean()).square().mean() / 2;
  };
  // A hundredth of the time in which weights approach mu.
  double earliest = 0.01 * (flow.instance().target.col(0) - rung.initial).cwiseAbs().maxCoeff() /
                    slope.cwiseAbs().maxCoeff();
  while (leading_fall(earliest) > 1e-8) earliest /= 2;
  const auto share = [&](double t) {
    const Quantity fall = Solved(rung, {t}, tolerance).at(0, [&](const Vector<double>& v) {
      return below_even(flow.attention_logits(v));
    });
    return fall * Quantity(1 / leading_fall(t));
  };
  return limit_of(share, earliest, 2, 3);
}

LastRise last_rise(const ReducedFlow<double>& flow, const AnyRung<double>& rung) {
  const GapFlow gaps(flow);
  const Vector<double>& mu = gaps.mu();
  const AnyRung<double> rung_of_gaps = gaps.rung(rung);
  const auto entropy = [&](const Vector<double>& v) { return flow.attention_entropy(v); };
  LastRise found;
  found.entropy_at_target = entropy(mu);
  // Until every token has 1e-4 of its way left at most and the entropy rises.
  found.time = 1;
  std::optional<Solved> run;
  const auto near = [&] {
    const Vector<double>& u = run->state(0);
    return (u.array() / mu.array()).abs().maxCoeff() < 1e-4 && gaps.entropy_rate(u) > 0;
  };
  while (!run || !near()) {
    const bool settled =
        run && std::fabs(gaps.left(run->state(0))) <= tolerance * found.entropy_at_target;
    if (settled) throw std::runtime_error("the entropy has settled and never rose");
    run.emplace(rung_of_gaps, std::vector{found.time *= 1.5}, tolerance);
  }
  found.rate =
      run->at(0, [&](const Vector<double>& u) { return gaps.entropy_rate(u) / gaps.left(u); });
  found.linearised_rate = gaps.linearised_rate(run->state(0));
  found.least_entropy = smallest_along(rung, found.time, tolerance, entropy);
  return found;
}

}  // namespace popgrad::theorems::joma
