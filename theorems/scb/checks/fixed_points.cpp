#include <type_traits>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks::fixed_points {
namespace {

Statement sheet{.id = "scb.fixed-points",
                .paper = "arXiv 2410.23438, Section 3",
                .status = "derived here",
                .about = "the reduced flow",
                .theorem = R"(
The reduced flow of (alpha_V, alpha_A) rests at
  (1, 1)                with a slow rate K_P/(T (K_P + K_Q)) + O(1/T^2)
  (0, -1/(T K_Q - 1))   a saddle, determinant -K_P (K_Q - 1/T);
from scratch it first settles, up to O(ln T/T), at the balanced point
  alpha_V = kappa^{1/4} = 1/alpha_A,  kappa = K_Q/K_P,
and creeps from there towards (1, 1), as from any other point of alpha_A alpha_V = 1,
  T alpha_V' = (1 - alpha_V) alpha_V^4/(kappa + alpha_V^4) + ...,
at first (1 - alpha_V)/2.)",
                .hypotheses = {zero_start, many_growth_times},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "at-once",
                .knobs = {transition_size_knob, context_size_knob},
                .reads = "reduced"};

const Clause rests = sheet.clause("the flow rests at a saddle and (1, 1)");
const Clause slow = sheet.clause("slow rate at `(1, 1) K_P/(T (K_P + K_Q))`");
const Clause settles = sheet.clause("settles at `alpha_V = 1/alpha_A = (K_Q/K_P)^{1/4}`");
const Clause creeps =
    sheet.clause("creeps on at `alpha_V^4/(K_Q/K_P + alpha_V^4)/T`, at first `1/(2 T)`");

const Control other_power = sheet.control("other-power", "a balanced point `(K_Q/K_P)^{0.275}`");
const Control other_rate = sheet.control("other-rate", "a slow rate `K_P/(T K_Q)`");
const Control saddle_place = sheet.control("saddle-place", "a saddle at `(0, -1/(T K_Q))`");
const Control saddle_rates =
    sheet.control("saddle-rates", "a determinant `-K_P K_Q` at the saddle");
const Control late_creep =
    sheet.control("late-creep", "`T alpha_V' = (1 - alpha_V) K_P/(K_P + K_Q)` on settling");
const Control at_once =
    sheet.control("at-once", "the flow settles at (1, 1): `P` and `Q` are learnt");
const Rival one_rate = sheet.rival("one-rate", "it creeps at one rate all the way", "the rate");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 1e5, 1e7, 1e6));
const Knob growth_time = sheet.knob(short_context);
const Knob head_start = sheet.knob(
    logarithmic_knob("head-start", "distance of the start from 0 over that of the balanced point",
                     1e-3, 0.9, 0)
        .breaking(zero_start));

// The field of the reduced flow at (v, a) and its linear part.
struct Linear {
  Vector<Expression> field;
  Expression trace, determinant;
};
// The sizes that the reduced flow depends on, generic.
struct Symbols {
  Expression transition = symbol("K_P"), context = symbol("K_Q"), positions = symbol("T");

  [[nodiscard]] Linear at(const Expression& v, const Expression& a) const {
    const ReducedFlow<Expression> flow(transition, context, positions, 0, 0, 0);
    const GiNaC::symbol free_v("v"), free_a("a");
    Vector<Expression> x(3);
    x << free_v, free_a, Expression(0);
    Vector<Expression> f(3);
    flow.rhs(x, f, Expression(0));
    const GiNaC::lst here{free_v == v, free_a == a};
    const auto slope = [&](Index i, const GiNaC::symbol& by) { return f[i].diff(by).subs(here); };
    Vector<Expression> field(2);
    field << f[0].subs(here), f[1].subs(here);
    return {field, slope(0, free_v) + slope(1, free_a),
            slope(0, free_v) * slope(1, free_a) - slope(0, free_a) * slope(1, free_v)};
  }
};

Truth rest_there(const Symbols& s, const Expression& saddle) {
  Matrix<Expression> fields(2, 2);
  fields << s.at(1, 1).field, s.at(0, saddle).field;
  return vanishes(fields);
}

// T determinant/trace at (1, 1) as T grows: minus T times the slow rate, the trace being -O(1).
Truth slow_rate(const Symbols& s, const Expression& sum) {
  const Linear one = s.at(1, 1);
  const GiNaC::symbol share("share");  // 1/T
  const Expression quotient =
      (one.determinant / one.trace).normal().subs(s.positions == 1 / share).normal();
  return vanishes(Expression((quotient / share).normal().subs(share == 0) + s.transition / sum));
}

