// Theorem    scan-snap.draws-until
// Status     proved in source (Corollary 1, last part), with the exact law
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Corollary 1
// Statement  K equally likely classes are drawn until |e_n - alpha_n| <= eps for all n. A class
//            needs S draws of its own,
//              S = s - ln(sqrt(1 - 1/M)/eps)/2 + O(eta_Y),  rounded up
//              s = (exp(x) - 1 + (M-1) x)/(M eta_Y)
//              x = ln(M-1) + ln(sqrt(M/(M-1))/eps - 1);
//            T draws in all are needed with
//              E T = K int_0^inf 1 - P[Poisson(u) >= S]^K du,
//            and with probability 1 - delta
//              T <= (K/(eps eta_Y)) ln(M/eps).
//            That bound is loose: its product is a sum, to order eps + 1/(M eps)
//              eta_Y s = 1/eps + ln(M/eps) - 1
// Hypotheses H1 P(n) = 1/K; H2 M > 100; H3 M^-0.99 < eta_Y < 1; H4 rows of F'Y decouple
// Check      S against steps of the recursion, and against the sum; mean T of random draws against
//            the integral, and its quantiles at delta = 0.1 and 0.01 against the bound
// Controls   1/(eta_Y eps) draws of a class; s for S; the sum without -1; T = K S, no waiting for
//            the class that lags
// Uses       decoder; counts of classes

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/class_counts.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::draws_until_norm {
namespace {

constexpr Knob target =
    logarithmic_knob("norm", "eps to which |e_n - alpha_n| falls", 0.01, 0.03, 0.02);
constexpr std::uint32_t runs = 10'000;

void judge_own(const Decoder& decoder, double eps, Examination& it) {
  const double m = decoder.vocabulary;
  const double s = draws_until(decoder, eps);
  const double lead = -std::log(eps * std::sqrt(m / (m - 1))) / 2;
  // What the modified equation of Euler's steps, f = h', adds next to s - lead:
  //   (f'(0) - f'(h))/12 - (1/12) int f'^2/f dh,  f' = df/dh,  int f'^2/f dh < eta_Y M/(2 (M-1))
  const double h = decoder_scale(m, decoder.rate, s);
  const double slope = m * std::exp(m * h) * std::pow(decoder_rate_of(m, 1.0, h), 2);
  const double ends = decoder.rate * (slope - 1 / m) / 12;
  const double between = decoder.rate * m / (24 * (m - 1));
  const auto whole = static_cast<double>(discrete_draws_until(decoder, eps));
  const double before = whole - 1;  // too few
  it.judge(Comparison{
      .what = "draws of a class until |e_n - alpha_n| <= eps",
      .measured = {Quantity((before + whole) / 2, {ErrorPart::enclosure((whole - before) / 2)})},
      .predicted = {Quantity(s - lead,
                             {ErrorPart::next_order(ends), ErrorPart::next_order(between)})},
      .mistakes = {predicts("no-logarithm", 1 / (eps * decoder.rate)), predicts("no-lead", s)},
      .detail = fmt::format("{} steps", whole)});
  // What the sum leaves out of s, term by term.
  const double logarithm = std::log(m / eps);
  const Quantity sum(logarithm - 1,
                     {ErrorPart::next_order((1 - std::sqrt(1 - 1 / m)) / eps),
                      ErrorPart::next_order(std::log1p(-eps)),
                      ErrorPart::next_order(logarithm / m - std::log1p(-1 / m) / 2)});
  it.judge(Comparison{.what = "eta_Y s - 1/eps against ln(M/eps) - 1",
                      .measured = {s * decoder.rate - 1 / eps},
                      .predicted = {sum},
                      .mistakes = {predicts("without-one", logarithm)}});
}

void judge_all(const DrawnClasses& at, double eps, const Setting& setting, Examination& it) {
  const long own = discrete_draws_until(at.decoder, eps);
  const std::vector<double> waited =
      drawn_for_all(at.classes, own, setting.draws(runs), setting.draw_seed(), 23);
  const Matrix<double> column = Eigen::Map<const Vector<double>>(waited.data(), std::ssize(waited));
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "mean T until |e_n - alpha_n| <= eps for all n",
                      .measured = sample_moments(column, setting.false_alarm / 2).mean,
                      .predicted = {mean_draws_for_all(at.classes, own)},
                      .mistakes = {predicts("equal-waiting", at.k() * static_cast<double>(own))},
                      .detail = fmt::format("{} runs", waited.size())});
  it.judge(Comparison{
      .kind = EvidenceKind::statistical,
      .what = "quantiles of T against (K/(eps eta_Y)) ln(M/eps)",
      .measured = {sampled_quantile(waited, 0.1, setting.false_alarm / 4),
                   sampled_quantile(waited, 0.01, setting.false_alarm / 4)},
      .relation = Relation::at_most,
      .predicted = {at.k() / (eps * at.decoder.rate) * std::log(at.decoder.vocabulary / eps)},
      .places = {"delta = 0.1", "delta = 0.01"}});
}

void examine(const Setting& setting, Examination& it) {
  const DrawnClasses at = drawn_classes(setting, it);
  const double eps = setting.value(target);
  it.parameters["eps"] = eps;
  judge_own(at.decoder, eps, it);
  if (at.classes > 1) judge_all(at, eps, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.draws-until",
          .claim = "all |e_n - alpha_n| fall to eps in (K/eta_Y)(1/eps + ln(M/eps)) draws",
          .paper = "arXiv 2305.16380, Corollary 1",
          .status = "proved in source",
          .hypotheses = drawn_class_hypotheses({}),
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"no-logarithm", "1/(eta_Y eps) draws of a class"},
                       {"no-lead", "s draws of a class, as if h* were h"},
                       {"without-one", "ln(M/eps) in place of ln(M/eps) - 1"},
                       {"equal-waiting", "T = K S, as if all classes came equally often"}},
          .knobs = drawn_class_knobs(target),
          .reads = "fast-decoder",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::draws_until_norm
