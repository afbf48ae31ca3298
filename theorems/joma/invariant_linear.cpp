// Theorem    joma.invariant-linear                   Status  proved in source (Theorem 1)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 1 (linear attention)
// Statement  z(t)^2 - sum_k v_k(t)^2 = const, entrywise (no T), under the population dynamics
// Hypotheses H1 orthonormal embeddings; H2 f is not l2-normalised.  Any K, phi, sample law, T.
// Prediction dR/dt = 0 with no fitted constant
// Check      derivative of R along the field for generic samples (symbols); drift along the flow;
//            order of the drift of full-batch descent in its step
// Controls   a factor 1/2 that belongs to exp attention; H2 broken
// Uses       rungs flow, gd

#include <fmt/format.h>

#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/invariant.hpp"
#include "theorems/joma/invariant_parts.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob temperature{.name = "temperature",
                           .meaning = "temperature T of the attention",
                           .low = 0.25,
                           .high = 4,
                           .usual = 0.5,
                           .spacing = Spacing::logarithmic};
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

  ClassInstance<double> instance = invariant_instance(TokenLaw::gaussian, setting.seed);
  instance.attention = Attention::linear;
  instance.features.normalise = normalised;
  instance.temperature = setting.value(temperature);
  // From z of order 0.01 linear attention hardly moves; a start of order 1 gives the check a size.
  const double enlarged = setting.value(start);
  instance.weights *= enlarged;
  instance.logits *= enlarged;
  result.parameters = {{"law", "gaussian"},
                       {"attention", "linear"},
                       {"temperature", setting.value(temperature)},
                       {"start", enlarged},
                       {"seed", setting.seed}};
  if (halved) return result;  // the control is about the formula

  // dopri5 at 1e-13 a step over some hundred steps; z is of order 1.
  constexpr double allowed = 1e-11;
  for (const Activation phi : {Activation::linear, Activation::gelu}) {
    instance.phi = phi;
    ClassInstance<double> with_layer = instance;
    if (phi == Activation::gelu) {
      Parameters p("joma", {{"phi", "gelu"},
                            {"attention", "linear"},
                            {"temperature", fmt::format("{}", setting.value(temperature))}});
      with_layer = class_instance<double>(p, setting.seed);
      with_layer.features.normalise = normalised;
      with_layer.weights *= enlarged;
      with_layer.logits *= enlarged;
    }
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      fmt::format("drift along flow to t = 100, phi {}",
                                                  phi == Activation::gelu ? "gelu" : "linear"),
                                      drift_along_flow(with_layer, 100.0, 1e-13), allowed,
                                      "100 times the tolerance per step of 1e-13"));
  }
  const double order = order_of_drift(instance, 20.0, {0.4, 0.2, 0.1, 0.05});
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "order of the drift of full-batch descent in its step, minus 1",
      std::fabs(order - 1.0), 0.2, "Euler is of order 1; 0.2 covers the next term at these steps"));
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
          .knobs = {temperature, start},
          .examine = examine};
}

}  // namespace popgrad::theorems::joma
