#include "popgrad/scalars/interval.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::decoder_closed_form {
namespace {

Statement sheet{
    .id = "scan-snap.decoder-closed-form",
    .paper = "arXiv 2305.16380, Lemmas 6, 7 and 9",
    .status = "proved in source",
    .about = "the decoder's scale, integrated and in steps",
    .theorem = R"(
h' = eta_Y/(M - 1 + exp(M h)), h(0) = 0, is solved by
  exp(M h) + (M-1) M h = M eta_Y s + 1;
the discrete h* <- h* + eta_Y/(M - 1 + exp(M h*)) obeys
  0 <= h* - h <= 2 eta_Y/M
  h* - h = (h'/2) ln(eta_Y/(M h')) + O(eta_Y^2),  up to eta_Y/(2 e M);
from s -> 0 to s -> infinity
  h     ~ eta_Y s/M             ->  ln(M eta_Y s)/M
  gamma ~ (1 - 1/M)^2 eta_Y s   ->  (1 - 1/M)^2 (ln(M eta_Y s) + o(1))/(eta_Y s).)",
    .reaches = {EvidenceKind::symbolic, EvidenceKind::certified, EvidenceKind::numerical},
    .false_version = "no-factor",
    .reads = "reduced"};

const Clause solved = sheet.clause("`exp(M h) + (M-1) M h = M eta_Y s + 1`");
const Clause enclosed_gap = sheet.clause("`h <= h* <= h + 2 eta_Y/M`");
const Clause gap_of_order_1 = sheet.clause("`h* - h ~ (h'/2) ln(eta_Y/(M h'))`");
const Clause both_ends = sheet.clause("limits of `h` and `gamma` early and late");

const Hypothesis two_tokens = sheet.assume("`M >= 2`");
const Hypothesis positive_rate = sheet.assume("`eta_Y > 0`");

const Control all_tokens =
    sheet.control("all-tokens", "`M` in place of `M - 1` in the relation and in `gamma`");
const Control larger_gap = sheet.control("gap", "`h* - h` 10 % larger");
const Control without_m = sheet.control(
    "no-factor", "`ln(eta_Y s)` + o(1) for `ln(M eta_Y s)` + o(1), as Theorem 1 prints it");
const Control tenth_gap = sheet.control("tenth-gap", "`h* <= h + eta_Y/(10 M)`");

const Rival one_regime =
    sheet.rival("one-regime",
                "the logarithm from the start: `M h` is the logarithm of `1 + r M eta_Y s`", "`r`");

const Knob vocabulary = sheet.knob(vocabulary_knob(2, 1e6, 1000));
const Knob decoder_rate = sheet.knob(decoder_rate_knob(0.01, 100));

// d/ds of the relation with `factor` in place of M - 1, h' from the code that is integrated.
Truth implicit_relation(bool every_token) {
  const Expression m = symbol("M");
  const Expression eta = symbol("eta_Y");
  const Expression h = symbol("h");
  const Expression factor = every_token ? m : Expression(m - 1);
  const Expression left = GiNaC::exp(m * h) + factor * m * h;
  const Expression rate = decoder_rate_of<Expression>(m, eta, h);
  return vanishes(Expression(left.diff(GiNaC::ex_to<GiNaC::symbol>(h)) * rate - m * eta));
}

void prove(Examination& it) {
  it.judge(solved, identity("the implicit relation is solved by `h'` of the code", [] {
                     return implicit_relation(false);
                   }).unless(all_tokens, [] {
                       return implicit_relation(true);
                     }).with("generic `M`, `eta_Y`, `h`"));
}

