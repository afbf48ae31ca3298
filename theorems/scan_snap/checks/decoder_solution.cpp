#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/counted_draws.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
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
                .reads = "fast-decoder"};

const Clause solution = sheet.clause("the decoder is F (I - E') W");
const Clause varies =
    sheet.clause("random draws give theta_n the variance (h'/h)^2 P(n) (1 - P(n)) N");
const Clause remainder = sheet.clause("and r_n its rms to leading order");

const Control first_order = sheet.control("first-order", "E in place of E'");
const Control all_tokens = sheet.control("all-tokens", "M in place of M - 1 in W");
const Control independent_counts =
    sheet.control("independent-counts", "counts with the variance P(n) N");

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
  it.judge(solution, equal("entries of Y against F (I - E') W", read_off(run, 0, entries), claimed)
                         .in_units_of(largest)
                         .unless(first_order, at.table((2 * one - at.gram) * w))
                         .unless(all_tokens, times(m / (m - 1))));
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
  it.judge(varies, equal("variance of theta_n over random draws",
                         sample_moments(theta, setting.false_alarm).variance, variance)
                       .of_kind(EvidenceKind::statistical)
                       .unless(independent_counts, independent)
                       .with(fmt::format("N = {}, {} runs", all, theta.rows())));
  it.judge(remainder, equal("rms of r_n over its leading order, rarest class",
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
