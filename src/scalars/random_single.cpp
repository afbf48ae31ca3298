#include "popgrad/scalars/random_single.hpp"

#include <algorithm>
#include <array>

#include "scalars/random_wide.hpp"

namespace popgrad {

void single_normals(Stream& stream, std::span<float> out) {
  // Words of one part stay in the first cache; the last part is filled up to a whole group.
  constexpr std::size_t group = 4 * wide::lanes;
  constexpr std::size_t most = 16 * group;
  std::array<std::uint32_t, most> words;
  for (std::size_t i = 0; i < out.size(); i += most) {
    const std::size_t count = std::min(most, out.size() - i);
    const std::size_t whole = count / group * group;
    const std::size_t drawn = (count + group - 1) / group * group;
    stream.fill({words.data(), drawn});
    wide::normals(words.data(), whole / group, out.data() + i);
    if (drawn == whole) continue;
    std::array<float, group> rest;
    wide::normals(words.data() + whole, 1, rest.data());
    std::copy_n(rest.begin(), count - whole, out.data() + i + whole);
  }
}

}  // namespace popgrad
