#pragma once
/// The name of the type-erased rung, for headers that only pass one on.

namespace popgrad {

template <class T>
struct AnyRung;

}  // namespace popgrad
