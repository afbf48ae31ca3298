#include <span>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks::long_sequence {
namespace {

Statement sheet{.id = "scan-snap.long-sequence",
                .paper = "arXiv 2305.16380, Lemmas 2 and 18",
                .status = "proved in source",
                .about = "sampled sequences",
                .theorem = R"(
Of T - 1 sampled tokens the attended average X'b tends to c_n. With u_l = c_n(l)/P(l|n)
  (T-1) E |X'b - c_n|^2     -> sum_l P(l|n) u_l^2 |e_l - c_n|^2
  (T-1) (E X'b - c_n)_l     -> c_n(l) (sum_k c_n(k) u_k - u_l)
so the deviation is O(1/sqrt T), that of the mean O(1/T); and with probability 1 - delta the
frequency of a token is off P(l|n) by no more than (Hoeffding)
  sqrt(ln(2/delta)/(2 (T-1))).)",
                .reaches = {EvidenceKind::statistical},
                .false_version = "fewer-tokens",
                .reads = "sgd"};

const Clause average_tends =
    sheet.clause("the attended average of `T` tokens tends to `c_n`, `O(1/sqrt T)`");
const Clause mean_tends = sheet.clause("its mean `O(1/T)`");
const Clause in_band = sheet.clause("frequencies keep to Hoeffding's band");

const Hypothesis independent = sheet.assume("tokens are drawn independently");

const Control other_order = sheet.control("order", "a deviation `O(T^-0.55)`");
const Control larger_square = sheet.control("mean-square", "`E |X'b - c|^2` 10 % larger");
const Control larger_bias = sheet.control("bias", "`E X'b - c` 10 % larger");

const Control one_deviation =
    sheet.control("one-deviation", "a band of one deviation of the frequency");

const Rival fewer_tokens =
    sheet.rival("fewer-tokens",
                "attention shortens the sequence: `X'b` is the frequencies of "
                "a part of its tokens, drawn from `c_n`",
                "that part");

const Knob token_count =
    sheet.knob(whole_knob("tokens", "contextual tokens of the class", 2, 60, 20));
const Knob logit_range =
    sheet.knob(logarithmic_knob("logits", "largest |z| of the class", 0.3, 3, 1));
const Knob repeated = sheet.knob(
    linear_knob("repetition", "probability that a token repeats the one before it", 0.01, 0.99, 0)
        .breaking(independent));

constexpr std::uint32_t usual_runs = 200'000;
constexpr double delta = 0.05;

// Of many sequences of n = T - 1 contextual tokens.
struct Deviations {
  // n |X'b - c|^2, and n times X'b - c along `AttendedClass::bias`, less its part that is linear in
  // the frequencies, whose mean is 0 (sequences x 2).
  Matrix<double> samples;
  // Sequences in which the frequency of a token is outside Hoeffding's band, and farther off than its
  // deviation (tokens).
  std::vector<std::uint32_t> outside, beyond_deviation;
};

// The attended average X'b of sampled sequences of one class, against its limit c.
class AttendedClass {
 public:
  // P(l|n) and z of its tokens; a token repeats the one before it with probability `repetition`.
  AttendedClass(const Vector<double>& law, const Vector<double>& logits, double repetition)
      : law_(law),
        limit_((law.array() * (logits.array() - logits.maxCoeff()).exp()).matrix()),
        table_(std::span(law.data(), static_cast<std::size_t>(law.size()))),
        repetition_(repetition) {
    limit_ /= limit_.sum();
    relative_ = limit_.cwiseQuotient(law_);
    double sum = 0;
    for (const double p : law_) cumulative_.push_back(sum += p);
    cumulative_.back() = 1;
  }

  [[nodiscard]] Index tokens() const { return law_.size(); }
  // sum_l c_l u_l >= 1, u_l = c_l/P_l: by how many fewer tokens are attended to than drawn.
  [[nodiscard]] double unevenness() const { return limit_.dot(relative_); }
  // sum_l P_l u_l^2 |e_l - c|^2
  [[nodiscard]] double mean_square() const {
    const Vector<double> squares = (1 + limit_.squaredNorm() - 2 * limit_.array()).matrix();
    return limit_.cwiseProduct(relative_).dot(squares);
  }
  // c_l (sum_k c_k u_k - u_l)
  [[nodiscard]] Vector<double> bias() const {
    return limit_.cwiseProduct((unevenness() - relative_.array()).matrix());
  }
  // `outside`: delta of the band sqrt(ln(2/delta)/(2 n)).
  [[nodiscard]] Deviations sample(Index drawn, std::uint32_t sequences, double outside,
                                  std::uint64_t seed) const {
    const auto n = static_cast<double>(drawn);
    const double band = std::sqrt(std::log(2 / outside) / (2 * n));
    const Vector<double> direction = bias().normalized();
    Deviations found{Matrix<double>(sequences, 2),
                     std::vector<std::uint32_t>(static_cast<std::size_t>(tokens()), 0),
                     std::vector<std::uint32_t>(static_cast<std::size_t>(tokens()), 0)};
    std::vector<std::uint32_t> counts;
    Vector<double> attended(tokens());
    for (std::uint32_t k = 0; k < sequences; ++k) {
      throw_if_stopped();
      Stream stream(seed, k, static_cast<std::uint64_t>(drawn));
      draw(stream, drawn, counts);
      for (Index l = 0; l < tokens(); ++l) {
        const auto at = static_cast<std::size_t>(l);
        const double frequency = counts[at] / n;
        const double off = std::fabs(frequency - law_[l]);
        if (off > band) ++found.outside[at];
        if (off > std::sqrt(law_[l] * (1 - law_[l]) / n)) ++found.beyond_deviation[at];
        attended[l] = frequency * relative_[l];
      }
      const double total = attended.sum();
      // X'b - c = linear/total, and linear itself has the mean 0.
      const Vector<double> linear = attended - total * limit_;
      found.samples(k, 0) = n * linear.squaredNorm() / (total * total);
      found.samples(k, 1) = n * linear.dot(direction) * (1 / total - 1);
    }
    return found;
  }

