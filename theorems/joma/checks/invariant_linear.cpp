#include "theorems/joma/checks/conservation.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/invariant.hpp"

namespace popgrad::joma::checks::invariant_linear {
namespace {

// From z of order 0.01 linear attention hardly moves.
constexpr Knob start =
    logarithmic_knob("start", "size of the start, in units of that of the authors", 1, 100, 50);
constexpr Hypothesis linear_attention{"linear attention"};

Statement sheet{
    .id = "joma.invariant-linear",
    .paper = "arXiv 2310.00535, Theorem 1",
    .status = "proved in source",
    .about = "the population flow and full-batch descent",
    .theorem = R"(
Linear attention. Under the population dynamics, entrywise over tokens, for any K, phi, sample law
and temperature T,
  R = z^2 - sum_k v_k^2
is constant; T is not in it. Full-batch descent of step eta moves it by
  eta^2 sum over steps of (z'^2 - sum_k v_k'^2).)",
    .hypotheses = {linear_attention, orthonormal, not_normalised},
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
    .controls = {larger_weights, unit_short, late_slope, descent_conserves, normalised_f},
    .no_rival = "an identity in the state",
    .false_version = "descent-conserves",
    .knobs = {attention_temperature, start, hidden_units, token_law_of_authors, activation, overlap,
              normalisation},
    .reads = "flow"};

const Clause conserved = sheet.clause(
    "linear attention: `z^2 - sum_k v_k^2` is conserved, generic samples, any `phi` and `T`");
const Clause along_flow = sheet.clause("so for `K` units on the population flow");
const Clause under_descent = sheet.clause("descent moves it by its terms of order `eta^2`");

const Control halved =
    sheet.control("halved", "`z^2 - (1/2) sum v^2`, the factor of exp attention");
const Control with_temperature = sheet.control("temperature", "`z^2 - (1/T) sum v^2`");

// z^2 - factor sum_k v_k^2/T^power for 2 tokens, 2 units, 2 samples.
Truth conserved_with(const Expression& factor, int power, bool normalised) {
  const SymbolicTraining s = symbolic_training(Attention::linear, 2, 2, 2, normalised);
  const Vector<Expression> left = s.z.cwiseProduct(s.z);
  const Expression of_weights = factor / GiNaC::pow(s.temperature, power);
  return is_conserved(s, left - of_weights * squared_weights<Expression>(s.v));
}

void prove(Examination& it) {
  it.judge(
      conserved,
      identity("`d/dt` of `z^2 - sum v^2` is 0 for 2 tokens, 2 units, 2 samples",
               [] { return conserved_with(1, 0, false); })
          .unless(halved, [] { return conserved_with(Expression(1) / Expression(2), 0, false); })
          .unless(with_temperature, [] { return conserved_with(1, 1, false); })
          .unless(normalised_f, [] { return conserved_with(1, 0, true); }));
}

void examine(const Setting& setting, Examination& it) {
  const ClassInstance<double> instance =
      training_instance(setting, Attention::linear, setting.value(start));
  if (!require_hypotheses(instance, setting, Attention::linear, linear_attention, it)) return;
  judge_conservation(instance, along_flow, under_descent, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::invariant_linear
