#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/class_counts.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::draws_until_norm {
namespace {

const Knob target =
    logarithmic_knob("norm", "eps to which |e_n - alpha_n| falls", 0.01, 0.03, 0.02);

Statement sheet{.id = "scan-snap.draws-until",
                .paper = "arXiv 2305.16380, Corollary 1",
                .status = "proved in source",
                .about = "random draws of classes, the recursion of the decoder",
                .theorem = R"(
K equally likely classes are drawn until |e_n - alpha_n| <= eps for all n. A class needs S draws of
its own,
  S = s - ln(sqrt(1 - 1/M)/eps)/2 + O(eta_Y),  rounded up
  s = (exp(x) - 1 + (M-1) x)/(M eta_Y)
  x = ln(M-1) + ln(sqrt(M/(M-1))/eps - 1);
T draws in all are needed with
  E T = K int_0^inf 1 - P[Poisson(u) >= S]^K du,
and with probability 1 - delta
  T <= (K/(eps eta_Y)) ln(M/eps).
That bound is loose: its product is a sum, to order eps + 1/(M eps)
  eta_Y s = 1/eps + ln(M/eps) - 1.)",
                .hypotheses = drawn_class_hypotheses({}),
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "product",
                .knobs = drawn_class_knobs(target),
                .reads = "fast-decoder"};

const Clause own_draws = sheet.clause("norm `eps` after `s - ln(1/eps)/2` own draws");
const Clause own_sum = sheet.clause("`eta_Y s = 1/eps + ln(M/eps) - 1`");
const Clause all_draws = sheet.clause("`E T` waits for the last class");
const Clause bound = sheet.clause("`T <= (K/(eps eta_Y)) ln(M/eps)`");

const Control no_logarithm = sheet.control("no-logarithm", "`1/(eta_Y eps)` draws of a class");
const Control no_lead = sheet.control("no-lead", "`s` draws of a class, as if `h*` were `h`");
const Control without_one = sheet.control("without-one", "`ln(M/eps)` in place of `ln(M/eps) - 1`");
const Control equal_waiting =
    sheet.control("equal-waiting", "`T = K S`, as if all classes came equally often");

const Rival product =
    sheet.rival("product", "the count grows as the product of `1/eps` and the logarithm of `M/eps`",
                "a factor");

constexpr std::uint32_t runs = 10'000;
constexpr double finer = 8;  // eps over the smaller one, at which counts are compared as well

struct OwnDraws {
  Quantity counted, claimed;
};
OwnDraws own_draws_until(const Decoder& decoder, double eps) {
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
  return {Quantity((before + whole) / 2, {ErrorPart::enclosure((whole - before) / 2)}),
          Quantity(s - lead, {ErrorPart::next_order(ends), ErrorPart::next_order(between)})};
}

void judge_own(const Decoder& decoder, double eps, Examination& it) {
  const double m = decoder.vocabulary;
  Comparison counts = equal("draws of a class until `|e_n - alpha_n| <= eps`");
  std::vector<Quantity> only_inverse, without_lead, products;
  double factor = 1;  // geometric mean
  for (const double norm : {eps, eps / finer}) {
    const OwnDraws found = own_draws_until(decoder, norm);
    counts.add(fmt::format("`eps = {:.4g}`", norm), found.counted, found.claimed);
    only_inverse.emplace_back(1 / (norm * decoder.rate));
    without_lead.emplace_back(draws_until(decoder, norm));
    products.emplace_back(std::log(m / norm) / norm);
    factor *= std::sqrt(found.counted.value() / products.back().value());
  }
  for (Quantity& one : products) one = one * Quantity(factor);
  it.judge(own_draws, counts.unless(no_logarithm, only_inverse)
                          .unless(no_lead, without_lead)
                          .against(product, products));
  const double s = draws_until(decoder, eps);
  // What the sum leaves out of s, term by term.
  const double logarithm = std::log(m / eps);
  const Quantity sum(logarithm - 1,
                     {ErrorPart::next_order((1 - std::sqrt(1 - 1 / m)) / eps),
                      ErrorPart::next_order(std::log1p(-eps)),
                      ErrorPart::next_order(logarithm / m - std::log1p(-1 / m) / 2)});
  it.judge(own_sum,
           equal("`eta_Y s - 1/eps` against `ln(M/eps) - 1`", s * decoder.rate - 1 / eps, sum)
               .unless(without_one, logarithm));
}

void judge_all(const DrawnClasses& at, double eps, const Setting& setting, Examination& it) {
  const long own = discrete_draws_until(at.decoder, eps);
  const std::vector<double> waited =
      drawn_for_all(at.classes, own, setting.draws(runs), setting.draw_seed(), 23);
  const Matrix<double> column = Eigen::Map<const Vector<double>>(waited.data(), std::ssize(waited));
  it.judge(all_draws, equal("mean `T` until `|e_n - alpha_n| <= eps` for all `n`",
                            sample_moments(column, setting.false_alarm / 2).mean,
                            mean_draws_for_all(at.classes, own))
                          .of_kind(EvidenceKind::statistical)
                          .unless(equal_waiting, at.k() * static_cast<double>(own))
                          .with(fmt::format("{} runs", waited.size())));
  const double most = at.k() / (eps * at.decoder.rate) * std::log(at.decoder.vocabulary / eps);
  const auto beyond = [&](double delta) {
    return sampled_quantile(waited, delta, setting.false_alarm / 4);
  };
  it.judge(bound, at_most("quantiles of `T` against `(K/(eps eta_Y)) ln(M/eps)`")
                      .add("`delta = 0.1`", beyond(0.1), most)
                      .add("`delta = 0.01`", beyond(0.01), most)
                      .unless(no_logarithm, at.k() / (eps * at.decoder.rate))
                      .of_kind(EvidenceKind::statistical));
}

void examine(const Setting& setting, Examination& it) {
  const DrawnClasses at = drawn_classes(setting, it);
  const double eps = setting.value(target);
  it.parameters["eps"] = eps;
  judge_own(at.decoder, eps, it);
  if (at.classes > 1) judge_all(at, eps, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::draws_until_norm
