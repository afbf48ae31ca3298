#include "solving/common_error.hpp"
#include "theorems/joma/checks/growth_parts.hpp"
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
                .knobs = {tau},
                .reads = "reduced"};

const Clause law = sheet.clause("linear phi: erf(v_l/sqrt tau) in proportion to Delta_l t");
const Clause salient_first = sheet.clause("the salient token blows up first");
const Clause falls_from_even = sheet.clause("entropy falls from ln d");
const Clause to_ties = sheet.clause("to ln m");

const Hypothesis linear = sheet.assume("linear phi");
const Hypothesis exp_attention = sheet.assume("exp attention");
const Hypothesis one_unit = sheet.assume("one hidden unit");
const Hypothesis zero_start = sheet.assume("v(0) = 0");
const Hypothesis gradient = sheet.assume("Delta is not 0");

const Control wide_law = sheet.control("wide-law", "tau 10 % too large in the law");
const Control late_blow_up = sheet.control("blow-up-late", "blow-up 10 % late");
const Control smaller_limits = sheet.control("limits", "limits of 0.9 Delta_l in place of Delta_l");
const Control faster_fall =
    sheet.control("first-fall", "the first fall of the entropy 10 % faster");
const Control tie_more = sheet.control("tie-more", "the entropy's way to ln m with m + 1 for m");

const Knob largest =
    sheet.knob(logarithmic_knob("largest", "|Delta| of the salient tokens", 0.1, 10, 2));
const Knob runner_up = sheet.knob(linear_knob(
    "runner-up", "|Delta| of the next token, in units of the largest", 0.1, 0.95, 0.75));
const Knob ties =
    sheet.knob(whole_knob("ties", "tokens m that share the largest |Delta|", 1, 3, 1));
const Knob others = sheet.knob(whole_knob("others", "tokens beside those", 1, 8, 3));
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
  it.judge(law, identity("d/dt of erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t is 0",
                         [&] { return vanishes(miss); }));
}

// Tokens that move, with |Delta_l| below a bound.
std::vector<Index> moving_below(const ReducedInstance<double>& instance, double bound) {
  std::vector<Index> tokens;
  for (Index l = 0; l < instance.tokens(); ++l) {
    const double slope = std::fabs(instance.target(l, 0));
    if (slope > 0 && slope < bound) tokens.push_back(l);
  }
  return tokens;
}

void judge_blow_up(const ReducedInstance<double>& instance, const BlowUp& blow_up,
                   Examination& it) {
  it.judge(salient_first, equal("time of the blow-up", blow_up.time,
                                blow_up_time(largest_gradient(instance), 0.0, instance.tau))
                              .unless(late_blow_up, times(1.1)));
  const std::vector<Index> left = moving_below(instance, largest_gradient(instance));
  if (left.empty()) return;
  const double width = std::sqrt(instance.tau);
  std::vector<Quantity> stopped, limits, smaller;
  for (const Index l : left) {
    const double y = limit_of(instance, l, 1);
    // A token still moves at its slope when the others blow up.
    const double slope = instance.target(l, 0) * std::exp(y * y);
    stopped.push_back(blow_up.state.at(static_cast<std::size_t>(l)));
    stopped.back().add(ErrorPart::solver(0, slope * blow_up.time.error()));
    limits.emplace_back(width * y);
    smaller.emplace_back(width * limit_of(instance, l, 0.9));
  }
  it.judge(salient_first, equal("where the other tokens stop", with_common_error(stopped), limits)
                              .unless(smaller_limits, smaller));
}

// Until shortly before the blow-up.
void judge_law(const ReducedInstance<double>& instance, const BlowUp& blow_up, Examination& it) {
  const double end = blow_up.time.value();
  // One solve a time: between the ends of its steps a solver has errors of another kind.
  const AnyRung<double> rung = forget_type(ReducedFlow<double>(instance));
  std::vector<Solved> runs;
  for (const double t : {end / 4, end / 2, 0.95 * end}) {
    runs.emplace_back(rung, std::vector{t}, growth_tolerance);
  }
  const std::vector<Index> moving = moving_below(instance, INFINITY);
  const auto grown = [&](double width) {
    std::vector<Quantity> all;
    for (const Index l : moving) {
      const auto of_token = [=](const Vector<double>& v) {
        return std::erf(v[l] / width) * width * std::sqrt(M_PI) / 2;
      };
      for (const Solved& run : runs) all.push_back(run.at(0, of_token));
    }
    return with_common_error(all);
  };
  Comparison growth =
      equal("erf(v/sqrt tau) sqrt(pi tau)/2 against Delta t", grown(std::sqrt(instance.tau)));
  for (const Index l : moving) {
    for (const Solved& run : runs) {
      const double t = run.times().front();
      growth.predicted.emplace_back(instance.target(l, 0) * t);
      growth.places.push_back(fmt::format("t = {:.4g}, token {}", t, l));
    }
  }
  it.judge(law, growth.unless(wide_law, [&] { return grown(std::sqrt(1.1 * instance.tau)); }));
}

void judge_entropy(const ReducedInstance<double>& instance, const BlowUp& blow_up,
                   Examination& it) {
  it.judge(falls_from_even, below("correlation of logits and rates, the sign of the entropy's fall",
                                  0, least_correlation(instance, blow_up))
                                .in_units_of(1));
  it.judge(falls_from_even, equal("first fall of the entropy over t^4 Var(Delta^2)/(2 tau^2)",
                                  first_fall(instance), 1)
                                .unless(faster_fall, times(1.1)));
  const auto m = static_cast<double>(
      (instance.target.col(0).cwiseAbs().array() == largest_gradient(instance)).count());
  it.judge(to_ties,
           equal("entropy above ln m over its leading term", last_fall(instance, blow_up, m), 1)
               .with(fmt::format("m = {}", m))
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
  it.require(zero_start, -off, fmt::format("largest |v(0)| {:.3g}", off));
  const double top = largest_gradient(instance);
  if (!it.require(gradient, top > 0) || !straight || !exponential) return;
  const BlowUp blow_up = blow_up_of(instance, 10 * std::sqrt(M_PI * instance.tau) / top);
  judge_blow_up(instance, blow_up, it);
  judge_law(instance, blow_up, it);
  // Where all |Delta_l| are the same, the entropy stays.
  if (delta.cwiseAbs2().maxCoeff() > delta.cwiseAbs2().minCoeff()) {
    judge_entropy(instance, blow_up, it);
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::linear_growth
