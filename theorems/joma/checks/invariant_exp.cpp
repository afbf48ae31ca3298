// Theorem    joma.invariant-exp
// Status     proved in source (Theorem 1)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 1 (exponential attention)
// Statement  under the population dynamics, entrywise, for any K, phi, sample law and T,
//              R = z - (1/2T) sum_k v_k^2
//            is constant; full-batch descent of step eta moves it by
//              -(eta^2/2T) sum over steps of sum_k v_k'^2
// Hypotheses H1 exp attention; H2 orthonormal embeddings; H3 f is not l2-normalised
// Prediction dR/dt = 0 with no fitted constant
// Check      derivative of R along the field for generic samples (symbols); growth of z along the
//            flow against that of the weights; drift under descent against its sum
// Controls   weights that count 10 % too much; the last unit left out; slopes of descent read one
//            step late; f divided by its norm; a temperature misplaced, 1/(2 T^2)
// Uses       rungs flow, gd

#include "theorems/joma/checks/invariant_parts.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/invariant.hpp"

namespace popgrad::joma::checks::invariant_exp {
namespace {

constexpr Knob start =
    logarithmic_knob("start", "size of the start, in units of that of the authors", 1, 100, 1);

// z - (1/2 T^power) sum_k v_k^2 for 2 tokens, 2 units, 2 samples.
Truth conserved_with(int power, bool normalised) {
  const SymbolicTraining s = symbolic_training(Attention::exp, 2, 2, 2, normalised);
  return is_conserved(
      s, invariant<Expression>(Attention::exp, s.v, s.z, GiNaC::pow(s.temperature, power), {}));
}

void prove(Examination& it) {
  it.judge(Identity{.what = "d/dt of z - (1/2T) sum v^2 is 0 for 2 tokens, 2 units, 2 samples",
                    .holds = [] { return conserved_with(1, false); },
                    .mistakes = {{"temperature-squared", [] { return conserved_with(2, false); }},
                                 {"normalised-f", [] { return conserved_with(1, true); }}}});
}

void examine(const Setting& setting, Examination& it) {
  const ClassInstance<double> instance =
      training_instance(setting, Attention::exp, setting.value(start));
  it.parameters = {{"tokens", instance.tokens()},
                   {"units", instance.units()},
                   {"temperature", instance.temperature},
                   {"seed", setting.seed}};
  require_hypotheses(instance, Attention::exp, "exp attention", it);
  if (instance.attention == Attention::exp) judge_conservation(instance, it);
}

}  // namespace

Statement statement() {
  return {.id = "joma.invariant-exp",
          .claim = "exp attention: z - (1/2T) sum_k v_k^2 is conserved, any K, phi, samples",
          .paper = "arXiv 2310.00535, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"exp attention", "orthonormal embeddings", "f is not l2-normalised"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"weights", "1.1 sum v^2 in place of sum v^2"},
                       {"unit-short", "the sum over all hidden units but the last"},
                       {"late-slope", "slopes after the step in place of before it"},
                       {"normalised-f", "f divided by its norm, so the third hypothesis fails"},
                       {"temperature-squared", "1/(2 T^2) in place of 1/(2T)"}},
          .knobs = {attention_temperature, start, hidden_units, token_law_of_authors, activation,
                    overlap, normalisation},
          .reads = "flow",
          .derive = prove,
          .examine = examine};
}

}  // namespace popgrad::joma::checks::invariant_exp
