#include "popgrad/identity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace popgrad {
namespace {

/// A value this far from 0 at a generic point cannot be rounding of 17-digit evaluation.
constexpr double clearly_nonzero = 1e-9;

void collect_symbols(const GiNaC::ex& e, std::set<GiNaC::ex, GiNaC::ex_is_less>& found) {
  if (GiNaC::is_a<GiNaC::symbol>(e)) {
    found.insert(e);
    return;
  }
  for (std::size_t i = 0; i < e.nops(); ++i) collect_symbols(e.op(i), found);
}

// Nonzero at one of a few generic points with small distinct rationals?
bool nonzero_somewhere(const GiNaC::ex& e) {
  std::set<GiNaC::ex, GiNaC::ex_is_less> free;
  collect_symbols(e, free);
  for (int trial = 1; trial <= 3; ++trial) {
    GiNaC::exmap point;
    int k = 0;
    for (const GiNaC::ex& s : free) {
      ++k;
      point[s] = GiNaC::numeric(2 * k + trial, 3 * k + 5);
    }
    const GiNaC::ex value = e.subs(point).evalf();
    if (GiNaC::is_a<GiNaC::numeric>(value) &&
        std::fabs(GiNaC::ex_to<GiNaC::numeric>(value).to_double()) > clearly_nonzero) {
      return true;
    }
  }
  return false;
}

}  // namespace

Expression symbol(const std::string& name) { return GiNaC::realsymbol(name); }

Vector<Expression> symbols(const std::string& name, Index n) {
  Vector<Expression> v(n);
  for (Index i = 0; i < n; ++i) v[i] = symbol(fmt::format("{}_{}", name, i));
  return v;
}

Matrix<Expression> symbols(const std::string& name, Index rows, Index cols) {
  Matrix<Expression> m(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) m(i, j) = symbol(fmt::format("{}_{}_{}", name, i, j));
  }
  return m;
}

Expression rate_along(const Expression& f, const Vector<Expression>& x,
                      const Vector<Expression>& rate) {
  Expression sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    sum += f.diff(GiNaC::ex_to<GiNaC::symbol>(x[i])) * rate[i];
  }
  return sum;
}

Truth vanishes(const Expression& f) {
  if (f.expand().is_zero()) return Truth::yes;
  if (nonzero_somewhere(f)) return Truth::no;
  if (f.normal().is_zero()) return Truth::yes;
  return Truth::undecided;
}

Truth vanishes(const Matrix<Expression>& f) {
  Truth all = Truth::yes;
  for (Index j = 0; j < f.cols(); ++j) {
    for (Index i = 0; i < f.rows(); ++i) {
      const Truth one = vanishes(f(i, j));
      if (one == Truth::no) return Truth::no;
      if (one == Truth::undecided) all = Truth::undecided;
    }
  }
  return all;
}

}  // namespace popgrad
