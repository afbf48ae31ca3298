#include "popgrad/scalar/real.hpp"
#include "solve/explicit_steppers.hpp"
#include "solve/extrapolation.hpp"
#include "solve/solver.hpp"

namespace popgrad {

template Trajectory<Real> solve(const AnyRung<Real>&, const Vector<Real>&,
                                const SolveRequest<Real>&);
template std::vector<Real> equally_spaced(const Real&, const Real&, std::size_t);

}  // namespace popgrad
