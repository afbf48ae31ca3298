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

std::string shell_word(std::string_view word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%") ==
          std::string::npos;
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Caller::line(std::string_view command) const {
  std::string made = fmt::format("{} {}", program, command);
  if (!file.empty()) made += " " + shell_word(file);
  return made;
}

std::string verification_line(const Caller& caller, const Statement& statement, std::uint64_t seed,
                              const Point& point) {
  return fmt::format("{} {}", caller.line("verify"), words_of(statement, seed, point));
}

std::string reproduction_line(const Caller& caller, const Statement& statement, std::uint64_t seed,
                              const Point& point) {
  if (statement.reads.empty()) return verification_line(caller, statement, seed, point);
  return fmt::format("{} {} -o {}.json", caller.line("instance"), words_of(statement, seed, point),
                     statement.id);
}

std::string reproduction_line(const Caller& caller, const Finding& finding, std::uint64_t seed) {
  Point point;
  const Value* knobs = finding.examination.parameters.find("knobs");
  if (const Record* values = knobs == nullptr ? nullptr : knobs->as<Record>()) {
    for (const auto& [name, value] : values->entries()) {
      if (const auto* number = value.as<double>()) point.emplace(name, *number);
    }
  }
  return reproduction_line(caller, *finding.statement, seed, point);
}

}  // namespace popgrad
