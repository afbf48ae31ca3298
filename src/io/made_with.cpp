#include "io/made_with.hpp"

#include <fmt/format.h>
#include <ginac/version.h>
#include <mpfi.h>
#include <mpfr.h>

#include <Eigen/Core>
#include <boost/version.hpp>
#include <string_view>

namespace popgrad {

std::vector<std::pair<std::string, std::string>> versions() {
  return {{"popgrad", program_version()},
          {"Compiler", __VERSION__},
          {"Boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
                                BOOST_VERSION % 100)},
          {"Eigen",
           fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"GiNaC", fmt::format("{}.{}.{}", GINACLIB_MAJOR_VERSION, GINACLIB_MINOR_VERSION,
                                GINACLIB_MICRO_VERSION)},
          {"MPFR", mpfr_get_version()},
          {"MPFI", mpfi_get_version()}};
}

std::string program_version() {
  constexpr std::string_view commit = POPGRAD_COMMIT;
  return commit.empty() ? POPGRAD_VERSION : fmt::format("{} (commit {})", POPGRAD_VERSION, commit);
}

std::string version_text() {
  std::string text;
  for (const auto& [name, version] : versions()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "\n", name, version);
  }
  return text;
}

}  // namespace popgrad
