// Theorem    scan-snap.rate-dependence
// Status     derived here from Eqn 10; stated in source (Section 6, Appendix F)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Eqn 10, Theorem 4, Section 6, Appendix F
// Statement  reduced flow. States depend on the rates and on t through
//              Gamma = (eta_Z/eta_Y) K (M-1)^2 h(t/K)^2/2
//            alone, and B_n rises with Gamma. With q = d ln h/d ln t, which falls from 1 to 0,
//              d ln B_n/d ln eta_Y = (2 q - 1) d ln B_n/d ln eta_Z,  d ln B_n/d ln eta_Z > 0:
//            (a) both rates up by one factor: B_n(t) larger, at t0 ~ 1/eta_Y the same, so that of
//            the rates B_n(t0) depends on eta_Y/eta_Z alone, with which it falls; (b) eta_Y up at
//            fixed eta_Z: smaller B_n once q < 1/2, and larger before. The change is at y = M h,
//              e^y (y - 2) = (M-1) y - 2,
//            before t0. Where B_n falls, the entropy of attention on distinct tokens rises
// Hypotheses H1 xi_n > 0; H2 M > 7
// Check      `reduced` at other pairs of rates and times of equal Gamma against one pair; slopes
//            of ln B_n in the rates at t0/8, where q = 1/2, at t0 and 3 t0; signs of the changes of
//            B_n and of that entropy under 1.5 times eta_Y, and 1.5 times both
// Controls   Gamma ~ h^1.9; 1.9 q - 1; (eta_Z/eta_Y)^1.1 in Gamma; q = 1/2 at t0
// Uses       rung reduced; decoder

#include "theorems/scan_snap/checks/other_rates.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::rate_dependence {
namespace {

// B_n of three other pairs of rates, when (eta_Z/eta_Y)^on_ratio h^on_h is what it is at `ys`.
void judge_one_variable(const LeadingToken& token, const std::vector<double>& ys, Examination& it) {
  const DecoderClock clock = clock_of(token);
  const auto moved = [&](double on_ratio, double on_h) {
    std::vector<Quantity> found;
    for (const Rates factor : {Rates{2, 1}, Rates{1, 2}, Rates{3, 3}}) {
      const DecoderClock other{clock.m, clock.k, clock.rate * factor.decoder};
      const double ratio = std::pow(factor.decoder / factor.attention, on_ratio / on_h);
      std::vector<double> times;
      for (const double y : ys) times.push_back(other.t(y * ratio));
      for (const Quantity& q : read(token, factor, times, &LeadingToken::growth))
        found.push_back(q);
    }
    return found;
  };
  std::vector<double> times;
  for (const double y : ys) times.push_back(clock.t(y));
  const std::vector<Quantity> once = read(token, {}, times, &LeadingToken::growth);
  std::vector<Quantity> expected;
  for (int pair = 0; pair < 3; ++pair) expected.insert(expected.end(), once.begin(), once.end());
  it.judge(Comparison{.what = "B_n of other rates at equal Gamma",
                      .measured = moved(1, 2),
                      .predicted = expected,
                      .mistakes = {measures("power-of-h", [&] { return moved(1, 1.9); }),
                                   measures("power-of-ratio", [&] { return moved(1.1, 2); })}});
}

void judge_signs(const LeadingToken& token, const std::vector<double>& times, Examination& it) {
  const auto growth = [&](Rates r) { return read(token, r, times, &LeadingToken::growth); };
  const auto entropy = [&](Rates r) { return read(token, r, times, &LeadingToken::entropy); };
  const auto one = growth({}), faster = growth({1.5, 1}), both = growth({1.5, 1.5});
  const auto of_one = entropy({}), of_faster = entropy({1.5, 1}), of_both = entropy({1.5, 1.5});
  const auto below = [&](const char* what, std::vector<Quantity> less, std::vector<Quantity> more) {
    it.judge(Comparison{.what = what,
                        .measured = std::move(less),
                        .relation = Relation::below,
                        .predicted = std::move(more),
                        .places = {"t0/8", "t0", "3 t0"}});
  };
  below("B_n by B_n of both rates 1.5 times as large", one, both);
  below("entropy of both rates 1.5 times as large by entropy", of_both, of_one);
  below("B_n: larger with 1.5 eta_Y at t0/8, then smaller", {one[0], faster[1], faster[2]},
        {faster[0], one[1], one[2]});
  below("entropy: smaller with 1.5 eta_Y at t0/8, then larger",
        {of_faster[0], of_one[1], of_one[2]}, {of_one[0], of_faster[1], of_faster[2]});
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const DecoderClock clock = clock_of(token);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"eta_Y", token.training().decoder_rate},
                   {"eta_Z", token.training().attention_rate},
                   {"seed", setting.seed}};
  it.require("M > 7", clock.m - 8, fmt::format("M = {}", clock.m));
  if (clock.m < 8) return;
  const double t0 = transition_time(clock.m, clock.rate, static_cast<int>(clock.k));
  require_positive(it, "xi_n > 0",
                   smallest_along(forget_type(token.flow()), 3 * t0, rates_tolerance,
                                  [&](const Vector<double>& x) { return token.drive(x); }));
  const double turn = clock.t(turning_point(clock.m));
  it.judge(Comparison{.what = "turn against t0",
                      .measured = {turn},
                      .relation = Relation::below,
                      .predicted = {t0}});
  const std::vector<double> times{t0 / 8, t0, 3 * t0};
  judge_one_variable(token, {clock.y(times[0]), clock.y(times[1]), clock.y(times[2])}, it);
  const std::vector<double> looked_at{t0 / 8, turn, t0, 3 * t0};
  std::vector<Quantity> slopes, smaller;
  for (const double t : looked_at) {
    const double q = clock.order(clock.y(t));
    slopes.emplace_back(2 * q - 1);
    smaller.emplace_back(1.9 * q - 1);
  }
  std::vector<Quantity> later = slopes;
  later[2] = 0.0;
  it.judge(Comparison{.what = "slope of ln B_n in ln eta_Y over slope in ln eta_Z",
                      .measured = quotients_of_slopes(token, looked_at),
                      .predicted = slopes,
                      .scale = {1.0},
                      .mistakes = {predicts("lower-order", smaller), predicts("at-t0", later)},
                      .places = {"t0/8", "q = 1/2", "t0", "3 t0"}});
  judge_signs(token, times, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "scan-snap.rate-dependence",
      .claim = "how B_n and t0 depend on the two rates, of which eta_Y helps first, then harms",
      .paper = "arXiv 2305.16380, Section 6, Appendix F",
      .status = "derived here",
      .hypotheses = {"xi_n > 0", "M > 7"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"power-of-h", "B_n a function of (eta_Z/eta_Y) h^1.9"},
                   {"power-of-ratio", "B_n a function of (eta_Z/eta_Y)^1.1 h^2"},
                   {"lower-order", "1.9 q - 1 for 2 q - 1"},
                   {"at-t0", "more eta_Y begins to harm at t0"}},
      .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio},
      .reads = "reduced",
      .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::rate_dependence
