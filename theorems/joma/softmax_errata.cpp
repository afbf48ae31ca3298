// Errata on the softmax part of Theorem 1 of JoMA, arXiv 2310.00535 (joma.invariant-softmax).

#include <fmt/format.h>

#include <algorithm>

#include "popgrad/identity.hpp"
#include "popgrad/joma/population_flow.hpp"
#include "theorems/joma/softmax_terms.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

std::vector<Evidence> show_summed_condition() {
  const SummedConditionExample<Expression> example;
  const Vector<Expression> defect = example.defect();
  const bool factors = defect[0].is_zero() && defect[1].is_zero();
  return {identity(EvidenceKind::exact, "sum over k of the condition's defect is 0",
                   vanishes(example.summed_condition())),
          identity(EvidenceKind::exact, "E[b q] - b_bar E[q] is not 0",
                   factors ? Truth::no : Truth::yes, "it is " + to_text(defect[0]))};
}

struct AuthorsRun {
  double least_correlation = 1;
  double relative_error = 0;  // at the end
};

// Full-batch descent of the authors' instance: 2000 steps of 0.1, read every 20 steps.
AuthorsRun authors_run(TokenLaw token_law) {
  const PopulationFlow<double> flow(invariant_instance(token_law, 1));
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  std::vector<double> row(flow.columns().size());
  AuthorsRun result;
  for (int step = 1; step <= 2000; ++step) {
    flow.rhs(x, slope, 0.0);
    x += 0.1 * slope;
    if (step % 20 != 0) continue;
    flow.observe(x, 0.1 * step, row);
    result.least_correlation = std::min(result.least_correlation, row[3]);
    result.relative_error = row[2];
  }
  return result;
}

std::vector<Evidence> show_logits_too_large() {
  std::vector<Evidence> items;
  for (const TokenLaw token_law : {TokenLaw::gaussian, TokenLaw::uniform}) {
    const AuthorsRun run = authors_run(token_law);
    const char* name = token_law == TokenLaw::gaussian ? "gaussian" : "uniform";
    Evidence item =
        bounded(EvidenceKind::numerical, fmt::format("1 / relative error at the end, {} X", name),
                1 / run.relative_error, 1.0, "the prediction misses by more than z itself");
    item.detail = fmt::format("correlation >= {:.3f} all along, relative error {:.3g} at the end",
                              run.least_correlation, run.relative_error);
    items.push_back(item);
  }
  return items;
}

}  // namespace

Erratum summed_condition() {
  return {
      .name = "joma.summed-condition",
      .kind = ErratumClass::error,
      .statement = "joma.invariant-softmax",
      .place = "arXiv 2310.00535, Theorem 1 (softmax)",
      .known = "our notes only; the text was not seen",
      .paper_says =
          "Theorem 1 (softmax) under a factorised moment of g phi' b b'; if that is summed over "
          "units (our reading, not confirmed): sum_k E[g_k phi' b b'] = b_bar sum_k E[g_k phi' "
          "b'] makes the residual constant",
      .algebra_says =
          "the condition must hold for each unit k; summed over two or more units it "
          "does not suffice",
      .evidence = show_summed_condition};
}

Erratum logits_too_large() {
  return {.name = "joma.size-of-logits",
          .kind = ErratumClass::does_not_transfer,
          .statement = "joma.invariant-softmax",
          .place = "arXiv 2310.00535, Figure 2",
          .known = "reply to the reviewers",
          .paper_says =
              "reply to reviewers on Figure 2: Theorem 1 largely holds under softmax attention "
              "(normalised correlation of z with its prediction)",
          .algebra_says =
              "the correlation is near 1, but the size does not transfer: z_hat is several times "
              "too large at the end of training",
          .evidence = show_logits_too_large};
}

}  // namespace popgrad::theorems::joma
