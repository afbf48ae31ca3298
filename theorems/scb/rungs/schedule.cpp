#include "theorems/scb/rungs/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/base/error.hpp"
#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb {

double boost_goal(const Schedule& schedule, const Training<double>& training) {
  const Bigrams<double>& b = training.bigrams;
  const double balanced = std::sqrt(std::sqrt(transition_size(b) / context_size(b)));
  double settled = balanced;
  if (schedule.transfer) {
    const double product = covariance_product(training.start, b.transition, b.stationary);
    const double square = covariance_product(training.start, training.start, b.stationary);
    // What is left of mu 1' by rounding has no correlation.
    const double rounding = static_cast<double>(b.tokens()) *
                            std::numeric_limits<double>::epsilon() *
                            stationary_square(training.start, b.stationary);
    settled = square > rounding ? std::max(0.0, product / square) : 0.0;
    if (settled == 0 && schedule.boost_steps == 0) {
      reject("scb", "--algorithm", "transfer",
             "needs a V(0) with <V, P> > 0, or attention does not move towards q: take --start "
             "transfer with a correlation above 0, give V, or end part 1 by --boost_steps");
    }
  }
  if (schedule.boost_until == 0) {
    return settled > 0 ? 0.75 * std::min(settled, balanced) : std::numeric_limits<double>::max();
  }
  if (schedule.boost_until >= settled && schedule.boost_steps == 0) {
    reject("scb", "--boost_until", fmt::format("{}", schedule.boost_until),
           fmt::format("must be below {:.3g}, where alpha_A settles on this instance{}; or give "
                       "--boost_steps",
                       settled, schedule.transfer ? " while V stays" : " before it creeps"));
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
