// Theorem    scb.lumping
// Status     derived here
// Source     noise model of Ren, Wang, Lee, arXiv 2410.23438, Section 5
// Statement  support values, mean m and centred norm r of the rest follow the law of dense noisy
//            descent without its T coordinates: whatever the rest is like, one dense step of size
//            eta depends on it by m and r alone,
//              support  a_t <- a_t + eta (field) + s (z_t - zbar)
//              rest     m <- (1 - sum of the support)/n, r^2 <- (rho r + s g)^2 + s^2 chi^2(n - 2);
//            so do the numbers, sums and squares of what is above and below zero in the l1 stage
// Hypotheses H1 q^k vanishes off its support; H2 Gaussian noise, projected: its mean over positions
//            is taken off before the l1 stage
// Check      covariance of support and mean after one step in rationals; means and variances over
//            one dense and one lumped step from one state, and over short runs of both into the l1
//            stage
// Controls   n - 1 degrees of freedom in place of n - 2; the mean over positions not taken off; m
//            with a draw of its own; an l1 weight 10 % larger; zeros that leave upwards only
// Uses       rungs noisy, noisy-lumped

#include "theorems/scb/checks/l1_features.hpp"
#include "theorems/scb/checks/lumped_covariance.hpp"
#include "theorems/scb/checks/lumped_samples.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"

namespace popgrad::scb::checks::lumping {
namespace {

enum class Slip { none, degrees_of_freedom, independent_mean };

void derive(Examination& it) {
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "covariance of support and mean after one step, Q = 3, T = 50",
                    .holds = [] { return one_step_covariance(true); },
                    .mistakes = {{"no-mean", [] { return one_step_covariance(false); }}}});
}

// A lumped step with a slip in it.
Vector<double> lumped_step(const Pair& pair, const LumpedDescent& rung, const Vector<double>& from,
                           std::uint32_t run, Slip slip) {
  const Bigrams<double>& b = pair.training.bigrams;
  Stream stream(pair.sample_seed, run, 1);
  Vector<double> y = from;
  rung.sample_step(y, pair.step, stream, pair.batch);
  Vector<double> other = from;
  if (slip == Slip::independent_mean) rung.sample_step(other, pair.step, stream, pair.batch);
  for (Index k = 0; k < b.tokens() && slip != Slip::none; ++k) {
    const Index begin = rung.begin_of(k);
    const Index count = b.support(k);
    double& r = y[begin + count + 1];
    if (slip == Slip::independent_mean) y[begin + count] = other[begin + count];
    if (slip == Slip::degrees_of_freedom) r = std::hypot(r, pair.noise(from, k) * stream.normal());
  }
  return y;
}

// At most, of a sum over a row of attention.
double terms_of(const Pair& pair) { return static_cast<double>(pair.training.bigrams.context); }

// One step of both from a state whose rest has spread.
void judge_step(const Pair& pair, Examination& it) {
  const Bigrams<double>& b = pair.training.bigrams;
  const NoisyDescent dense(pair.leaking, pair.levels);
  const LumpedDescent lumped(pair.training, pair.levels);
  Vector<double> x = dense.initial();
  Stream before(pair.seed, 0, 0);
  dense.sample_step(x, pair.step, before, pair.batch);
  const Vector<double> from = lump(b, x);
  const Matrix<double> ends = sample(pair.draws, [&](std::uint32_t i) {
    Stream stream(pair.sample_seed, 1 + i, 0);
    Vector<double> end = x;
    dense.sample_step(end, pair.step, stream, pair.batch);
    return boost_features(b, lump(b, end));
  });
  const auto predicted = [&](Slip slip) {
    const Matrix<double> steps = sample(pair.draws, [&](std::uint32_t i) {
      return boost_features(b, lumped_step(pair, lumped, from, 1 + i, slip));
    });
    return moments_of(steps, true, terms_of(pair), pair.false_alarm);
  };
  const auto fewer_removed = [&](const auto&) { return predicted(Slip::degrees_of_freedom); };
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "means and variances after one step",
                      .measured = moments_of(ends, true, terms_of(pair), pair.false_alarm),
                      .predicted = predicted(Slip::none),
                      .scale = spreads_of(ends, true),
                      .mistakes = {{"degrees-of-freedom", fewer_removed, {}}},
                      .detail = fmt::format("{} draws of each", pair.draws)});
  // The sum over all positions, which every dense step keeps at 1.
  const auto masses = [&](Slip slip) {
    return masses_of(b, lumped_step(pair, lumped, from, 1, slip));
  };
  it.judge(Comparison{
      .what = "sum of the attention of a token after a lumped step",
      .measured = masses(Slip::none),
      .predicted = {1.0},
      .mistakes = {measures("independent-mean", [&] { return masses(Slip::independent_mean); })}});
}

// From the start through the threshold and one step of the l1 stage.
void judge_l1(const Pair& pair, Examination& it) {
  const Matrix<double> ends = dense_l1_ends(pair);
  const auto predicted = [&](double factor, bool one_sided) {
    return moments_of(lumped_l1_ends(pair, factor, one_sided), false, terms_of(pair),
                      pair.false_alarm);
  };
  it.judge(
      Comparison{.kind = EvidenceKind::statistical,
                 .what = "means in the l1 stage",
                 .measured = moments_of(ends, false, terms_of(pair), pair.false_alarm),
                 .predicted = predicted(1, false),
                 .scale = spreads_of(ends, false),
                 .mistakes = {{"l1-weight", [&](const auto&) { return predicted(1.1, false); }, {}},
                              {"one-sided", [&](const auto&) { return predicted(1, true); }, {}}},
                 .places = {"V_0_0", "support", "number above 0", "number below 0", "sum above 0",
                            "sum below 0", "squares"}});
}

void examine(const Setting& setting, Examination& it) {
  const Pair pair = drawn_pair(setting);
  it.parameters = {{"T", pair.training.bigrams.context}, {"eta", pair.step}, {"seed", pair.seed}};
  it.require("q vanishes off its support", 0 - setting.value(leak),
             fmt::format("a weight {:.3g} off it", setting.value(leak)));
  judge_step(pair, it);
  judge_l1(pair, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.lumping",
          .claim = "noisy descent keeps its law when T positions are lumped into Q + 2 numbers",
          .paper = "arXiv 2410.23438, Section 5",
          .status = "derived here",
          .hypotheses = {"q vanishes off its support",
                         by_construction("Gaussian noise, projected", "both rungs draw it so")},
          .reaches = {EvidenceKind::exact, EvidenceKind::statistical, EvidenceKind::numerical},
          .controls = {{"degrees-of-freedom", "n - 1 degrees of freedom in place of n - 2"},
                       {"no-mean", "the mean over positions not taken off"},
                       {"independent-mean", "m with a draw of its own"},
                       {"l1-weight", "an l1 weight 10 % larger"},
                       {"one-sided", "zeros of the l1 stage leave upwards only"}},
          .knobs = {l1_length, support_knob, step_size, batch_size, l1_weight_knob, leak},
          .reads = "flow",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scb::checks::lumping
