#include <omp.h>

#include <array>
#include <functional>
#include <map>

#include "popgrad/scalars/random.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/halfway.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::softmax_stage {
namespace {

Statement sheet{.id = "scb.softmax-stage",
                .paper = "arXiv 2410.23438, global reply to the reviewers",
                .status = "claimed in source, measured here",
                .about = "SGD on sequences, its noise propagated",
                .theorem = R"(
Stage 2 of softmax attention is as sample-efficient as that of l1 steps, whose T positions off the
supports stay at 0: what noise leaves in attention after it,
  X/B = E sum_k mu_k |a^k - that of expected gradients|^2,
and with it, the steps being as many at every T, the sequences for a given distance, tends to a constant
as T grows,
  X = X_oo + O(1/T),
since J^2 keeps the noise off small weights. X of plain linear steps goes as T (on sequences:
scb.small-batch). X is propagated with the exact covariance of one sequence, at the leading order in
1/B; that of softmax is also measured on sequences, in shorter contexts: in the limit of a
large batch, and at one at which SGD is off by a few hundredths. What l1 steps need for their threshold
to work at all is not compared: on sequences half of their runs leave at a batch that grows with T
(scb.small-batch).)",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "other-rate"};

const Clause powers = sheet.clause(
    "noise after stage 2 tends to a constant in `T` for softmax, goes as `T` for plain steps");
const Clause on_sequences =
    sheet.clause("on sequences that of softmax is what is derived, at a large batch");
const Clause against_l1 =
    sheet.not_checked("`l1` steps with their threshold at work need sequences independent of `T`");

const Hypothesis small_noise = sheet.assume("noise small: `X/B` below a hundredth of `K_Q`");
const Hypothesis even_tokens =
    sheet.assume({"`mu` well conditioned: `N mu_k` at least 1/2", Basis::evaluated,
                  "the paper's; what SGD has beyond `X/B` comes from rare tokens"});
const Hypothesis one_start = sheet.assume(by_construction(
    "stage 2 begins at `alpha = 1/2` without noise, in as many relaxation times at every `T`",
    "one start and one number of steps at all lengths"));

const Control exponent = sheet.control("exponent", "exponents 0.15 off");
const Control start_noise =
    sheet.control("start-noise", "the covariance of one sequence that of the start throughout");

const Control larger = sheet.control("larger", "the noise a tenth larger");

const Rival other_rate = sheet.rival(
    "other-rate", "softmax attention is linear attention that learns at another rate", "a rate");
const Rival logarithm =
    sheet.rival("logarithm", "noise goes as `c + d ln T`, too slow to be seen", "`c` and `d`");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 4, 3));
const Knob few_positions =
    sheet.knob(whole_knob("support", "positions Q that a token attends to", 2, 3, 2));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shortest context", 80, 160, 100));
const Knob sampled_length = sheet.knob(
    whole_knob("sampled-length", "positions T of the shorter sampled sequences", 10, 14, 12));
const Knob step_knob = sheet.knob(linear_knob("step", "learning rate eta of V", 0.15, 0.25, 0.2));
const Knob noise_share = sheet.knob(linear_knob(
    "noise-share", "X/B over K_Q on sequences; the batch follows from it", 0.003, 0.005, 0.004));
const Knob loud_share =
    sheet.knob(linear_knob("loud-share", "the same, not small; 0: noise-share", 0.2, 1, 0)
                   .breaking(small_noise));

Bigrams<double> lengthened(Bigrams<double> b, Index context) {
  b.context = context;  // supports are among the first positions, which are as good as any
  return b;
}

// Derivative of a function of a state along a direction.
template <class Function>
Vector<double> slope(const Function& function, const Vector<double>& x,
                     const Vector<double>& direction) {
  constexpr double difference = 1e-6;  // central: field and attention are smooth
  return (function(x + difference * direction) - function(x - difference * direction)) /
         (2 * difference);
}

// Six of the slower relaxation times in steps of size eta of V.
struct StageTwo {
  Bigrams<double> b;
  bool softmax;
  double step;
  SequenceSgd<double> sampled{softmax ? halfway_softmax(halfway(b)) : halfway(b)};
  std::uint64_t steps = static_cast<std::uint64_t>(std::ceil(6 / (context_size(b) * step)));

