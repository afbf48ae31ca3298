#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/halfway.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::softmax_stage {
namespace {

Statement sheet{.id = "scb.softmax-stage",
                .paper = "arXiv 2410.23438, global reply to the reviewers",
                .status = "claimed in source, measured here",
                .about = "SGD on sequences, its noise propagated",
                .theorem = R"(
Stage 2 of softmax attention is as sample-efficient as that of l1 steps: what noise leaves in
attention after it,
  X/B = E sum_k mu_k |a^k - that of expected gradients|^2,
and with it the sequences for a given distance, tends to a constant as T grows, since J^2 keeps
the noise off small weights. So does X of l1 steps, which keep positions off the supports at 0
(from a batch as ln T on, scb.convergence), while X of plain linear steps goes as T (on
sequences: scb.small-batch). X is propagated with the exact covariance of one sequence; that of
softmax is measured on sequences as well, in shorter contexts.)",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical}};

const Clause powers =
    sheet.clause("noise after stage 2 goes as T^0 for softmax and l1 steps, T for plain ones");
const Clause on_sequences = sheet.clause("on sequences that of softmax grows as derived");

const Hypothesis small_noise = sheet.assume("noise small: X/B below a tenth of K_Q");
const Hypothesis one_start = sheet.assume(by_construction(
    "stage 2 begins at alpha = 1/2 without noise, in as many relaxation times at every T",
    "one start and one number of steps at all lengths"));

const Control exponent = sheet.control("exponent", "exponents 0.15 off");
const Control logarithm = sheet.control("logarithm", "ln T in place of a constant");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token looks at", 2, 3, 2));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shortest context", 80, 160, 100));
const Knob sampled_length = sheet.knob(
    whole_knob("sampled-length", "positions T of the shorter sampled sequences", 10, 14, 12));
const Knob step_knob = sheet.knob(linear_knob("step", "learning rate eta of V", 0.15, 0.25, 0.2));
const Knob noise_share = sheet.knob(linear_knob(
    "noise-share", "X/B over K_Q on sequences; the batch follows from it", 0.06, 0.08, 0.07));
const Knob loud_share =
    sheet.knob(linear_knob("loud-share", "the same, not small; 0: noise-share", 0.2, 1, 0)
                   .breaking(small_noise));

Bigrams<double> lengthened(Bigrams<double> b, Index context) {
  b.context = context;  // supports are among the first positions, which are as good as any
  return b;
}

enum class Link { softmax, l1, plain };

Training<double> start_of(Link link, const Bigrams<double>& b) {
  Training<double> start = halfway(b);
  if (link == Link::softmax) return halfway_softmax(std::move(start));
  Matrix<double>& a = start.attention_start;
  if (link == Link::l1) {  // what is off the supports is cut, as by the threshold before l1 steps
    a = (a.array() > 1 / static_cast<double>(b.context)).select(a, 0.0);
    a.array().rowwise() /= a.colwise().sum().array().eval();
  }
  return start;
}

// Six of the slower relaxation times in steps of size eta of V.
struct StageTwo {
  Bigrams<double> b;
  Link link;
  double step;
  SequenceSgd<double> sampled{start_of(link, b)};
  std::uint64_t steps = static_cast<std::uint64_t>(std::ceil(6 / (context_size(b) * step)));

  // Batch 0: on expected gradients.
  [[nodiscard]] std::vector<Trajectory<double>> run(Index batch, std::uint32_t runs,
                                                    std::uint32_t first_run,
                                                    const Setting& setting) const {
    const AnyRung<double> rung = forget_type(SequenceSgd<double>(sampled));
    return runs_to_end(rung, step, steps, batch, runs, first_run, setting);
  }
  // sum_k mu_k |a^k - that of expected gradients|^2 of runs on sequences (runs x 1).
  [[nodiscard]] Matrix<double> squares(Index batch, std::uint32_t runs, std::uint32_t first_run,
                                       const Setting& setting) const {
    const Vector<double> quiet = run(0, 1, 0, setting).front().last_state;
    constexpr std::uint32_t at_once = 500;  // each keeps its end
    Matrix<double> found = Matrix<double>::Zero(runs, 1);
    for (std::uint32_t r = 0; r < runs;) {
      throw_if_stopped();
      for (const auto& noisy : run(batch, std::min(at_once, runs - r), first_run + r, setting)) {
        for (Index k = 0; k < b.tokens(); ++k) {
          const Vector<double> a = sampled.attention(noisy.last_state, k);
          found(r, 0) += b.stationary[k] * (a - sampled.attention(quiet, k)).squaredNorm();
        }
        ++r;
      }
    }
    throw_if_stopped();
    return found;
  }
  // X = B E sum_k mu_k |a^k - that of expected gradients|^2 at the end. Cost O(steps N Q (N T + N^4)).
  [[nodiscard]] double derived() const;
};

