#pragma once
/// What the two statements on optimal attention share: certified minima over (alpha, beta).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/statement.hpp"
#include "popgrad/topic/optimum.hpp"

namespace popgrad::theorems::topic {

/// alpha in [0, 20 tau v], beta in [0, 20 tau v] or, for `narrow`, [0, 20].
popgrad::topic::Box<Rational> weight_box(const popgrad::topic::TopicLaw<Rational>& law,
                                         bool narrow);

/// Certifies that the minimum of L lies within 1e-9 of what Newton steps found, `off` added to it
/// (0 for the claim). What failed goes into `detail`.
std::optional<popgrad::topic::Certificate> certified(
    const popgrad::topic::TopicLaw<Rational>& law,
    const popgrad::topic::Landscape<Rational>& landscape, bool narrow, const Rational& off,
    std::string& detail);

/// Certified minima at tau = 2, 4, 8, 16, 32, T = 16 tau, v = 10.
struct OverTopics {
  std::vector<double> active, weight;  ///< tau, and what `look` returned
  std::string detail;
  bool all = false;  ///< certified
};
/// For the W_V that `value` makes, `off` as above. `look` sees each certificate and adds words to
/// the detail. Stops at the first that fails.
OverTopics certified_over_topics(
    const std::function<
        popgrad::topic::BlockValue<Rational>(const popgrad::topic::TopicLaw<Rational>&)>& value,
    bool narrow, const Rational& off,
    const std::function<double(const popgrad::topic::Landscape<Rational>&,
                               const popgrad::topic::Certificate&, std::string&)>& look);

/// The certificate as evidence.
Evidence certificate_evidence(bool certified, const std::string& what, const std::string& detail);

}  // namespace popgrad::theorems::topic
