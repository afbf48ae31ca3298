#pragma once
/// A statement on many drawn instances: how often it holds, and how often its controls and rivals are
/// refuted.
///
/// The share of applicable instances on which a control or rival is refuted is the power of the check: how
/// likely a mistake of that kind is to be noticed, or that explanation to be excluded, on an instance of
/// somebody else's.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

struct SurveyRequest {
  Setting setting;              ///< chosen knobs stay as chosen; the others are drawn
  std::size_t instances = 100;  ///< instance i is drawn and examined with setting.seed + i
  double seconds = 600;         ///< no instance is begun after that many
  /// Called after every instance with how many there are; returns true to stop.
  std::function<bool(std::size_t)> on_progress;
};

/// An instance on which the claim is violated, enough to see it again.
struct ViolatedInstance {
  std::uint64_t seed = 1;
  std::map<std::string, double, std::less<>> point;  ///< of knobs
  Evidence evidence;
};

struct Survey {
  std::size_t instances = 0;  ///< examined
  std::size_t holds = 0, violated = 0, inconclusive = 0, not_applicable = 0;
  std::size_t unconfirmed = 0;  ///< of the inconclusive, misses that were not seen again
  /// Instances that a hypothesis excludes, with what the first of them said.
  struct Exclusion {
    std::size_t instances = 0;
    std::string example;
  };
  std::map<std::string, Exclusion> broken;       ///< by the text of the hypothesis
  std::map<std::string, std::size_t> undecided;  ///< evidence or failure -> inconclusive instances
  /// Control or rival -> applicable instances on which it is refuted.
  std::map<std::string, std::size_t, std::less<>> refuted;
  std::vector<ViolatedInstance> violations;  ///< in order of the seed
  double seconds = 0;
  bool stopped = false;  ///< from outside

  [[nodiscard]] std::size_t applicable() const { return instances - not_applicable; }
  /// Share of applicable instances on which the control or rival of that name is refuted; NaN if there are
  /// none.
  [[nodiscard]] double power(std::string_view name) const;
};

/// The values of all knobs that stand for no broken hypothesis, drawn with this seed.
std::map<std::string, double, std::less<>> drawn_knobs(const Statement& statement,
                                                       std::uint64_t seed);

/// Violated on one is violated; else holds if it does on any.
Verdict verdict_of(const Survey& survey);

Survey survey(const Statement& statement, const SurveyRequest& request);

}  // namespace popgrad
