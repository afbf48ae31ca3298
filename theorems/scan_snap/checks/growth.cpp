// Theorem    scan-snap.growth
// Status     proved in source (Theorem 3)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Theorem 3
// Statement  reduced flow, zero start, chi_l = exp(2 z_l(t)): distinct tokens l, l' of class n obey
//              r(t) = r(0) chi_l(t),  r = f_nl^2/f_nl'^2 - 1;
//            f of the leading distinct token l0 rises, and with B_n = eta_Z w int xi_n
//              f_nl0(0)^2 B_n <= ln(chi_l0)/2 <= f_nl0(t)^2 B_n  (in the paper: <= B_n)
// Hypotheses H1 xi_n > 0; H2 l0 leads the distinct tokens of n at the start; H3 common tokens of n
//            lose attention
// Check      r' = 2 z_l' r and z_l' = f_nl^2 B_n' on symbols; ln(r/r(0)) of l0 and every other
//            distinct token, and z_l0/B_n, from t/1024 to t; least d ln f_nl0/dB_n on the whole way
// Controls   chi^1.1 for chi; chi of l' for that of l; f_nl for its square in z_l'; a lower bound
//            10 % larger; an upper bound 10 % smaller
// Uses       rung reduced

#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::growth {
namespace {

constexpr double tolerance = 1e-12;

// ln(r/r(0)) for l = l0 and every other distinct token l' of another weight.
void judge_ratios(const LeadingToken& token, const Solved& run, Examination& it) {
  Comparison parting{
      .what = "ln(r(t)/r(0)) of l0 and another distinct token", .measured = {}, .predicted = {}};
  std::vector<Quantity> of_other;
  for (const Index other : token.others()) {
    const auto square_ratio = [&](const Vector<double>& x) {
      return token.square(x, token.leader()) / token.square(x, other);
    };
    const double before = square_ratio(token.flow().initial()) - 1;
    if (before == 0) continue;
    for (std::size_t save = 0; save < run.size(); ++save) {
      Quantity parted = run.at(
          save, [&](const Vector<double>& x) { return std::log((square_ratio(x) - 1) / before); });
      // Of two exponentials, quotients and squares each, before 1 is taken off.
      parted.add(ErrorPart::rounding(8, (1 + before) / before));
      const auto twice_logit = [&](Index entry) {
        return run.at(save, [&](const Vector<double>& x) { return 2 * token.logit(x, entry); });
      };
      parting.measured.push_back(parted);
      parting.predicted.push_back(twice_logit(token.leader()));
      of_other.push_back(twice_logit(other));
      parting.places.push_back(run.places()[save]);
    }
  }
  if (parting.measured.empty()) return;
  parting.mistakes = {predicts_times("exponent", 1.1), predicts("other-token", of_other)};
  it.judge(parting);
}

// z_l0 = int f_nl0^2 dB_n of a rising f.
void judge_bounds(const LeadingToken& token, const Solved& run, Examination& it) {
  std::vector<Quantity> shares, before, after, too_large;
  for (std::size_t save = 0; save < run.size(); ++save) {
    const auto logit = [&](const Vector<double>& x) { return token.logit(x, token.leader()); };
    const auto growth = [&](const Vector<double>& x) { return token.growth(x); };
    const auto square = [&](const Vector<double>& x) { return token.square(x, token.leader()); };
    shares.push_back(run.at(save, logit) / run.at(save, growth));
    before.emplace_back(square(token.flow().initial()));
    too_large.push_back(before.back() * Quantity(1.1));
    after.push_back(run.at(save, square));
  }
  it.judge(Comparison{.what = "f_nl0(0)^2 against z_l0/B_n",
                      .measured = before,
                      .relation = Relation::at_most,
                      .predicted = shares,
                      .mistakes = {measures("lower-bound", [&] { return too_large; })},
                      .places = run.places()});
  it.judge(Comparison{.what = "z_l0/B_n against f_nl0(t)^2",
                      .measured = shares,
                      .relation = Relation::at_most,
                      .predicted = after,
                      .mistakes = {predicts_times("upper-bound", 0.9)},
                      .places = run.places()});
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const double end = setting.value(horizon);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"eta_Y", token.training().decoder_rate},
                   {"eta_Z", token.training().attention_rate},
                   {"t", end},
                   {"seed", setting.seed}};
  const AnyRung<double> rung = forget_type(token.flow());
  const auto least = [&](double (LeadingToken::*read)(const Vector<double>&) const) {
    return smallest_along(rung, end, tolerance,
                          [&](const Vector<double>& x) { return (token.*read)(x); });
  };
  const Quantity drive = least(&LeadingToken::drive);
  require_positive(it, "xi_n > 0", drive);
  if (!(drive.value() > drive.error())) return;
  it.require("l0 leads the distinct tokens of n at the start", token.lead() - 1,
             fmt::format("P(l0|n) is {:.4g} of the next largest", token.lead()));
  require_positive(it, "common tokens of n lose attention", least(&LeadingToken::least_loss));
  std::vector<double> times;
  constexpr int halvings = 10;
  for (int k = halvings; k >= 0; --k) times.push_back(std::ldexp(end, -k));
  const Solved run(rung, times, tolerance);
  judge_ratios(token, run, it);
  judge_bounds(token, run, it);
  it.judge(Comparison{.what = "0 against the least d ln f_nl0/dB_n",
                      .measured = {0.0},
                      .relation = Relation::below,
                      .predicted = {least(&LeadingToken::rise)}});
}

}  // namespace

Statement statement() {
  return {
      .id = "scan-snap.growth",
      .claim = "distinct tokens part as r(t) = r(0) chi(t), ln(chi)/2 between f(0)^2 B, f(t)^2 B",
      .paper = "arXiv 2305.16380, Theorem 3",
      .status = "proved in source",
      .hypotheses = {"xi_n > 0", "l0 leads the distinct tokens of n at the start",
                     "common tokens of n lose attention"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"exponent", "chi^1.1 in place of chi"},
                   {"other-token", "chi of l' in place of that of l"},
                   {"not-squared", "z_l' = f_nl B_n'"},
                   {"lower-bound", "1.1 f_nl0(0)^2 B_n as the lower bound"},
                   {"upper-bound", "0.9 f_nl0(t)^2 B_n as the upper bound"}},
      .knobs = leading_token_knobs(),
      .reads = "reduced",
      .derive = derive_growth,
      .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::growth
