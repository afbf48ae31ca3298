#include "popgrad/scalars/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "scalars/random_wide.hpp"

namespace popgrad {
namespace {

constexpr std::size_t group_size = 4 * wide::lanes;  // of words, or of normals

std::uint32_t blocks_of(std::size_t groups) {
  return static_cast<std::uint32_t>(groups * wide::lanes);
}

// What is less than a group, from a whole one.
template <class T>
void fill_rest(std::span<T> rest, const auto& draw_group) {
  if (rest.empty()) return;
  std::array<T, group_size> group;
  draw_group(group.data());
  std::copy_n(group.begin(), rest.size(), rest.begin());
}

}  // namespace

// Counter layout: word 0 counts blocks within the stream, word 1 is the run, 2 and 3 the step.
Stream::Stream(std::uint64_t seed, std::uint32_t run, std::uint64_t step)
    : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}},
      counter_{
          {0U, run, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32U)}},
      words_() {
  static_assert(std::tuple_size_v<decltype(words_)> == 2 * wide::lanes);
}

void Stream::make_words() {
  // Most streams end after a few blocks; a longer one gets its blocks by groups.
  constexpr std::uint32_t most_single_blocks = 6;
  at_ = end_ = 0;
  if (single_blocks_ < most_single_blocks) {
    const auto block = r123::Philox4x32{}(counter_, key_);
    words_[0] = (std::uint64_t{block[1]} << 32U) | block[0];
    words_[1] = (std::uint64_t{block[3]} << 32U) | block[2];
    ++single_blocks_;
    ++counter_[0];
    end_ = 2;
    return;
  }
  wide::group_of_words(key(), take_blocks(blocks_of(1)), words_.data());
  end_ = static_cast<std::uint32_t>(words_.size());
}

void Stream::forget_blocks_ahead() {
  const std::uint32_t begun = at_ + at_ % 2;
  counter_[0] -= (end_ - begun) / 2;
  end_ = begun;
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

AliasTable::AliasTable(std::span<const double> law) : cells_(law.size()) {
  // Shares in units of 1/size: cells below 1 are filled up by those above.
  std::vector<double> share(law.begin(), law.end());
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    share[i] *= static_cast<double>(law.size());
    (share[i] < 1 ? small : large).push_back(i);
  }
  const auto fill = [&](std::uint32_t cell, double own, std::uint32_t alias) {
    cells_[cell] = (std::uint64_t{alias} << 32U) |
                   static_cast<std::uint32_t>(std::min(own * 0x1p32, 0x1p32 - 1));
  };
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back();
    const std::uint32_t high = large.back();
    small.pop_back();
    fill(low, share[low], high);
    share[high] -= 1 - share[low];
    if (share[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  // What is left is 1 up to rounding.
  for (const std::uint32_t i : small) fill(i, 1, i);
  for (const std::uint32_t i : large) fill(i, 1, i);
}

void AliasTable::draw(std::span<const std::uint32_t> bits,
                      std::span<std::uint16_t> categories) const {
  wide::alias_draws(cells_.data(), cells_.size(), bits.data(), categories.size(),
                    categories.data());
}

void Stream::count(const AliasTable& law, std::size_t draws, std::span<std::uint32_t> counts) {
  // From here on a group in wide vectors costs less than its blocks one by one.
  constexpr std::size_t fewest_of_a_group = 20;
  constexpr std::size_t draws_of_a_block = 4;
  std::array<std::uint64_t, 2 * wide::lanes> words;
  while (draws >= fewest_of_a_group) {
    const std::size_t taken = std::min(draws, group_size);
    const std::size_t blocks = (taken + draws_of_a_block - 1) / draws_of_a_block;
    wide::group_of_words(key(), take_blocks(static_cast<std::uint32_t>(blocks)), words.data());
    for (std::size_t pair = 0; pair < taken / 2; ++pair) {
      ++counts[law(static_cast<std::uint32_t>(words[pair]))];
      ++counts[law(static_cast<std::uint32_t>(words[pair] >> 32U))];
    }
    if (taken % 2 != 0) ++counts[law(static_cast<std::uint32_t>(words[taken / 2]))];
    draws -= taken;
  }
  forget_blocks_ahead();
  for (std::size_t i = 0; i < draws; i += draws_of_a_block) {
    const auto block = r123::Philox4x32{}(counter_, key_);
    ++counter_[0];
    const std::size_t taken = std::min(draws_of_a_block, draws - i);
    for (std::size_t j = 0; j < taken; ++j) ++counts[law(block[j])];
  }
}

std::array<std::uint32_t, 4> Stream::take_blocks(std::uint32_t blocks) {
  forget_blocks_ahead();
  const std::array<std::uint32_t, 4> taken{counter_[0], counter_[1], counter_[2], counter_[3]};
  counter_[0] += blocks;
  return taken;
}

void Stream::fill(std::span<std::uint32_t> bits) {
  const std::size_t groups = bits.size() / group_size;
  wide::philox(key(), take_blocks(blocks_of(groups)), groups, bits.data());
  fill_rest(bits.subspan(groups * group_size),
            [this](std::uint32_t* out) { wide::philox(key(), take_blocks(blocks_of(1)), 1, out); });
}

void Stream::normals(std::span<double> out) {
  // Words of one part stay in the first cache.
  constexpr std::size_t most_groups = 16;
  std::array<std::uint32_t, most_groups * group_size> words;
  const auto draw = [&](std::size_t groups, double* to) {
    wide::philox(key(), take_blocks(blocks_of(groups)), groups, words.data());
    wide::normals(words.data(), groups, to);
  };
  std::size_t i = 0;
  while (const std::size_t groups = std::min(most_groups, (out.size() - i) / group_size)) {
    draw(groups, out.data() + i);
    i += groups * group_size;
  }
  fill_rest(out.subspan(i), [&](double* last) { draw(1, last); });
}

Stream Stream::skip(std::uint32_t groups) const {
  Stream further = *this;
  further.take_blocks(blocks_of(groups));
  return further;
}

std::uint32_t Stream::category(std::span<const double> cumulative) {
  const auto* const last =
      cumulative.data() + cumulative.size() - 1;  // takes the rounding of the sum
  const auto* const found = std::upper_bound(cumulative.data(), last, uniform());
  return static_cast<std::uint32_t>(found - cumulative.data());
}

}  // namespace popgrad
