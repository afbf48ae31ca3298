#include "solve/explicit_steppers.hpp"
#include "solve/solver.hpp"

namespace popgrad {

template Trajectory<double> solve(const AnyRung<double>&, const Vector<double>&,
                                  const SolveRequest<double>&);
template std::vector<double> equally_spaced(const double&, const double&, std::size_t);

}  // namespace popgrad
