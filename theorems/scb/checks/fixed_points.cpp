// Theorem    scb.fixed-points
// Status     derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  the reduced flow rests at
//              (1, 1)                with a slow rate K_P/(T (K_P + K_Q)) + O(1/T^2)
//              (0, -1/(T K_Q - 1))   a saddle, determinant -K_P (K_Q - 1/T);
//            from scratch it first settles, up to O(ln T/T), at the balanced point
//              alpha_V = (K_Q/K_P)^{1/4} = 1/alpha_A
//            and creeps from there towards (1, 1),
//              T alpha_V' = (1 - alpha_V)/2 + ...
// Hypotheses H1 from scratch; H2 T large
// Check      the field at both points, determinant and trace there, on symbols; alpha_V and its
//            creep on the flow once it has settled, extrapolated from T, 4 T, 16 T
// Controls   a balanced point with the power 0.275; a slow rate K_P/(T K_Q); a saddle at
//            -1/(T K_Q); a determinant -K_P K_Q there; the creep of (1, 1) at the balanced point
// Uses       rung reduced

#include <type_traits>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/reduced_symbols.hpp"

namespace popgrad::scb::checks::fixed_points {
namespace {

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 1e5, 1e7, 1e6);
constexpr Knob head_start =
    logarithmic_knob("head-start", "distance of the start from 0 over that of the balanced point",
                     1e-3, 0.9, 0)
        .breaking("from scratch");

Truth rests(const Symbols& s, const Expression& saddle) {
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

void derive(Examination& it) {
  const Symbols s;
  const Expression saddle = -1 / (s.positions * s.context - 1);
  it.judge(Identity{
      .what = "the field at (1, 1) and at the saddle",
      .holds = [&] { return rests(s, saddle); },
      .mistakes = {{"saddle-place", [&] { return rests(s, -1 / (s.positions * s.context)); }}}});
  const auto determinant = [&](const Expression& context) {
    return vanishes(Expression(s.at(0, saddle).determinant + s.transition * context));
  };
  it.judge(Identity{.what = "determinant at the saddle",
                    .holds = [&] { return determinant(s.context - 1 / s.positions); },
                    .mistakes = {{"saddle-rates", [&] { return determinant(s.context); }}}});
  it.judge(Identity{.what = "slow rate at (1, 1) times T, as T grows",
                    .holds = [&] { return slow_rate(s, s.transition + s.context); },
                    .mistakes = {{"other-rate", [&] { return slow_rate(s, s.context); }}}});
}

// alpha_V and T alpha_V'/(1 - alpha_V) when what alpha_A alpha_V misses 1 by has died down to what
// the drift keeps up, which is of order 1/T.
struct Settled {
  Quantity value, creep;
};
template <class T>
Settled settled(const Sizes& sizes) {
  const T positions(sizes.positions);
  const AnyRung<T> rung = per_length<T>(sizes);
  const SolvedIn<T> run(rung, {sizes.time_to(0.5) + sizes.time_to_settle()}, 1e-13);
  const auto creep = [&](const Vector<T>& x) -> T {
    Vector<T> slope(3);
    rung.field.value(x, slope, T(0));
    return slope[0] / (T(1) - x[0] / positions);
  };
  Settled found{run.at(0, [&](const Vector<T>& x) -> T { return x[0] / positions; }),
                run.at(0, creep)};
  if constexpr (std::is_same_v<T, double>) {
    // The drift is what is left of two terms of order one.
    const double v = found.value.value();
    found.creep.add(ErrorPart::rounding(4, positions * sizes.context / v / (1 - v)));
  }
  return found;
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
  const std::vector<double> shortness = falling_parameters(1, 4, 3);
  std::vector<Quantity> values, creeps;
  for (const double part : shortness) {
    const Settled found =
        in_refined_digits([&]<class T>() { return settled<T>(sizes.longer(1 / part)); });
    values.push_back(found.value);
    creeps.push_back(found.creep);
  }
  it.judge(Comparison{
      .what = "alpha_V where the flow settles",
      .measured = {limit_in(shortness, values)},
      .predicted = {balanced},
      .mistakes = {predicts("other-power", std::pow(ratio, 0.275))},
      .detail = fmt::format("{:.8g} at T = {:g}", values.front().value(), sizes.positions)});
  it.judge(Comparison{.what = "T alpha_V'/(1 - alpha_V) there",
                      .measured = {limit_in(shortness, creeps)},
                      .predicted = {0.5},
                      .mistakes = {predicts("late-creep", 1 / (1 + ratio))}});
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.fixed-points",
      .claim = "the flow settles at alpha_V = (K_Q/K_P)^{1/4} and creeps to (1, 1) at a rate 1/T",
      .paper = "arXiv 2410.23438, Section 3",
      .status = "derived here",
      .hypotheses = {"from scratch", "T large"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"other-power", "a balanced point (K_Q/K_P)^{0.275}"},
                   {"other-rate", "a slow rate K_P/(T K_Q)"},
                   {"saddle-place", "a saddle at (0, -1/(T K_Q))"},
                   {"saddle-rates", "a determinant -K_P K_Q at the saddle"},
                   {"late-creep", "T alpha_V' = (1 - alpha_V) K_P/(K_P + K_Q) on settling"}},
      .knobs = {transition_size_knob, context_size_knob, length, short_context, head_start},
      .reads = "reduced",
      .derive = derive,
      .examine = examine};
}

}  // namespace popgrad::scb::checks::fixed_points
