#include <boost/math/special_functions/lambert_w.hpp>

#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::decoder_regimes {
namespace {

Statement sheet{.id = "scan-snap.decoder-regimes",
                .paper = "arXiv 2305.16380, Lemmas 7 to 9, Remarks 2 and 3",
                .status = "proved in source",
                .about = "the decoder's scale in steps; its closed forms",
                .theorem = R"(
The discrete h* is ahead of h by c draws, h(s + c) = h*(s), with x = M h*
  c = ln((M - 1 + e^x)/M)/2 + O(eta_Y),
at most ln(2)/2 up to s = ln M/eta_Y, and like ln(eta_Y s)/2 for ever after; with
(1 + omega1) ln M = x1 the larger root of e^x = (M-1) x, that is -W(-1/(M-1)) of Lambert,
  M h <= eta_Y s,         gamma <= eta_Y s,  e^x <= min(M-1, (M-1) x)
for 1 <= s <= ln M/eta_Y, and from s = 2 x1/eta_Y on
  M h <= ln(M eta_Y s + 1),  e^x >= max(M-1, (M-1) x)
  gamma <= 2 ln(M eta_Y s + 1)/(eta_Y s).
Where the paper has >> and <<, M > 100 and M^-0.99 < eta_Y are meant.)",
                .hypotheses = {"`M >> 100`", "`M^-0.99 << eta_Y < 1`"},
                .reaches = {EvidenceKind::numerical},
                .false_version = "constant-lead",
                .reads = "fast-decoder"};

const Clause ahead_by =
    sheet.clause("as `eta_Y -> 0 h*` is ahead of `h` by `ln((M - 1 + e^x)/M)/2` draws");
const Clause little_ahead = sheet.clause("at most `ln(2)/2` at `s = ln M/eta_Y`");
const Clause crosses = sheet.clause("`x1 = -W(-1/(M-1))`");
const Clause two_regimes = sheet.clause("inequalities of both regimes");

const Control lead = sheet.control("lead", "10 % more draws ahead");
const Control all_tokens = sheet.control("all-tokens", "`x1` from `e^x = M x`");
const Control longer = sheet.control("longer", "the early regime up to `1.25 ln M/eta_Y`");
const Control sooner = sheet.control("sooner", "the late regime from 0.9 times its begin on");

const Rival constant_lead = sheet.rival(
    "constant-lead", "`h*` is ahead by one number of draws at all times, as Remark 2 has it early",
    "that number");

const Knob vocabulary = sheet.knob(vocabulary_knob(101, 1e6, 1000));
const Knob decoder_rate =
    sheet.knob(logarithmic_knob("decoder-rate", "learning rate eta_Y", 0.02, 0.3, 0.1));

// c with h(s + c) = h*(s) after s whole draws.
Quantity draws_ahead(const Decoder& decoder, long s) {
  const double m = decoder.vocabulary;
  const double x = m * discrete_decoder_scale(m, decoder.rate, s);
  const double reached = (std::expm1(x) + (m - 1) * x) / (m * decoder.rate);
  const auto draws = static_cast<double>(s);
  return {reached - draws, {ErrorPart::rounding(draws, reached)}};
}

void judge_lead(const Decoder& decoder, double x1, Examination& it) {
  const double m = decoder.vocabulary;
  std::vector<Quantity> measured, predicted;
  for (const double clock : {std::log(m), 2 * x1, 20 * x1}) {
    const long s = std::lround(clock / decoder.rate);
    const auto ahead = [&](double rate) {
      return draws_ahead({m, rate}, s * std::lround(decoder.rate / rate));
    };
    measured.push_back(limit_of(decoder.rate / 2, ahead));
    const double h = decoder_scale(m, decoder.rate, static_cast<double>(s));
    predicted.emplace_back(std::log((m - 1 + std::exp(m * h)) / m) / 2);
  }
  double mean = 0;
  for (const Quantity& lead_found : measured) {
    mean += lead_found.value() / static_cast<double>(measured.size());
  }
  it.judge(ahead_by,
           equal("draws by which `h*` is ahead of `h`, as `eta_Y -> 0`", measured, predicted)
               .at({"`s = ln M/eta_Y`", "`2 x1/eta_Y`", "`20 x1/eta_Y`"})
               .unless(lead, times(1.1))
               .against(constant_lead, mean));
  it.judge(little_ahead,
           at_most("the first of them against `ln(2)/2`", measured.front(), std::log(2.0) / 2));
}