// x = M h (one number) on the clock eta_Y s, by the rate that training runs:
//   dx/d(eta_Y s) = M/(M - 1 + exp(x))
AnyRung<double> decoder_flow(double tokens) {
  AnyRung<double> rung;
  rung.dimension = 1;
  rung.initial = Vector<double>::Zero(1);
  rung.state_names = {"M h"};
  rung.field.value = [tokens](const Vector<double>& x, Vector<double>& dx, const double&) {
    dx[0] = tokens * decoder_rate_of(tokens, 1.0, x[0] / tokens);
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

// Where h' has fallen to exp(-fall) of its first value eta_Y/M: eta_Y s and M h.
struct Fallen {
  double clock, x;
};
Fallen fallen(double tokens, double fall) {
  const double x = std::log1p(tokens * std::expm1(fall));
  return {((tokens - 1) * x + std::expm1(x)) / tokens, x};
}

// (h* - h)/((h'/2) ln(eta_Y/(M h'))) where that logarithm is `fall`, as eta_Y -> 0.
Quantity discrete_gap(double tokens, double fall) {
  const Fallen at = fallen(tokens, fall);
  constexpr long draws = 4096;
  // At these rates eta_Y s is reached after whole draws.
  return limit_of(at.clock / draws, [&](double rate) -> Quantity {
    const double leading = rate / tokens * std::exp(-fall) * fall / 2;
    const double h = at.x / tokens;
    const long steps = std::lround(at.clock / rate);
    return {(discrete_decoder_scale(tokens, rate, steps) - h) / leading,
            {ErrorPart::rounding(static_cast<double>(steps), h / leading)}};
  });
}

// The number nearest to the middle of an interval, which lies within the part "enclosure".
Quantity enclosed(const Interval& x) {
  const double middle = to_double(x);
  return {middle,
          {ErrorPart::enclosure(std::max(upper_double(x) - middle, middle - lower_double(x)))}};
}

// The implicit relation
//   exp(M h) + (M-1) M h - M eta_Y s - 1, over M eta_Y s,
// which rises with h.
Quantity relation(const Interval& m, const Interval& eta, long s, const Interval& h) {
  using std::exp;
  const Interval target = m * eta * Interval(s);
  const Interval x = m * h;
  const Interval defect = (exp(x) + (m - Interval(1)) * x - Interval(1)) / target - Interval(1);
  return enclosed(defect);
}

// h <= h* <= h + most eta_Y/M, enclosed: negative where the bounds hold. The relation at
// h*(s) - most eta_Y/M and, negated, at h*(s). At s = 1, 2, ... until h* - h has passed its largest
// value, where h' has fallen by e, and as long again.
std::vector<Quantity> beyond_bounds_of_gap(double tokens, double rate, const Interval& most) {
  const Interval m(tokens);
  const Interval eta(rate);
  const Interval bound = most * eta / m;
  const auto last = static_cast<long>(std::ceil(2 * fallen(tokens, 1).clock / rate));
  std::vector<Quantity> beyond;
  Interval discrete(0);
  for (long s = 1; s <= last; ++s) {
    throw_if_stopped();
    discrete = discrete + decoder_rate_of<Interval>(m, eta, discrete);
    beyond.push_back(-relation(m, eta, s, discrete));
    beyond.push_back(relation(m, eta, s, discrete - bound));
  }
  return beyond;
}

// M h on the clock eta_Y s, from its linear rise to long after it has bent at about ln M.
void judge_solution(double m, Examination& it) {
  const double bend = std::log(m);
  const Solved run(decoder_flow(m), {bend / 16, bend, 16 * bend, 256 * bend}, 1e-12);
  std::vector<Quantity> implicit;
  std::vector<Quantity> of_more;
  for (const double clock : run.times()) {
    implicit.emplace_back(m * decoder_scale(m, 1.0, clock));
    // exp(x) + M x = M s + 1 is the relation of M + 1 tokens at a rate lower by M/(M + 1).
    of_more.emplace_back((m + 1) * decoder_scale(m + 1, m / (m + 1), clock));
  }
  const std::vector<Quantity> integrated = run.along([](const Vector<double>& x) { return x[0]; });
  // As it is at the last of the times.
  const double r = std::expm1(integrated.back().value()) / (m * run.times().back());
  std::vector<Quantity> of_one_regime;
  for (const double clock : run.times()) of_one_regime.emplace_back(std::log1p(r * m * clock));
  it.judge(solved, equal("`M h` integrated against the implicit relation", integrated, implicit)
                       .at(run.places())
                       .unless(all_tokens, of_more)
                       .against(one_regime, of_one_regime));
}

void judge_gap(double m, double eta, Examination& it) {
  it.judge(enclosed_gap, at_most("`h <= h* <= h + 2 eta_Y/M`, by the sign of the relation",
                                 beyond_bounds_of_gap(m, eta, Interval(2)), 0)
                             .of_kind(EvidenceKind::certified)
                             .in_units_of(1)
                             .unless(tenth_gap, [&] {
                               return beyond_bounds_of_gap(m, eta, Interval(1) / Interval(10));
                             }));
  it.judge(gap_of_order_1, equal("`h* - h` over `(h'/2) ln(eta_Y/(M h'))` as `eta_Y -> 0`")
                               .add("`ln(eta_Y/(M h')) = 1/2`", discrete_gap(m, 0.5), 1)
                               .add("1, where the gap is largest", discrete_gap(m, 1), 1)
                               .add("2", discrete_gap(m, 2), 1)
                               .unless(larger_gap, times(1.1)));
}

// Limits of shares at eta_Y s = p (early) or 1/p (late) as p -> 0: the next order is p.
void judge_regimes(double m, Examination& it) {
  const double p = std::ldexp(1.0, -40);
  const double logarithm = std::log(m / p);
  const auto limit = [&](bool late, const std::function<double(double h, double at)>& share,
                         double size = 1) {
    return limit_of(p, [&](double at) -> Quantity {
      // An exponential is off by as many roundings as its exponent.
      return {share(decoder_scale(m, 1.0, late ? 1 / at : at), at),
              {ErrorPart::rounding(logarithm, size)}};
    });
  };
  const double others = (1 - 1 / m) * (1 - 1 / m);
  const auto early_h = [m](double h, double at) { return m * h / at; };
  const auto early_gamma = [m](double h, double at) { return backprop_scale(m, h) / at; };
  const auto late_h = [m](double h, double at) { return std::exp(m * h) * at / m; };
  // ln(eta_Y s) would be as good a limit of a quotient, so that the difference is taken.
  const auto late_gamma = [m, others](double h, double at) {
    return backprop_scale(m, h) / (others * at) - std::log(m / at);
  };
  it.judge(both_ends,
           equal("`h` and `gamma` against what they tend to")
               .add("`h` early", limit(false, early_h), 1)
               .add("`gamma` early", limit(false, early_gamma), others)
               .add("`exp(M h)` late", limit(true, late_h), 1)
               .add("`gamma eta_Y s/(1 - 1/M)^2 - ln(M eta_Y s)` late",
                    limit(true, late_gamma, logarithm), 0)
               .in_units_of(std::vector<double>{1, others, 1, 1})
               .unless(all_tokens, std::vector<Quantity>{1, 1, 1, 0})
               .unless(without_m, std::vector<Quantity>{1, others, 1 / m, -std::log(m)}));
}

void examine(const Setting& setting, Examination& it) {
  const auto [m, eta] = chosen_decoder(setting, vocabulary, decoder_rate);
  it.parameters = {{"M", m}, {"eta_Y", eta}};
  it.require(two_tokens, m - 2);
  it.require_positive(positive_rate, eta);
  judge_solution(m, it);
  judge_gap(m, eta, it);
  judge_regimes(m, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::decoder_closed_form
