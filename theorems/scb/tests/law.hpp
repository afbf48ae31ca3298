#pragma once
/// Sparse contextual bigrams written out: kernel, contexts, whole V and A of any rung's state, and
/// expectations that run through every sample.

#include <functional>

#include "laws/cases.hpp"

namespace popgrad::laws {

struct BigramLaw {
  Matrix<double> kernel;   ///< P (N x N)
  Vector<double> mu;       ///< (N)
  Matrix<double> context;  ///< q^k in column k (T x N)
  [[nodiscard]] Index tokens() const { return mu.size(); }
  [[nodiscard]] Index positions() const { return context.rows(); }
};
BigramLaw bigram_law(const Case& made);

struct Whole {
  Matrix<double> values;     ///< V (N x N)
  Matrix<double> attention;  ///< a^k in column k (T x N)
};
/// Of a state of any rung that keeps V and A or what they are made of. Positions that a rung does not
/// tell apart get any values of the mean and the norm that it keeps.
Whole whole(const Case& made, const BigramLaw& b, const AnyRung<double>& rung,
            const Vector<double>& x);

/// One sample: x_1..x_T, query, label, and its probability. `query_last`: the query is x_T.
using Visit = std::function<void(const std::vector<Index>&, Index, Index, double)>;
void for_each_sample(const BigramLaw& b, const Visit& visit, bool query_last = false);

/// 1/2 E |e_y - V X a^k|^2. Cost N^(T + 2) Q.
double enumerated_loss(const BigramLaw& b, const Whole& now);

}  // namespace popgrad::laws
