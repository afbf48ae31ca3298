#include "popgrad/scb/schedule.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/error.hpp"

namespace popgrad::scb {

double boost_goal(const Schedule& schedule, double transition_size, double context_size) {
  const double balanced = std::sqrt(std::sqrt(transition_size / context_size));
  if (schedule.boost_until == 0) return 0.75 * balanced;
  if (schedule.boost_until >= balanced && schedule.boost_steps == 0) {
    reject("scb", "--boost_until", fmt::format("{}", schedule.boost_until),
           fmt::format("must be below {:.3g}, where alpha_A settles on this instance before it "
                       "creeps; or give --boost_steps",
                       balanced));
  }
  return schedule.boost_until;
}

Part part_of(const Vector<double>& x) { return static_cast<Part>(std::lround(x[x.size() - 2])); }

void set_part(Vector<double>& x, Part part) {
  x[x.size() - 2] = static_cast<double>(part);
  x[x.size() - 1] = 0;
}

std::uint64_t count_step(Vector<double>& x) {
  double& count = x[x.size() - 1];
  count += 1;
  return static_cast<std::uint64_t>(count);
}

}  // namespace popgrad::scb
