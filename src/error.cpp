#include "popgrad/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace popgrad {
namespace {

// Control characters as they are written in C.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02X}", byte) : std::string(1, c);
  }
  return line;
}

// Levenshtein's edit distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

InputError::InputError(std::string_view message) : std::invalid_argument(one_line(message)) {}

void reject(std::string_view where, std::string_view parameter, std::string_view value,
            std::string_view rule) {
  throw InputError(fmt::format("{}: {} {} {}", where, parameter, value, rule));
}

std::string suggestion(std::string_view given, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  // Farther than a third of the word is a guess, not a slip of the finger.
  // Nor is a word like another from which every letter differs.
  std::size_t least = std::min(std::max<std::size_t>(2, given.size() / 3) + 1, given.size());
  for (const std::string& candidate : candidates) {
    const bool prefix = given.size() >= 2 && candidate.starts_with(given);
    const std::size_t distance = prefix ? 1 : edit_distance(given, candidate);
    if (distance < least) {
      least = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string{} : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace popgrad
