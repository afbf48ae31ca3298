#include "solving/explicit_steppers.hpp"
#include "solving/solver.hpp"

namespace popgrad {

template Trajectory<double> solve(const AnyRung<double>&, const Vector<double>&,
                                  const SolveRequest<double>&);
template std::vector<double> equally_spaced(const double&, const double&, std::size_t);

namespace solving {

// For what goes on inside a step of many digits.
template std::unique_ptr<Stepper<double>> make_bulirsch_stoer(const Field<double>&,
                                                              const Tolerances<double>&);

}  // namespace solving
}  // namespace popgrad
