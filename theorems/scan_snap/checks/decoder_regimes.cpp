// Theorem    scan-snap.decoder-regimes
// Status     proved in source (Lemmas 7 to 9, Remarks 2, 3), with constants
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 7, 8 and 9, Remarks 2 and 3
// Statement  the discrete h* is ahead of h by c draws, h(s + c) = h*(s), with x = M h*
//              c = ln((M - 1 + e^x)/M)/2 + O(eta_Y),
//            at most ln(2)/2 up to s = ln M/eta_Y, and like ln(eta_Y s)/2 for ever after; with
//            (1 + omega1) ln M = x1 the larger root of e^x = (M-1) x,
//              M h <= eta_Y s,         gamma <= eta_Y s,  e^x <= min(M-1, (M-1) x)
//            for 1 <= s <= ln M/eta_Y, and from s = 2 x1/eta_Y on
//              M h <= ln(M eta_Y s + 1),  e^x >= max(M-1, (M-1) x)
//              gamma <= 2 ln(M eta_Y s + 1)/(eta_Y s)
// Hypotheses H1 M > 100; H2 M^-0.99 < eta_Y < 1
// Check      c of the recursion at ln M, 2 x1 and 20 x1 over eta_Y; x1 against the Lambert W; all
//            inequalities at the ends of the two regimes and between
// Controls   c 10 % larger; x1 of M tokens; the late regime from 0.9 times its begin on
// Uses       closed forms of the decoder

#include <boost/math/special_functions/lambert_w.hpp>

#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::decoder_regimes {
namespace {

constexpr Knob vocabulary = vocabulary_knob(101, 1e6, 1000);
constexpr Knob decoder_rate =
    logarithmic_knob("decoder-rate", "learning rate eta_Y", 0.02, 0.3, 0.1);

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
  it.judge(Comparison{.what = "draws by which h* is ahead of h, as eta_Y -> 0",
                      .measured = measured,
                      .predicted = predicted,
                      .mistakes = {predicts_times("lead", 1.1)},
                      .places = {"s = ln M/eta_Y", "2 x1/eta_Y", "20 x1/eta_Y"}});
  it.judge(Comparison{.what = "the first of them against ln(2)/2",
                      .measured = {measured.front()},
                      .relation = Relation::at_most,
                      .predicted = {std::log(2.0) / 2}});
}

void judge_regimes(const Decoder& decoder, double x1, Examination& it) {
  const double m = decoder.vocabulary;
  std::vector<Quantity> lower, upper;
  std::vector<double> scale;
  std::vector<std::string> places;
  const auto claim = [&](const char* what, double clock, double less, double more) {
    lower.emplace_back(less, std::vector{ErrorPart::rounding(std::log(m * clock), less)});
    upper.emplace_back(more);
    scale.push_back(more);
    places.push_back(fmt::format("{} at eta_Y s = {:.4g}", what, clock));
  };
  const double bend = std::log(m);
  for (const double clock : {decoder.rate, std::sqrt(decoder.rate * bend), bend}) {
    const double h = decoder_scale(m, 1.0, clock);
    claim("M h", clock, m * h, clock);
    claim("gamma", clock, backprop_scale(m, h), clock);
    claim("exp(M h)", clock, std::exp(m * h), std::min(m - 1, (m - 1) * m * h));
  }
  for (const double clock : {2 * x1, 20 * x1, 2000 * x1}) {
    const double h = decoder_scale(m, 1.0, clock);
    const double logarithm = std::log1p(m * clock);
    claim("M h", clock, m * h, logarithm);
    claim("gamma", clock, backprop_scale(m, h), 2 * logarithm / clock);
    claim("max(M-1, (M-1) M h)", clock, (m - 1) * std::max(1.0, m * h), std::exp(m * h));
  }
  it.judge(Comparison{.what = "inequalities of the two regimes",
                      .measured = lower,
                      .relation = Relation::at_most,
                      .predicted = upper,
                      .scale = scale,
                      .places = places});
  const auto excess = [&](double clock) -> std::vector<Quantity> {
    const double x = m * decoder_scale(m, 1.0, clock);
    return {{1 - std::exp(x) / ((m - 1) * x), {ErrorPart::rounding(x, 1)}}};
  };
  it.judge(Comparison{.what = "(M-1) M h over exp(M h) from 2 x1/eta_Y on, less 1",
                      .measured = excess(2 * x1),
                      .relation = Relation::at_most,
                      .predicted = {0.0},
                      .scale = {1.0},
                      .mistakes = {measures("sooner", [&] { return excess(1.8 * x1); })}});
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
  it.judge(Comparison{.what = "x1 = (1 + omega1) ln M against -W(-1/(M-1))",
                      .measured = {Quantity(x1, {rounding})},
                      .predicted = {lambert(m - 1)},
                      .mistakes = {predicts("all-tokens", lambert(m))}});
  judge_lead(decoder, x1, it);
  judge_regimes(decoder, x1, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.decoder-regimes",
          .claim = "h* is ahead of h by ln((M - 1 + e^x)/M)/2 draws; inequalities of both regimes",
          .paper = "arXiv 2305.16380, Lemmas 7 to 9, Remarks 2 and 3",
          .status = "proved in source",
          .hypotheses = {"M >> 100", "M^-0.99 << eta_Y < 1"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"lead", "10 % more draws ahead"},
                       {"all-tokens", "x1 from e^x = M x"},
                       {"sooner", "the late regime from 0.9 times its begin on"}},
          .knobs = {vocabulary, decoder_rate},
          .reads = "fast-decoder",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::decoder_regimes
