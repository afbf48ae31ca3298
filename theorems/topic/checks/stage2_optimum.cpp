#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/second_stage.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks::stage2_optimum {
namespace {

Statement sheet{.id = "topic.stage2-optimum",
                .paper = "arXiv 2303.04245, Section 5/6",
                .status = "derived here",
                .about = "the block-reduced and the symmetric flow",
                .theorem = R"(
Attention restricted to logits (ln alpha, ln beta, 0) and trained on the frozen minimum-norm W_V ends
at the certified optimum g* of g = alpha + (v - 1) beta, at the rate
  L''(g*) g*^2/(T v^2);
free W_K and W_Q, started alike on all words, end lower, at the least loss over g and the weight of
the [MASK] key, with g away from g* as well.)",
                .reaches = {EvidenceKind::certified, EvidenceKind::numerical},
                .false_version = "only-mask",
                .reads = "block-reduced"};

const Clause certified_end =
    sheet.clause("stage 2, restricted to `(alpha, beta)`, ends at the certified optimum");
const Clause last_rate = sheet.clause("at the rate there");
const Clause lower = sheet.clause("free it ends lower");
const Clause by_mask = sheet.clause("by the weight of [MASK]");
const Clause sum_moves = sheet.clause("and a `g` for it");

const Hypothesis words_kept = sheet.assume(
    {"`a = 1 - (1 - p_c) p_m > 0`", Basis::evaluated, "else there is no `W_V` of least norm"});
const Hypothesis stage_one_ended =
    sheet.assume({"stage 1 has ended", Basis::evaluated, "`W_V` is that of least norm"});
const Hypothesis squared_loss =
    sheet.assume(by_construction("squared loss", "all flows here are of that loss"));
const Hypothesis several_topics = sheet.assume(
    {"several topics a document", Basis::evaluated, "of one, uniform attention is best already"});

const Control deeper = sheet.control("deeper", "an optimum a tenth deeper below uniform attention");
const Control farther = sheet.control(
    "farther",
    "`g` a tenth farther: from uniform attention, and of free `W_K` and `W_Q` from `g*`");
const Control larger_rate = sheet.control("rate", "the last rate 10 % larger");
const Control larger_gain = sheet.control("gain", "a gain by [MASK] 10 % larger");
const Control larger_weight =
    sheet.control("mask-weight", "a weight of [MASK] a tenth farther from 1");

const Rival only_mask = sheet.rival(
    "only-mask",
    "nothing but the weight of [MASK] moves where `W_K` and `W_Q` are free: `g` stays at `g*`",
    "the weight of [MASK]");

const Knob absent = sheet.knob(absent_knob(1, 8, 2));
const Knob active = sheet.knob(active_knob(2, 4, 2));
const Knob words = sheet.knob(words_knob(2, 10, 3));
const Knob some_masked = sheet.knob(masking_knob(0.05, 0.5));
const Knob some_kept = sheet.knob(keeping_knob(0.03, 0.5));
const Knob some_replaced = sheet.knob(replacing_knob(0.01, 0.4));
const Knob start_size = sheet.knob(logarithmic_knob(
    "start", "deviation of the entries of W_K and W_Q at first", 0.001, 0.1, 0.01));
const Knob deviation = sheet.knob(value_deviation_knob(stage_one_ended));

// What is predicted of stage 2 on the minimum-norm W_V.
struct Predicted {
  TopicAttention restricted, free;
  Quantity loss, sum;            // of the restricted optimum, as certified
  double uniform = 0, rate = 0;  // loss of uniform attention; last rate
};

Predicted predict(const TopicLaw<Rational>& law) {
  const TopicLaw<double> close = rounded(law);
  const BlockValue<double> value = minimum_norm_value(close);
  const Landscape<double> made = landscape(close, value);
  Predicted p;
  p.restricted = best_attention(close, value);
  p.free = best_with_mask(close, value);
  p.uniform = made(1, 1);
  const double depth = p.uniform - p.restricted.loss;
  // The hull of the minimisers is as wide as the root of the tolerance.
  const Rational tolerance = Rational(depth * 1e-6);
  const auto far = Rational(static_cast<int>(std::ceil(4 * p.restricted.sum.value())));
  const Certificate found = certify_minimum(law, landscape(law, minimum_norm_value(law)),
                                            {Rational(0), far, Rational(0), far}, tolerance);
  p.loss = enclosed(found.lower, found.upper);
  p.sum = enclosed(found.minimisers.alpha_low, found.minimisers.alpha_high);
  const auto v = static_cast<double>(law.words);
  const double weight = p.restricted.sum.value() / v;  // on each word of the topic
  p.rate = made.hessian(weight, weight)(0, 0) * weight * weight / static_cast<double>(law.topics);
  return p;
}

void examine(const Setting& setting, Examination& it) {
  const TopicLaw<Rational> law =
      examined_law(setting, setting.count(active) + setting.count(absent), setting.count(active),
                   setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const bool kept = it.require_positive(words_kept, to_double(law.kept()),
                                        fmt::format("`a = {}`", to_text(law.kept())));
  const bool several = it.require(several_topics, static_cast<double>(law.active - 2),
                                  fmt::format("`tau = {}`", law.active));
  if (!kept || !several) return;
  const TopicLaw<double> close = rounded(law);
  const double off = setting.value(deviation);
  const BlockValue<double> value = deviating(minimum_norm_value(close), off, setting.seed);
  it.require(stage_one_ended, -off, fmt::format("`W_V` off by {:.3g} of its largest entry", off));
  const Predicted claimed = predict(law);
  const auto v = static_cast<double>(law.words);
  const double depth = claimed.uniform - claimed.restricted.loss;
  const double best = claimed.restricted.sum.value();
  const double way = best - v;
  const RestrictedEnd end = restricted_end(close, value, best);
  it.judge(certified_end, equal("loss at the end of the restricted flow", end.loss, claimed.loss)
                              .in_units_of(depth)
                              .of_kind(EvidenceKind::certified)
                              .unless(deeper, claimed.uniform - 1.1 * depth));
  it.judge(certified_end, equal("`g` at its end", end.sum, claimed.sum)
                              .in_units_of(way)
                              .of_kind(EvidenceKind::certified)
                              .unless(farther, v + 1.1 * way));
  it.judge(last_rate, equal("rate at which `g` comes to its end", end.rate, claimed.rate)
                          .unless(larger_rate, times(1.1)));
  const double gain = claimed.restricted.loss - claimed.free.loss;
  const FreeEnd free = free_end(close, value, setting.value(start_size), gain / 1000);
  const TopicAttention masked = best_mask_at(close, value, best);
  it.judge(lower, equal("loss by which free `W_K` and `W_Q` end lower",
                        Quantity(claimed.restricted.loss) - free.loss, gain)
                      .unless(larger_gain, times(1.1))
                      .against(only_mask, claimed.restricted.loss - masked.loss));
  const double change = claimed.free.mask.value() - 1;
  it.judge(by_mask, equal("weight of the [MASK] key at their end", free.mask, claimed.free.mask)
                        .in_units_of(std::fabs(change))
                        .unless(larger_weight, 1 + 1.1 * change)
                        .against(only_mask, masked.mask));
  const double moved = claimed.free.sum.value() - best;
  it.judge(sum_moves, equal("`g` at their end", free.sum, claimed.free.sum)
                          .in_units_of(std::fabs(moved))
                          .unless(farther, best + 1.1 * moved)
                          .against(only_mask, best));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::stage2_optimum