  [[nodiscard]] Vector<double> drift(const Vector<double>& x) const {
    Vector<double> dx(x.size());
    sampled.rhs(x, dx, 0.0);
    return dx;
  }
  // J(x) times a direction.
  [[nodiscard]] Vector<double> moved(const Vector<double>& x,
                                     const Vector<double>& direction) const {
    return slope([this](const Vector<double>& at) { return drift(at); }, x, direction);
  }
  // sqrt(mu_k) a^k of all tokens.
  [[nodiscard]] Vector<double> weighted_attention(const Vector<double>& x) const {
    Matrix<double> found(b.context, b.tokens());
    for (Index k = 0; k < b.tokens(); ++k) {
      found.col(k) = std::sqrt(b.stationary[k]) * sampled.attention(x, k);
    }
    return found.reshaped();
  }
  // X. Cost O(steps N Q (N T + N^4)). `of_start`: noise as it is at the start.
  [[nodiscard]] double derived(bool of_start = false) const;
};

// The steps on expected gradients, and what a change of the state in each of them makes of
// sqrt(mu_k) a^k at the end. O(N T) numbers squared a step, for short contexts.
class Responses {
 public:
  explicit Responses(StageTwo stage) : stage_(std::move(stage)), to_end_(stage_.steps) {
    for (std::uint64_t i = 0; i < stage_.steps; ++i) {
      drift_.push_back(stage_.drift(path_.back()));
      path_.emplace_back(path_.back() + stage_.step * drift_.back());
    }
    const Index n = path_.back().size();
    const auto columns = [&](const auto& function, const Vector<double>& x) {
      Matrix<double> found(function(x).size(), n);
      for (Index j = 0; j < n; ++j) found.col(j) = slope(function, x, Vector<double>::Unit(n, j));
      return found;
    };
    to_end_.back() = columns([&](const Vector<double>& x) { return stage_.weighted_attention(x); },
                             path_.back());
    for (std::uint64_t i = stage_.steps; i-- > 1;) {
      const Matrix<double> jacobian =
          columns([&](const Vector<double>& x) { return stage_.drift(x); }, path_[i]);
      to_end_[i - 1] = to_end_[i] + stage_.step * to_end_[i] * jacobian;
    }
  }
  // X of the linear response, from one sequence a step: the noise of steps is independent.
  [[nodiscard]] double linear(std::uint32_t run, std::uint64_t seed) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < stage_.steps; ++i) {
      sum += response(i, drawn(path_[i], i, 1, run, seed)).squaredNorm();
    }
    return sum;
  }
  // By how much B sum_k mu_k |a^k - that of expected gradients|^2 of SGD is more than that of its
  // linear response to the same sequences.
  [[nodiscard]] double more(Index batch, std::uint32_t run, std::uint64_t seed) const {
    Vector<double> noisy = path_.front();
    Vector<double> to_first_order = Vector<double>::Zero(to_end_.front().rows());
    for (std::uint64_t i = 0; i < stage_.steps; ++i) {
      to_first_order += response(i, drawn(path_[i], i, batch, run, seed));
      noisy += stage_.step * drawn(noisy, i, batch, run, seed);
    }
    const Vector<double> in_full =
        stage_.weighted_attention(noisy) - stage_.weighted_attention(path_.back());
    return static_cast<double>(batch) * (in_full.squaredNorm() - to_first_order.squaredNorm());
  }

 private:
  // The mean direction of the sequences of a step.
  [[nodiscard]] Vector<double> drawn(const Vector<double>& x, std::uint64_t i, Index batch,
                                     std::uint32_t run, std::uint64_t seed) const {
    Stream stream(seed, run, i);
    Vector<double> dx(x.size());
    stage_.sampled.sample_rhs(x, dx, stream, batch);
    return dx;
  }
  // What a step leaves at the end, to first order in its noise.
  [[nodiscard]] Vector<double> response(std::uint64_t i, const Vector<double>& direction) const {
    return stage_.step * (to_end_[i] * (direction - drift_[i]));
  }
  StageTwo stage_;
  std::vector<Vector<double>> path_{stage_.sampled.initial()};  // the end as well
  std::vector<Vector<double>> drift_;
  std::vector<Matrix<double>> to_end_;
};

