#include "theorems/joma/checks/conservation.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/invariant.hpp"

namespace popgrad::joma::checks::invariant_exp {
namespace {

constexpr Knob start =
    logarithmic_knob("start", "size of the start, in units of that of the authors", 1, 100, 1);
constexpr Hypothesis exp_attention{"exp attention"};

Statement sheet{
    .id = "joma.invariant-exp",
    .paper = "arXiv 2310.00535, Theorem 1",
    .status = "proved in source",
    .about = "the population flow and full-batch descent",
    .theorem = R"(
Exp attention. Under the population dynamics, entrywise over tokens, for any K, phi, sample law and
temperature T,
  R = z - (1/2T) sum_k v_k^2
is constant. Full-batch descent of step eta moves it by
  -(eta^2/2T) sum over steps of sum_k v_k'^2.)",
    .hypotheses = {exp_attention, orthonormal, not_normalised},
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
    .controls = {larger_weights, unit_short, late_slope, descent_conserves, normalised_f},
    .no_rival = "an identity in the state",
    .false_version = "descent-conserves",
    .knobs = {attention_temperature, start, hidden_units, token_law_of_authors, activation, overlap,
              normalisation},
    .reads = "flow"};

const Clause conserved = sheet.clause(
    "exp attention: `z - (1/2T) sum_k v_k^2` is conserved, generic samples, any `phi`");
const Clause along_flow = sheet.clause("so for `K` units on the population flow");
const Clause under_descent = sheet.clause("descent moves it by its terms of order `eta^2`");

const Control temperature_squared =
    sheet.control("temperature-squared", "`1/(2 T^2)` in place of `1/(2T)`");

// z - (1/2 T^power) sum_k v_k^2 for 2 tokens, 2 units, 2 samples.
Truth conserved_with(int power, bool normalised) {
  const SymbolicTraining s = symbolic_training(Attention::exp, 2, 2, 2, normalised);
  return is_conserved(
      s, invariant<Expression>(Attention::exp, s.v, s.z, GiNaC::pow(s.temperature, power), {}));
}

void prove(Examination& it) {
  it.judge(conserved,
           identity("`d/dt` of `z - (1/2T) sum v^2` is 0 for 2 tokens, 2 units, 2 samples", [] {
             return conserved_with(1, false);
           }).unless(temperature_squared, [] {
               return conserved_with(2, false);
             }).unless(normalised_f, [] { return conserved_with(1, true); }));
}

void examine(const Setting& setting, Examination& it) {
  const ClassInstance<double> instance =
      training_instance(setting, Attention::exp, setting.value(start));
  if (!require_hypotheses(instance, setting, Attention::exp, exp_attention, it)) return;
  judge_conservation(instance, along_flow, under_descent, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::invariant_exp
