// Theorem    topic.attention-block
// Status     proved in source (Theorem 3, block W_V)
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 3
// Statement  with the minimum-norm W_V the loss depends on
//              g = alpha + (v - 1) beta
//            alone: the minimisers form a line; the mean weight of same-topic words, g/v, is
//            above 1 and of order tau; at tau = 1 the optimum is g = v exactly
// Hypotheses H1 tau >= 2; H2 p_c > 0; H3 squared loss; H4 W_V of least norm
// Check      dependence on g and the gradient at tau = 1 in fractions; certified minima over tau
// Controls   a minimum 1e-5 too high; uniform attention claimed optimal
// Uses       closed form of the landscape; certified minimum

#include <fmt/format.h>

#include <cmath>

#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/attention_weights.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob deviation = value_deviation_knob("W_V of least norm");

// A W_V beside the minimum-norm one: minima in double, as a landscape of two variables has
// no short certificate.
void examine_beside(const Setting& setting, Examination& result) {
  const double size = setting.value(deviation);
  result.hypotheses.push_back(
      {"W_V of least norm", Truth::no, fmt::format("off by {:.3g} of its largest entry", size)});
  const auto value = [&](const auto& law) {
    return deviating(minimum_norm_value(law), size, setting.seed);
  };
  double rise = 0;
  double least = HUGE_VAL;
  for (const RoundedMinimum& m : minima_over_topics(setting, value, false)) {
    const auto others = static_cast<double>(m.law.words - 1);
    const double g = m.at.alpha + others * m.at.beta;
    for (const double share : {0.0, 0.5, 1.0}) {
      const double along = m.landscape(g * (1 - share), g * share / others) - m.at.value;
      rise = std::max(rise, along / m.depth);
    }
    least = std::min(least, g / static_cast<double>(m.law.words));
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "rise of L on the line alpha + (v - 1) beta, of its depth",
                                    rise, setting.allow(1e-6), "rounding of L beside its depth"));
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "1 less the mean weight g/v of the topic", 1 - least, 0,
                                    "uniform attention has 1"));
  result.evidence.push_back(
      order_evidence("order of g/v in tau, from 1", order_in_active(setting, value, false, {})));
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto at_point = law_at(setting, 2, 1, setting.count(words_of_topic));
  result.parameters = {{"T", fmt::format("{:g} tau", setting.value(crowding))},
                       {"tau", {2, 4, 8, 16, 32}},
                       {"v", at_point.words}};
  tell_probabilities(at_point, result.parameters);
  if (!makes_a_law(at_point, result)) return result;
  result.hypotheses.push_back({"tau >= 2", Truth::yes, "tau = 2 to 32"});
  result.hypotheses.push_back(
      {"p_c > 0", Truth::yes, fmt::format("p_c = {}", to_text(at_point.correct))});
  if (setting.value(deviation) != 0) {
    examine_beside(setting, result);
    return result;
  }
  bool on_line = true;
  Truth above = Truth::yes;
  const Rational v(static_cast<int>(at_point.words));
  const OverTopics found = certified_over_topics(
      setting, [](const auto& law) { return minimum_norm_value(law); }, false,
      variant == "too-high" ? Rational(Rational(1) / 100'000) : Rational(0),
      [&](const auto& made, const Certificate& c, std::string& words) {
        on_line = on_line && made.depends_on_sum_alone(at_point.words);
        // Uniform attention, g = v, would have to be among the minimisers. Where the interval that
        // holds them has v inside, it decides neither.
        const bool beyond = c.minimisers.alpha_low > v;
        if (variant == "uniform" ? beyond || c.minimisers.alpha_high < v
                                 : !(c.minimisers.alpha_high > v)) {
          above = Truth::no;
        } else if (!beyond && above == Truth::yes) {
          above = Truth::undecided;
        }
        const double weight = to_double(Rational((c.alpha + (v - 1) * c.beta) / v));
        words = fmt::format("g/v = {:.3f}", weight);
        return weight;
      });
  result.evidence.push_back(identity(EvidenceKind::exact, "L depends on alpha + (v - 1) beta alone",
                                     on_line ? Truth::yes : Truth::no));
  result.evidence.push_back(
      certificate_evidence(found.all, "global minimum, all five tau", found.detail));
  if (!found.all) return result;
  result.evidence.push_back(identity(
      EvidenceKind::certified,
      variant == "uniform" ? "g = v is among the minimisers" : "every minimiser has g/v > 1",
      above));
  const auto single = law_at(setting, 5, 1, setting.only_what_varies ? at_point.words : 3);
  const Vector<Rational> flat = landscape(single, minimum_norm_value(single)).gradient(1, 1);
  result.evidence.push_back(identity(EvidenceKind::exact, "at tau = 1 the gradient at g = v is 0",
                                     flat[0] == 0 && flat[1] == 0 ? Truth::yes : Truth::no));
  result.evidence.push_back(order_evidence(
      "order of g/v in tau, from 1",
      order_in_active(
          setting, [](const auto& law) { return minimum_norm_value(law); }, false, found)));
  return result;
}

}  // namespace

Statement attention_block() {
  return {.id = "topic.attention-block",
          .claim = "block-wise W_V: best attention is a line, same topic above others, order tau",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "proved in source",
          .hypotheses = {"tau >= 2", "p_c > 0", "squared loss", "W_V of least norm"},
          .reaches = {EvidenceKind::exact, EvidenceKind::certified, EvidenceKind::numerical},
          .controls = {{"too-high", "a minimum 1e-5 too high"},
                       {"uniform", "uniform attention claimed optimal"}},
          .knobs = {crowding, words_of_topic, some_masking, some_keeping, replacing, deviation},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
