// Theorem    topic.stage2-optimum
// Status     derived here
// Source     stage 2 of Li, Li, Risteski, arXiv 2303.04245, Section 4
// Statement  attention restricted to logits (ln alpha, ln beta, 0) and trained on a frozen
//            block-wise W_V ends at the certified optimum; free W_K and W_Q end lower, as the
//            [MASK] key then gets a weight of its own
// Hypotheses H1 stage 1 has ended: W_V of least norm; H2 squared loss
// Check      block-reduced flow against the certificate, in loss and in g = alpha + (v - 1) beta;
//            W_K and W_Q trained freely from a small start on the same W_V
// Controls   a certificate of a value 1e-5 too high; g from a flow stopped after one unit
//            of its clock
// Uses       rungs block-reduced, flow; certified minimum

#include <fmt/format.h>

#include <cmath>

#include "popgrad/random.hpp"
#include "popgrad/topic/block_flow.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/attention_weights.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(3, 5, 4);
constexpr Knob active = active_knob(2, 4, 2);
constexpr Knob words = words_knob(2, 4, 3);
constexpr Knob some_masked = masking_knob(0.05, 0.5);
constexpr Knob some_kept = keeping_knob(0.03, 0.5);
constexpr Knob some_replaced = replacing_knob(0.01, 0.4);
constexpr Knob start_size{.name = "start",
                          .meaning = "deviation of the entries of W_K and W_Q at first",
                          .low = 0.001,
                          .high = 0.1,
                          .usual = 0.01,
                          .spacing = Spacing::logarithmic};
constexpr Knob deviation = value_deviation_knob("stage 1 has ended");

struct Free {
  double loss = 0, mask_weight = 0;
  double falling = 0;  // by how much the loss fell in the second half of the time
};

