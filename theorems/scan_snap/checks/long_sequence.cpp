// Theorem    scan-snap.long-sequence
// Status     proved in source (Lemma 2)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 2 and 18
// Statement  of T - 1 sampled tokens the attended average X'b tends to c_n. With
//              u_l = c_n(l)/P(l|n)
//              (T-1) E |X'b - c_n|^2     -> sum_l P(l|n) u_l^2 |e_l - c_n|^2
//              (T-1) (E X'b - c_n)_l     -> c_n(l) (sum_k c_n(k) u_k - u_l)
//            so the deviation is O(1/sqrt T), that of the mean O(1/T); and with probability
//            1 - delta the frequency of a token is off P(l|n) by no more than (Hoeffding)
//              sqrt(ln(2/delta)/(2 (T-1)))
// Hypotheses H1 tokens are drawn independently
// Check      both limits over sampled sequences, that of the mean along its direction and with its
//            linear part, of mean 0, taken off; share of sequences outside the band for every token
// Controls   a deviation of order 0.55 in 1/T; mean square 10 % larger; mean 10 % farther off
// Uses       rung sgd (its laws and its draws)

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/attended_average.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks::long_sequence {
namespace {

constexpr std::uint32_t sequences = 200'000;
constexpr double delta = 0.05;

constexpr Knob token_count = whole_knob("tokens", "contextual tokens of the class", 2, 60, 20);
constexpr Knob logit_range = logarithmic_knob("logits", "largest |z| of the class", 0.3, 3, 1);
constexpr Knob repetition =
    linear_knob("repetition", "probability that a token repeats the one before it", 0.01, 0.99, 0)
        .breaking("tokens are drawn independently");

// The law of the first class of the user's instance, or a random one, with random logits; one of
// either sign is as large as the knob says.
AttendedClass chosen_class(const Setting& setting) {
  Stream stream(setting.seed, 0, 0);
  const auto training = examined_training(setting, [&, own = stream]() mutable {
    Matrix<double> row(1, setting.count(token_count));
    for (double& p : row.reshaped()) p = 0.1 + 0.9 * own.uniform();
    row /= row.sum();
    return TrainingInstance<double>{.classes = classes_from_matrix<double>(row, {0}, row.cols())};
  });
  const Vector<double> law = training.classes.law.head(training.classes.first[1]);
  // Logits come behind the numbers that a law is drawn from, also for a law that is given.
  for (Index l = 0; l < law.size(); ++l) stream.uniform();
  const double range = setting.value(logit_range);
  Vector<double> logits(law.size());
  for (double& z : logits) z = range * (2 * stream.uniform() - 1);
  logits[0] = range;
  logits[law.size() - 1] = -range;
  return AttendedClass(law, logits, setting.value(repetition));
}

// What is read at twice the length, with the change to there from the shorter one.
Quantity settled(const Quantity& shorter, Quantity longer) {
  const Quantity change = longer - shorter;
  longer.add(ErrorPart::next_order(std::fabs(change.value()) + change.error()));
  return longer;
}

void judge_limits(const AttendedClass& attended, const Setting& setting, Examination& it) {
  const std::uint32_t runs = setting.draws(sequences);
  // Uneven attention leaves fewer tokens that count.
  const auto length = static_cast<Index>(std::ceil(128 * attended.unevenness()));
  const Deviations coarse = attended.sample(length, runs, delta, setting.draw_seed());
  const Deviations fine = attended.sample(2 * length, runs, delta, setting.draw_seed());
  const double share = setting.false_alarm / 3;
  const SampleMoments before = sample_moments(coarse.samples, share);
  const SampleMoments after = sample_moments(fine.samples, share);
  const auto drawn = static_cast<double>(2 * length);
  const std::string detail = fmt::format("T - 1 = {}, {} sequences", drawn, runs);
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "(T-1) E |X'b - c|^2",
                      .measured = {settled(before.mean[0], after.mean[0])},
                      .predicted = {attended.mean_square()},
                      .mistakes = {predicts_times("order", std::pow(drawn, -0.1)),
                                   predicts_times("mean-square", 1.1)},
                      .detail = detail});
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "(T-1) |E X'b - c|",
                      .measured = {settled(before.mean[1], after.mean[1])},
                      .predicted = {attended.bias().norm()},
                      .mistakes = {predicts_times("bias", 1.1)},
                      .detail = detail});
  std::vector<Quantity> outside;
  const auto tokens = static_cast<double>(fine.outside.size());
  for (const std::uint32_t count : fine.outside) {
    outside.push_back(success_probability(count, runs, share / tokens));
  }
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "share of sequences outside Hoeffding's band, by token",
                      .measured = outside,
                      .relation = Relation::at_most,
                      .predicted = {delta}});
}

void examine(const Setting& setting, Examination& it) {
  const AttendedClass attended = chosen_class(setting);
  it.parameters = {{"tokens", attended.tokens()},
                   {"logits", setting.value(logit_range)},
                   {"repetition", setting.value(repetition)},
                   {"seed", setting.seed}};
  it.require("tokens are drawn independently", -setting.value(repetition),
             fmt::format("a token is repeated with probability {:.3g}", setting.value(repetition)));
  judge_limits(attended, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.long-sequence",
          .claim = "the attended average of T tokens tends to c_n, O(1/sqrt T), its mean O(1/T)",
          .paper = "arXiv 2305.16380, Lemmas 2 and 18",
          .status = "proved in source",
          .hypotheses = {"tokens are drawn independently"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"order", "a deviation O(T^-0.55)"},
                       {"mean-square", "E |X'b - c|^2 10 % larger"},
                       {"bias", "E X'b - c 10 % larger"}},
          .knobs = {token_count, logit_range, repetition},
          .reads = "sgd",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::long_sequence
