#pragma once
/// Rungs of a loss that are written down as laws of their own (LossRung):
///
///   z' = time'(t) flow(z, time(t)),   z <- step(z),   z = closed(time(t)),   z' = Dmap(L(z)) F(L(z)),  L = lift,
///   z' = G(z) where Dmap(x) F(x) = G(map(x)) for all x,    z' = (DL'DL)^-1 DL' F(L(z)) with a lift only
///
/// Shapes  z: the entries of the states, one state after the other, each row after row.
/// Time    that of the finer rung, so that rungs are compared at equal times.
/// Scalars double, Real, Dual<double>; Rational where the formulas have values on it.
/// Columns through the lift those of the finer rung, else observables that read nothing else; then maps of coarser
/// rungs of their own, and the states.

#include <cstddef>
#include <memory>

#include "learning/loss_rung.hpp"
#include "popgrad/rungs/rung_fwd.hpp"

namespace popgrad::learning {

/// The rung at this place among those of the text; `closed` where it has a flow, too, and the closed form is wanted.
/// Throws InputError: for a start outside the domain, that the map does not give, or that lift and map change.
template <class T>
AnyRung<T> own_rung(const std::shared_ptr<const LossInstance>& instance, std::size_t place,
                    bool closed);

}  // namespace popgrad::learning
