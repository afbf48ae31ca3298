#include "popgrad/base/memory.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/number_field.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

constexpr double share_of_free = 0.8;
/// Below, files of the system are not worth reading.
constexpr double always_there = 64e6;

std::optional<double> given;

// The number behind `key` in a file of lines such as `MemAvailable:  123 kB`.
std::optional<double> number_behind(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    double value = 0;
    if (word == key && in >> value) return value;
  }
  return std::nullopt;
}

std::optional<double> number_in(const char* file) {
  std::ifstream in(file);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

double free_memory() {
  double least = std::numeric_limits<double>::infinity();
  if (const auto free = number_behind("/proc/meminfo", "MemAvailable:")) least = *free * 1024;
  const auto take_group = [&](const char* most, const char* taken) {
    const auto limit = number_in(most);
    const auto used = number_in(taken);
    if (limit && used) least = std::min(least, std::max(0.0, *limit - *used));
  };
  take_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
  take_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
             "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  return least;
}

double allowed() { return given ? *given : share_of_free * free_memory(); }

}  // namespace

void set_memory_limit(std::optional<double> bytes) { given = bytes; }

double bytes_from_text(const std::string& text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr Unit units[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                            {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const std::string_view digits =
        std::string_view(text).substr(0, text.size() - unit.name.size());
    const double bytes = number_field(digits).value_or(0) * unit.bytes;
    if (bytes >= 1e6 && bytes <= 1e18) return bytes;
    break;
  }
  reject("popgrad", "--memory", text,
         "must be a number and a unit, from 1MB to 1000000TB, such as 500MB, 4GB or 1.5GiB");
}

std::string bytes_text(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.3g} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.3g} GB", bytes / 1e9);
}

double bytes_of_row(std::size_t columns, double states, std::size_t number) {
  // Time, vector of observables, vector of the state; each allocation has 16 bytes of its own.
  constexpr double vectors = 24 + 16;
  return static_cast<double>(number) * (1 + static_cast<double>(columns) + states) + vectors +
         (states > 0 ? vectors : 0);
}

std::string memory_allowed() {
  return fmt::format("{} may be taken ({})", bytes_text(allowed()),
                     given ? "--memory" : "80 % of what is free; see --memory");
}

void require_memory(double bytes, std::string_view what, std::string_view remedy) {
  if (bytes <= (given ? *given : always_there)) return;
  if (bytes <= allowed()) return;
  throw InputError(fmt::format("popgrad: {} need {}{}, and {}: {}", what,
                               std::isfinite(bytes) ? "" : "more than ",
                               bytes_text(std::min(bytes, 1e30)), memory_allowed(), remedy));
}

void bound_memory() {
  const double most = allowed();
  const auto taken = number_behind("/proc/self/status", "VmData:");
  if (!std::isfinite(most) || !taken) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  // Stacks of threads count as well, and where one does not start the program ends.
  constexpr double stacks = 40e6;
  constexpr double libraries = 100e6;
  const double bound = *taken * 1024 + most + libraries + stacks * omp_get_num_procs();
  // One that is there and is lower stands.
  if (limit.rlim_cur != RLIM_INFINITY && static_cast<double>(limit.rlim_cur) <= bound) return;
  limit.rlim_cur = static_cast<rlim_t>(bound);
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
}

}  // namespace popgrad
