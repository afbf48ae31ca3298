#pragma once
/// What the statements on optimal attention share: certified minima over (alpha, beta).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/statement.hpp"
#include "popgrad/topic/optimum.hpp"
#include "theorems/topic/knobs.hpp"

namespace popgrad::theorems::topic {

inline constexpr Knob crowding{.name = "topics-over-active",
                               .meaning = "T/tau, topics over those of a document",
                               .low = 1.5,
                               .high = 64,
                               .usual = 16,
                               .spacing = Spacing::logarithmic};
inline constexpr Knob words_of_topic = words_knob(2, 40, 10);
// Where hardly anything is masked or kept the landscape is flat.
inline constexpr Knob some_masking = masking_knob(0.02, 1);
inline constexpr Knob some_keeping = keeping_knob(0.01, 0.8);

/// alpha in [0, 20 tau v], beta in [0, 20 tau v] or, for `narrow`, [0, 20]; longer in alpha where
/// less than at the usual probabilities is masked, as the optimum is at tau v/((1 - p_c) p_m).
popgrad::topic::Box<Rational> weight_box(const popgrad::topic::TopicLaw<Rational>& law,
                                         bool narrow);

/// L at uniform attention less its minimum, in double.
double depth(const popgrad::topic::TopicLaw<Rational>& law,
             const popgrad::topic::Landscape<double>& landscape, bool narrow);

/// Certifies that the minimum of L lies within 1e-9 of what Newton steps found, `off` added to it
/// (0 for the claim); within less where the landscape is less deep than 1e-3, or where that does
/// not tell a `narrow` minimum from the lines beta = 0 and beta = 1. What failed
/// goes into `detail`.
std::optional<popgrad::topic::Certificate> certified(
    const popgrad::topic::TopicLaw<Rational>& law,
    const popgrad::topic::Landscape<Rational>& landscape, bool narrow, const Rational& off,
    std::string& detail);

/// A W_V for each law.
using MakeValue =
    std::function<popgrad::topic::BlockValue<Rational>(const popgrad::topic::TopicLaw<Rational>&)>;
using MakeRoundedValue =
    std::function<popgrad::topic::BlockValue<double>(const popgrad::topic::TopicLaw<double>&)>;

/// tau = 2, 4, 8, 16, 32, each times `factor`, at the T/tau, v and probabilities of the point.
std::vector<popgrad::topic::TopicLaw<Rational>> laws_over_topics(const Setting& setting,
                                                                 Index factor = 1);

/// Certified minima over those laws.
struct OverTopics {
  std::vector<double> active, weight;  ///< tau, and what `look` returned
  std::string detail;
  bool all = false;  ///< certified
};
/// For the W_V that `value` makes, `off` as above. `look` sees each certificate and adds words to
/// the detail. Stops at the first that fails.
OverTopics certified_over_topics(
    const Setting& setting, const MakeValue& value, bool narrow, const Rational& off,
    const std::function<double(const popgrad::topic::Landscape<Rational>&,
                               const popgrad::topic::Certificate&, std::string&)>& look);

/// Minima over the same laws in double, with what the statements ask of them.
struct RoundedMinimum {
  popgrad::topic::TopicLaw<double> law;
  popgrad::topic::Landscape<double> landscape;
  popgrad::topic::Minimum at;
  double depth = 0;  ///< of L below uniform attention
};
std::vector<RoundedMinimum> minima_over_topics(const Setting& setting,
                                               const MakeRoundedValue& value, bool narrow,
                                               Index factor = 1);

/// The order in tau of the best weight, which is about 1 + c (tau - 1), 1 at tau = 1: from the
/// weights given at the usual point, from tau = 32 and more in a search, and farther out where c is
/// so small that weights are still near 1 there.
/// `weight` is alpha/v or (alpha + (v - 1) beta)/v.
double order_in_active(const Setting& setting, const MakeRoundedValue& value, bool narrow,
                       const OverTopics& found);

/// The certificate as evidence.
Evidence certificate_evidence(bool certified, const std::string& what, const std::string& detail);
/// The order as evidence.
Evidence order_evidence(const std::string& what, double order);

}  // namespace popgrad::theorems::topic
