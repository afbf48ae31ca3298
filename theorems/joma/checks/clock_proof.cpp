// The change of clock on symbols, for joma.clock-change.

#include "theorems/joma/checks/clocks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

// Both fields of 3 tokens and 2 units over symbols.
struct BothClocks {
  Matrix<Expression> target = symbols("m", 3, 2);
  Vector<Expression> v = symbols("v", 6);
  Vector<Expression> exp_rate{6}, softmax_rate{6};
  Expression total = 0;  // sum_l a_l

  explicit BothClocks(bool nonlinear) {
    ReducedInstance<Expression> instance;
    instance.nonlinear = nonlinear;
    instance.target = target;
    instance.start = v.reshaped(3, 2);
    instance.tau = symbol("tau");
    instance.attention = Attention::exp;
    ReducedFlow<Expression>(instance).rhs(v, exp_rate, Expression(0));
    instance.attention = Attention::softmax;
    ReducedFlow<Expression>(instance).rhs(v, softmax_rate, Expression(0));
    for (Index l = 0; l < 3; ++l) {
      total += GiNaC::exp((v[l] * v[l] + v[l + 3] * v[l + 3]) / instance.tau);
    }
  }
  // Rate of what `of` makes of v/m, summed over the tokens of either unit, minus 1.
  template <class Function>
  [[nodiscard]] Matrix<Expression> rate_of_sum(const Function& of) const {
    Matrix<Expression> miss(2, 1);
    for (Index unit = 0; unit < 2; ++unit) {
      Expression sum = 0;
      for (Index l = 0; l < 3; ++l) sum += of(Expression(v[l + 3 * unit] / target(l, unit)));
      miss(unit, 0) = rate_along(sum, v, softmax_rate) - 1;
    }
    return miss;
  }
};

}  // namespace

void prove_clock_change(bool nonlinear, Examination& it) {
  const BothClocks both(nonlinear);
  const auto same = [&](const Vector<Expression>& left, const Vector<Expression>& right) {
    return vanishes(Matrix<Expression>(left - right * both.total));
  };
  it.judge(Identity{
      .what = nonlinear ? "exp field = softmax field times sum a, nonlinear phi"
                        : "exp field = softmax field times sum a, linear phi",
      .holds = [&] { return same(both.exp_rate, both.softmax_rate); },
      .mistakes = {{"inverse-clock", [&] { return same(both.softmax_rate, both.exp_rate); }}}});
  const auto of_delta = [&](bool with_logarithm) {
    return vanishes(both.rate_of_sum([&](const Expression& part) -> Expression {
      if (!nonlinear || !with_logarithm) return part;
      return -GiNaC::log(1 - part);
    }));
  };
  Identity sum{.what = nonlinear ? "sum ln(delta(0)/delta) grows at the rate 1"
                                 : "sum (v - v(0))/Delta grows at the rate 1",
               .holds = [&] { return of_delta(true); }};
  if (nonlinear) sum.mistakes = {{"no-logarithm", [&] { return of_delta(false); }}};
  it.judge(sum);
}

}  // namespace popgrad::joma::checks
