#include <boost/math/quadrature/gauss_kronrod.hpp>

#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::salient_first {
namespace {

Statement sheet{.id = "joma.salient-first",
                .paper = "arXiv 2310.00535, Theorem 4",
                .status = "proved in source; the limit is derived here",
                .about = "the reduced flow",
                .theorem = R"(
On v' = (mu - v) o exp(sum_k v_k^2/tau), any number of units k,
  d/ds ln(1/|delta_j|) = exp(sum_k v_jk^2/tau),
hence with gap = (|mu_j|^2 - |mu_k|^2)/tau, |mu_j|^2 summed over the units of token j,
  ln(1/|delta_j|) / ln(1/|delta_k|) = e^gap (1 + Lambda)
  Lambda ln(1/|delta_k|) -> C_j e^{-gap} - C_k,
C = ln(1/|delta(0)|) + c, c of the late solution
  ln(delta_l(0)/delta_l) = e^{|mu_l|^2/tau} s + c_l + o(1)
  c_l = int_0^1 (1 - exp((2 mu_l.g u - |g|^2 u^2)/tau)) / u du,  g = mu_l - v_l(0).
s is the time of exp attention.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "at-once",
                .reads = "reduced"};

const Clause gain = sheet.clause("`ln(1/|delta|)` grows at the rate `exp(v^2/tau)`");
const Clause ahead = sheet.clause(
    "late the salient token is ahead by a factor `e^{(mu_j^2 - mu_k^2)/tau} (1 + Lambda)`");
const Clause vanishes_late = sheet.clause("`Lambda` falls like `1/ln(1/|delta_k|)`");

const Hypothesis nonlinear = sheet.assume("nonlinear `phi`");
const Hypothesis off_target = sheet.assume("`v(0)` differs from `mu`");
const Hypothesis exp_clock =
    sheet.assume(by_construction("exp clock",
                                 "`s` is the time of exp attention; softmax "
                                 "attention has the same orbit on its own clock"));
const Hypothesis late_times = sheet.assume(
    by_construction("late: `delta_k -> 0`", "all `delta` are below `e^-30` of their starts"));

const Control larger_exponent =
    sheet.control("exponent", "`1.1 (|mu_j|^2 - |mu_k|^2)/tau` as the exponent");
const Control larger_limit =
    sheet.control("limit", "a limit of `Lambda ln(1/|delta_k|)` 10 % larger");
const Control undamped_limit =
    sheet.control("undamped", "limit `C_j - C_k` in place of `C_j e^{-gap} - C_k`");
const Control at_once = sheet.control(
    "at-once", "the salient token is ahead by the exponential factor at all times, `Lambda` is 0");

const Rival power = sheet.rival(
    "power", "rates are a power of `|mu|`, not an exponential of its square", "the power");

const Knob exponent_gap = sheet.knob(
    logarithmic_knob("gap", "(|mu_j|^2 - |mu_k|^2)/tau of the salient and the other", 0.1, 2, 2));
const Knob weak = sheet.knob(logarithmic_knob("weak", "|mu_k| of the weaker token", 0.3, 3, 1.5));
const Knob hidden_units = sheet.knob(unit_count);
const Knob start = sheet.knob(linear_knob(
    "start", "largest v_lk(0), in units of mu_lk; beyond 1: the other side", -0.5, 1.5, 0.5));
const Knob tau_of_attention = sheet.knob(tau);

constexpr double late = 30;  // least ln(delta(0)/delta) where limits are read

// A salient and a weak token, and one in the middle between them.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_instances, 7);
  ReducedInstance<double> drawn;
  drawn.nonlinear = true;
  drawn.tau = setting.value(tau_of_attention);
  const Vector<double> gaps = setting.value(exponent_gap) * Vector<double>{{1, 0, 0.5}};
  drawn.target.resize(gaps.size(), setting.count(hidden_units));
  for (double& mu : drawn.target.reshaped()) mu = stream.normal();
  for (Index l = 0; l < gaps.size(); ++l) {
    drawn.target.row(l) *= std::sqrt(std::pow(setting.value(weak), 2) + gaps[l] * drawn.tau) /
                           drawn.target.row(l).norm();
  }
  drawn.start = setting.value(start) * drawn.target;
  for (double& v : drawn.start.reshaped()) v *= stream.uniform();
  drawn.logits = Vector<double>::Zero(gaps.size());
  return drawn;
}

// d/ds ln(1/|delta|) = exp(sum_k v_k^2/tau) along the rung `reduced`, two tokens and two units of
// generic symbols.
Truth gain_is_the_rate() {
  ReducedInstance<Expression> generic;
  generic.nonlinear = true;
  generic.target = symbols("m", 2, 2);
  generic.start = symbols("v", 2, 2);
  generic.logits = symbols("z", 2);
  generic.tau = symbol("tau");
  const Vector<Expression> v = generic.start.reshaped();
  Vector<Expression> slope(v.size());
  ReducedFlow<Expression>(generic).rhs(v, slope, Expression(0));
  Matrix<Expression> left(v.size(), 1);
  for (Index i = 0; i < v.size(); ++i) {
    const Expression delta = 1 - v[i] / generic.target.reshaped()[i];
    const Expression square = v[i % 2] * v[i % 2] + v[i % 2 + 2] * v[i % 2 + 2];
    left(i, 0) = -rate_along(delta, v, slope) / delta - GiNaC::exp(square / generic.tau);
  }
  return vanishes(left);
}

void prove(Examination& it) {
  it.judge(gain,
           identity("`d/ds ln(1/|delta|) = exp(sum_k v_k^2/tau)`, two units", gain_is_the_rate));
}

