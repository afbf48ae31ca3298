#include "io/fingerprint.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace popgrad {

std::string fingerprint(std::string_view text) {
  // Two sums of FNV's kind (xor, then multiply), with multipliers and turns of their own.
  std::uint64_t first = 0xcbf29ce484222325U;
  std::uint64_t second = 0x9e3779b97f4a7c15U ^ text.size();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    first = (first ^ byte) * 0x100000001b3U;
    second = (second ^ byte) * 0xff51afd7ed558ccdU;
    second ^= second >> 29;
  }
  return fmt::format("{:016x}{:016x}", first, second);
}

}  // namespace popgrad
