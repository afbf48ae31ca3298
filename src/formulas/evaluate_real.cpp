#include "formulas/evaluate.hpp"

namespace popgrad::formulas {

template class Evaluator<Real>;

}  // namespace popgrad::formulas
