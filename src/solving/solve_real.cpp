#include "popgrad/scalars/real.hpp"
#include "solving/explicit_steppers.hpp"
#include "solving/extrapolation.hpp"
#include "solving/solver.hpp"

namespace popgrad {

template Trajectory<Real> solve(const AnyRung<Real>&, const Vector<Real>&,
                                const SolveRequest<Real>&);
template std::vector<Real> equally_spaced(const Real&, const Real&, std::size_t);

}  // namespace popgrad
