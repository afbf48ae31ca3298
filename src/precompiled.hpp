#pragma once
/// The library headers behind nearly every source, parsed once a build (PopgradPrecompiled.cmake).
///
/// Of libraries alone: a header of ours here would make every edit of it a whole build. Sources
/// include what they use as if this did not exist, and compile without it.

#include <Random123/philox.h>
#include <fmt/format.h>
#include <ginac/ginac.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>