// The least y of the clock token among late, 2 late, 4 late, ... at which no token has less than
// `late`. Starts beyond 0 may put any token ahead, but none for good.
double late_clock(const ReducedInstance<double>& instance, Index clock_token) {
  const AnyRung<double> rung = approach_of(instance, clock_token);
  for (double end = late;; end *= 2) {
    const Solved run(rung, {end}, 1e-12);
    if (run.state(0).head(instance.tokens()).minCoeff() >= late) return end;
  }
}

// int_0^1 lacks(u)/u du, `lacks` what the rate of a token with the share u of its way left lacks
// of that at mu, relative to it. Part: enclosure, from the two rules of Gauss and Kronrod.
Quantity late_constant_of(const std::function<double(double)>& lacks) {
  const auto integrand = [&](double u) { return lacks(u) / u; };
  // The nodes lie inside (0, 1). Bisected until the two rules agree to all but a few roundings.
  constexpr unsigned bisections = 12;
  double apart = 0;
  using Rule = boost::math::quadrature::gauss_kronrod<double, 31>;
  const double value = Rule::integrate(integrand, 0.0, 1.0, bisections,
                                       64 * std::numeric_limits<double>::epsilon(), &apart);
  return {value, {ErrorPart::enclosure(apart)}};
}

// c_l.
Quantity late_constant(const ReducedInstance<double>& instance, Index token) {
  const Vector<double> mu = instance.target.row(token).transpose();
  const Vector<double> way = mu - instance.start.row(token).transpose();
  const double first = 2 * mu.dot(way) / instance.tau;
  const double second = way.squaredNorm() / instance.tau;
  return late_constant_of([&](double u) { return -std::expm1((first - second * u) * u); });
}

// The same of rates that are a power of |v|^2.
Quantity late_constant_by_power(const ReducedInstance<double>& instance, Index token,
                                double exponent) {
  const Vector<double> mu = instance.target.row(token).transpose();
  const Vector<double> way = mu - instance.start.row(token).transpose();
  return late_constant_of([&](double u) {
    return 1 - std::pow((mu - u * way).squaredNorm() / mu.squaredNorm(), exponent);
  });
}

// ln(1/|delta(0)|) of the unit of a token whose |mu| is largest.
double first_logarithm(const ReducedInstance<double>& instance, Index token) {
  Index unit = 0;
  instance.target.row(token).cwiseAbs().maxCoeff(&unit);
  return -std::log(std::fabs(1 - instance.start(token, unit) / instance.target(token, unit)));
}

// Every token against the weakest.
void judge_limits(const ReducedInstance<double>& instance, Examination& it) {
  const Index weakest = weakest_token(instance);
  const Vector<double> squares = instance.target.rowwise().squaredNorm();
  const double depth = late_clock(instance, weakest);
  const std::vector<double> falling = falling_parameters(1, 2, 2);  // delta_k, from the first
  std::vector<double> depths;
  for (const double part : falling) depths.push_back(depth - std::log(part));
  const auto logs_at = logarithms_of(instance, weakest, depths);
  const double first = first_logarithm(instance, weakest);
  const Quantity own_constant = first + late_constant(instance, weakest);
  Comparison ratio = equal("late ratio of the rates of `ln(1/|delta|)`");
  Comparison limit = equal("`Lambda ln(1/|delta_k|)` as `delta_k` goes to 0");
  std::vector<Quantity> steeper, undamped, by_power, limit_by_power;
  // Of the strongest token it has the exponent.
  const double largest = squares.maxCoeff();
  const double own_power =
      (largest - squares[weakest]) / instance.tau / std::log(largest / squares[weakest]);
  for (Index l = 0; l < instance.tokens(); ++l) {
    if (l == weakest) continue;
    const double gap = (squares[l] - squares[weakest]) / instance.tau;
    const double from = first_logarithm(instance, l);
    std::vector<Quantity> logs, lambda;
    for (std::size_t k = 0; k < depths.size(); ++k) {
      logs.push_back(from + logs_at[k][static_cast<std::size_t>(l)]);
      lambda.push_back(logs[k] * Quantity(std::exp(-gap)) - Quantity(depths[k] + first));
    }
    const std::string place = fmt::format("token {} of gap {:.4g}", l, gap);
    const std::size_t last = depths.size() - 1;
    ratio.add(place, (logs[last] - logs[last - 1]) / Quantity(depths[last] - depths[last - 1]),
              std::exp(gap));
    steeper.emplace_back(std::exp(1.1 * gap));
    by_power.emplace_back(std::pow(squares[l] / squares[weakest], own_power));
    const Quantity constant = from + late_constant(instance, l);
    limit.add(place, limit_in(falling, lambda), constant * Quantity(std::exp(-gap)) - own_constant);
    undamped.push_back(constant - own_constant);
    limit_by_power.push_back((from + late_constant_by_power(instance, l, own_power)) /
                                 by_power.back() -
                             (first + late_constant_by_power(instance, weakest, own_power)));
  }
  it.judge(ahead, ratio.unless(larger_exponent, steeper).against(power, by_power));
  it.judge(vanishes_late, limit.unless(larger_limit, times(1.1))
                              .unless(undamped_limit, undamped)
                              .unless(at_once, 0.0)
                              .against(power, limit_by_power));
}

void examine(const Setting& setting, Examination& it) {
  ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  it.parameters = parameters_of(instance, setting);
  const bool bent = it.require(nonlinear, instance.nonlinear);
  const double nearest = (1 - instance.start.array() / instance.target.array()).abs().minCoeff();
  const bool apart =
      it.require(off_target, nearest > 0, fmt::format("least `|delta(0)| = {:.3g}`", nearest));
  if (!bent || !apart || instance.tokens() < 2) return;
  instance.attention = Attention::exp;
  it.judge(gain, flow_in_logarithms(instance));
  judge_limits(instance, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::salient_first
