#include "presenting/reproduction.hpp"

#include <fmt/format.h>

#include "popgrad/base/record.hpp"

namespace popgrad {
namespace {

using Point = std::map<std::string, double, std::less<>>;

// `ID --seed S --set KNOB=VALUE ...`; the shortest decimals that are read back as the same double.
std::string words_of(const Statement& statement, std::uint64_t seed, const Point& point) {
  std::string words = fmt::format("{} --seed {}", statement.id, seed);
  for (const Knob& knob : statement.knobs) {
    const auto own = point.find(knob.name);
    if (own == point.end() || own->second == knob.usual) continue;
    words += fmt::format(" --set {}={}", knob.name, own->second);
  }
  return words;
}

}  // namespace

std::string verification_line(const std::string& program, const Statement& statement,
                              std::uint64_t seed, const Point& point) {
  return fmt::format("{} verify {}", program, words_of(statement, seed, point));
}

std::string reproduction_line(const std::string& program, const Statement& statement,
                              std::uint64_t seed, const Point& point) {
  if (statement.reads.empty()) return verification_line(program, statement, seed, point);
  return fmt::format("{} instance {} -o {}.json", program, words_of(statement, seed, point),
                     statement.id);
}

std::string reproduction_line(const std::string& program, const Finding& finding,
                              std::uint64_t seed) {
  Point point;
  const Value* knobs = finding.examination.parameters.find("knobs");
  if (const Record* values = knobs == nullptr ? nullptr : knobs->as<Record>()) {
    for (const auto& [name, value] : values->entries()) {
      if (const auto* number = value.as<double>()) point.emplace(name, *number);
    }
  }
  return reproduction_line(program, *finding.statement, seed, point);
}

}  // namespace popgrad
