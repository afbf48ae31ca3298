#include "popgrad/base/error.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <numeric>
#include <utility>

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

// Levenshtein's edit distance, with two neighbours exchanged as one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> next(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(row, std::move(next));
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
  std::size_t least = given.size() + 1;
  for (const std::string& candidate : candidates) {
    if (given.empty() || candidate.empty()) continue;
    const bool prefix = given.size() >= 2 && candidate.starts_with(given);
    const bool same = ::strcasecmp(std::string(given).c_str(), candidate.c_str()) == 0;
    const std::size_t distance = same ? 0 : prefix ? 1 : edit_distance(given, candidate);
    // Farther than a third of the word is a guess, not a slip of the finger; of short words a letter, or
    // two of which one is missing.
    const bool shortened = given.front() == candidate.front() && given.size() != candidate.size();
    const std::size_t slips = std::max<std::size_t>(shortened ? 2 : 1, given.size() / 3);
    // A name of which no letter is kept is another one.
    const bool alike =
        same || (distance <= slips && distance < std::max(given.size(), candidate.size()));
    if (alike && distance < least && (given.size() > 1 || same)) {
      least = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string{} : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace popgrad
