// Theorem    topic.stage2-optimum
// Status     derived here
// Source     stage 2 of Li, Li, Risteski, arXiv 2303.04245, Section 5/6
// Statement  attention restricted to logits (ln alpha, ln beta, 0) and trained on the frozen
//            minimum-norm W_V ends at the certified optimum g* of g = alpha + (v - 1) beta, at the
//            rate
//              L''(g*) g*^2/(T v^2);
//            free W_K and W_Q, started alike on all words, end lower, at the least loss over g and
//            the weight of the [MASK] key
// Hypotheses H1 a = 1 - (1 - p_c) p_m > 0, without which there is no W_V of least norm; H2 stage 1
//            has ended: W_V of least norm; H3 squared loss; H4 several topics a document: of one,
//            uniform attention is best already
// Check      loss and g at the end of the block-reduced flow against the certificate, and its last
//            rate; loss and weight of [MASK] at the end of the symmetric flow on the same W_V
// Controls   g* a tenth farther from uniform attention; an optimum a tenth deeper; the rate 10 %
//            larger; a gain by [MASK] 10 % larger; its weight 10 % larger
// Uses       rungs block-reduced, symmetric; certified minimum

#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/second_stage.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks::stage2_optimum {
namespace {

constexpr Knob absent = absent_knob(1, 2, 2);
constexpr Knob active = active_knob(2, 4, 2);
constexpr Knob words = words_knob(2, 4, 3);
constexpr Knob some_masked = masking_knob(0.05, 0.5);
constexpr Knob some_kept = keeping_knob(0.03, 0.5);
constexpr Knob some_replaced = replacing_knob(0.01, 0.4);
constexpr Knob start_size =
    logarithmic_knob("start", "deviation of the entries of W_K and W_Q at first", 0.001, 0.1, 0.01);
constexpr Knob deviation = value_deviation_knob("stage 1 has ended");

constexpr const char* kept_text = "a = 1 - (1 - p_c) p_m > 0";
constexpr const char* several_text = "several topics a document";

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
  const auto far = Rational(static_cast<int>(std::ceil(4 * p.restricted.sum)));
  const Certificate found = certify_minimum(law, landscape(law, minimum_norm_value(law)),
                                            {Rational(0), far, Rational(0), far}, tolerance);
  const auto enclosed = [](const Rational& low, const Rational& high) {
    return Quantity(to_double(Rational((low + high) / 2)),
                    {ErrorPart::enclosure(to_double(Rational((high - low) / 2)))});
  };
  p.loss = enclosed(found.lower, found.upper);
  p.sum = enclosed(found.minimisers.alpha_low, found.minimisers.alpha_high);
  const auto v = static_cast<double>(law.words);
  const double weight = p.restricted.sum / v;  // on each word of the topic
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
  it.require_positive(kept_text, to_double(law.kept()), fmt::format("a = {}", to_text(law.kept())));
  it.require(several_text, static_cast<double>(law.active - 2),
             fmt::format("tau = {}", law.active));
  if (!(law.kept() > 0) || law.active < 2) return;
  const TopicLaw<double> close = rounded(law);
  const BlockValue<double> value =
      deviating(minimum_norm_value(close), setting.value(deviation), setting.seed);
  it.require("stage 1 has ended", -setting.value(deviation),
             fmt::format("W_V off by {:.3g} of its largest entry", setting.value(deviation)));
  const Predicted claimed = predict(law);
  const auto v = static_cast<double>(law.words);
  const double depth = claimed.uniform - claimed.restricted.loss;
  const RestrictedEnd end = restricted_end(close, value, claimed.restricted.sum);
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "loss at the end of the restricted flow",
                      .measured = {end.loss},
                      .predicted = {claimed.loss},
                      .scale = {depth},
                      .mistakes = {predicts("deeper", claimed.uniform - 1.1 * depth)}});
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "g at its end",
                      .measured = {end.sum},
                      .predicted = {claimed.sum},
                      .scale = {claimed.restricted.sum - v},
                      .mistakes = {predicts("farther", v + 1.1 * (claimed.restricted.sum - v))}});
  it.judge(Comparison{.what = "rate at which g comes to its end",
                      .measured = {end.rate},
                      .predicted = {claimed.rate},
                      .mistakes = {predicts_times("rate", 1.1)}});
  const double gain = claimed.restricted.loss - claimed.free.loss;
  const FreeEnd free = free_end(close, value, setting.value(start_size), gain / 1000);
  it.judge(Comparison{.what = "loss by which free W_K and W_Q end lower",
                      .measured = {Quantity(claimed.restricted.loss) - free.loss},
                      .predicted = {gain},
                      .mistakes = {predicts_times("gain", 1.1)}});
  it.judge(Comparison{.what = "weight of the [MASK] key at their end",
                      .measured = {free.mask},
                      .predicted = {claimed.free.mask},
                      .mistakes = {predicts_times("mask-weight", 1.1)}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.stage2-optimum",
          .claim =
              "stage 2, restricted to (alpha, beta), ends at the certified optimum; free it "
              "ends lower, by the weight of [MASK]",
          .paper = "arXiv 2303.04245, Section 5/6",
          .status = "derived here",
          .hypotheses = {kept_text, "stage 1 has ended",
                         by_construction("squared loss", "all flows here are of that loss"),
                         several_text},
          .reaches = {EvidenceKind::certified, EvidenceKind::numerical},
          .controls = {{"deeper", "an optimum a tenth deeper below uniform attention"},
                       {"farther", "g* a tenth farther from uniform attention"},
                       {"rate", "the last rate 10 % larger"},
                       {"gain", "a gain by [MASK] 10 % larger"},
                       {"mask-weight", "a weight of [MASK] 10 % larger"}},
          .knobs = {absent, active, words, some_masked, some_kept, some_replaced, start_size,
                    deviation},
          .reads = "block-reduced",
          .examine = examine};
}

}  // namespace popgrad::topic::checks::stage2_optimum