// Means over runs of what a run gives.
Quantity mean_over_runs(const Responses& responses, std::uint32_t usual_runs,
                        const Setting& setting,
                        const std::function<double(const Responses&, std::uint32_t run)>& of_run) {
  Matrix<double> found(setting.draws(usual_runs), 1);
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
#pragma omp parallel num_threads(jobs)
  {
    const Responses own = responses;  // with scratch space of its own
#pragma omp for schedule(dynamic, 1)
    for (Index run = 0; run < found.rows(); ++run) {
      if (!stop_asked()) found(run, 0) = of_run(own, static_cast<std::uint32_t>(run));
    }
  }
  throw_if_stopped();
  return sample_moments(found, setting.false_alarm / 4).mean.front();
}

// About the steps on expected gradients, x, the covariance of a state goes as
//   C <- (I + eta J(x)) C (I + eta J(x))' + eta^2/B Sigma(x),
// Sigma the covariance of one sample (exact). Positions off the support of a token are alike, so C is
// kept for V, supports and means of the rest, and with it the variance about these means. Leading
// order in 1/B. Derived here.
double StageTwo::derived(bool of_start) const {
  const Index n = b.tokens();
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
  const Index kept = lift.cols();
  const Vector<double> count = lift.colwise().squaredNorm();  // positions
  const Matrix<double> mean = lift * count.cwiseInverse().asDiagonal();
  Matrix<double> vectors = Matrix<double>::Zero(lift.rows(), kept + n);
  vectors.leftCols(kept) = mean;
  for (Index k = 0; k < n; ++k) vectors(row[n * n + b.entries() + k], kept + k) = 1;
  Matrix<double> covariance_of_means = Matrix<double>::Zero(kept, kept);
  Vector<double> about_means = Vector<double>::Zero(n);
  Vector<double> x = sampled.initial();
  Matrix<double> images;
  for (std::uint64_t i = 0; i < steps; ++i) {
    throw_if_stopped();
    Matrix<double> growth = Matrix<double>::Identity(kept, kept);
    for (Index j = 0; j < kept; ++j)
      growth.col(j) += step * mean.transpose() * moved(x, lift.col(j));
    if (i == 0 || !of_start) sampled.draw_covariance(x, vectors, images);
    const Matrix<double> noise = mean.transpose() * images.leftCols(kept);
    covariance_of_means = growth * covariance_of_means * growth.transpose() + step * step * noise;
    for (Index k = 0; k < n; ++k) {
      const Index j = kept - n + k;
      // Rest positions differ in no other way than against their mean: any other column of the rest
      // with the opposite sign would do.
      const Vector<double> own = vectors.col(kept + k) - mean.col(j);
      const double decay = moved(x, own).dot(own) / own.squaredNorm();
      about_means[k] = std::pow(1 + step * decay, 2) * about_means[k] +
                       step * step * count[j] * (images(row[j], kept + k) - noise(j, j));
    }
    x += step * drift(x);
  }
  // What moves of attention as the columns do: softmax(w) by J = diag(a) - a a'.
  const auto token = [&](Index j) { return (row[j] - n * n) / b.context; };
  Matrix<double> by = Matrix<double>::Identity(kept, kept);
  Vector<double> a = Vector<double>::Zero(kept), weight = a;
  for (Index i = n * n; i < kept; ++i) {
    a[i] = sampled.attention(x, token(i))[(row[i] - n * n) % b.context];
    weight[i] = b.stationary[token(i)] * count[i];
  }
  for (Index i = n * n; i < kept && softmax; ++i) {
    for (Index j = n * n; j < kept; ++j) {
      if (token(i) == token(j)) by(i, j) = a[i] * ((i == j ? 1 : 0) - count[j] * a[j]);
    }
  }
  double sum = weight.dot((by * covariance_of_means * by.transpose()).diagonal());
  for (Index k = 0; k < n; ++k) {
    const double scale = softmax ? a[kept - n + k] : 1;
    sum += b.stationary[k] * scale * scale * about_means[k];
  }
  return sum;
}

