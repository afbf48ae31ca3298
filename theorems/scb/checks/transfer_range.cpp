#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/context_range.hpp"
#include "theorems/scb/checks/one_step.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::transfer_range {
namespace {

Statement sheet{.id = "scb.transfer-range",
                .paper = "arXiv 2410.23438, abstract and replies to the reviewers",
                .status = "claimed in source, exponent derived here",
                .about = "SGD with Gaussian noise, `V` kept",
                .theorem = R"(
The sample size of transfer is a power of Q, the range of context, not of T: with q^k even on Q
positions and V kept, one step on A and a threshold find all supports with a given probability at
a batch of, to leading order,
  B = 8 sigma_A^2 Q^2 ln T/(rho K_P)^2,
with the exponent 2 of Q (a little more: sigma_A^2 falls with |q^k|^2). The probability is that
of scb.transfer, of which this is the leading order.)",
                .hypotheses = {long_context},
                .reaches = {EvidenceKind::statistical},
                .false_version = "one-level",
                .knobs = {range_vocabulary, range_length, short_range_length, least_range}};

const Clause square = sheet.clause(
    "one step of transfer on `A` with Gaussian noise, `V` kept, finds all supports at a batch that "
    "grows as `sigma_A^2 Q^2`");

const Hypothesis noise = sheet.assume(gaussian_noise);
const Hypothesis positive =
    sheet.assume(by_construction("positive correlation", "drawn from 0.2 to 0.8"));
const Hypothesis one_law =
    sheet.assume(by_construction("`P` and `eta` fixed while `Q` grows", "one seed and step"));

const Control exponent = sheet.control("exponent", "an exponent of `Q` smaller by 0.2");
const Control one_level =
    sheet.control("one-level", "`sigma_A` of the smallest `Q` at all of them");

const Rival norm = sheet.rival(
    "norm", "the signal is the length of `q`, not its least entry: the batch grows as `Q`",
    "a factor");

const Knob correlation_knob =
    sheet.knob(linear_knob("correlation", "rho, of the transferred kernel with P", 0.2, 0.8, 0.5));
const Knob level_knob = sheet.knob(found_level);

void examine(const Setting& setting, Examination& it) {
  require_long_context(setting, it);
  const double rho = setting.value(correlation_knob);
  Comparison shares = equal("share of transferred runs that find all supports");
  std::vector<Quantity> weaker;
  std::vector<Quantity> with_first_level;
  std::vector<Quantity> as_range;
  std::vector<double> batches;
  double first_level = 0;
  for (const int ratio : range_growth) {
    Training<double> training = ranged_training(setting, ratio);
    const Bigrams<double>& b = training.bigrams;
    training.start = transfer_start(b, 0.5, rho, setting.seed);
    const NoiseLevels levels = levels_of_shape(b, NoiseShape::multiplicative);
    const double per_root = rho * transition_size(b) * b.law.minCoeff() / 2;
    batches.push_back(
        std::ceil(std::pow(scale_for(b, levels, setting.value(level_knob)) / per_root, 2)));
    const double scale = per_root * std::sqrt(batches.back());
    shares.add(fmt::format("`Q = {}`, `B = {}`", b.support(0), batches.back()),
               found_share(training, levels, FrozenSteps{}, counted(batches.back()),
                           static_cast<std::uint32_t>(ratio) << 20U, setting),
               found_probability(b, levels, scale));
    if (first_level == 0) first_level = levels.attention.norm();
    weaker.emplace_back(std::exp(log_found(b, levels, scale * std::pow(ratio, 0.1))));
    as_range.emplace_back(std::exp(
        log_found(b, levels, scale * std::sqrt(batches.back() / batches.front() / ratio))));
    with_first_level.emplace_back(
        std::exp(log_found(b, levels, scale * levels.attention.norm() / first_level)));
  }
  report_exponent(batches, it);
  it.judge(square, shares.of_kind(EvidenceKind::statistical)
                       .unless(exponent, weaker)
                       .unless(one_level, with_first_level)
                       .against(norm, as_range));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::transfer_range
