#pragma once
/// What a model offers whose rungs can keep their state in single precision (`run --float`).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/walks/any_walk.hpp"

namespace popgrad {

/// Beside Model: found by dynamic_cast.
class SinglePrecision {
 public:
  virtual ~SinglePrecision() = default;
  /// Names of the rungs that have such a form.
  [[nodiscard]] virtual std::vector<std::string> single_rungs() const = 0;
  /// The walks of one of them at these parameters. Throws InputError.
  [[nodiscard]] virtual AnyWalk single_walk(std::string_view rung, const Parameters& parameters,
                                            std::uint64_t seed) const = 0;
};

}  // namespace popgrad
