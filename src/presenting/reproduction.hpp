#pragma once
/// How an instance that a statement made of knobs and a seed is handed on.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// What lines that repeat an output begin with.
struct Caller {
  std::string program = "popgrad";
  std::string file = {};  ///< theory file that the statements are of; empty: they are built in
  /// `popgrad verify`, or `popgrad verify law.toml`.
  [[nodiscard]] std::string line(std::string_view command) const;
};

/// A word quoted for a shell where it needs to be.
std::string shell_word(std::string_view word);

/// `popgrad verify ID --seed S --set KNOB=VALUE ...` of the knobs that are not at their usual value.
std::string verification_line(const Caller& caller, const Statement& statement, std::uint64_t seed,
                              const std::map<std::string, double, std::less<>>& point);
/// `popgrad instance ID ... -o ID.json`, which writes the instance as a file; of a statement that
/// reads none, its verification_line.
std::string reproduction_line(const Caller& caller, const Statement& statement, std::uint64_t seed,
                              const std::map<std::string, double, std::less<>>& point);
/// That of a finding on an instance of knobs and a seed.
std::string reproduction_line(const Caller& caller, const Finding& finding, std::uint64_t seed);

}  // namespace popgrad
