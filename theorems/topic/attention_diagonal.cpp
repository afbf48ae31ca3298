// Theorem    topic.attention-diagonal
// Status     proved in source (Theorem 3, diagonal W_V); beta* < 1 derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 3
// Statement  with diagonal W_V the optimum is a single point: alpha* of order tau v on
//            the same word, and
//              0 < beta* < 1:
//            other words of the topic get less than words of other topics
// Hypotheses H1 tau >= 2; H2 p_c > 0; H3 squared loss; H4 v >= 2; H5 W_V diagonal; H6 dL/dbeta < 0
//            at the best alpha of beta = 0: where many words are kept and many replaced (T = 64,
//            tau = 16, v = 13, p_m = 0.5, p_c = 0.4, p_r = 0.16) it is not, and beta* = 0
// Check      certified minima over tau, exact inertia of the Hessian
// Controls   a minimum 1e-5 too high; beta* > 1 claimed
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

constexpr Knob deviation = value_deviation_knob("diagonal W_V");

// Where many words are kept and many replaced, attention on the other words of the topic does not
// pay at all: the optimum then lies on beta = 0, and is no interior point.
bool inner(const Setting& setting, std::string& by_how_much) {
  for (const TopicLaw<Rational>& exact : laws_over_topics(setting)) {
    const auto law = rounded(exact);
    const auto made = landscape(law, diagonal_value(law));
    const Box<Rational> box = weight_box(exact, true);
    const Minimum edge = find_minimum(made, {0, to_double(box.alpha_high), 0, 0});
    const double slope = made.gradient(edge.alpha, 0)[1];
    by_how_much = fmt::format("dL/dbeta = {:.3g} at alpha = {:.4g}, beta = 0, tau = {}", slope,
                              edge.alpha, law.active);
    if (!(slope < 0)) return false;
  }
  return true;
}

// A W_V beside the diagonal one, in double.
void examine_beside(const Setting& setting, Examination& result) {
  const double size = setting.value(deviation);
  result.hypotheses.push_back(
      {"diagonal W_V", Truth::no, fmt::format("off by {:.3g} of its largest entry", size)});
  const auto value = [&](const auto& law) {
    return deviating(diagonal_value(law), size, setting.seed);
  };
  double lowest = HUGE_VAL;
  double highest = 0;
  for (const RoundedMinimum& m : minima_over_topics(setting, value, true)) {
    lowest = std::min(lowest, m.at.beta);
    highest = std::max(highest, m.at.beta);
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical, "beta at the minimum, less 1",
                                    highest - 1, 0, "words of other topics have 1"));
  result.evidence.push_back(identity(EvidenceKind::numerical, "beta at the minimum is above 0",
                                     lowest > 0 ? Truth::yes : Truth::no));
  result.evidence.push_back(
      order_evidence("order of alpha* in tau, from 1", order_in_active(setting, value, true, {})));
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
  result.hypotheses.push_back({"v >= 2", Truth::yes, fmt::format("v = {}", at_point.words)});
  std::string by_how_much;
  const bool pays = inner(setting, by_how_much);
  result.hypotheses.push_back({"beta pays: dL/dbeta < 0 at the best alpha of beta = 0",
                               pays ? Truth::yes : Truth::no, by_how_much});
  if (!pays) return result;
  if (setting.value(deviation) != 0) {
    examine_beside(setting, result);
    return result;
  }
  bool single = true;
  Truth order_of_beta = Truth::yes;
  const OverTopics found = certified_over_topics(
      setting, [](const auto& law) { return diagonal_value(law); }, true,
      variant == "too-high" ? Rational(Rational(1) / 100'000) : Rational(0),
      [&](const auto& made, const Certificate& c, std::string& words) {
        single = single && !c.on_line && inertia(made.hessian(c.alpha, c.beta)).positive == 2;
        // Where the box that holds the minimisers has an end of the interval inside,
        // it decides nothing.
        const Box<Rational>& at = c.minimisers;
        const bool shown =
            variant == "beta-above" ? at.beta_low > 1 : at.beta_low > 0 && at.beta_high < 1;
        const bool refuted =
            variant == "beta-above" ? at.beta_high <= 1 : at.beta_high <= 0 || at.beta_low >= 1;
        if (refuted) {
          order_of_beta = Truth::no;
        } else if (!shown && order_of_beta == Truth::yes) {
          order_of_beta = Truth::undecided;
        }
        words = fmt::format("alpha* = {:.3f}, beta* in [{:.4f}, {:.4f}]", to_double(c.alpha),
                            to_double(c.minimisers.beta_low), to_double(c.minimisers.beta_high));
        return to_double(c.alpha);
      });
  result.evidence.push_back(
      certificate_evidence(found.all, "global minimum, all five tau", found.detail));
  if (!found.all) return result;
  result.evidence.push_back(identity(EvidenceKind::exact, "the Hessian there is positive definite",
                                     single ? Truth::yes : Truth::no));
  result.evidence.push_back(identity(
      EvidenceKind::certified,
      variant == "beta-above" ? "every minimiser has beta > 1" : "every minimiser has 0 < beta < 1",
      order_of_beta));
  result.evidence.push_back(order_evidence(
      "order of alpha* in tau, from 1",
      order_in_active(
          setting, [](const auto& law) { return diagonal_value(law); }, true, found)));
  return result;
}

}  // namespace

Statement attention_diagonal() {
  return {
      .id = "topic.attention-diagonal",
      .claim = "diagonal W_V: a single best point, alpha* of order tau v, 0 < beta* < 1",
      .paper = "arXiv 2303.04245, Theorem 3",
      .status = "proved in source",
      .hypotheses = {"tau >= 2", "p_c > 0", "squared loss", "v >= 2", "diagonal W_V",
                     "beta pays at beta = 0"},
      .reaches = {EvidenceKind::exact, EvidenceKind::certified, EvidenceKind::numerical},
      .controls = {{"too-high", "a minimum 1e-5 too high"}, {"beta-above", "beta* > 1 claimed"}},
      .knobs = {crowding, words_of_topic, some_masking, some_keeping, replacing, deviation},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
