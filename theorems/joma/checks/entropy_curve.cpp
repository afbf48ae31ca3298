#include "theorems/joma/checks/entropy_curve.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <optional>
#include <type_traits>

#include "popgrad/scalars/real.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr double curve_tolerance = 1e-12;
/// Logits change by so little along the segments integrated here that its error is below rounding, also
/// of Real. Of variable precision Boost has no nodes.
template <class T>
using NodeType =
    std::conditional_t<std::is_same_v<T, double>, double,
                       boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<60>,
                                                     boost::multiprecision::et_off>>;
template <class T>
T integral(const auto& integrand) {  // over [0, 1]
  using Quadrature = boost::math::quadrature::gauss<NodeType<T>, 10>;
  T sum(0);
  for (std::size_t i = 0; i < Quadrature::abscissa().size(); ++i) {
    const T off = T(Quadrature::abscissa()[i]) / 2;
    const T half(T(1) / T(2));
    sum += T(Quadrature::weights()[i]) / 2 * (integrand(T(half - off)) + integrand(T(half + off)));
  }
  return sum;
}

template <class T>
Vector<T> logits_of(const Vector<T>& v, const T& tau) {
  return v.cwiseProduct(v) / tau;
}

// ln d - H(z) = int_0^1 s Var(z) ds, the variance under softmax(s z): no difference of entropies.
template <class T>
T below_even(const Vector<T>& z) {
  const Vector<T> centred = z.array() - z.mean();
  return integral<T>([&](const T& s) -> T {
    const Vector<T> p = softmax<T>(s * z);
    const T mean = p.dot(centred);
    return s * (p.array() * (centred.array() - mean).square()).sum();
  });
}

// The flow of u = mu - v near mu, where v keeps no digits of u; and its attention entropy.
template <class T>
class GapFlow {
 public:
  explicit GapFlow(const ReducedFlow<T>& flow)
      : mu_(flow.instance().target.col(0)),
        tau_(flow.instance().tau),
        softmax_(flow.instance().attention == Attention::softmax) {}

  [[nodiscard]] const Vector<T>& mu() const { return mu_; }

  // exp(v_j^2/tau), or its softmax.
  [[nodiscard]] Vector<T> rates(const Vector<T>& v) const {
    using std::exp;
    const Vector<T> z = logits_of(v, tau_);
    if (softmax_) return softmax<T>(z);
    return z.unaryExpr([](const T& logit) { return T(exp(logit)); });
  }

  // dH/dv_j = -2 v_j/tau p_j sum_k p_k (z_j - z_k): logits are subtracted first, as their sum
  // cancels where all tokens are alike or one has nearly all attention.
  [[nodiscard]] Vector<T> entropy_slope(const Vector<T>& v) const {
    const Vector<T> p = softmax<T>(logits_of(v, tau_));
    Vector<T> slope(v.size());
    for (Index j = 0; j < v.size(); ++j) {
      const Vector<T> lead = (v[j] - v.array()) * (v[j] + v.array()) / tau_;
      slope[j] = T(-2) * v[j] / tau_ * p[j] * p.dot(lead);
    }
    return slope;
  }

  // H(mu) - H(mu - u), as the integral of dH/dv along the segment.
  [[nodiscard]] T left(const Vector<T>& u) const {
    return integral<T>([&](const T& s) -> T { return entropy_slope(mu_ - s * u).dot(u); });
  }

  [[nodiscard]] T entropy_rate(const Vector<T>& u) const {
    const Vector<T> v = mu_ - u;
    return entropy_slope(v).dot(u.cwiseProduct(rates(v)));
  }

  [[nodiscard]] AnyRung<T> rung(const AnyRung<T>& of_v) const {
    AnyRung<T> gaps = of_v;
    gaps.initial = mu_ - of_v.initial;
    gaps.events.clear();
    gaps.field.value = [this](const Vector<T>& u, Vector<T>& du, const T&) {
      du = -u.cwiseProduct(rates(mu_ - u));
    };
    gaps.field.jacobian = [this, of_v](const Vector<T>& u, Matrix<T>& jacobian, const T& t) {
      of_v.field.jacobian(mu_ - u, jacobian, t);
    };
    return gaps;
  }

  // Every token has 1e-4 of its way left at most, and the entropy rises.
  [[nodiscard]] bool rises_last(const Vector<T>& u) const {
    using std::fabs;
    for (Index j = 0; j < u.size(); ++j) {
      if (!(fabs(T(u[j] / mu_[j])) < 1e-4)) return false;
    }
    return entropy_rate(u) > 0;
  }

  // d ln(H(mu) - H)/dt, linearised: near mu token j comes at the rate a_j = exp(mu_j^2/tau), or its
  // softmax, and adds w_j = dH/dv_j u_j to H(mu) - H. What is neglected is less than what
  // sum w_j a_j and sum w_j change where slopes and rates are taken at v in place of mu.
  [[nodiscard]] Quantity linearised_rate(const Vector<T>& u) const {
    const auto sums = [&](const Vector<T>& at) {
      const Vector<T> weights = entropy_slope(at).cwiseProduct(u);
      return std::pair<T, T>{weights.dot(rates(at)), weights.sum()};
    };
    const auto [rise, left] = sums(mu_);
    const auto [rise_at_v, left_at_v] = sums(mu_ - u);
    const T rate = rise / left;
    return {to_double(rate),
            {ErrorPart::next_order(to_double(T(rate * (rise_at_v / rise - 1)))),
             ErrorPart::next_order(to_double(T(rate * (left_at_v / left - 1))))}};
  }