// W_K and W_Q trained from a small start on the minimum-norm W_V. `kicked`: and once more from
// where that ends, moved by a hundredth of its largest entry, which leaves a saddle but
// not a minimum.
Free free_end(const Setting& setting, const TopicLaw<double>& law, double end_time, bool kicked) {
  Training training;
  training.law = law;
  training.key_width = law.vocabulary();  // W_K' W_Q is of any rank
  training.scale = setting.value(start_size);
  if (setting.only_what_varies) training.seed = setting.seed;
  training.start = ValueStart::block;
  training.value = minimum_norm_value(training.law);
  training.train_value = false;
  const PopulationFlow flow(training);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  Trajectory<double> run = solve(rung, tight_request(end_time, 3));
  if (kicked) {
    Vector<double> moved = run.last_state;
    const Index weights = flow.layout().values();  // W_K and W_Q come first
    const double size = 0.01 * moved.head(weights).cwiseAbs().maxCoeff();
    Stream stream(setting.seed, 0, 1);
    for (Index i = 0; i < weights; ++i) moved[i] += size * stream.normal();
    run = solve(rung, moved, tight_request(end_time, 3));
  }
  const Effective end = effective(flow.layout(), run.last_state);
  // Weight of [MASK] over that of words of other topics, for queries that are words.
  double sum = 0;
  for (Index i = 1; i < end.logits.rows(); ++i) {
    double others = 0;
    double count = 0;
    for (Index j = 1; j < end.logits.rows(); ++j) {
      if (training.law.topic_of(i) == training.law.topic_of(j)) continue;
      others += std::exp(end.logits(j, i));
      count += 1;
    }
    sum += std::exp(end.logits(0, i)) * count / others;
  }
  return {run.rows.back()[0], sum / static_cast<double>(end.logits.rows() - 1),
          run.rows[1][0] - run.rows.back()[0]};
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  if (!makes_a_law(law, result)) return result;
  const double off_value = setting.value(deviation);
  result.hypotheses.push_back({"stage 1 has ended", off_value == 0 ? Truth::yes : Truth::no,
                               off_value == 0 ? "W_V is the minimum-norm member"
                                              : fmt::format("W_V is off by {:.3g}", off_value)});
  const auto made = landscape(law, minimum_norm_value(law));
  std::string detail;
  const Rational off = variant == "off" ? Rational(1) / 100'000 : Rational(0);
  const auto found = certified(law, made, false, off, detail);
  result.evidence.push_back(
      certificate_evidence(found.has_value(), "global minimum over (alpha, beta)", detail));
  if (!found) return result;
  const TopicLaw<double> close = rounded(law);
  // Clocks go as the rate at which attention grows.
  const auto usual_law = law_of<double>(4, 2, 3);
  const double slower = attention_rate(usual_law, 13) / attention_rate(close, close.vocabulary());
  const BlockFlow<double> flow(close, deviating(minimum_norm_value(close), off_value, setting.seed),
                               false, true);
  const double end = variant == "too-early" ? 1 : 3e6 * slower;
  const Trajectory<double> run = solve(forget_type(flow), tight_request(end, 2));
  const std::vector<double>& row = run.rows.back();
  const double g = row[8] + static_cast<double>(law.words - 1) * row[9];
  if (off_value != 0) {
    const double best = to_double(Rational(found->alpha + (law.words - 1) * found->beta));
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "g at the end of the restricted flow, relative deviation",
                                      std::fabs(g / best - 1), setting.allow(1e-3),
                                      "an equality, to what the certificate encloses"));
    return result;
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "loss at the end of the restricted flow, above the certified value",
      row[0] - to_double(found->lower), 2 * to_double(Rational(found->upper - found->lower)),
      "twice the width of the certificate", fmt::format("{:.10f}", row[0])));
  const bool inside =
      to_double(found->minimisers.alpha_low) <= g && g <= to_double(found->minimisers.alpha_high);
  result.evidence.push_back(identity(
      EvidenceKind::numerical, "g at its end lies in the certified enclosure",
      inside ? Truth::yes : Truth::no,
      fmt::format("g = {:.6f} in [{:.6f}, {:.6f}]", g, to_double(found->minimisers.alpha_low),
                  to_double(found->minimisers.alpha_high))));
  if (!variant.empty()) return result;
  // A search asks for less, and waits less: how much lower it ends depends on the law.
  const bool search = setting.only_what_varies;
  const double wait = (search ? 1e6 : 2e6) * slower;
  const double goal = to_double(found->lower) - (search ? 0 : 1e-5);
  Free unrestricted = free_end(setting, close, wait, false);
  if (search && unrestricted.loss > goal) unrestricted = free_end(setting, close, wait, true);
  double excess = unrestricted.loss - goal;
  // Far from the usual point it lingers near saddles: no end, and nothing to judge.
  if (search && excess > 0 && unrestricted.falling > 1e-10) excess = std::nan("");
  result.evidence.push_back(
      bounded(EvidenceKind::numerical,
              search ? "loss with free W_K, W_Q, above the restricted optimum"
                     : "loss with free W_K, W_Q, above the restricted optimum less 1e-5",
              excess, 0, "the weight of the [MASK] key is worth 3.0e-5",
              fmt::format("{:.7f} against {:.7f}; [MASK] key has weight {:.3f}", unrestricted.loss,
                          to_double(found->upper), unrestricted.mask_weight)));
  return result;
}

}  // namespace

Statement stage2_optimum() {
  return {.id = "topic.stage2-optimum",
          .claim =
              "stage 2, restricted to (alpha, beta), ends at the certified optimum; free it "
              "ends lower",
          .paper = "arXiv 2303.04245, Section 4",
          .status = "derived here",
          .hypotheses = {"stage 1 has ended", "squared loss"},
          .reaches = {EvidenceKind::certified, EvidenceKind::numerical},
          .controls = {{"off", "a certificate of a value 1e-5 too high"},
                       {"too-early", "the flow stopped after one unit of its clock"}},
          .knobs = {topics, active, words, some_masked, some_kept, some_replaced, start_size,
                    deviation},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
