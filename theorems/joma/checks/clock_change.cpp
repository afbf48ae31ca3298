#include "solving/common_error.hpp"
#include "theorems/joma/checks/clocks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::clock_change {
namespace {

Statement sheet{.id = "joma.clock-change",
                .paper = "arXiv 2310.00535, Section 4",
                .status = "derived here",
                .about = "the reduced flow",
                .theorem = R"(
The reduced flow with softmax attention is the orbit with exp attention on another clock,
  dt_softmax = sum_l a_l dt_exp,  a_l = exp(sum_k v_lk^2/tau),
and along it, for every one of any number of units, since they share a,
  sum_l ln(|delta_l(0)|/|delta_l|) = t,  delta_l = 1 - v_l/mu_l   (nonlinear phi)
  sum_l (v_l - v_l(0))/Delta_l     = t                            (linear phi))",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .no_rival = "an identity in the state",
                .false_version = "constant-factor",
                .knobs = {tau, token_count},
                .reads = "reduced"};

const Clause same_orbit =
    sheet.clause("the softmax reduced flow is the exp orbit on `dt = sum a dt_exp`");
const Clause logarithms = sheet.clause("nonlinear `phi`: `sum ln(|delta(0)|/|delta|) = t`");
const Clause ways = sheet.clause("linear `phi`: `sum (v - v(0))/Delta = t`");

const Hypothesis not_zero = sheet.assume("`mu` and `Delta` are not 0");
const Hypothesis off_target = sheet.assume("`v(0)` differs from `mu`");

const Control inverse_clock = sheet.control("inverse-clock", "`dt_exp = sum a dt_softmax`");
const Control no_logarithm =
    sheet.control("no-logarithm", "sum of `1 - delta` in place of sum of `ln(1/delta)`");
const Control sum_rate = sheet.control("sum-rate", "sums said to be `1.1 t`");
const Control token_short = sheet.control("token-short", "the sums without the last token");
const Control exp_clock = sheet.control("exp-clock", "times of the exp clock 10 % short");
const Control constant_factor = sheet.control(
    "constant-factor", "the clocks differ by a constant factor, fitted at the last time");

const Knob size = sheet.knob(
    logarithmic_knob("size", "size of mu and Delta, in units of the usual one", 0.3, 1.2, 1));
const Knob start = sheet.knob(
    linear_knob("start", "v(0) of all tokens, in units of the smallest |mu|", 0, 0.9, 0.05));
const Knob units = sheet.knob(whole_knob("units", "hidden units K", 1, 2, 1));
const Knob phi = sheet.knob(
    whole_knob("phi", "0: linear phi, Delta given; 1: nonlinear phi, mu given", 0, 1, 1));

constexpr double tolerance = 1e-12;

// mu or Delta of sizes in [1, 2.5] and of either sign.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  ReducedInstance<double> instance;
  instance.nonlinear = setting.count(phi) == 1;
  instance.tau = setting.value(tau);
  instance.target.resize(setting.count(token_count), setting.count(units));
  Stream stream(setting.seed, stream_of_drawn_instances, 14);
  for (double& m : instance.target.reshaped()) {
    m = setting.value(size) * (stream.uniform() < 0.5 ? -1 : 1) * (1 + 1.5 * stream.uniform());
  }
  const double smallest = instance.target.cwiseAbs().minCoeff();
  instance.start = instance.target;
  instance.start.setConstant(setting.value(start) * smallest);
  instance.logits = Vector<double>::Zero(instance.tokens());
  return instance;
}

// Both fields of 3 tokens and 2 units over symbols.
struct BothClocks {
  Matrix<Expression> target = symbols("m", 3, 2);
  Vector<Expression> v = symbols("v", 6);
  Vector<Expression> exp_rate{6}, softmax_rate{6};
  Expression total = 0;  // sum_l a_l

  explicit BothClocks(bool nonlinear) {
    ReducedInstance<Expression> instance;
    instance.nonlinear = nonlinear;
    instance.target = target;
    instance.start = v.reshaped(3, 2);
    instance.tau = symbol("tau");
    instance.attention = Attention::exp;
    ReducedFlow<Expression>(instance).rhs(v, exp_rate, Expression(0));
    instance.attention = Attention::softmax;
    ReducedFlow<Expression>(instance).rhs(v, softmax_rate, Expression(0));
    for (Index l = 0; l < 3; ++l) {
      total += GiNaC::exp((v[l] * v[l] + v[l + 3] * v[l + 3]) / instance.tau);
    }
  }
  // Whether what `of` makes of v/m, summed over the tokens of either unit, grows at the rate 1.
  template <class Function>
  [[nodiscard]] Truth grows_like_time(const Function& of) const {
    Matrix<Expression> miss(2, 1);
    for (Index unit = 0; unit < 2; ++unit) {
      Expression sum = 0;
      for (Index l = 0; l < 3; ++l) sum += of(Expression(v[l + 3 * unit] / target(l, unit)));
      miss(unit, 0) = rate_along(sum, v, softmax_rate) - 1;
    }
    return vanishes(miss);
  }
};