void prove(Examination& it) {
  const Symbols s;
  const Expression saddle = -1 / (s.positions * s.context - 1);
  const auto rest = [&](const Expression& place) {
    return [&s, place] { return rest_there(s, place); };
  };
  const auto determinant = [&](const Expression& context) {
    return [&s, saddle, context] {
      return vanishes(Expression(s.at(0, saddle).determinant + s.transition * context));
    };
  };
  const auto rate = [&](const Expression& sum) { return [&s, sum] { return slow_rate(s, sum); }; };
  it.judge(rests, identity("the field at (1, 1) and at the saddle", rest(saddle))
                      .unless(saddle_place, rest(-1 / (s.positions * s.context))));
  it.judge(rests, identity("determinant at the saddle", determinant(s.context - 1 / s.positions))
                      .unless(saddle_rates, determinant(s.context)));
  it.judge(slow,
           identity("slow rate at (1, 1) times `T`, as `T` grows", rate(s.transition + s.context))
               .unless(other_rate, rate(s.context)));
}

// alpha_V, alpha_A and T alpha_V'/(1 - alpha_V) when what alpha_A alpha_V misses 1 by has died down to
// what the drift keeps up, which is of order 1/T.
template <class T>
std::vector<Quantity> settled(const Sizes& sizes, double time) {
  const T positions(sizes.positions);
  const AnyRung<T> rung = per_length<T>(sizes);
  const SolvedIn<T> run(rung, {time}, 1e-13);
  const auto creep = [&](const Vector<T>& x) -> T {
    Vector<T> slope(3);
    rung.field.value(x, slope, T(0));
    return slope[0] / (T(1) - x[0] / positions);
  };
  const auto part = [&](Index i) {
    return run.at(0, [&, i](const Vector<T>& x) -> T { return x[i] / positions; });
  };
  const Quantity value = part(0);
  Quantity own_creep = run.at(0, creep);
  if constexpr (std::is_same_v<T, double>) {
    // The drift is what is left of two terms of order one.
    const double v = value.value();
    own_creep.add(ErrorPart::rounding(4, positions * sizes.context / v / std::fabs(1 - v)));
  }
  return {value, part(1), own_creep};
}

void examine(const Setting& setting, Examination& it) {
  const Sizes sizes = examined_sizes(
      setting, setting.value(length), setting.value(head_start),
      [](const Sizes& s) { return std::sqrt(2 * std::sqrt(s.transition * s.context)); });
  it.parameters = parameters_of(sizes, setting);
  const double ratio = sizes.context / sizes.transition;
  const double balanced = std::pow(ratio, 0.25);
  // The creep while the flow settles, and what is left of other terms than the growing one.
  const double crept = std::fabs(1 / balanced - 1) * sizes.time_to_settle() / (2 * sizes.positions);
  require_growth(sizes, crept + sizes.leftover(0.5), it);
  if (!(sizes.time_to(0.5) > 0)) return;
  // Another point of the hyperbola, beyond the balanced one: between that and 1 rates may be alike.
  const double elsewhere = balanced * (balanced < 1 ? 1 / 1.2 : 1.2);
  const std::vector<double> shortness = falling_parameters(1, 4, 3);
  std::vector<std::vector<Quantity>> from_scratch, from_elsewhere;
  for (const double part : shortness) {
    const Sizes longer = sizes.longer(1 / part);
    Sizes there = longer;
    there.start << elsewhere, 1 / elsewhere, 0;
    const double settling = longer.time_to_settle();
    from_scratch.push_back(in_refined_digits(
        [&]<class T>() { return settled<T>(longer, longer.time_to(0.5) + settling); }));
    from_elsewhere.push_back(
        in_refined_digits([&]<class T>() { return settled<T>(there, settling); }));
  }
  const std::vector<Quantity> limits = limits_in(shortness, from_scratch);
  const double place = std::pow(ratio, 0.275);
  it.judge(settles, equal("where the flow settles")
                        .add("`alpha_V`", limits[0], balanced)
                        .add("`alpha_A`", limits[1], 1 / balanced)
                        .unless(other_power, {{place, 1 / place}})
                        .unless(at_once, {{1.0, 1.0}})
                        .with(fmt::format("`alpha_V = {:.8g}` at `T = {:g}`",
                                          from_scratch.front()[0].value(), sizes.positions)));
  const Quantity creep = limits_in(shortness, from_elsewhere)[2];
  const double fourth = std::pow(elsewhere, 4);
  const double one = std::sqrt(limits[2].value() * creep.value());
  const double derived = fourth / (ratio + fourth);
  it.judge(creeps, equal("`T alpha_V'/(1 - alpha_V)`")
                       .add("settling", limits[2], 0.5)
                       .add(fmt::format("`alpha_V = {:.4g}`", elsewhere), creep, derived)
                       .unless(late_creep, {{1 / (1 + ratio), derived}})
                       .against(one_rate, {{one, one}}));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scb::checks::fixed_points
