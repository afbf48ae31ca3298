#include <boost/math/distributions/binomial.hpp>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"

namespace popgrad::scan_snap::checks::decoder_solution {
namespace {

Statement sheet{.id = "scan-snap.decoder-solution",
                .paper = "arXiv 2305.16380, Theorem 5 and Corollary 1",
                .status = "proved in source",
                .about = "the flow of the fast decoder; the recursion at random counts",
                .theorem = R"(
With features at rest, F'F = I + E and (I + E)^-1 = I - E',
  Y   = F (I - E') W
  W_n = (M-1) h(P(n) t) zeta_n;
with N random draws, N_n of class n, W_n is 1 + theta_n times as large,
  theta_n     = (h'/h) (N_n - P(n) N) + r_n
  var theta_n = (h'/h)^2 P(n) (1 - P(n)) N
  rms r_n     = sqrt(3) |h''|/(2 h) P(n) (1 - P(n)) N = O(1/N)
to leading order in 1/N, h and its derivatives at P(n) N.)",
                .hypotheses = {features_rest, full_rank, zero_start},
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "true-gradient",
                .reads = "fast-decoder"};

const Clause solution = sheet.clause("the decoder is `F (I - E') W`");
const Clause varies =
    sheet.clause("random draws give `theta_n` the variance `(h'/h)^2 P(n) (1 - P(n)) N`");
const Clause remainder = sheet.clause("and `r_n` its rms to leading order");

const Control first_order = sheet.control("first-order", "`E` in place of `E'`");
const Control all_tokens = sheet.control("all-tokens", "`M` in place of `M - 1` in `W`");
const Control independent_counts =
    sheet.control("independent-counts", "counts with the variance `P(n) N`");

const Rival true_gradient = sheet.rival(
    "true-gradient", "the gradient of the loss has the same solution (Lemma 3: a small change)",
    "a rate");

const Knob class_count = sheet.knob(class_count_knob(2, 8, 4));
const Knob vocabulary = sheet.knob(vocabulary_knob(45, 1e5, 60));
const Knob common_weight = sheet.knob(common_weight_knob(0.03, 10));
const Knob compared_at =
    sheet.knob(logarithmic_knob("time", "t at which the decoder is compared, draws", 1, 2000, 200));
const Knob mean_count = sheet.knob(
    logarithmic_knob("draws", "random draws of the rarest class, on average", 200, 800, 250));
const Knob attention_rate = sheet.knob(attention_rate_knob);

// W by classes and columns of Y at time t: (M-1) h zeta_n.
Matrix<double> responses(const TrainingInstance<double>& training, const Layout& layout, double t) {
  const SequenceClasses<double>& classes = training.classes;
  const auto m = static_cast<double>(classes.tokens);
  Matrix<double> w(classes.classes(), layout.columns());
  for (Index n = 0; n < w.rows(); ++n) {
    const double h = decoder_scale(m, training.decoder_rate, classes.weight[n] * t);
    w.row(n).setConstant(-h);
    w(n, layout.class_column[static_cast<std::size_t>(n)]) = (m - 1) * h;
  }
  return w;
}

void judge_decoder(const TrainingInstance<double>& training, double t, Examination& it) {
  const Features at(training.classes);
  const PopulationFlow<double> flow(training, DecoderRule::fast);
  const Solved run(forget_type(flow), {t}, 1e-12);
  require_rest(training, at, flow.logits_at(run.state(0)).cwiseAbs().maxCoeff(), it);
  if (!training.shares_column()) return;
  const Matrix<double> w = responses(training, at.layout, t);
  const std::vector<Quantity> claimed = at.table(at.inverse * w);
  double largest = 0;
  for (const Quantity& entry : claimed) largest = std::max(largest, std::fabs(entry.value()));
  const auto m = static_cast<double>(training.classes.tokens);
  const auto one = Matrix<double>::Identity(at.classes(), at.classes());
  const auto entries = [&](const Vector<double>& x) -> Vector<double> {
    return x.head(std::ssize(claimed));
  };
  const std::vector<Quantity> measured = read_off(run, 0, entries);
  const auto by_true_gradient = [&] {
    const Solved other(forget_type(PopulationFlow<double>(training)), {t}, 1e-12);
    const Vector<double> found = entries(other.state(0));
    double product = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      product += measured[i].value() * found[static_cast<Index>(i)];
    }
    const Vector<double> scaled = product / found.squaredNorm() * found;
    return std::vector<Quantity>(scaled.begin(), scaled.end());
  };
  it.judge(solution, equal("entries of `Y` against `F (I - E') W`", measured, claimed)
                         .against(true_gradient, instead(by_true_gradient))
                         .in_units_of(largest)
                         .unless(first_order, at.table((2 * one - at.gram) * w))
                         .unless(all_tokens, times(m / (m - 1))));
}

constexpr std::uint32_t runs = 30'000;
constexpr std::uint64_t step_of_counts = 2;

// h and its derivatives in s. With u = exp(M h)/(M - 1 + exp(M h)):
//   h'' = -M u h'^2,  h''' = -M^2 u (1 - 3 u) h'^3
struct Derivatives {
  double h, first, second, third;
};
Derivatives derivatives(const Decoder& decoder, double s) {
  const double m = decoder.vocabulary;
  const double h = decoder_scale(m, decoder.rate, s);
  const double first = decoder_rate_of(m, decoder.rate, h);
  const double u = std::exp(m * h) * first / decoder.rate;
  return {h, first, -m * u * first * first, -m * m * u * (1 - 3 * u) * std::pow(first, 3)};
}

// h* after 0, 1, ... and all `draws` of a class.
std::vector<double> after_draws(const Decoder& decoder, long draws) {
  std::vector<double> h{0};
  for (long s = 0; s < draws; ++s) {
    h.push_back(h.back() + decoder_rate_of(decoder.vocabulary, decoder.rate, h.back()));
  }
  return h;
}

// A draw of class n is felt by W_n only, so W_n = (M-1) h*(N_n) zeta_n (scan-snap.decoder-recursion)
// and theta_n = h*(N_n)/h(P(n) N) - 1: theta (runs x K) of N draws of classes with law P(n) (K).
Matrix<double> sampled_thetas(const Decoder& decoder, const Vector<double>& law, long draws,
                              const Setting& setting) {
  const auto classes = static_cast<std::size_t>(law.size());
  const AliasTable drawn(std::span(law.data(), classes));
  const std::vector<double> discrete = after_draws(decoder, draws);
  std::vector<double> unit;  // h(P(n) N)
  for (const double p : law) {
    unit.push_back(decoder_scale(decoder.vocabulary, decoder.rate, p * static_cast<double>(draws)));
  }
  Matrix<double> theta(setting.draws(runs), law.size());
  std::vector<std::uint32_t> counts(classes);
  for (Index r = 0; r < theta.rows(); ++r) {
    throw_if_stopped();
    Stream stream(setting.draw_seed(), static_cast<std::uint32_t>(r), step_of_counts);
    std::fill(counts.begin(), counts.end(), 0);
    stream.count(drawn, static_cast<std::size_t>(draws), counts);
    for (std::size_t n = 0; n < classes; ++n) {
      theta(r, static_cast<Index>(n)) = discrete[counts[n]] / unit[n] - 1;
    }
  }
  return theta;
}

// (h'/h)^2 p (1 - p) N at s = p N; part "next order": what the next derivatives of h, the skewness of
// the count and h* - h add, of relative order 1/s.
Quantity variance_of_theta(const Decoder& decoder, double probability, long draws) {
  const double s = probability * static_cast<double>(draws);
  const Derivatives d = derivatives(decoder, s);
  const double count = s * (1 - probability);  // variance of N_n
  const double bend = d.second / d.first;
  const double skewness = bend * (1 - 2 * probability);
  const double curvature = count * (d.third / d.first + bend * bend / 2);
  // From h* itself: where eta_Y is large its first draws lead so far ahead of h that their expansion
  // in eta_Y, (h'/2) ln(eta_Y/(M h')), is too small.
  const long middle = std::max(1L, std::lround(s));
  const std::vector<double> h = after_draws(decoder, middle + 1);
  const auto at = static_cast<std::size_t>(middle);
  const double slope = (h[at + 1] - h[at - 1]) / 2;
  const double first = derivatives(decoder, static_cast<double>(middle)).first;
  const double discrete = std::pow(slope / first, 2) - 1;
  const double leading = std::pow(d.first / d.h, 2) * count;
  return {leading,
          {ErrorPart::next_order(leading * skewness), ErrorPart::next_order(leading * curvature),
           ErrorPart::next_order(leading * discrete)}};
}

// Root mean square of h(N_n)/h - 1 - (h'/h) (N_n - p N) over the binomial law of N_n, in units of
// sqrt(3) |h''|/(2 h) p (1 - p) N, as N grows beyond a hundred times `draws`.
Quantity residual_of_theta(const Decoder& decoder, double probability, long draws) {
  constexpr double longer = 128;
  constexpr double widths = 12;  // deviations beyond which the law of the count is 0 in double
  return limit_of(1 / (longer * static_cast<double>(draws)), [&](double inverse) {
    const double all = std::round(1 / inverse);
    const double s = probability * all;
    const Derivatives d = derivatives(decoder, s);
    const double count = s * (1 - probability);
    const boost::math::binomial_distribution<> law(all, probability);
    double square = 0;
    const double last = std::min(all, s + widths * std::sqrt(count));
    for (double n = std::ceil(std::max(0.0, s - widths * std::sqrt(count))); n <= last; ++n) {
      const double h = decoder_scale(decoder.vocabulary, decoder.rate, n);
      square += pdf(law, n) * std::pow(h - d.h - d.first * (n - s), 2);
    }
    const double leading = std::sqrt(3.0) * std::fabs(d.second) / 2 * count;
    return Quantity(std::sqrt(square) / leading);
  });
}

void judge_draws(const TrainingInstance<double>& training, const Setting& setting,
                 Examination& it) {
  const Vector<double>& law = training.classes.weight;
  const Decoder decoder{static_cast<double>(training.classes.tokens), training.decoder_rate};
  const auto all = static_cast<long>(std::lround(setting.value(mean_count) / law.minCoeff()));
  const Matrix<double> theta = sampled_thetas(decoder, law, all, setting);
  std::vector<Quantity> variance;
  std::vector<Quantity> independent;
  for (const double p : law) {
    variance.push_back(variance_of_theta(decoder, p, all));
    independent.push_back(variance.back() * Quantity(1 / (1 - p)));
  }
  it.judge(varies, equal("variance of `theta_n` over random draws",
                         sample_moments(theta, setting.false_alarm).variance, variance)
                       .of_kind(EvidenceKind::statistical)
                       .unless(independent_counts, independent)
                       .with(fmt::format("`N = {}`, {} runs", all, theta.rows())));
  it.judge(remainder, equal("rms of `r_n` over its leading order, rarest class",
                            residual_of_theta(decoder, law.minCoeff(), all), 1)
                          .unless(independent_counts, 1 / (1 - law.minCoeff())));
}

void examine(const Setting& setting, Examination& it) {
  const TrainingInstance<double> training = chosen_training(setting, [&] {
    Stream stream(setting.seed, 0, 1);
    return random_classes(stream, setting.count(class_count), 2, 5, setting.value(common_weight),
                          setting.count(vocabulary));
  });
  const double t = setting.value(compared_at);
  it.parameters = {{"K", training.classes.classes()},
                   {"M", training.classes.tokens},
                   {"t", t},
                   {"eta_Y", training.decoder_rate},
                   {"eta_Z", training.attention_rate},
                   {"seed", setting.seed}};
  judge_decoder(training, t, it);
  if (training.classes.classes() > 1) judge_draws(training, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::decoder_solution
