// Theorem    topic.attention-diagonal                Status  proved in source (Theorem 3, diagonal
//            W_V); beta* < 1 derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 3
// Statement  with diagonal W_V the optimum is a single point: alpha* of order tau v on the same
// word,
//            and 0 < beta* < 1: other words of the topic get less than words of other topics
// Hypotheses H1 tau >= 2; H2 p_c > 0; H3 squared loss; H4 v >= 2
// Check      certified minima over tau, exact inertia of the Hessian
// Controls   a minimum 1e-5 too high; beta* > 1 claimed
// Uses       landscape, certified minimum

#include <fmt/format.h>

#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/attention_weights.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

Examination examine(const Setting& /*setting*/, std::string_view variant) {
  Examination result;
  result.parameters = {{"T", "16 tau"}, {"tau", {2, 4, 8, 16, 32}}, {"v", 10}};
  result.hypotheses.push_back({"tau >= 2", Truth::yes, "tau = 2 to 32"});
  result.hypotheses.push_back({"p_c > 0", Truth::yes, "p_c = 1/10"});
  result.hypotheses.push_back({"v >= 2", Truth::yes, "v = 10"});
  bool single = true;
  bool order_of_beta = true;
  const OverTopics found = certified_over_topics(
      [](const auto& law) { return diagonal_value(law); }, true,
      variant == "too-high" ? Rational(Rational(1) / 100'000) : Rational(0),
      [&](const auto& made, const Certificate& c, std::string& words) {
        single = single && !c.on_line && inertia(made.hessian(c.alpha, c.beta)).positive == 2;
        order_of_beta = order_of_beta && (variant == "beta-above" ? c.minimisers.beta_low > 1
                                                                  : c.minimisers.beta_low > 0 &&
                                                                        c.minimisers.beta_high < 1);
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
      order_of_beta ? Truth::yes : Truth::no));
  const double order = log_log_slope(found.active, found.weight);
  result.evidence.push_back(bounded(EvidenceKind::numerical, "order of alpha* in tau, from 1",
                                    std::fabs(order - 1), 0.2,
                                    "T/tau is 16: the constant of small tau differs by a third",
                                    fmt::format("measured {:.3f}", order)));
  return result;
}

}  // namespace

Statement attention_diagonal() {
  return {
      .id = "topic.attention-diagonal",
      .claim = "diagonal W_V: a single best point, alpha* of order tau v, 0 < beta* < 1",
      .paper = "arXiv 2303.04245, Theorem 3",
      .status = "proved in source",
      .hypotheses = {"tau >= 2", "p_c > 0", "squared loss", "v >= 2"},
      .reaches = {EvidenceKind::exact, EvidenceKind::certified, EvidenceKind::numerical},
      .controls = {{"too-high", "a minimum 1e-5 too high"}, {"beta-above", "beta* > 1 claimed"}},
      .examine = examine};
}

}  // namespace popgrad::theorems::topic