void prove_for(bool nonlinear, Examination& it) {
  const BothClocks both(nonlinear);
  const auto same = [&](const Vector<Expression>& left, const Vector<Expression>& right) {
    return vanishes(Matrix<Expression>(left - right * both.total));
  };
  it.judge(same_orbit,
           identity(fmt::format("exp field = softmax field times `sum a`, {} `phi`",
                                nonlinear ? "nonlinear" : "linear"),
                    [&] { return same(both.exp_rate, both.softmax_rate); })
               .unless(inverse_clock, [&] { return same(both.softmax_rate, both.exp_rate); }));
  const auto part_grows = [&] {
    return both.grows_like_time([](const Expression& part) { return part; });
  };
  if (!nonlinear) {
    it.judge(ways, identity("`sum (v - v(0))/Delta` grows at the rate 1", part_grows));
    return;
  }
  const auto logarithm_grows = [&] {
    return both.grows_like_time(
        [](const Expression& part) -> Expression { return -GiNaC::log(1 - part); });
  };
  it.judge(logarithms, identity("`sum ln(delta(0)/delta)` grows at the rate 1", logarithm_grows)
                           .unless(no_logarithm, part_grows));
}

void prove(Examination& it) {
  prove_for(true, it);
  prove_for(false, it);
}

// While a double resolves the states on the exp clock.
void judge_orbits(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                  Examination& it) {
  const auto on_exp_flow = [&](const auto& time_of) {
    return states_of_exp_flow(instance, softmax, tolerance, time_of);
  };
  const double last = softmax.back().times().front();
  const double factor = softmax.back().state(0)[instance.target.size()] / last;
  std::vector<Quantity> states;
  for (const Solved& run : softmax) {
    for (Index i = 0; i < instance.target.size(); ++i) {
      states.push_back(run.at(0, [i](const Vector<double>& v) { return v[i]; }));
    }
  }
  it.judge(same_orbit,
           equal("states of the softmax flow against those of the exp flow",
                 with_common_error(states), on_exp_flow([](double, double own) { return own; }))
               .unless(exp_clock, instead([&] {
                         return on_exp_flow([](double, double own) { return 0.9 * own; });
                       }))
               .unless(constant_factor, instead([&] {
                         return on_exp_flow([&](double t, double) { return factor * t; });
                       })));
}

void judge_sums(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                Examination& it) {
  const Index tokens = instance.tokens();
  Comparison grown =
      equal(instance.nonlinear ? "sum of `ln(|delta(0)|/|delta|)`" : "sum of (v - v(0))/Delta",
            sums_along(instance, softmax, tokens));
  for (Index unit = 0; unit < instance.units(); ++unit) {
    for (const Solved& run : softmax) {
      const double t = run.times().front();
      grown.predicted.emplace_back(t);
      grown.places.push_back(fmt::format("`t = {:.4g}`, unit {}", t, unit));
    }
  }
  it.judge(instance.nonlinear ? logarithms : ways,
           grown.unless(sum_rate, times(1.1)).unless(token_short, [&] {
             return sums_along(instance, softmax, tokens - 1);
           }));
}

// How long until some a_l may have grown by exp(2.25) through one unit: a token is at most as fast
// as without the others. Much later a spacing of the exp clock in double moves the states by more
// than their size.
double time_of_growth(const ReducedInstance<double>& instance) {
  const double first = instance.start.cwiseAbs().maxCoeff();
  const double growth = 2.25 * instance.tau;  // of v^2
  const double way = growth / (first + std::sqrt(first * first + growth));
  if (!instance.nonlinear) return way / instance.target.cwiseAbs().maxCoeff();
  const double share = way / (instance.target - instance.start).cwiseAbs().maxCoeff();
  return share < 1 ? -std::log1p(-share) : std::numeric_limits<double>::infinity();
}

// Both clocks are run, whichever attention an instance file names.
void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  it.parameters = {{"mu or delta", numbers_of(instance.target)},
                   {"phi", instance.nonlinear ? "nonlinear" : "linear"},
                   {"v0", instance.start(0, 0)},
                   {"tau", instance.tau},
                   {"seed", setting.seed}};
  const double least = instance.target.cwiseAbs().minCoeff();
  it.require(not_zero, least > 0, fmt::format("least size {:.3g}", least));
  const double way = (instance.target - instance.start).cwiseAbs().minCoeff();
  it.require(off_target, !(instance.nonlinear && way == 0),
             instance.nonlinear ? fmt::format("by at least {:.3g}", way) : "linear phi has no mu");
  // Until the sum of logarithms is 4, or the steepest token would by itself have reached
  // 1.5 sqrt tau.
  const double end = instance.nonlinear
                         ? 4
                         : 1.5 * std::sqrt(instance.tau) / instance.target.cwiseAbs().maxCoeff();
  const auto softmax_until = [&](double last) {
    return solve_softmax_flow(instance, {last / 4, last / 2, last}, tolerance);
  };
  judge_sums(instance, softmax_until(end), it);
  judge_orbits(instance, softmax_until(std::min(end, time_of_growth(instance))), it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::clock_change
