// Theorem    scan-snap.winner-take-all
// Status     derived here, with exponents and limits; stated in source (Section 6)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Section 6 and Theorem 3
// Statement  Eqn 10 with the speed of class n prescribed, B_n' = eta_Z w xi_n = a/(1+t)^p. If all
//            of B_n grows without bound (p <= 1), the attention of class n goes to its leading
//            distinct token l0; at p = 1 what is left for all others falls as
//              1 - c_nl0 ~ (1+t)^-a.
//            If B_n converges (p > 1), attention freezes: c_nl0 tends to what it is where B_n is
//            a/(p-1), and with r_l = f_nl0(0)^2/f_nl(0)^2 - 1
//              1 - c_nl0 >= s/(1+s) > 0,  s = sum_l (1 + r_l exp(2 a/(p-1)))^(-1/2),
//            l over the other distinct tokens of n
// Hypotheses H1 xi_n > 0; H2 n has another distinct token, without which only common tokens are
//            left for the rest, faster; H3 l0 leads the distinct tokens of n at the start; H4
//            common tokens of n lose attention
// Check      Eqn 10 in the clock of the prescribed speed: order of 1 - c_nl0 in 1/(1+t) at p = 1,
//            from where a thousandth is left on (later than doubles reach, it is undecided); limit
//            of 1 - c_nl0 for p > 1 against the state that the clock B_n reaches at a/(p-1), and
//            against its lower bound
// Controls   an order 10 % larger; p = 1.05 in place of 1; 1.1 p in place of p
// Uses       rung reduced

#include "theorems/scan_snap/checks/driven_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::winner_take_all {
namespace {

constexpr Knob speed = logarithmic_knob("speed", "a in eta_Z w xi_n = a/(1+t)^p", 0.5, 4, 1);
constexpr Knob decay = linear_knob("decay", "p where B_n converges", 1.2, 3, 1.5);

// s/(1+s) at B_n = growth.
double least_rest(const LeadingToken& token, double growth) {
  const Vector<double> start = token.flow().initial();
  double s = 0;
  for (const Index other : token.others()) {
    const double r = token.square(start, token.leader()) / token.square(start, other) - 1;
    s += 1 / std::sqrt(1 + r * std::exp(2 * growth));
  }
  return s / (1 + s);
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const double a = setting.value(speed);
  const double p = setting.value(decay);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"a", a},
                   {"p", p},
                   {"seed", setting.seed}};
  const AnyRung<double> by_growth = driven(token, [](double) { return 1.0; });
  const auto least = [&](double (LeadingToken::*read)(const Vector<double>&) const, double end) {
    return smallest_along(by_growth, end, driven_tolerance,
                          [&](const Vector<double>& x) { return (token.*read)(x); });
  };
  const double at_start = token.drive(token.flow().initial());
  if (!(at_start > 0)) return require_positive(it, "xi_n > 0", at_start);
  Quantity drive = least(&LeadingToken::drive, longest_growth);
  Quantity loss = least(&LeadingToken::least_loss, longest_growth);
  LateGrowth late;
  if (drive.value() > 0 && loss.value() > 0) late = late_growth_of(token);
  if (late.end > longest_growth) {
    drive = least(&LeadingToken::drive, late.end);
    loss = least(&LeadingToken::least_loss, late.end);
  }
  require_positive(it, "xi_n > 0", drive);
  it.require("n has another distinct token", static_cast<double>(token.others().size()) - 1);
  it.require_positive("l0 leads the distinct tokens of n at the start", token.lead() - 1);
  require_positive(it, "common tokens of n lose attention", loss);
  if (late.end == 0) return;

  it.judge(Comparison{.what = "order of 1 - c_nl0 in 1/(1+t), p = 1",
                      .measured = {order_of_rest(token, a, 1, late)},
                      .predicted = {a},
                      .mistakes = {predicts_times("order", 1.1), measures("decays", [&] {
                                     return std::vector{order_of_rest(token, a, 1.05, late)};
                                   })}});
  const double whole = a / (p - 1);  // of B_n
  const Quantity limit = limit_of_rest(token, a, p);
  it.judge(Comparison{
      .what = "1 - c_nl0 as t goes to infinity, p > 1",
      .measured = {limit},
      .predicted = Solved(by_growth, {whole}, driven_tolerance).along([&](const Vector<double>& x) {
        return token.rest(x);
      }),
      .mistakes = {
          measures("faster", [&] { return std::vector{limit_of_rest(token, a, 1.1 * p)}; })}});
  it.judge(Comparison{.what = "s/(1+s) against that limit",
                      .measured = {least_rest(token, whole)},
                      .relation = Relation::at_most,
                      .predicted = {limit}});
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.winner-take-all",
          .claim = "one distinct token takes all attention at xi_n = a/t; attention freezes beyond",
          .paper = "arXiv 2305.16380, Section 6",
          .status = "derived here",
          .hypotheses = {"xi_n > 0", "n has another distinct token",
                         "l0 leads the distinct tokens of n at the start",
                         "common tokens of n lose attention"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"order", "the rest falls as (1+t)^(-1.1 a)"},
                       {"decays", "xi_n falls as t^-1.05 in place of 1/t"},
                       {"faster", "xi_n falls as t^(-1.1 p)"}},
          .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary,
                    rate_ratio, speed, decay},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::winner_take_all