void judge_regimes(const Decoder& decoder, double x1, Examination& it) {
  const double m = decoder.vocabulary;
  Comparison inequalities = at_most("inequalities of the two regimes");
  std::vector<double> scale;
  const auto claim = [&](const char* what, double clock, double less, double more) {
    inequalities.add(fmt::format("{} at `eta_Y s = {:.4g}`", what, clock),
                     {less, {ErrorPart::rounding(std::log(m * clock), less)}}, more);
    scale.push_back(more);
  };
  const double bend = std::log(m);
  for (const double clock : {decoder.rate, std::sqrt(decoder.rate * bend), bend}) {
    const double h = decoder_scale(m, 1.0, clock);
    claim("`M h`", clock, m * h, clock);
    claim("`gamma`", clock, backprop_scale(m, h), clock);
    claim("`exp(M h)`", clock, std::exp(m * h), std::min(m - 1, (m - 1) * m * h));
  }
  for (const double clock : {2 * x1, 20 * x1, 2000 * x1}) {
    const double h = decoder_scale(m, 1.0, clock);
    const double logarithm = std::log1p(m * clock);
    claim("`M h`", clock, m * h, logarithm);
    claim("`gamma`", clock, backprop_scale(m, h), 2 * logarithm / clock);
    claim("max(M-1, (M-1) M h)", clock, (m - 1) * std::max(1.0, m * h), std::exp(m * h));
  }
  it.judge(two_regimes, inequalities.in_units_of(scale));
  const auto beyond = [&](double clock) -> Quantity {
    const double x = m * decoder_scale(m, 1.0, clock);
    return {std::exp(x) / (m - 1) - 1, {ErrorPart::rounding(x, 1)}};
  };
  it.judge(two_regimes,
           at_most("`exp(M h)` over `M - 1` up to `ln M/eta_Y`, less 1", beyond(bend), 0)
               .in_units_of(1)
               .unless(longer, [&] { return beyond(1.25 * bend); }));
  const auto excess = [&](double clock) -> Quantity {
    const double x = m * decoder_scale(m, 1.0, clock);
    return {1 - std::exp(x) / ((m - 1) * x), {ErrorPart::rounding(x, 1)}};
  };
  it.judge(two_regimes,
           at_most("`(M-1) M h` over `exp(M h)` from `2 x1/eta_Y` on, less 1", excess(2 * x1), 0)
               .in_units_of(1)
               .unless(sooner, [&] { return excess(1.8 * x1); }));
}

void examine(const Setting& setting, Examination& it) {
  const Decoder decoder = chosen_decoder(setting, vocabulary, decoder_rate);
  const double m = decoder.vocabulary;
  it.parameters = {{"M", m}, {"eta_Y", decoder.rate}};
  require_rates(m, decoder.rate, it);
  if (m < 4) return;
  const double x1 = crossover(m);
  const auto lambert = [](double others) { return -boost::math::lambert_wm1(-1 / others); };
  const ErrorPart rounding = ErrorPart::rounding(x1, x1);
  it.judge(crosses, equal("`x1` = (1 + omega1) `ln M` against `-W(-1/(M-1))`",
                          Quantity(x1, {rounding}), lambert(m - 1))
                        .unless(all_tokens, lambert(m)));
  judge_lead(decoder, x1, it);
  judge_regimes(decoder, x1, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::decoder_regimes
