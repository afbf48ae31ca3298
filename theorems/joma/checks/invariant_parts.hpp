#pragma once
/// What the three invariant statements share: hypotheses and knobs, generic samples for proofs, and
/// training instances.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/expression.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::checks {

/// A generic finite sample set over symbols, run through the code that every rung runs.
struct SymbolicTraining {
  Vector<Expression> unknowns;  ///< v by columns, then z
  Vector<Expression> rates;     ///< their time derivatives, from joint_direction
  Matrix<Expression> v, dv;     ///< contextual rows only
  Vector<Expression> z, dz, weight;
  Matrix<Expression> b, pulled;
  Expression temperature;
};

/// `tokens`, `units`, `samples` generic; g_k phi' of every sample is a symbol of its own, which
/// stands for any activation, loss and output layer.
SymbolicTraining symbolic_training(Attention attention, Index tokens, Index units, Index samples,
                                   bool normalise);

/// Does every entry have the rate 0 along the field?
Truth is_conserved(const SymbolicTraining& training, const Vector<Expression>& entries);

inline constexpr Hypothesis orthonormal{"orthonormal embeddings"};
inline constexpr Hypothesis not_normalised{"`f` is not l2-normalised"};

inline constexpr Knob attention_temperature =
    logarithmic_knob("temperature", "temperature T of the attention", 0.25, 4, 0.5);
inline constexpr Knob hidden_units =
    whole_knob("units", "hidden units K under the output layer", 1, 30, 20);
inline constexpr Knob token_law_of_authors =
    whole_knob("law", "token law of the authors: 0 Gaussian, 1 uniform", 0, 1, 0);
inline constexpr Knob activation = whole_knob("activation", "phi: 0 linear, 1 GELU", 0, 1, 1);
inline constexpr Knob overlap =
    logarithmic_knob("overlap", "root mean square cosine between embeddings", 1e-4, 0.5, 0)
        .breaking(orthonormal);
inline constexpr Knob normalisation =
    logarithmic_knob("normalisation", "share s of |f| in f / (1 - s + s |f|)", 1e-4, 1, 0)
        .breaking(not_normalised);

/// The user's file, or the authors' instance with the knobs above; weights and logits of the latter
/// begin at `enlarged` times the authors'.
ClassInstance<double> training_instance(const Setting& setting, Attention attention,
                                        double enlarged);

/// Parameters and the three hypotheses, the first of which is that of this attention. Returns false
/// where the instance has another.
bool require_hypotheses(const ClassInstance<double>& instance, const Setting& setting,
                        Attention attention, const Hypothesis& of_attention, Examination& it);

/// Time in which the state changes by its own size, or its slope by its own, at the first rates:
///   min(|x|/|x'|, |x'|/|x''|)
/// Throws std::runtime_error where nothing moves.
double time_unit(const PopulationFlow<double>& flow);

}  // namespace popgrad::joma::checks
