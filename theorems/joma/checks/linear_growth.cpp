#include <array>
#include <boost/math/special_functions/erf.hpp>

#include "popgrad/solving/solve.hpp"
#include "scalars/softmax.hpp"
#include "solving/common_error.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/closed_form.hpp"

namespace popgrad::joma::checks::linear_growth {
namespace {

Statement sheet{.id = "joma.linear-growth",
                .paper = "arXiv 2310.00535, Theorem 2",
                .status = "proved in source",
                .about = "the reduced flow",
                .theorem = R"(
v' = Delta o exp(v^2/tau), v(0) = 0, is solved by
  erf(v_l/sqrt tau) sqrt(pi tau)/2 = Delta_l t;
the tokens of largest |Delta| blow up at
  t* = sqrt(pi tau)/(2 |Delta|_max),
the others stop at
  v_l = sqrt(tau) erfinv(Delta_l/|Delta|_max);
the attention entropy H falls all the way from ln d to ln m, m the number of ties for
|Delta|_max, as
  ln d - H = t^4 Var(Delta^2)/(2 tau^2) + ...                       (t -> 0)
  H - ln m = sum_others (1 + x^2 - y_l^2) exp(y_l^2 - x^2)/m + ...  (t -> t*),
x = erfinv(t/t*), y_l = erfinv(Delta_l/|Delta|_max).)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "no-attention",
                .knobs = {tau},
                .reads = "reduced"};

const Clause law = sheet.clause(
    "linear `phi`, exp attention, `v(0) = 0`: `erf(v_l/sqrt tau)` in proportion to `Delta_l t`");
const Clause only_salient = sheet.clause("only the salient tokens blow up");
const Clause falls_from_even = sheet.clause("entropy falls all the way from `ln d`");
const Clause to_ties = sheet.clause("to `ln m`");

const Hypothesis linear = sheet.assume("linear `phi`");
const Hypothesis exp_attention = sheet.assume("exp attention");
const Hypothesis one_unit = sheet.assume("one hidden unit");
const Hypothesis zero_start = sheet.assume("`v(0) = 0`");
const Hypothesis gradient = sheet.assume("`Delta` is not 0");

const Control wide_law = sheet.control("wide-law", "`tau` 10 % too large in the law");
const Control late_blow_up = sheet.control("blow-up-late", "blow-up 10 % late");
const Control smaller_limits =
    sheet.control("limits", "limits of `0.9 Delta_l` in place of `Delta_l`");
const Control faster_fall =
    sheet.control("first-fall", "the first fall of the entropy 10 % faster");
const Control tie_more =
    sheet.control("tie-more", "the entropy's way to `ln m` with `m + 1` for `m`");

const Rival no_attention =
    sheet.rival("no-attention",
                "weights grow in proportion to their gradients, as without attention", "a clock");

const Knob largest =
    sheet.knob(logarithmic_knob("largest", "|Delta| of the salient tokens", 0.1, 10, 2));
const Knob runner_up = sheet.knob(linear_knob(
    "runner-up", "|Delta| of the next token, in units of the largest", 0.1, 0.95, 0.75));
const Knob ties =
    sheet.knob(whole_knob("ties", "tokens m that share the largest |Delta|", 1, 3, 1));
const Knob others = sheet.knob(whole_knob("others", "further tokens", 1, 8, 3));
const Knob start =
    sheet.knob(logarithmic_knob("start", "deviation of v(0), in units of sqrt tau", 1e-4, 1, 0)
                   .breaking(zero_start));
const Knob second_unit =
    sheet.knob(logarithmic_knob("second-unit",
                                "deviation of Delta of a second unit, over the largest", 1e-3, 3, 0)
                   .breaking(one_unit));

// Signs are drawn, and the sizes of the tokens after the runner-up.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  const Index tied = setting.count(ties);
  const Index d = tied + setting.count(others);
  const double top = setting.value(largest);
  ReducedInstance<double> instance;
  instance.tau = setting.value(tau);
  instance.target.resize(d, setting.value(second_unit) > 0 ? 2 : 1);
  Stream stream(setting.seed, stream_of_drawn_instances, 2);
  for (Index l = 0; l < d; ++l) {
    const double sign = stream.uniform() < 0.5 ? -1 : 1;
    const double share = l == tied ? 1 : 0.1 + 0.9 * stream.uniform();
    instance.target(l, 0) = sign * top * (l < tied ? 1 : share * setting.value(runner_up));
  }
  instance.start = Matrix<double>::Zero(d, instance.units());
  for (double& v : instance.start.col(0)) {
    v = setting.value(start) * std::sqrt(instance.tau) * stream.normal();
  }
  for (Index l = 0; l < d && instance.units() == 2; ++l) {
    instance.target(l, 1) = setting.value(second_unit) * top * stream.normal();
  }
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

void prove(Examination& it) {
  ReducedInstance<Expression> instance;
  const Vector<Expression> v = symbols("v", 2);
  instance.target = symbols("Delta", 2, 1);
  instance.start = v;
  const Expression root = GiNaC::possymbol("s");
  instance.tau = root * root;
  // Separation of variables along the rung's own right-hand side.
  Vector<Expression> rate(2);
  ReducedFlow<Expression>(instance).rhs(v, rate, Expression(0));
  Matrix<Expression> miss(2, 1);
  for (Index l = 0; l < 2; ++l) {
    const Expression grown =
        error_function(Expression(v[l] / root)) * GiNaC::sqrt(GiNaC::Pi) * root / 2;
    miss(l, 0) = rate_along(grown, v, rate) - instance.target(l, 0);
  }
  it.judge(law, identity("`d/dt` of `erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t` is 0",
                         [&] { return vanishes(miss); }));
}

constexpr double tolerance = 1e-12;

// |Delta|_max of the first unit.
double largest_gradient(const ReducedInstance<double>& instance) {
  return instance.target.col(0).cwiseAbs().maxCoeff();
}

// y_l for `share` Delta_l in place of Delta_l.
double limit_of_token(const ReducedInstance<double>& instance, Index l, double share = 1) {
  return boost::math::erf_inv(share * instance.target(l, 0) / largest_gradient(instance));
}

// The time at which a token tends to infinity. Throws std::runtime_error if none does.
Quantity judge_blow_up(const ReducedInstance<double>& instance, Examination& it) {
  const double top = largest_gradient(instance);
  const auto solve_to_blow_up = [&](double own_tolerance) {
    SolveRequest<double> request;
    request.end = 10 * std::sqrt(M_PI * instance.tau) / top;
    request.relative_tolerance = own_tolerance;
    request.absolute_tolerance = own_tolerance / 100;
    request.find_events = false;
    Trajectory<double> run = solve(forget_type(ReducedFlow<double>(instance)), request);
    throw_if_stopped();
    if (run.outcome.ending != Ending::blew_up) throw Failure("no token blows up");
    return run;
  };
  const Trajectory<double> sharp = solve_to_blow_up(refined_tolerance(tolerance));
  const Trajectory<double> loose = solve_to_blow_up(100 * refined_tolerance(tolerance));
  // Each step rounds the time, and v, which moves what is left by a spacing of the time at most.
  const auto roundings = static_cast<double>(2 * sharp.outcome.steps_taken);
  const auto read = [&](double value, double other) -> Quantity {
    return {value, {ErrorPart::solver(value, other), ErrorPart::rounding(roundings, value)}};
  };
  Quantity time = read(sharp.events.back().t, loose.events.back().t);
  it.judge(only_salient, equal("time of the blow-up", time, blow_up_time(top, 0.0, instance.tau))
                             .unless(late_blow_up, times(1.1)));
  const double width = std::sqrt(instance.tau);
  std::vector<Quantity> stopped, limits, smaller;
  for (Index l = 0; l < instance.tokens(); ++l) {
    const double delta = instance.target(l, 0);
    if (delta == 0 || std::fabs(delta) == top) continue;
    const double y = limit_of_token(instance, l);
    stopped.push_back(read(sharp.last_state[l], loose.last_state[l]));
    // A token still moves at its slope when the others blow up.
    stopped.back().add(ErrorPart::solver(0, delta * std::exp(y * y) * time.error()));
    limits.emplace_back(width * y);
    smaller.emplace_back(width * limit_of_token(instance, l, 0.9));
  }
  if (stopped.empty()) return time;
  it.judge(only_salient, equal("where the other tokens stop", with_common_error(stopped), limits)
                             .unless(smaller_limits, smaller));
  return time;
}

// Until shortly before the blow-up at `end`.
void judge_law(const ReducedInstance<double>& instance, double end, Examination& it) {
  const AnyRung<double> rung = forget_type(ReducedFlow<double>(instance));
  const std::array times{end / 4, end / 2, 0.95 * end};
  const auto growth = [&](double own_tau) {
    const double width = std::sqrt(own_tau);
    Comparison grown = equal("`erf(v/sqrt tau) sqrt(pi tau)/2` against `Delta t`");
    for (const double t : times) {
      // A solve each: between the ends of its steps a solver has errors of another kind.
      const Solved run(rung, {t}, tolerance);
      for (Index l = 0; l < instance.tokens(); ++l) {
        if (instance.target(l, 0) == 0) continue;
        const auto of_token = [=](const Vector<double>& v) {
          return std::erf(v[l] / width) * width * std::sqrt(M_PI) / 2;
        };
        grown.add(fmt::format("`t = {:.4g}`, token {}", t, l), run.at(0, of_token),
                  instance.target(l, 0) * t);
      }
    }
    grown.measured = with_common_error(grown.measured);
    return grown;
  };
  // Of weights that are Delta times what is nearest to those of the flow.
  const auto in_proportion = [&] {
    std::vector<Quantity> grown;
    const Vector<double> delta = instance.target.col(0);
    const double width = std::sqrt(instance.tau);
    for (const double t : times) {
      const Vector<double> v = Solved(rung, {t}, tolerance).state(0).head(delta.size());
      const double clock = delta.dot(v) / delta.squaredNorm();
      for (const double own : delta) {
        if (own == 0) continue;
        grown.emplace_back(std::erf(clock * own / width) * width * std::sqrt(M_PI) / 2);
      }
    }
    return grown;
  };
  it.judge(law, growth(instance.tau)
                    .unless(wide_law, [&] { return growth(1.1 * instance.tau).measured; })
                    .against(no_attention, instead(in_proportion)));
}

// Of the logits z = v^2/tau with their rates under the attention weights: the entropy falls at the
// rate of their covariance. At v = 0, where z' = 2 z/t, the limit.
double correlation(const ReducedFlow<double>& flow, const Vector<double>& v) {
  if (v.cwiseAbs().maxCoeff() == 0) return 1;
  Vector<double> slope(v.size());
  flow.rhs(v, slope, 0.0);
  const Vector<double> z = flow.attention_logits(v);
  const Vector<double> rate =
      v.cwiseProduct(slope).reshaped(z.size(), flow.instance().units()).rowwise().sum();
  const Vector<double> p = softmax<double>(z);
  const auto covariance = [&](const Vector<double>& a, const Vector<double>& b) {
    return p.dot(((a.array() - p.dot(a)) * (b.array() - p.dot(b))).matrix());
  };
  return covariance(z, rate) / std::sqrt(covariance(z, z) * covariance(rate, rate));
}

// The entropy's distance from `from` at a time, in units of `unit`, an entropy of its own.
Quantity share_of(const ReducedFlow<double>& flow, double time, double from, double unit) {
  Quantity share = Solved(forget_type(flow), {time}, tolerance).at(0, [&](const Vector<double>& v) {
    return (flow.attention_entropy(v) - from) / unit;
  });
  share.add(ErrorPart::rounding(static_cast<double>(flow.instance().tokens()),
                                std::log(static_cast<double>(flow.dimension())) / unit));
  return share;
}

void judge_entropy(const ReducedInstance<double>& instance, const Quantity& blow_up,
                   Examination& it) {
  const ReducedFlow<double> flow(instance);
  const double end = blow_up.value();
  const double top = largest_gradient(instance);
  const Vector<double> squares = instance.target.col(0).cwiseAbs2();
  Quantity least = smallest_along(forget_type(flow), (1 - 1e-4) * end, tolerance,
                                  [&](const Vector<double>& v) { return correlation(flow, v); });
  least.add(ErrorPart::rounding(static_cast<double>(instance.tokens()),
                                squares.maxCoeff() / (squares.maxCoeff() - squares.minCoeff())));
  it.judge(falls_from_even,
           below("correlation of logits and rates, the sign of the entropy's fall", 0, least)
               .in_units_of(1));
  const double variance = (squares.array() - squares.mean()).square().mean();
  // What the leading term leaves out is of order t^2.
  const auto first_fall = [&](double square) {
    const double t = std::sqrt(square);
    return share_of(flow, t, std::log(static_cast<double>(instance.tokens())),
                    -variance / 2 / (instance.tau * instance.tau) * std::pow(t, 4));
  };
  const double early = 0.1 * std::sqrt(instance.tau) / top;
  it.judge(falls_from_even, equal("first fall of the entropy over `t^4 Var(Delta^2)/(2 tau^2)`",
                                  limit_of(first_fall, early * early, 4, 2), 1)
                                .unless(faster_fall, times(1.1)));
  const auto m = static_cast<double>((instance.target.col(0).cwiseAbs().array() == top).count());
  const auto last_fall = [&](double left) {  // 1 - t/t*
    const double x = boost::math::erfc_inv(left);
    double leading = 0;
    for (Index l = 0; l < instance.tokens(); ++l) {
      if (std::fabs(instance.target(l, 0)) == top) continue;
      const double deficit = x * x - std::pow(limit_of_token(instance, l), 2);
      leading += (1 + deficit) * std::exp(-deficit) / m;
    }
    Quantity share = share_of(flow, (1 - left) * end, std::log(m), leading);
    // The leading term is nearly in proportion to 1 - t/t*.
    share.add(ErrorPart::solver(0, blow_up.error() / end / left));
    return share;
  };
  it.judge(to_ties,
           equal("entropy above `ln m` over its leading term", limit_of(last_fall, 1e-5, 10, 2), 1)
               .with(fmt::format("`m = {}`", m))
               .unless(tie_more, m / (m + 1)));
}

void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  const Vector<double> delta = instance.target.col(0);
  it.parameters = {{"delta", numbers_of(delta)}, {"tau", instance.tau}, {"seed", setting.seed}};
  const bool straight = it.require(linear, !instance.nonlinear);
  const bool exponential = it.require(exp_attention, instance.attention == Attention::exp);
  it.require(one_unit, 1.0 - static_cast<double>(instance.units()),
             fmt::format("{} units", instance.units()));
  const double off = instance.start.cwiseAbs().maxCoeff();
  it.require(zero_start, -off, fmt::format("largest `|v(0)|` {:.3g}", off));
  const double top = largest_gradient(instance);
  if (!it.require(gradient, top > 0) || !straight || !exponential) return;
  const Quantity blow_up = judge_blow_up(instance, it);
  judge_law(instance, blow_up.value(), it);
  // Where all |Delta_l| are the same, the entropy stays.
  if (delta.cwiseAbs2().maxCoeff() > delta.cwiseAbs2().minCoeff()) {
    judge_entropy(instance, blow_up, it);
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::linear_growth
