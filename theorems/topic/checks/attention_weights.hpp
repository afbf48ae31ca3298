#pragma once
/// What the statements on optimal attention share: certified minima over (alpha, beta).

#include <optional>
#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks {

inline constexpr Knob crowding =
    logarithmic_knob("topics-over-active", "T/tau, topics over those of a document", 1.5, 64, 16);
inline constexpr Knob active_topics =
    whole_knob("topics-a-document", "tau, number of topics in a document", 2, 32, 4);
inline constexpr Knob words_of_topic = words_knob(2, 40, 10);
// Where hardly anything is masked or kept the landscape is flat.
inline constexpr Knob some_masking = masking_knob(0.02, 1);
inline constexpr Knob some_keeping = keeping_knob(0.01, 0.8);

/// The law of these knobs, or the user's.
TopicLaw<Rational> crowded_law(const Setting& setting);

/// alpha in [0, 20 tau v], beta in [0, 20 tau v] or, for `narrow`, [0, 20]; longer in alpha where
/// less than at the usual probabilities is masked, as the optimum is at tau v/((1 - p_c) p_m).
Box<Rational> weight_box(const TopicLaw<Rational>& law, bool narrow);

/// L at uniform attention less its minimum, in double.
double depth(const TopicLaw<Rational>& law, const Landscape<double>& landscape, bool narrow);

/// Certifies that the minimum of L lies within 1e-9 of what Newton steps found, `off` added to it
/// (0 for the claim); within less where the landscape is less deep than 1e-3, or where that does
/// not tell a `narrow` minimum from the lines beta = 0 and beta = 1. What failed
/// goes into `detail`.
std::optional<Certificate> certified(const TopicLaw<Rational>& law,
                                     const Landscape<Rational>& landscape, bool narrow,
                                     const Rational& off, std::string& detail);

/// Where all minimisers lie, certified. Part: enclosure.
struct CertifiedWeights {
  Quantity alpha;  ///< g = alpha + (v - 1) beta, where L depends on it alone
  Quantity beta;   ///< 0 there
  Certificate certificate;
};
/// To a thousandth of g, or a hundredth of alpha, and to a quarter of how far g is from v, beta from
/// 1: uniform attention. Throws std::runtime_error if that takes too many boxes.
CertifiedWeights certified_weights(const TopicLaw<Rational>& law,
                                   const Landscape<Rational>& landscape, bool narrow);

/// The best g = alpha + (v - 1) beta, and its value at a point: certified where L depends on g alone,
/// else that of the minimum in double.
struct BestSum {
  Quantity g;
  Rational at;
};
BestSum best_sum(const TopicLaw<Rational>& law, const Landscape<Rational>& landscape);

/// The order in tau, from far out, of the mean weight g*/v of the topic for the minimum-norm W_V, or
/// of alpha* for the diagonal one; T/tau stays. Parts: next order, rounding.
Quantity order_in_active(const TopicLaw<Rational>& law, bool diagonal);

/// -dL/dalpha and dL/dbeta at uniform attention for diagonal W_V, -dL/dalpha for any W_V whose
/// same-topic entries, the diagonal's included, exceed those of other topics by 1/(a v):
///   2 p_c pi_1/(a tau v) n
/// with n = tau v - 1, v - 1 and tau - 1.
template <class T, class Count>
T pull_at_uniform(const TopicLaw<T, Count>& law, const T& n) {
  const T words = TopicLaw<T, Count>::number(law.active * law.words);
  return T(2) * law.correct * law.frequency(true) / (law.kept() * words) * n;
}

/// W_V, off it by `size` of its largest entry; exactly it for 0.
BlockValue<Rational> value_beside(const BlockValue<Rational>& value, double size,
                                  std::uint64_t seed);

/// The certificate as evidence.
Evidence certificate_evidence(bool certified, const std::string& what, const std::string& detail);
}  // namespace popgrad::topic::checks
