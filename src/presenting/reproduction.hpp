#pragma once
/// How an instance that a statement made of knobs and a seed is handed on.

#include <functional>
#include <map>
#include <string>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// `popgrad verify ID --seed S --set KNOB=VALUE ...` of the knobs that are not at their usual value.
std::string verification_line(const std::string& program, const Statement& statement,
                              std::uint64_t seed,
                              const std::map<std::string, double, std::less<>>& point);
/// `popgrad instance ID ... -o ID.json`, which writes the instance as a file; of a statement that
/// reads none, its verification_line.
std::string reproduction_line(const std::string& program, const Statement& statement,
                              std::uint64_t seed,
                              const std::map<std::string, double, std::less<>>& point);
/// That of a finding on an instance of knobs and a seed.
std::string reproduction_line(const std::string& program, const Finding& finding,
                              std::uint64_t seed);

}  // namespace popgrad
