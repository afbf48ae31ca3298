#include "formulas/evaluate.hpp"

namespace popgrad::formulas {

template class Evaluator<Rational>;

}  // namespace popgrad::formulas
