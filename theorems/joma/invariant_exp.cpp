// Theorem    joma.invariant-exp
// Status     proved in source (Theorem 1)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 1 (exponential attention)
// Statement  under the population dynamics, entrywise, for any K, phi, sample law and T,
//              R = z - (1/2T) sum_k v_k^2
//            is constant
// Hypotheses H1 orthonormal embeddings; H2 f is not l2-normalised
// Prediction dR/dt = 0 with no fitted constant
// Check      derivative of R along the field for generic samples (symbols); drift along the flow;
//            order of the drift of full-batch descent in its step
// Controls   a temperature misplaced, 1/(2 T^2); H2 broken
// Uses       rungs flow, gd

#include "popgrad/identity.hpp"
#include "popgrad/joma/invariant.hpp"
#include "theorems/joma/invariant_parts.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob start{.name = "start",
                     .meaning = "size of the start, in units of that of the instance",
                     .low = 1,
                     .high = 100,
                     .usual = 1,
                     .spacing = Spacing::logarithmic};

// T R' for R = z - factor sum_k v_k^2 / T, along the field.
Truth residual_is_constant(const SymbolicTraining& s, const Expression& temperature) {
  const Vector<Expression> residual =
      invariant<Expression>(Attention::exp, s.v, s.z, temperature, Vector<Expression>(s.z.size()));
  Truth all = Truth::yes;
  for (Index l = 0; l < residual.size(); ++l) {
    const Truth one = vanishes(rate_along(residual[l], s.unknowns, s.rates));
    if (one == Truth::no) return Truth::no;
    if (one == Truth::undecided) all = Truth::undecided;
  }
  return all;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const bool misplaced = variant == "temperature-squared";
  const bool normalised = variant == "normalised-f";
  if (!setting.only_what_varies) {
    const SymbolicTraining s = symbolic_training(Attention::exp, 2, 2, 2, normalised);
    result.evidence.push_back(identity(
        EvidenceKind::symbolic, "d/dt of z - (1/2T) sum v^2 is 0 for 2 tokens, 2 units, 2 samples",
        residual_is_constant(
            s, misplaced ? Expression(s.temperature * s.temperature) : s.temperature)));
  }
  if (misplaced) return result;  // the control is about the formula
  examine_drift(setting, Attention::exp, normalised, setting.value(start), result);
  return result;
}

}  // namespace

Statement invariant_exp() {
  return {.id = "joma.invariant-exp",
          .claim = "exp attention: z - (1/2T) sum_k v_k^2 is conserved, any K, phi, samples",
          .paper = "arXiv 2310.00535, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"orthonormal embeddings", "f is not l2-normalised"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"temperature-squared", "1/(2 T^2) in place of 1/(2T)"},
                       {"normalised-f", "f divided by its norm, so the second hypothesis fails"}},
          .knobs = {attention_temperature, start, hidden_units, overlap, normalisation},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
