#include "popgrad/rungs/trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace popgrad {

std::string describe(Ending ending) {
  switch (ending) {
    case Ending::reached_end:
      return "reached the end";
    case Ending::blew_up:
      return "a component blows up before the end, or within its time's uncertainty after it; "
             "the event blow-up has the component and the time";
    case Ending::step_underflow:
      return "the step fell below the spacing of numbers at t; leave --method out where it is "
             "given, loosen --rtol, raise --digits, or end earlier";
    case Ending::not_a_number:
      return "the field is no longer finite; check the parameters, lower the step size, or end "
             "earlier";
    case Ending::diverged:
      return "training diverged";
    case Ending::budget_exhausted:
      return "the step budget is used up, or would be a hundred times before the end; leave "
             "--method out where it is given, end earlier, or loosen --rtol (a field that jumps, "
             "as that of ReLU units does, ends with 1e-5)";
    case Ending::interrupted:
      return "interrupted";
  }
  return "unknown ending";
}

std::size_t place_of(const std::vector<std::string>& columns, std::string_view name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) {
    throw std::logic_error(
        fmt::format("no column {}; there are {}", name, fmt::join(columns, ", ")));
  }
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace popgrad
