// Theorem    joma.invariant-linear
// Status     proved in source (Theorem 1)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 1 (linear attention)
// Statement  under the population dynamics, entrywise, for any K, phi, sample law and T,
//              R = z^2 - sum_k v_k^2
//            is constant (without T)
// Hypotheses H1 orthonormal embeddings; H2 f is not l2-normalised
// Prediction dR/dt = 0 with no fitted constant
// Check      derivative of R along the field for generic samples (symbols); drift along the flow;
//            order of the drift of full-batch descent in its step
// Controls   a factor 1/2 that belongs to exp attention; H2 broken
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
                     .usual = 50,
                     .spacing = Spacing::logarithmic};

// R' for R = z^2 - factor sum_k v_k^2, along the field.
Truth residual_is_constant(const SymbolicTraining& s, const Expression& factor) {
  const Vector<Expression> residual =
      s.z.cwiseProduct(s.z) - factor * squared_weights<Expression>(s.v);
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
  const bool halved = variant == "halved";
  const bool normalised = variant == "normalised-f";
  if (!setting.only_what_varies) {
    const SymbolicTraining s = symbolic_training(Attention::linear, 2, 2, 2, normalised);
    result.evidence.push_back(identity(
        EvidenceKind::symbolic, "d/dt of z^2 - sum v^2 is 0 for 2 tokens, 2 units, 2 samples",
        residual_is_constant(s, halved ? Expression(1) / Expression(2) : Expression(1))));
  }
  if (halved) return result;  // the control is about the formula
  // From z of order 0.01 linear attention hardly moves; a start of order 1 gives the check a size.
  examine_drift(setting, Attention::linear, normalised, setting.value(start), result);
  return result;
}

}  // namespace

Statement invariant_linear() {
  return {.id = "joma.invariant-linear",
          .claim = "linear attention: z^2 - sum_k v_k^2 is conserved, any K, phi, samples",
          .paper = "arXiv 2310.00535, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"orthonormal embeddings", "f is not l2-normalised"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"halved", "z^2 - (1/2) sum v^2, the factor of exp attention"},
                       {"normalised-f", "f divided by its norm, so the second hypothesis fails"}},
          .knobs = {attention_temperature, start, hidden_units, overlap, normalisation},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
