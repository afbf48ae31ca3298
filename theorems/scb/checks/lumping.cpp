#include <numeric>

#include "popgrad/scalars/rational.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::checks::lumping {
namespace {

Statement sheet{
    .id = "scb.lumping",
    .paper = "arXiv 2410.23438, Section 5",
    .status = "derived here",
    .about = "SGD with Gaussian noise",
    .theorem = R"(
Of the attention a of a token, the values on its support, the mean m and the centred norm r of the
n others follow the law of dense noisy descent without its T coordinates: however the others are
spread, one dense step of size eta depends on them by m and r only,
  support  a_t <- a_t + eta (field) + s (z_t - zbar)
  rest     m <- (1 - sum of the support)/n,  r^2 <- (rho r + s g)^2 + s^2 chi^2(n - 2)
where s is the noise of a step in one position, rho = 1 - eta <V,V>, z_t and g are standard
normal numbers and zbar is the mean of z over all T positions. In the l1 stage the numbers, sums
and squares of what is above and below zero follow the law of the dense descent as well.
The noise is that of Section 5, projected: its mean over positions is taken off before the l1
stage.)",
    .reaches = {EvidenceKind::exact, EvidenceKind::statistical, EvidenceKind::numerical},
    .no_rival = "an exact reduction: numbers of one system against those of the other",
    .false_version = "degrees-of-freedom",
    .reads = "flow"};

const Clause step_moments =
    sheet.clause("`Q + 2` numbers for `T` positions keep means and variances of a noisy step");
const Clause kept_sum = sheet.clause("the sum of attention");
const Clause l1_means = sheet.clause("means in the `l1` stage");
[[maybe_unused]] const Clause whole_law = sheet.not_checked("the law");

const Hypothesis supported = sheet.assume("`q` vanishes off its support");
const Hypothesis gaussian =
    sheet.assume(by_construction("Gaussian noise, projected", "both rungs draw it so"));

const Control more_freedom =
    sheet.control("degrees-of-freedom", "`n - 1` degrees of freedom in place of `n - 2`");
const Control no_mean = sheet.control("no-mean", "the mean over positions not taken off");
const Control own_mean = sheet.control("independent-mean", "`m` with a draw of its own");
const Control larger_weight = sheet.control("l1-weight", "an `l1` weight 10 % larger");
const Control upwards = sheet.control("one-sided", "zeros of the `l1` stage leave upwards only");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 20, 50, 40));
const Knob positions = sheet.knob(support_knob);
const Knob step_knob =
    sheet.knob(logarithmic_knob("step-size", "learning rates of both parts", 0.02, 0.3, 0.2));
const Knob batch_knob =
    sheet.knob(logarithmic_knob("batch-size", "sequences B of a step", 4, 256, 8));
const Knob weight_knob = sheet.knob(logarithmic_knob(
    "l1-weight", "weight lambda of the l1 norm over sigma_A/sqrt(B)", 0.3, 1.5, 1));
const Knob leak = sheet.knob(
    logarithmic_knob("leak", "weight that one token, drawn, gives to a position off the support",
                     1e-4, 0.9, 0)
        .breaking(supported));

// Covariance of the support and the mean m of the rest after one step, in units of s^2, against
// that of normals less their mean over T positions, at Q = 3, T = 50:
//   support with itself  1 - 1/T
//   m with itself        1/n - 1/T
//   two different ones   -1/T
Truth one_step_covariance(bool mean_taken_off) {
  using T = Rational;
  const T context(50), rest(47);
  // Column j: what the unit draw j does to support and mean; the last draw is rest_sum, N(0, n).
  Matrix<T> effect(4, 4);
  for (Index j = 0; j < 4; ++j) {
    Vector<T> z = Vector<T>::Constant(3, T(0));
    if (j < 3) z[j] = T(1);
    if (mean_taken_off) take_off_mean(z, T(j == 3 ? 1 : 0), context);
    effect.col(j) << z, -T(z.sum() / rest);
  }
  Vector<T> variance = Vector<T>::Constant(4, T(1));
  variance[3] = rest;
  Vector<T> own = variance;
  own[3] = T(1) / rest;
  const Matrix<T> shared = Matrix<T>::Constant(4, 4, -T(1) / context);
  const Matrix<T> covariance = effect * variance.asDiagonal() * effect.transpose();
  return covariance == shared + Matrix<T>(own.asDiagonal()) ? Truth::yes : Truth::no;
}

