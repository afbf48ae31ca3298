#include "popgrad/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace popgrad {

// Counter layout: word 0 counts blocks within the stream, word 1 is the run, words 2 and 3 the
// step.
Stream::Stream(std::uint64_t seed, std::uint32_t run, std::uint64_t step)
    : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}},
      counter_{
          {0U, run, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32U)}},
      block_{} {}

std::uint64_t Stream::word() {
  if (used_ == 2) {
    block_ = r123::Philox4x32{}(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  const auto at = static_cast<std::size_t>(2 * used_++);
  return (std::uint64_t{block_[at + 1]} << 32U) | block_[at];
}

double Stream::uniform() {
  // 53 random bits centred in their cell: neither 0 nor 1 can come out.
  return (static_cast<double>(word() >> 11U) + 0.5) * 0x1p-53;
}

double Stream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint32_t Stream::index(std::uint32_t count) {
  const double scaled = uniform() * static_cast<double>(count);
  return std::min(static_cast<std::uint32_t>(scaled), count - 1);
}

std::uint32_t Stream::category(std::span<const double> cumulative) {
  const auto* const last =
      cumulative.data() + cumulative.size() - 1;  // takes the rounding of the sum
  const auto* const found = std::upper_bound(cumulative.data(), last, uniform());
  return static_cast<std::uint32_t>(found - cumulative.data());
}

}  // namespace popgrad
