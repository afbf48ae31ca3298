#pragma once
/// Philox blocks and normals, sixteen blocks at a time.

#include <array>
#include <cstddef>
#include <cstdint>

namespace popgrad::wide {

/// Blocks a group.
inline constexpr std::size_t lanes = 16;

/// `groups` groups of blocks from this counter on (word 0 counts blocks) of Philox 4x32-7, the fewest
/// rounds that pass all tests of its authors: word w of block i of a group at out[16 w + i] of its 64.
void philox(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
            std::size_t groups, std::uint32_t* out);

/// A group of blocks of Philox 4x32-10 as the words of 64 bits that are drawn one at a time, two a block.
void group_of_words(const std::array<std::uint32_t, 2>& key,
                    const std::array<std::uint32_t, 4>& counter, std::uint64_t* out);

/// The four normals of each block of groups that `philox` made, two pairs by Box and Muller: pair p of
/// block i is r cos, r sin of words 2p (radius) and 2p + 1 (angle), at out[32 p + i] and
/// out[32 p + 16 + i], where the words are in `words`.
void normals(const std::uint32_t* words, std::size_t groups, double* out);

/// Categories of an alias table: cell i holds its own share in 2^-32 below, its alias above.
void alias_draws(const std::uint64_t* cells, std::uint64_t size, const std::uint32_t* bits,
                 std::size_t count, std::uint16_t* out);

}  // namespace popgrad::wide
