#pragma once
/// Instances of the residual statements, and the couplings of classes that training arrives at.

#include <functional>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"

namespace popgrad::scan_snap::checks {

/// Knobs of drawn classes, and of the time.
inline constexpr Knob query_count = whole_knob("queries", "queries Q", 2, 3, 2);
inline constexpr Knob most_classes =
    whole_knob("classes-of-a-query", "a query holds 2 up to this many classes", 2, 4, 3);
inline constexpr Knob across_weight = logarithmic_knob(
    "weight-across",
    "weight of tokens that queries share in units of the one that a query's classes share", 0.2, 20,
    1);
inline constexpr Knob residual_vocabulary =
    logarithmic_knob("vocabulary", "tokens M", 100, 1e5, 1000);
inline constexpr Knob decoder_time =
    logarithmic_knob("decoder-time", "tau = eta_Y s, s draws of each class", 0.1, 6, 2);

/// What knobs and seed draw, tokens shared inside a query in units of those of only one class.
QueryDraw chosen_queries(const Setting& setting, double inside);
SequenceClasses<double> drawn_queries(const Setting& setting, const QueryDraw& draw);

/// Numbers that are read off a state, in units of `unit`, after a solve with a matrix of this
/// condition number, by which roundings grow.
struct Reading {
  std::function<Vector<double>(const ResidualFlow<double>& flow, const Vector<double>& x)> numbers;
  double unit = 1;
  double condition = 1;
};
/// At the end of a solve of tau/eta_Y draws of each class, features at rest: eta_Z = 0. Parts:
/// solver, rounding (of sums over Y).
std::vector<Quantity> read_at_rest(TrainingInstance<double> training, DecoderRule rule, double tau,
                                   const Reading& reading);
/// Their limits as M -> infinity, from three M, by the true gradient at eta_Y = 1.
std::vector<Quantity> limit_of_vocabulary(const SequenceClasses<double>& classes, double tau,
                                          const std::function<Reading(double tokens)>& reading);
/// gamma of the modified gradient at tau.
double driving(const TrainingInstance<double>& training, double tau);

inline constexpr Hypothesis solved_at_rest =
    by_construction("features at rest, `Y(0) = 0`", "the solves start at 0 and have `eta_Z = 0`");

std::vector<Quantity> exactly(const Vector<double>& values);
/// The multiple of `values` that is nearest to what was measured.
std::vector<Quantity> nearest_multiple(const Vector<double>& values,
                                       const std::vector<Quantity>& measured);

}  // namespace popgrad::scan_snap::checks