void judge_growth(const Bigrams<double>& b, double step, Examination& it) {
  std::map<std::pair<bool, Index>, double> found;
  const auto noise = [&](bool softmax, double part) -> Quantity {
    const Index context = std::lround(static_cast<double>(b.context) / part);
    const auto [at, is_new] = found.try_emplace({softmax, context});
    if (is_new) at->second = StageTwo{lengthened(b, context), softmax, step}.derived();
    return at->second;
  };
  const auto of = [&](bool softmax) {
    return [&noise, softmax](double part) { return noise(softmax, part); };
  };
  it.judge(powers, equal("exponent of `T` in the noise that stage 2 leaves")
                       .add("softmax", -order_of(of(true), 1, 4, 3), 0)
                       .add("plain", -order_of(of(false), 1, 4, 3), 1)
                       .in_units_of(1)
                       .unless(exponent, std::vector<Quantity>{0.15, 0.85})
                       .against(other_rate, std::vector<Quantity>{1, 1}));
  const auto change = [&](double part) {
    const Quantity by = noise(true, part) - noise(true, part / 4);
    return by.value() < 0 ? -by : by;
  };
  it.judge(powers, equal("order in `1/T` of what softmax misses its constant by",
                         order_of(change, 1, 4, 3), 1)
                       .unless(exponent, times(0.85))
                       .against(logarithm, 0));
}

// Of softmax attention: the limit B -> oo at two lengths, SGD at the shorter.
void judge_runs(const Bigrams<double>& b, double share, const Setting& setting, Examination& it) {
  Comparison noise = equal("noise that stage 2 of softmax leaves on sequences, times `B`");
  std::vector<Quantity> frozen;
  const std::uint64_t seed = setting.draw_seed();
  for (const Index longer : {1, 2}) {
    const StageTwo stage{lengthened(b, longer * b.context), true, setting.value(step_knob)};
    const double derived = stage.derived();
    const Responses responses(stage);
    const Quantity linear = mean_over_runs(
        responses, 15'000, setting,
        [&](const Responses& own, std::uint32_t run) { return own.linear(run, seed); });
    noise.add(fmt::format("`T = {}`, large `B`", stage.b.context), linear, derived);
    frozen.emplace_back(stage.derived(true));
    if (longer > 1) continue;
    const auto batch = static_cast<Index>(std::ceil(derived / (share * context_size(b))));
    const Quantity more =
        mean_over_runs(responses, 240, setting, [&](const Responses& own, std::uint32_t run) {
          return own.more(batch, (1U << 24U) + run, seed);
        });
    Quantity of_runs = linear + more;
    of_runs.add(ErrorPart::next_order(more.value()));
    noise.add(fmt::format("`T = {}`, `B = {}`", stage.b.context, batch), of_runs, derived);
    frozen.emplace_back(frozen.back());
    it.report("share by which SGD has more than its linear response", more.value() / derived,
              fmt::format("`B = {}`", batch));
  }
  const double plain =
      StageTwo{lengthened(b, 2 * b.context), false, setting.value(step_knob)}.derived() /
      StageTwo{b, false, setting.value(step_knob)}.derived();
  std::vector<Quantity> at_other_rate(3, noise.measured.front());
  at_other_rate[2] = at_other_rate[2] * Quantity(plain);
  it.judge(on_sequences, noise.of_kind(EvidenceKind::statistical)
                             .unless(start_noise, frozen)
                             .unless(larger, times(1.1))
                             .against(other_rate, at_other_rate));
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
  it.require(small_noise, 0.01 - share, fmt::format("`X/B = {:.3g} K_Q`", share));
  const double rarest = static_cast<double>(b.tokens()) * b.stationary.minCoeff();
  if (!it.require(even_tokens, rarest - 0.5, fmt::format("`N mu_k = {:.3g}`", rarest))) return;
  judge_growth(b, setting.value(step_knob), it);
  judge_runs(bigrams_at(sampled_length), share, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::softmax_stage