void prove(Examination& it) {
  it.judge(step_moments,
           identity("covariance of support and mean after one step, `Q = 3`, `T = 50`",
                    [] { return one_step_covariance(true); })
               .of_kind(EvidenceKind::exact)
               .unless(no_mean, [] { return one_step_covariance(false); }));
}

// Calls `on` with the attention of a token in a dense state on the support of its q, `off` off it.
template <class On, class Off>
void split(const Bigrams<double>& b, const Vector<double>& x, Index k, On on, Off off) {
  const auto begin = b.position.begin() + b.first[static_cast<std::size_t>(k)];
  for (Index t = 0; t < b.context; ++t) {
    const double a = x[b.tokens() * b.tokens() + k * b.context + t];
    std::binary_search(begin, begin + b.support(k), t) ? on(a) : off(a);
  }
}

// Both descents of one training and the steps that they take.
struct Pair {
  explicit Pair(const Setting& own_setting) : setting(own_setting) {
    const double weight = setting.value(leak);
    Stream stream(setting.seed, 0, 0);
    const std::uint32_t token = stream.index(static_cast<std::uint32_t>(b.tokens()));
    if (weight > 0) add_position(leaking.bigrams, token, weight);
  }
  const Setting& setting;
  Training<double> training = examined_training(setting, [this] {
    Training<double> drawn;
    drawn.bigrams =
        random_bigrams(3, setting.count(length), setting.count(positions), setting.seed);
    drawn.start = transfer_start(drawn.bigrams, 1.0, 0.8, setting.seed);
    return drawn;
  });
  Training<double> leaking = training;  // what the dense descent sees
  Bigrams<double> b = training.bigrams;
  NoiseLevels levels = noise_at_solution(b);
  double step = setting.value(step_knob);
  Index batch = setting.count(batch_knob);
  // Long contexts take as long, with fewer draws.
  double most_draws = 3e7 / static_cast<double>(b.tokens() * b.context);
  std::uint32_t draws =
      std::max(100U, std::min(setting.draws(60'000), static_cast<std::uint32_t>(most_draws)));

  template <class Rung>
  [[nodiscard]] Vector<double> after_step(const Rung& rung, Vector<double> x,
                                          Stream& stream) const {
    rung.sample_step(x, step, stream, batch);
    return x;
  }

  // Of numbers that `draw(i)` gives, sums over at most T positions: means, then variances if asked for,
  // and what mistakes in them are relative to, standard deviations and variances.
  struct Moments {
    std::vector<Quantity> numbers;
    std::vector<double> spreads;
  };
  template <class Draw>
  [[nodiscard]] Moments moments(std::uint32_t count, bool variances, Draw draw) const {
    Matrix<double> samples;
    for (std::uint32_t i = 0; i < count; ++i) {
      throw_if_stopped();
      const Vector<double> numbers = draw(i);
      if (i == 0) samples.resize(count, numbers.size());
      samples.row(i) = numbers;
    }
    const auto terms = static_cast<double>(b.context);
    auto [mean, variance] = sample_moments(samples, setting.false_alarm / 4);  // four samples
    Moments found;
    for (std::size_t place = 0; place < mean.size(); ++place) {
      const double largest = samples.col(static_cast<Index>(place)).cwiseAbs().maxCoeff();
      const ErrorPart rounding = ErrorPart::rounding(terms, largest);
      const double deviation = std::sqrt(variance[place].value());
      mean[place].add(rounding);
      variance[place].add(ErrorPart::rounding(terms, (2 * deviation + rounding.size()) * largest));
      found.spreads.push_back(deviation);
    }
    found.numbers = mean;
    for (std::size_t place = 0; place < mean.size() && variances; ++place) {
      found.numbers.push_back(variance[place]);
      found.spreads.push_back(variance[place].value());
    }
    return found;
  }
};

// The state of the rung noisy-lumped that a dense one is lumped to.
Vector<double> lump(const Bigrams<double>& b, const Vector<double>& x) {
  std::vector<double> y(x.begin(), x.begin() + b.tokens() * b.tokens());
  for (Index k = 0; k < b.tokens(); ++k) {
    std::vector<double> off;
    split(
        b, x, k, [&](double a) { y.push_back(a); }, [&](double a) { off.push_back(a); });
    const double sum = std::accumulate(off.begin(), off.end(), 0.0);
    // As the rung has it where all positions count.
    const double mean = off.empty() ? 0.0 : sum / static_cast<double>(off.size());
    double squares = 0;  // of differences: those of attention that is spread evenly are 0
    for (const double a : off) squares += (a - mean) * (a - mean);
    y.insert(y.end(), {mean, std::sqrt(squares)});
  }
  return Eigen::Map<const Vector<double>>(y.data(), std::ssize(y));
}

// One step of both from a state whose rest has spread.
void judge_step(const Pair& pair, Examination& it) {
  const Bigrams<double>& b = pair.b;
  const Index n = b.tokens();
  const NoisyDescent dense(pair.leaking, pair.levels);
  const LumpedDescent lumped(pair.training, pair.levels);
  const std::uint64_t seed = pair.setting.draw_seed();
  Stream before(pair.setting.seed, 0, 0);
  const Vector<double> x = pair.after_step(dense, dense.initial(), before);
  const Vector<double> from = lump(b, x);
  const auto rest_of = [&](Index k) { return lumped.begin_of(k) + b.support(k); };  // m, then r
  // Of a lumped state: one entry of V, and of every token the first value on the support, the sum
  // of these, and r^2.
  const auto step_numbers = [&](const Vector<double>& y) {
    Vector<double> numbers(1 + 3 * n);
    numbers[0] = y[0];
    for (Index k = 0; k < n; ++k) {
      const auto support = y.segment(lumped.begin_of(k), b.support(k));
      const double r = y[rest_of(k) + 1];
      numbers.segment(1 + 3 * k, 3) << support[0], support.sum(), r * r;
    }
    return numbers;
  };
  const Matrix<double> v = from.head(n * n).reshaped(n, n);
  const double share = covariance_product(v, v, b.stationary) / transition_size(b);
  const Vector<double> noise = pair.step * pair.training.attention_rate * pair.levels.attention *
                               std::sqrt(std::max(0.0, share) / static_cast<double>(pair.batch));
  const auto predicted = [&](bool one_more_normal) {
    const auto numbers_of = [&](std::uint32_t i) {
      Stream stream(seed, 1 + i, 1);
      Vector<double> y = pair.after_step(lumped, from, stream);
      for (Index k = 0; k < n && one_more_normal; ++k) {
        double& r = y[rest_of(k) + 1];
        r = std::hypot(r, noise[k] * stream.normal());
      }
      return step_numbers(y);
    };
    return pair.moments(pair.draws, true, numbers_of).numbers;
  };
  const auto [measured, spreads] = pair.moments(pair.draws, true, [&](std::uint32_t i) {
    Stream stream(seed, 1 + i, 0);
    return step_numbers(lump(b, pair.after_step(dense, x, stream)));
  });
  it.judge(step_moments, equal("means and variances after one step", measured, predicted(false))
                             .of_kind(EvidenceKind::statistical)
                             .in_units_of(spreads)
                             .with(fmt::format("{} draws of each", pair.draws))
                             .unless(more_freedom, instead([&] { return predicted(true); })));
  // Over all positions, of every token; every dense step keeps it at 1.
  const auto sums = [&](bool independent) {
    Stream stream(seed, 1, 1);
    const Vector<double> y = pair.after_step(lumped, from, stream);
    const Vector<double> means = independent ? pair.after_step(lumped, from, stream) : y;
    std::vector<Quantity> found;
    for (Index k = 0; k < n; ++k) {
      const double support = y.segment(lumped.begin_of(k), b.support(k)).sum();
      found.push_back({support + static_cast<double>(b.context - b.support(k)) * means[rest_of(k)],
                       {ErrorPart::rounding(static_cast<double>(b.context), 1)}});
    }
    return found;
  };
  it.judge(kept_sum, equal("sum of the attention of a token after a lumped step", sums(false), 1)
                         .unless(own_mean, [&] { return sums(true); }));
}

// From the start through the threshold, which some of the rest survives by chance, and one step of
// the l1 stage.
void judge_l1(const Pair& pair, Examination& it) {
  const Bigrams<double>& b = pair.b;
  constexpr std::uint64_t boost_steps = 5;
  const std::uint32_t draws = pair.draws / 4;  // each is six steps long
  const double level =
      pair.levels.attention.maxCoeff() / std::sqrt(static_cast<double>(pair.batch));
  const double spread = pair.step * level * std::sqrt(static_cast<double>(boost_steps));
  const Schedule schedule{.boost_until = std::numeric_limits<double>::infinity(),
                          .boost_steps = boost_steps,
                          .threshold = 1 / static_cast<double>(b.context) + spread,
                          .l1_step = pair.step,
                          .l1_weight = pair.setting.value(weight_knob) * level};
  const auto end_of = [&](const auto& rung, std::uint32_t run) {
    Vector<double> x = rung.initial();
    for (std::uint64_t done = 0; done <= boost_steps; ++done) {
      Stream stream(pair.setting.draw_seed(), run, done);
      x = pair.after_step(rung, x, stream);
    }
    return x;
  };
  // Over all tokens: an entry of V, the sum over the supports, and of the rest the numbers above and
  // below zero, their sums, the sum of squares.
  const auto add_rest = [](Vector<double>& numbers, double a) {
    if (a == 0) return;
    const Index side = a > 0 ? 2 : 3;
    numbers[side] += 1;
    numbers[side + 2] += a;
    numbers[6] += a * a;
  };
  // One-sided: zeros have left upwards only.
  const auto predicted = [&](double factor, bool one_sided) {
    Schedule own = schedule;
    own.l1_weight *= factor;
    const LumpedThreePart lumped(pair.training, own, pair.levels);
    const auto numbers_of = [&](std::uint32_t i) {
      const Vector<double> x = end_of(lumped, (1U << 25U) + i);
      Vector<double> numbers = x[0] * Vector<double>::Unit(7, 0);
      Index at = b.tokens() * b.tokens();
      for (Index k = 0; k < b.tokens(); ++k) {
        numbers[1] += x.segment(at, b.support(k)).sum();
        at += b.support(k) + 1;  // with noise the common value behind is 0
        const auto listed = static_cast<Index>(x[at++]);
        for (const Index end = at + listed; at < end; ++at) {
          if (x[at] > 0 || !one_sided) add_rest(numbers, x[at]);
        }
      }
      return numbers;
    };
    return pair.moments(draws, false, numbers_of).numbers;
  };
  const ThreePartDescent dense(pair.leaking, schedule, pair.levels);
  const auto [measured, spreads] = pair.moments(draws, false, [&](std::uint32_t i) {
    const Vector<double> x = end_of(dense, (1U << 24U) + i);
    Vector<double> numbers = x[0] * Vector<double>::Unit(7, 0);
    const auto on = [&](double a) { numbers[1] += a; };
    const auto off = [&](double a) { add_rest(numbers, a); };
    for (Index k = 0; k < b.tokens(); ++k) split(b, x, k, on, off);
    return numbers;
  });
  it.judge(l1_means, equal("means in the `l1` stage", measured, predicted(1, false))
                         .of_kind(EvidenceKind::statistical)
                         .in_units_of(spreads)
                         .at({"`V_0_0`", "support", "number above 0", "number below 0",
                              "sum above 0", "sum below 0", "squares"})
                         .unless(larger_weight, instead([&] { return predicted(1.1, false); }))
                         .unless(upwards, instead([&] { return predicted(1, true); })));
}

void examine(const Setting& setting, Examination& it) {
  const Pair pair(setting);
  it.parameters = {{"T", pair.b.context}, {"eta", pair.step}, {"seed", setting.seed}};
  const double weight = setting.value(leak);
  it.require(supported, 0 - weight, fmt::format("a weight {:.3g} off it", weight));
  judge_step(pair, it);
  judge_l1(pair, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scb::checks::lumping
