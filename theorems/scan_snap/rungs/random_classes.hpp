#pragma once
/// Random data laws to search over: what holds for some classes need not hold for others.

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

/// One query holding all K classes: `common` tokens in every class, `distinct` ones a class.
/// Weights of distinct tokens uniform in (0.1, 1); of common ones the same times `overlap`, drawn
/// anew for each class, or once for all if `alike`.
SequenceClasses<double> random_classes(Stream& stream, Index classes, Index common, Index distinct,
                                       double overlap, Index tokens, bool alike = false);

/// One query: every class has each of `support` tokens with probability 0.6 (at least one), of
/// weight u^3, u uniform: any pattern of sharing, from none to almost all.
SequenceClasses<double> scattered_classes(Stream& stream, Index classes, Index support,
                                          Index tokens);

}  // namespace popgrad::scan_snap
