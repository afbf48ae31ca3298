#include "theorems/joma/statements.hpp"

namespace popgrad {

const std::vector<Statement>& statements() {
  using namespace theorems;
  static const std::vector<Statement> all{
      joma::invariant_linear(), joma::invariant_exp(),     joma::invariant_softmax(),
      joma::linear_growth(),    joma::nonlinear_uniform(), joma::salient_first(),
      joma::entropy_bounce(),   joma::stable_rank(),       joma::tree_cooccurrence(),
      joma::tree_learning(),    joma::clock_change(),      joma::ode_limit(),
      joma::measured_bounce(),
  };
  return all;
}

const std::vector<Erratum>& errata() {
  using namespace theorems;
  static const std::vector<Erratum> all{
      joma::summed_condition(),
      joma::logits_too_large(),
      joma::single_bounce(),
  };
  return all;
}

}  // namespace popgrad