  // sum_j |w_j|.
  [[nodiscard]] T size_of_lack(const Vector<T>& u) const {
    return entropy_slope(mu_).cwiseProduct(u).cwiseAbs().sum();
  }

  // H(mu) - H over that, linearised.
  [[nodiscard]] Quantity linearised_lack(const Vector<T>& u) const {
    const T size = size_of_lack(u);
    const T lack = entropy_slope(mu_).dot(u) / size;
    const T lack_at_v = entropy_slope(mu_ - u).dot(u) / size;
    return {to_double(lack), {ErrorPart::next_order(to_double(T(lack_at_v - lack)))}};
  }

 private:
  Vector<T> mu_;
  T tau_;
  bool softmax_;
};

// From when on the last rise is seen. Throws as last_rise.
double time_of_last_rise(const GapFlow<double>& gaps, const AnyRung<double>& rung_of_gaps,
                         double entropy_at_target) {
  double time = 1;
  std::optional<Solved> run;
  while (!run || !gaps.rises_last(run->state(0))) {
    const bool settled =
        run && std::fabs(gaps.left(run->state(0))) <= curve_tolerance * entropy_at_target;
    if (settled)
      throw Failure(
          "the entropy reached its limit without a last rise, so there is none to measure");
    run.emplace(rung_of_gaps, std::vector{time *= 1.5}, curve_tolerance);
  }
  return time;
}

}  // namespace

template <class T>
Quantity first_fall(const ReducedFlow<T>& flow, const AnyRung<T>& rung) {
  Vector<T> slope(rung.dimension);
  rung.field.value(rung.initial, slope, T(0));
  const auto leading_fall = [&](double t) -> T {
    const Vector<T> v = rung.initial + T(t) * slope;
    const Vector<T> z = logits_of(v, flow.instance().tau);
    return (z.array() - z.mean()).square().mean() / 2;
  };
  // A hundredth of the time in which weights approach mu.
  const Vector<T> way = flow.instance().target.col(0) - rung.initial;
  double earliest =
      0.01 * to_double(T(way.cwiseAbs().maxCoeff())) / to_double(T(slope.cwiseAbs().maxCoeff()));
  // Of weights that differ at the start it has a part that no time makes small.
  if (leading_fall(0) > 1e-8) throw std::runtime_error("attention is not even at the start");
  while (leading_fall(earliest) > 1e-8) earliest /= 2;
  const auto share = [&](double t) {
    const T leading = leading_fall(t);
    return SolvedIn<T>(rung, {t}, curve_tolerance).at(0, [&](const Vector<T>& v) -> T {
      return below_even<T>(flow.attention_logits(v)) / leading;
    });
  };
  return limit_of(share, earliest, 2, 3);
}

template <class T>
LastRise last_rise(const ReducedFlow<T>& flow, const AnyRung<T>& rung) {
  const ReducedFlow<double> in_double = flow.template cast<double>();
  const AnyRung<double> rung_in_double = forget_type(in_double);
  const GapFlow<double> gaps_in_double(in_double);
  LastRise found;
  found.entropy_at_target = in_double.attention_entropy(gaps_in_double.mu());
  found.time = time_of_last_rise(gaps_in_double, gaps_in_double.rung(rung_in_double),
                                 found.entropy_at_target);
  const GapFlow<T> gaps(flow);
  const SolvedIn<T> run(gaps.rung(rung), {found.time}, curve_tolerance);
  found.rate =
      run.at(0, [&](const Vector<T>& u) -> T { return gaps.entropy_rate(u) / gaps.left(u); });
  const Vector<T>& left = run.state(0);
  found.linearised_rate = gaps.linearised_rate(left);
  found.lack =
      run.at(0, [&](const Vector<T>& u) -> T { return gaps.left(u) / gaps.size_of_lack(u); });
  found.linearised_lack = gaps.linearised_lack(left);
  found.lack_of_even =
      found.lack.value() + (std::log(static_cast<double>(left.size())) - found.entropy_at_target) /
                               to_double(gaps.size_of_lack(left));
  found.uniform_lack = gaps.linearised_lack(gaps.mu() - rung.initial).value();
  found.least_entropy =
      smallest_along(rung_in_double, found.time, curve_tolerance,
                     [&](const Vector<double>& v) { return in_double.attention_entropy(v); });
  return found;
}

template Quantity first_fall(const ReducedFlow<double>&, const AnyRung<double>&);
template Quantity first_fall(const ReducedFlow<Real>&, const AnyRung<Real>&);
template LastRise last_rise(const ReducedFlow<double>&, const AnyRung<double>&);
template LastRise last_rise(const ReducedFlow<Real>&, const AnyRung<Real>&);

}  // namespace popgrad::joma::checks
