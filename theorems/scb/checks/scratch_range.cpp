#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/context_range.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::scratch_range {
namespace {

Statement sheet{.id = "scb.scratch-range",
                .paper = "arXiv 2410.23438, replies to the reviewers",
                .status = "conjectured in source, exponents derived here",
                .about = "SGD with Gaussian noise",
                .theorem = R"(
From scratch the sample size is not a power of Q only: with q^k even on Q positions and Gaussian
noise that scales as SGD's, the batch at which a run leaves 0 along the right branch with a given
probability Phi(z) is, at a fixed eta, to leading order
  B = z^2 eta T rate W_V/(2 K_P K_Q),
1 in T at every Q and -1/2 in Q: rate = sqrt(K_P K_Q) falls, and W_V/K_Q hardly depends on Q.
(W_V as in scb.two-stages.))",
                .hypotheses = {long_context},
                .reaches = {EvidenceKind::statistical},
                .false_version = "no-range",
                .knobs = {range_vocabulary, range_length, short_range_length, least_range}};

const Clause right_branch = sheet.clause(
    "from scratch runs with Gaussian noise take the right branch at a batch as "
    "`T rate W_V/(K_P K_Q)`, as `Q` or `T` grows");

const Clause found = sheet.not_checked("on sequences, and what finding the supports takes besides");

const Hypothesis one_law = sheet.assume(
    by_construction("`P` and `eta` fixed while `Q` and `T` grow", "one seed and step"));

const Control no_length = sheet.control("no-length", "a batch independent of `T`");
const Control longer_power = sheet.control("length", "`T^1.2`");

const Rival no_range =
    sheet.rival("no-range", "the batch depends on `T` only, and not on `Q`", "a factor");

const Knob step_knob = sheet.knob(logarithmic_knob(
    "step", "learning rate eta times the growth rate, at the least Q", 0.2, 0.4, 0.3));
const Knob argument_knob = sheet.knob(linear_knob(
    "argument", "z, where Phi(z) is the share of runs on the right branch", 1, 1.6, 1.2));

constexpr double longer = 1000;  // times, of the longer context

void examine(const Setting& setting, Examination& it) {
  require_long_context(setting, it);
  Comparison shares = equal("share of runs from scratch on the right branch");
  std::vector<Quantity> same_range;
  std::vector<Quantity> same_length;
  std::vector<double> batches;
  double step = 0;
  const std::uint32_t runs = setting.draws(400);
  std::uint32_t first_run = 0;
  const auto add = [&](const Training<double>& training, double wrong_Q, double wrong_T) {
    Branching made{training, levels_of_shape(training.bigrams, NoiseShape::multiplicative), 1};
    if (step == 0) step = setting.value(step_knob) / made.rate();
    made.step = step;
    // Noise counts over B only, whose rounding must not.
    constexpr double louder = 30;
    made.levels.value *= louder;
    made.levels.attention *= louder;
    const double batch = std::round(made.batch(setting.value(argument_knob)));
    batches.push_back(batch);
    const Bigrams<double>& b = training.bigrams;
    const double z = made.argument(batch);
    shares.add(fmt::format("`Q = {}`, `T = {}`, `B = {:.4g}`", b.support(0), b.context, batch),
               made.right_share(batch, runs, first_run, setting), normal_share(z));
    first_run += runs;
    same_range.emplace_back(normal_share(z * std::sqrt(wrong_Q > 0 ? batch / wrong_Q : 1.0)));
    same_length.emplace_back(normal_share(z * std::sqrt(wrong_T > 0 ? batch / wrong_T : 1.0)));
  };
  for (const int ratio : range_growth) {
    add(ranged_training(setting, ratio), batches.empty() ? 0.0 : batches.front(), 0);
  }
  Training<double> longest = ranged_training(setting, range_growth.back());
  longest.bigrams.context = std::lround(longer * static_cast<double>(longest.bigrams.context));
  add(longest, 0, batches[2]);
  std::vector<Quantity> smaller_share = shares.predicted;
  smaller_share.back() =
      normal_share(setting.value(argument_knob) * std::pow(longer, -0.1));  // z goes with sqrt(B)
  report_exponent(batches, it);
  it.report("exponent of `T` in the batch, at the largest `Q`",
            std::log(batches[3] / batches[2]) / std::log(longer));
  it.judge(right_branch, shares.of_kind(EvidenceKind::statistical)
                             .unless(no_length, same_length)
                             .unless(longer_power, smaller_share)
                             .against(no_range, same_range));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::scratch_range
