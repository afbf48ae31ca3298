#include "popgrad/scalars/identity.hpp"

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

// Writes square roots and exponentials as symbols of their own: sqrt(S) = root with root^2 = S, and
// exp(m) of whole multiples of symbols m as powers, so that what is left is a rational function.
class AlgebraicForm final : public GiNaC::map_function {
 public:
  GiNaC::ex operator()(const GiNaC::ex& e) override {
    const GiNaC::ex mapped = e.map(*this);
    if (GiNaC::is_the_function<GiNaC::exp_SERIAL>(mapped))
      return exponential(mapped.op(0).expand());
    if (GiNaC::is_a<GiNaC::power>(mapped)) {
      const GiNaC::ex twice = 2 * mapped.op(1);
      if (twice.info(GiNaC::info_flags::integer) &&
          !mapped.op(1).info(GiNaC::info_flags::integer)) {
        return GiNaC::pow(named(roots_, mapped.op(0).expand()), twice);
      }
    }
    return mapped;
  }

  // The numerator, with even powers of every root replaced, is 0 power by power.
  [[nodiscard]] bool vanishes(const GiNaC::ex& e) {
    return polynomial_vanishes((*this)(e).normal().numer(), 0);
  }

 private:
  using Named = std::vector<std::pair<GiNaC::ex, GiNaC::ex>>;

  static GiNaC::ex named(Named& list, const GiNaC::ex& meaning) {
    for (const auto& [known, name] : list) {
      if ((known - meaning).expand().is_zero()) return name;
    }
    list.emplace_back(meaning, GiNaC::symbol());
    return list.back().second;
  }

  // exp of a sum: whole multiples of symbols and of logarithms term by term, anything else at once.
  GiNaC::ex exponential(const GiNaC::ex& argument) {
    GiNaC::ex product = 1;
    const std::size_t terms = GiNaC::is_a<GiNaC::add>(argument) ? argument.nops() : 1;
    for (std::size_t i = 0; i < terms; ++i) {
      const GiNaC::ex term = terms == 1 ? argument : argument.op(i);
      const bool scaled = GiNaC::is_a<GiNaC::mul>(term) && term.nops() == 2 &&
                          term.op(1).info(GiNaC::info_flags::integer);
      const GiNaC::ex what = scaled ? term.op(0) : term;
      const GiNaC::ex times = scaled ? term.op(1) : GiNaC::ex(1);
      if (GiNaC::is_the_function<GiNaC::log_SERIAL>(what)) {
        product *= GiNaC::pow(what.op(0), times);
      } else if (GiNaC::is_a<GiNaC::symbol>(what)) {
        product *= GiNaC::pow(named(exponentials_, what), times);
      } else {
        return named(exponentials_, argument);
      }
    }
    return product;
  }

  bool polynomial_vanishes(const GiNaC::ex& polynomial, std::size_t root) {
    const GiNaC::ex expanded = polynomial.expand();
    if (root == roots_.size()) return expanded.is_zero();
    const auto& [square, name] = roots_[root];
    GiNaC::ex even = 0;
    GiNaC::ex odd = 0;
    for (int k = expanded.ldegree(name); k <= expanded.degree(name); ++k) {
      const GiNaC::ex part = expanded.coeff(name, k) * GiNaC::pow(square, k / 2);
      (k % 2 == 0 ? even : odd) += part;
    }
    return polynomial_vanishes(even, root + 1) && polynomial_vanishes(odd, root + 1);
  }

  Named roots_, exponentials_;
};

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
  if (f.normal().is_zero() || AlgebraicForm().vanishes(f)) return Truth::yes;
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
