#pragma once
/// What the two statements on optimal attention share: certified minima over (alpha, beta).

#include <optional>
#include <string>

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

/// The certificate as evidence.
Evidence certificate_evidence(const std::optional<popgrad::topic::Certificate>& certificate,
                              const std::string& what, const std::string& detail);

}  // namespace popgrad::theorems::topic
