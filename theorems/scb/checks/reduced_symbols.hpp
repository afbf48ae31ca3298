#pragma once
/// The reduced flow and its linear part for generic K_P, K_Q and T, without a residual.

#include "popgrad/scalars/identity.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks {

/// The field of the reduced flow at (v, a) and its linear part.
struct Linear {
  Vector<Expression> field;
  Expression trace, determinant;
};
/// The sizes that the reduced flow depends on, generic.
struct Symbols {
  Expression transition = symbol("K_P"), context = symbol("K_Q"), positions = symbol("T");

  [[nodiscard]] Linear at(const Expression& v, const Expression& a) const {
    const ReducedFlow<Expression> flow(transition, context, positions, 0, 0, 0);
    const GiNaC::symbol free_v("v"), free_a("a");
    Vector<Expression> x(3);
    x << free_v, free_a, Expression(0);
    Vector<Expression> f(3);
    flow.rhs(x, f, Expression(0));
    const GiNaC::lst here{free_v == v, free_a == a};
    const auto slope = [&](Index i, const GiNaC::symbol& by) { return f[i].diff(by).subs(here); };
    Vector<Expression> field(2);
    field << f[0].subs(here), f[1].subs(here);
    return {field, slope(0, free_v) + slope(1, free_a),
            slope(0, free_v) * slope(1, free_a) - slope(0, free_a) * slope(1, free_v)};
  }
};

}  // namespace popgrad::scb::checks