// About the steps on expected gradients, x, the covariance of a state goes as
//   C <- (I + eta J(x)) C (I + eta J(x))' + eta^2/B Sigma(x),
// Sigma the covariance of one sample (exact). Positions off the support of a token are alike, so C is
// kept for V, supports and means of the rest, and with it the variance about these means. Leading
// order in 1/B. Derived here.
double StageTwo::derived() const {
  const Index n = b.tokens();
  const bool rest_moves = link != Link::l1;  // with l1 steps it stays 0
  // Columns that move V, a position of a support, the rest of a token together, and the first row that
  // each of them moves.
  Matrix<double> lift = Matrix<double>::Zero(sampled.dimension(), n * n + b.entries() + n);
  Vector<Index> row(lift.cols());
  const Matrix<Index> column = dense_attention(
      b, [&](Index, Index e) { return n * n + e; },
      [&](Index k) { return n * n + b.entries() + k; });
  lift.topLeftCorner(n * n, n * n).setIdentity();
  for (Index i = 0; i < column.size(); ++i) lift(n * n + i, column.reshaped()[i]) = 1;
  for (Index j = 0; j < lift.cols(); ++j) lift.col(j).maxCoeff(&row[j]);
  const Index kept = n * n + b.entries() + (rest_moves ? n : 0);
  const Matrix<double> move = lift.leftCols(kept);
  const Vector<double> count = move.colwise().squaredNorm();  // positions
  const Matrix<double> mean = move * count.cwiseInverse().asDiagonal();
  Matrix<double> vectors = Matrix<double>::Zero(lift.rows(), kept + n);
  vectors.leftCols(kept) = mean;
  for (Index k = 0; k < n; ++k) vectors(row[n * n + b.entries() + k], kept + k) = 1;
  Matrix<double> covariance_of_means = Matrix<double>::Zero(kept, kept);
  Vector<double> about_means = Vector<double>::Zero(n);
  Vector<double> x = sampled.initial();
  Matrix<double> images;
  Vector<double> ahead(x.size()), behind(x.size());
  constexpr double difference = 1e-6;  // central: the field is smooth
  const auto slope = [&](const Vector<double>& direction) {
    sampled.rhs(x + difference * direction, ahead, 0.0);
    sampled.rhs(x - difference * direction, behind, 0.0);
    return Vector<double>((ahead - behind) / (2 * difference));
  };
  for (std::uint64_t i = 0; i < steps; ++i) {
    throw_if_stopped();
    Matrix<double> growth = Matrix<double>::Identity(kept, kept);
    for (Index j = 0; j < kept; ++j) growth.col(j) += step * mean.transpose() * slope(move.col(j));
    sampled.draw_covariance(x, vectors, images);
    const Matrix<double> noise = mean.transpose() * images.leftCols(kept);
    covariance_of_means = growth * covariance_of_means * growth.transpose() + step * step * noise;
    for (Index k = 0; k < n && rest_moves; ++k) {
      const Index j = kept - n + k;
      // Rest positions differ in no other way than against their mean: any other column of the rest
      // with the opposite sign would do.
      const Vector<double> own = vectors.col(kept + k) - mean.col(j);
      const double decay = slope(own).dot(own) / own.squaredNorm();
      about_means[k] = std::pow(1 + step * decay, 2) * about_means[k] +
                       step * step * count[j] * (images(row[j], kept + k) - noise(j, j));
    }
    sampled.rhs(x, ahead, 0.0);
    x += step * ahead;
  }
  // What moves of attention as the columns do: softmax(w) by J = diag(a) - a a'.
  const auto token = [&](Index j) { return (row[j] - n * n) / b.context; };
  Matrix<double> by = Matrix<double>::Identity(kept, kept);
  Vector<double> a = Vector<double>::Zero(kept), weight = a;
  for (Index i = n * n; i < kept; ++i) {
    a[i] = sampled.attention(x, token(i))[(row[i] - n * n) % b.context];
    weight[i] = b.stationary[token(i)] * count[i];
  }
  for (Index i = n * n; i < kept && link == Link::softmax; ++i) {
    for (Index j = n * n; j < kept; ++j) {
      if (token(i) == token(j)) by(i, j) = a[i] * ((i == j ? 1 : 0) - count[j] * a[j]);
    }
  }
  double sum = weight.dot((by * covariance_of_means * by.transpose()).diagonal());
  for (Index k = 0; k < n && rest_moves; ++k) {
    const double scale = link == Link::softmax ? a[kept - n + k] : 1;
    sum += b.stationary[k] * scale * scale * about_means[k];
  }
  return sum;
}

