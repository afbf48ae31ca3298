#pragma once
/// Mistakes made by program in the laws of a loss: every sign, constant, exponent and index of a formula in turn.

#include <string>
#include <vector>

#include "formulas/edit.hpp"
#include "popgrad/learning/sample_loss.hpp"

namespace popgrad::learning {

/// Mistakes in a formula (formulas/edit.hpp), of which the last is 11/10 of it. Throws FormulaError.
std::vector<formulas::Mutant> mutated_formulas(const std::string& formula);

/// A law, lift, closed form, invariant or expected loss with one mistake, under a name of its own.
struct LawMutant {
  std::string name;     ///< "sign-1"
  std::string what;     ///< "p = p + eta * s"
  std::string subject;  ///< of its residual
};

/// The loss without observables that no law of a rung, no invariant and none of these formulas reads, so that nothing is
/// derived for them. Throws FormulaError.
SampleLoss without_unread(SampleLoss loss, const std::vector<std::string>& formulas);

/// The loss with mutants of the law of one subject (residual_subjects) next to it.
struct MutatedLoss {
  SampleLoss loss;
  std::vector<LawMutant> mutants;
  std::vector<std::string> refused;  ///< formulas whose shapes do not match
};

/// At most `most` mutants, evenly from all.
MutatedLoss mutated_loss(const SampleLoss& loss, const std::string& subject, std::size_t most);

}  // namespace popgrad::learning
