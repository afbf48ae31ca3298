#include "theorems/scan_snap/checks/position_prior.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/checks/attention_formula.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

Truth symbolic_prior(int numerator, int denominator) {
  TrainingInstance<Expression> training = generic_class_with_query();
  const PopulationFlow<Expression> biased(training);
  const Vector<Expression> x = symbols("x", biased.dimension());
  const Index pairs = biased.layout().pairs();
  const Vector<Expression> bias = symbols("z0", pairs);
  Vector<Expression> shifted = x;
  for (Index p = 0; p < pairs; ++p) {
    Expression& logit = shifted[x.size() - pairs + p];
    logit = logit + bias[p];
  }
  for (std::size_t e = 0; e < biased.layout().entry_pair.size(); ++e) {
    Expression& p = training.classes.law[static_cast<Index>(e)];
    p = p * GiNaC::exp(bias[biased.layout().entry_pair[e]] * numerator / denominator);
  }
  const PopulationFlow<Expression> prior(training);
  Vector<Expression> rate(x.size()), rate_of_prior(x.size());
  biased.rhs(shifted, rate, Expression(0));
  prior.rhs(x, rate_of_prior, Expression(0));
  return vanishes(Matrix<Expression>(rate - rate_of_prior));
}

template <class T>
TrainingInstance<T> with_bias(TrainingInstance<T> training, const Vector<T>& bias) {
  const Layout layout = lay_out(training.classes, true);
  const Index m = training.classes.tokens;
  training.logit_start = Matrix<T>::Zero(m, m);
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    training.logit_start(training.classes.query[static_cast<std::size_t>(layout.entry_class[e])],
                         training.classes.token[e]) = bias[layout.entry_pair[e]];
  }
  return training;
}

template <class T>
TrainingInstance<T> with_prior(TrainingInstance<T> training, const Vector<T>& bias) {
  using std::exp;
  const Layout layout = lay_out(training.classes, true);
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    reweigh(training.classes, static_cast<Index>(e), exp(bias[layout.entry_pair[e]]));
  }
  return training;
}

template TrainingInstance<double> with_bias(TrainingInstance<double>, const Vector<double>&);
template TrainingInstance<Real> with_bias(TrainingInstance<Real>, const Vector<Real>&);
template TrainingInstance<double> with_prior(TrainingInstance<double>, const Vector<double>&);
template TrainingInstance<Real> with_prior(TrainingInstance<Real>, const Vector<Real>&);

}  // namespace popgrad::scan_snap::checks