void judge_growth(const Bigrams<double>& b, double step, const Setting& setting, Examination& it) {
  Comparison growth = equal("exponent of T in the noise that stage 2 leaves");
  const auto add = [&](const char* name, Link link, double power) {
    const auto noise = [&](double part) -> Quantity {
      const Index longer = std::lround(1 / part);
      const StageTwo stage{lengthened(b, longer * b.context), link, step};
      const double derived = stage.derived();
      if (longer == 16) {
        it.report(fmt::format("sequences for a noise of 0.1, {}", name),
                  100 * derived * static_cast<double>(stage.steps),
                  fmt::format("T = {}; distance without noise {:.3g}", longer * b.context,
                              stage.run(0, 1, 0, setting).front().column("dist_Q").back()));
      }
      return derived;
    };
    growth.add(name, -order_of(noise, 1, 4, 3), power);
  };
  add("softmax", Link::softmax, 0);
  add("l1", Link::l1, 0);
  add("plain", Link::plain, 1);
  const double of_logarithm = 1 / std::log(16 * static_cast<double>(b.context));
  it.judge(powers, growth.in_units_of(1)
                       .unless(exponent, std::vector<Quantity>{0.15, 0.15, 0.85})
                       .unless(logarithm, std::vector<Quantity>{of_logarithm, of_logarithm, 1}));
}

// Of softmax attention, with one X/B at both lengths, so that what it adds is alike.
void judge_runs(const Bigrams<double>& b, double share, const Setting& setting, Examination& it) {
  constexpr Index longer = 64;
  const std::uint32_t runs = setting.draws(1250);
  std::array<Quantity, 2> noise;
  std::array<double, 2> derived{};
  for (const std::size_t i : {0U, 1U}) {
    const StageTwo stage{lengthened(b, i == 0 ? b.context : longer * b.context), Link::softmax,
                         setting.value(step_knob)};
    derived[i] = stage.derived();
    const auto batch = static_cast<Index>(std::ceil(derived[i] / (share * context_size(b))));
    noise[i] =
        sample_moments(stage.squares(batch, runs, static_cast<std::uint32_t>(i) << 20U, setting),
                       setting.false_alarm / 2)
            .mean.front() *
        Quantity(static_cast<double>(batch));
  }
  const Quantity per_length = 1 / std::log(static_cast<double>(longer));
  Quantity ratio = log(noise[1] / noise[0]);
  ratio.add(ErrorPart::next_order(share));
  const double predicted = std::log(derived[1] / derived[0]) * per_length.value();
  it.judge(on_sequences, equal("the same of softmax on sequences, over shorter contexts",
                               ratio * per_length, predicted)
                             .of_kind(EvidenceKind::statistical)
                             .in_units_of(1)
                             .unless(exponent, predicted + 0.15));
}

void examine(const Setting& setting, Examination& it) {
  const auto bigrams_at = [&](const Knob& positions) {
    const Index most = setting.count(few_positions);
    Bigrams<double> b = random_bigrams(setting.count(vocabulary), 3 * most, most, setting.seed);
    return lengthened(std::move(b), setting.count(positions));
  };
  const Bigrams<double> b = bigrams_at(length);
  it.parameters = {
      {"N", b.tokens()}, {"T", b.context}, {"Q", b.support(0)}, {"seed", setting.seed}};
  const double loud = setting.value(loud_share);
  const double share = loud > 0 ? loud : setting.value(noise_share);
  it.require(small_noise, 0.1 - share, fmt::format("X/B = {:.3g} K_Q", share));
  judge_growth(b, setting.value(step_knob), setting, it);
  judge_runs(bigrams_at(sampled_length), share, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_stage