 private:
  void draw(Stream& stream, Index drawn, std::vector<std::uint32_t>& counts) const {
    counts.assign(static_cast<std::size_t>(tokens()), 0);
    if (repetition_ == 0) {
      stream.count(table_, static_cast<std::size_t>(drawn), counts);
      return;
    }
    // A token, and then the same again as often as it is repeated.
    for (Index left = drawn; left > 0;) {
      const double run = 1 + std::floor(std::log(stream.uniform()) / std::log(repetition_));
      const Index length = run < static_cast<double>(left) ? static_cast<Index>(run) : left;
      counts[stream.category(cumulative_)] += static_cast<std::uint32_t>(length);
      left -= length;
    }
  }

  Vector<double> law_, limit_, relative_;  // P, c, u (tokens)
  AliasTable table_;
  std::vector<double> cumulative_;  // of P
  double repetition_;
};

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
  return AttendedClass(law, logits, setting.value(repeated));
}

// What is read at twice the length, with the change to there from the shorter one.
Quantity settled(const Quantity& shorter, Quantity longer) {
  const Quantity change = longer - shorter;
  longer.add(ErrorPart::next_order(std::fabs(change.value()) + change.error()));
  return longer;
}

void judge_limits(const AttendedClass& attended, const Setting& setting, Examination& it) {
  const std::uint32_t runs = setting.draws(usual_runs);
  // Uneven attention leaves fewer tokens that count.
  const auto length = static_cast<Index>(std::ceil(128 * attended.unevenness()));
  const Deviations coarse = attended.sample(length, runs, delta, setting.draw_seed());
  const Deviations fine = attended.sample(2 * length, runs, delta, setting.draw_seed());
  const double share = setting.false_alarm / 3;
  const SampleMoments before = sample_moments(coarse.samples, share);
  const SampleMoments after = sample_moments(fine.samples, share);
  const auto drawn = static_cast<double>(2 * length);
  const std::string detail = fmt::format("`T - 1 = {}`, {} sequences", drawn, runs);
  it.judge(average_tends, equal("`(T-1) E |X'b - c|^2`", settled(before.mean[0], after.mean[0]),
                                attended.mean_square())
                              .of_kind(EvidenceKind::statistical)
                              .with(detail)
                              .unless(other_order, times(std::pow(drawn, -0.1)))
                              .unless(larger_square, times(1.1)));
  // Along the direction of the limit, less the part that is linear in frequencies, of mean 0.
  it.judge(mean_tends, equal("`(T-1) |E X'b - c|`", settled(before.mean[1], after.mean[1]),
                             attended.bias().norm())
                           .of_kind(EvidenceKind::statistical)
                           .in_units_of(attended.bias().norm())
                           .with(detail)
                           .against(fewer_tokens, 0)
                           .unless(larger_bias, times(1.1)));
  const auto shares = [&](const std::vector<std::uint32_t>& counts) {
    std::vector<Quantity> found;
    for (const std::uint32_t count : counts) {
      found.push_back(success_probability(count, runs, share / static_cast<double>(counts.size())));
    }
    return found;
  };
  it.judge(in_band, at_most("share of sequences outside Hoeffding's band, by token",
                            shares(fine.outside), delta)
                        .of_kind(EvidenceKind::statistical)
                        .unless(one_deviation, [&] { return shares(fine.beyond_deviation); }));
}

void examine(const Setting& setting, Examination& it) {
  const AttendedClass attended = chosen_class(setting);
  it.parameters = {{"tokens", attended.tokens()},
                   {"logits", setting.value(logit_range)},
                   {"repetition", setting.value(repeated)},
                   {"seed", setting.seed}};
  it.require(independent, -setting.value(repeated),
             fmt::format("a token is repeated with probability {:.3g}", setting.value(repeated)));
  judge_limits(attended, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::long_sequence
