#include "formulas/evaluate.hpp"

namespace popgrad::formulas {

template class Evaluator<Dual<double>>;

}  // namespace popgrad::formulas
