#pragma once
/// Softmax attention beside linear attention: how both move, on symbols and along the flows.

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/identity.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks {

/// Two tokens, three positions, everything generic.
inline Training<Expression> generic_law() {
  Training<Expression> made;
  made.bigrams.transition = symbols("P", 2, 2);
  made.bigrams.stationary = symbols("mu", 2);
  made.bigrams.context = 3;
  made.bigrams.first = {0, 2, 4};
  made.bigrams.position = {0, 1, 1, 2};
  made.bigrams.law = symbols("q", 4);
  return made;
}

/// How the attention a of token 0 moves under softmax, by the chain rule along the field of its
/// logits; and the field of linear attention at the same a.
struct Movement {
  Vector<Expression> softmax, linear;
};
inline Movement movement(const Vector<Expression>& a, const Expression& rate, bool project) {
  Training<Expression> law = generic_law();
  law.project = project;
  const SequenceSgd<Expression> linear(law);
  law.softmax = true;
  law.attention_rate = rate;
  const SequenceSgd<Expression> softmax(law);
  Vector<Expression> x = symbols("x", linear.dimension());
  const Vector<Expression> weights = softmax.attention(x, 0);
  Vector<Expression> field(x.size());
  softmax.rhs(x, field, Expression(0));
  Movement found{Vector<Expression>(3), Vector<Expression>(3)};
  GiNaC::lst logits;
  for (Index t = 0; t < 3; ++t) logits.append(x[4 + t] == GiNaC::log(a[t]));
  for (Index t = 0; t < 3; ++t) {
    found.softmax[t] = rate_along(weights[t], x, field).subs(logits);
  }
  x.segment(4, 3) = a;
  linear.rhs(x, field, Expression(0));
  found.linear = field.segment(4, 3);
  return found;
}

template <class T>
T alpha_A(const AnyRung<T>& rung, const Vector<T>& x) {
  return observed_at(rung, x, "alpha_A");
}

/// Both flows where T alpha_A of the linear one is about `top`, a half and a quarter of it, and as a
/// refinement goes on.
struct Curves {
  std::vector<double> logits;
  std::vector<Quantity> ratio;  ///< of alpha_A, softmax over linear
  std::vector<Quantity> slope;  ///< (ratio - 1)/(T alpha_A)
};
template <class T>
Curves follow(const Training<double>& training, double top, double power) {
  using std::pow;
  const Bigrams<double>& b = training.bigrams;
  const auto positions = static_cast<double>(b.context);
  const double rate = training.attention_rate;
  Training<T> own_training = training.cast<T>();
  own_training.softmax = false;
  const AnyRung<T> linear = forget_type(PopulationFlow<T>(own_training));
  own_training.softmax = true;
  own_training.attention_rate = T(rate) * T(pow(T(positions), T(power)));
  const AnyRung<T> softmax = forget_type(PopulationFlow<T>(own_training));
  // T alpha_A = rate (<V(0), P> T t + K_P t^2/2) at first.
  const double size = transition_size(b);
  const double pull = std::fabs(covariance_product(training.start, b.transition, b.stationary));
  const auto n = static_cast<double>(b.tokens());
  const bool at_rest = pull <= ErrorPart::rounding(n * n, 1).size();
  constexpr double tolerance = 1e-13;  // of the solves
  Curves found;
  std::vector<double> times;
  for (const double logit_there : falling_parameters(top, 2, 3)) {
    found.logits.push_back(logit_there);
    const double moved = logit_there / rate;
    times.insert(times.begin(), at_rest ? std::sqrt(2 * moved / size) : moved / pull / positions);
  }
  const SolvedIn<T> slow(linear, times, tolerance);
  const SolvedIn<T> fast(softmax, times, tolerance);
  const ErrorPart cancelled = ErrorPart::rounding(static_cast<double>(b.entries() + b.tokens()),
                                                  1 / (positions * context_size(b)));
  for (std::size_t save = times.size(); save-- > 0;) {
    Quantity own = slow.at(save, [&](const Vector<T>& x) -> T { return alpha_A(linear, x); });
    Quantity other = fast.at(save, [&](const Vector<T>& x) -> T { return alpha_A(softmax, x); });
    if constexpr (std::is_same_v<T, double>) {
      own.add(cancelled);
      other.add(cancelled);
    }
    found.ratio.push_back(other / own);
    found.slope.push_back((other / own - Quantity(1)) / (own * Quantity(positions)));
  }
  return found;
}

}  // namespace popgrad::scb::checks
