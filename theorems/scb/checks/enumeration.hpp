#pragma once
/// The expectation over samples by enumeration of all of them, on symbols.

#include <string>
#include <vector>

#include "popgrad/scalars/identity.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks {

/// Columns (p, 1 - p) of symbols.
inline Matrix<Expression> two_laws(const std::string& name) {
  const Vector<Expression> p = symbols(name, 2);
  Matrix<Expression> law(2, 2);
  law << p[0], p[1], 1 - p[0], 1 - p[1];
  return law;
}

/// N = T = 2, mu, P and q generic.
struct SymbolicSample {
  Training<Expression> training;
  Matrix<Expression> context;  ///< q (T x N)
};

inline SymbolicSample symbolic_training(bool project) {
  SymbolicSample s;
  Bigrams<Expression>& b = s.training.bigrams;
  b.transition = two_laws("P");
  const Expression mu = symbol("mu");
  b.stationary.resize(2);
  b.stationary << mu, 1 - mu;
  b.context = 2;
  s.context = two_laws("q");
  b.first = {0, 2, 4};
  b.position = {0, 1, 0, 1};
  b.law = s.context.reshaped();
  s.training.start = Matrix<Expression>::Constant(2, 2, Expression(0));
  s.training.attention_rate = symbol("eta");
  s.training.project = project;
  return s;
}

/// The expectation by enumeration of all sequences, queries, sources and labels.
inline Vector<Expression> enumerated(const SequenceSgd<Expression>& rung, const SymbolicSample& s,
                                     const Vector<Expression>& x, Expression& loss) {
  const Bigrams<Expression>& b = s.training.bigrams;
  Vector<Expression> sum = Vector<Expression>::Constant(x.size(), Expression(0));
  loss = 0;
  rung.attend(x);
  const Eigen::Map<const Matrix<Expression>> v(x.data(), 2, 2);
  for (Index first = 0; first < 2; ++first) {
    for (Index second = 0; second < 2; ++second) {
      const std::vector<Index> sequence{first, second};
      for (Index query = 0; query < 2; ++query) {
        for (Index source = 0; source < 2; ++source) {
          for (Index label = 0; label < 2; ++label) {
            const Index seen = sequence[static_cast<std::size_t>(source)];
            const Expression weight = b.stationary[first] * b.stationary[second] *
                                      b.stationary[query] * s.context(source, query) *
                                      b.transition(label, seen);
            rung.add_sample(x, sequence, query, label, weight, sum);
            Expression error = 0;
            for (Index i = 0; i < 2; ++i) {
              const Expression answer =
                  v(i, first) * x[4 + 2 * query] + v(i, second) * x[4 + 2 * query + 1];
              error += GiNaC::pow((i == label ? 1 : 0) - answer, 2) / 2;
            }
            loss += weight * error;
          }
        }
      }
    }
  }
  rung.finish(sum);
  return sum;
}

/// The field of the rung flow minus that of the rung sgd at the same V and A, in which positions off
/// the support are equal and, as projections keep it, 1'V = 1': N = 2, T = 4, else generic.
inline Matrix<Expression> lumped_field_minus_dense(bool project) {
  Training<Expression> training;
  Bigrams<Expression>& b = training.bigrams;
  b.transition = two_laws("P");
  b.stationary = symbols("mu", 2);
  b.stationary[1] = 1 - b.stationary[0];
  b.context = 4;
  b.first = {0, 2, 4};
  b.position = {0, 2, 1, 2};
  b.law = two_laws("q").reshaped();
  training.project = project;
  const PopulationFlow<Expression> flow(training);
  const SequenceSgd<Expression> dense(training);
  Vector<Expression> x = symbols("x", flow.dimension());
  x.head(4) = two_laws("V").reshaped();
  // Where the positions 0..3 of both tokens stand in the state of the flow, behind V.
  const std::vector<Index> place{4, 6, 5, 6, 9, 7, 8, 9};
  Vector<Expression> point(12);
  point.head(4) = x.head(4);
  for (Index t = 0; t < 8; ++t) point[4 + t] = x[place[static_cast<std::size_t>(t)]];
  Vector<Expression> lumped(x.size());
  flow.rhs(x, lumped, Expression(0));
  Vector<Expression> field(12);
  dense.rhs(point, field, Expression(0));
  field.head(4) -= lumped.head(4);
  for (Index t = 0; t < 8; ++t) field[4 + t] -= lumped[place[static_cast<std::size_t>(t)]];
  return field;
}

}  // namespace popgrad::scb::checks
