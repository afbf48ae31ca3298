#include "popgrad/scb/schedule.hpp"

#include <cmath>

namespace popgrad::scb {

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
