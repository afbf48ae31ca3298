// Theorem    scan-snap.decoder-closed-form
// Status     proved in source (Lemmas 6, 7, 9)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 6, 7 and 9
// Statement  h' = eta_Y/(M - 1 + exp(M h)), h(0) = 0, is solved by
//              exp(M h) + (M-1) M h = M eta_Y s + 1;
//            the discrete h* obeys
//              0 <= h* - h <= 2 eta_Y/M
//              h* - h = (h'/2) ln(eta_Y/(M h')) + O(eta_Y^2),  up to eta_Y/(2 e M);
//            from s -> 0 to s -> infinity
//              h     ~ eta_Y s/M             ->  ln(M eta_Y s)/M
//              gamma ~ (1 - 1/M)^2 eta_Y s   ->  (1 - 1/M)^2 ln(M eta_Y s)/(eta_Y s)
// Hypotheses H1 M >= 2; H2 eta_Y > 0
// Check      the implicit relation on symbols, and its solution against integration of h'; the sign
//            of the relation at h* and at h* - 2 eta_Y/M, enclosed; limits of (h* - h)/eta_Y as
//            eta_Y -> 0 and of h and gamma at both ends of s
// Controls   M in place of M - 1; h* - h 10 % larger; the late logarithm without M (Theorem 1)
// Uses       closed forms of the decoder

#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::decoder_closed_form {
namespace {

constexpr Knob vocabulary = vocabulary_knob(2, 1e6, 1000);
constexpr Knob decoder_rate = decoder_rate_knob(0.01, 100);

// d/ds of the relation with `factor` in place of M - 1, h' from the code that is integrated.
Truth implicit_relation(bool all_tokens) {
  const Expression m = symbol("M");
  const Expression eta = symbol("eta_Y");
  const Expression h = symbol("h");
  const Expression factor = all_tokens ? m : Expression(m - 1);
  const Expression left = GiNaC::exp(m * h) + factor * m * h;
  const Expression rate = decoder_rate_of<Expression>(m, eta, h);
  return vanishes(Expression(left.diff(GiNaC::ex_to<GiNaC::symbol>(h)) * rate - m * eta));
}

void derive(Examination& it) {
  it.judge(Identity{.what = "the implicit relation is solved by h' of the code",
                    .holds = [] { return implicit_relation(false); },
                    .mistakes = {{"all-tokens", [] { return implicit_relation(true); }}},
                    .detail = "generic M, eta_Y, h"});
}

// M h on the clock eta_Y s, from its linear rise to long after it has bent at about ln M.
void judge_solution(double m, Examination& it) {
  const double bend = std::log(m);
  const Solved run(decoder_flow(m), {bend / 16, bend, 16 * bend, 256 * bend}, 1e-12);
  std::vector<Quantity> implicit;
  std::vector<Quantity> all_tokens;
  for (const double clock : run.times()) {
    implicit.emplace_back(m * decoder_scale(m, 1.0, clock));
    // exp(x) + M x = M s + 1 is the relation of M + 1 tokens at a rate lower by M/(M + 1).
    all_tokens.emplace_back((m + 1) * decoder_scale(m + 1, m / (m + 1), clock));
  }
  it.judge(Comparison{.what = "M h integrated against the implicit relation",
                      .measured = run.along([](const Vector<double>& x) { return x[0]; }),
                      .predicted = implicit,
                      .mistakes = {predicts("all-tokens", all_tokens)},
                      .places = run.places()});
}

void judge_gap(double m, double eta, Examination& it) {
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "h <= h* <= h + 2 eta_Y/M, by the sign of the relation",
                      .measured = beyond_bounds_of_gap(m, eta),
                      .relation = Relation::at_most,
                      .predicted = {0.0},
                      .scale = {1.0}});
  it.judge(Comparison{.what = "h* - h over (h'/2) ln(eta_Y/(M h')) as eta_Y -> 0",
                      .measured = {discrete_gap(m, 0.5), discrete_gap(m, 1), discrete_gap(m, 2)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("gap", 1.1)},
                      .places = {"ln(eta_Y/(M h')) = 1/2", "1, where the gap is largest", "2"}});
}

// Limits of shares at eta_Y s = p (early) or 1/p (late) as p -> 0: the next order is p.
void judge_regimes(double m, Examination& it) {
  const double p = std::ldexp(1.0, -40);
  const double logarithm = std::log(m / p);
  const auto limit = [&](bool late, const std::function<double(double h, double at)>& share) {
    return limit_of(p, [&](double at) -> Quantity {
      const double value = share(decoder_scale(m, 1.0, late ? 1 / at : at), at);
      // An exponential is off by as many roundings as its exponent.
      return {value, {ErrorPart::rounding(logarithm, value)}};
    });
  };
  const auto early_h = [m](double h, double at) { return m * h / at; };
  const auto early_gamma = [m](double h, double at) { return backprop_scale(m, h) / at; };
  const auto late_h = [m](double h, double at) { return std::exp(m * h) * at / m; };
  const auto late_gamma = [m](double h, double at) {
    return backprop_scale(m, h) / late_backprop_scale(m, 1.0, 1 / at);
  };
  const double others = (1 - 1 / m) * (1 - 1 / m);
  const double no_factor = std::log(1 / p) / logarithm;
  it.judge(Comparison{.what = "h and gamma over what they tend to",
                      .measured = {limit(false, early_h), limit(false, early_gamma),
                                   limit(true, late_h), limit(true, late_gamma)},
                      .predicted = {1.0, others, 1.0, others},
                      .mistakes = {predicts("all-tokens", 1.0),
                                   predicts("no-factor", {1.0, others, 1 / m, others * no_factor})},
                      .places = {"h early", "gamma early", "exp(M h) late", "gamma late"}});
}

void examine(const Setting& setting, Examination& it) {
  const auto [m, eta] = chosen_decoder(setting, vocabulary, decoder_rate);
  it.parameters = {{"M", m}, {"eta_Y", eta}};
  it.require("M >= 2", m - 2);
  it.require_positive("eta_Y > 0", eta);
  judge_solution(m, it);
  judge_gap(m, eta, it);
  judge_regimes(m, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "scan-snap.decoder-closed-form",
      .claim = "h solves exp(M h) + (M-1) M h = M eta_Y s + 1 and stays below h* by <= 2 eta_Y/M",
      .paper = "arXiv 2305.16380, Lemmas 6, 7 and 9",
      .status = "proved in source",
      .hypotheses = {"M >= 2", "eta_Y > 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::certified, EvidenceKind::numerical},
      .controls = {{"all-tokens", "M in place of M - 1 in the relation and in gamma"},
                   {"gap", "h* - h 10 % larger"},
                   {"no-factor", "ln(eta_Y s) for ln(M eta_Y s), as Theorem 1 prints"}},
      .knobs = {vocabulary, decoder_rate},
      .reads = "reduced",
      .derive = derive,
      .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::decoder_closed_form
