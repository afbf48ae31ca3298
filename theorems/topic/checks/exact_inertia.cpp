#include "theorems/topic/checks/exact_inertia.hpp"

#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

SignCount exact_inertia(Matrix<Rational> m) {
  SignCount signs;
  Index left = m.rows();
  const auto swap_to_end = [&](Index i, Index end) {
    m.row(i).swap(m.row(end));
    m.col(i).swap(m.col(end));
  };
  while (left > 0) {
    Index pivot = -1;
    for (Index i = 0; i < left && pivot < 0; ++i) {
      if (m(i, i) != 0) pivot = i;
    }
    if (pivot < 0) {
      // All of the diagonal is 0: a nonzero entry next to it gives one sign of each.
      Index row = -1;
      Index column = -1;
      for (Index i = 0; i < left && row < 0; ++i) {
        for (Index j = 0; j < i; ++j) {
          if (m(i, j) != 0) {
            row = i;
            column = j;
            break;
          }
        }
      }
      if (row < 0) {
        signs.zero += left;
        return signs;
      }
      // Adding one row and column to the other puts 2 m_ij on the diagonal.
      m.row(row) += m.row(column).eval();
      m.col(row) += m.col(column).eval();
      pivot = row;
    }
    const Index end = left - 1;
    swap_to_end(pivot, end);
    const Rational d = m(end, end);
    (d > 0 ? signs.positive : signs.negative) += 1;
    for (Index i = 0; i < end; ++i) {
      if (m(i, end) == 0) continue;
      const Rational factor = m(i, end) / d;
      for (Index j = 0; j < end; ++j) m(i, j) -= factor * m(end, j);
    }
    left = end;
  }
  return signs;
}

Truth semidefinite_of_rank(const SignCount& signs, Index rank) {
  return signs.negative == 0 && signs.positive == rank ? Truth::yes : Truth::no;
}

}  // namespace popgrad::topic::checks
