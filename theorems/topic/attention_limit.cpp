// Theorem    topic.attention-limit                   Status  derived here
// Source     the constant that Theorem 3 of Li, Li, Risteski, arXiv 2303.04245, leaves open
// Statement  as T, tau and T/tau grow, g*/(tau v) -> 1/((1 - p_c) p_m) for block-wise W_V, and
//            alpha*/(tau v) has the same limit for diagonal W_V
// Hypotheses H1 T, tau, T/tau large; H2 p_c > 0; H3 squared loss
// Check      symbolic: with tau = 1/e, T = 1/(e d), g = y/e the coefficients of the landscape's own
//            code have joint limits at e = d = 0, and dL/dy is 0 at y = v/((1 - p_c) p_m), for
//            symbols p_m, p_c, p_r, v. Numerical: T = 1e8, tau = 1e4
// Controls   1/p_m claimed; T/tau = 10 in place of 1e4
// Uses       landscape on symbols and in 50 digits

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "popgrad/identity.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/topic/landscape.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

// The joint limit of a fraction of polynomials in `small`, all to 0: throws if it has a pole there.
Expression limit_of(const Expression& fraction, const std::vector<Expression>& small) {
  Expression top = fraction.normal().numer_denom();
  GiNaC::exmap zero;
  for (const Expression& s : small) zero[s] = 0;
  const Expression below = top.op(1).subs(zero).normal();
  if (below.is_zero()) throw std::domain_error("a coefficient has a pole in the limit");
  return top.op(0).subs(zero) / below;
}

// dL/dy in the limit, from the limits of the coefficients of the landscape: 0 at the claimed y?
Truth vanishes_in_the_limit(bool diagonal, bool without_correct) {
  const Expression v = symbol("v");
  const Expression p_m = symbol("p_m");
  const Expression p_c = symbol("p_c");
  const Expression e = symbol("e");
  const Expression d = symbol("d");
  const Expression y = symbol("y");
  const TopicLaw<Expression, Expression> law{1 / (e * d), 1 / e, v, p_m, p_c, symbol("p_r")};
  const auto made = landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  // The block-wise loss depends on g alone: alpha = g, beta = 0; the diagonal one at beta = 1.
  const Expression beta = diagonal ? 1 : 0;
  const auto limit = [&](const Expression& c) { return limit_of(c, {e, d}); };
  const auto linear = [&](const LinearForm<Expression>& f) {
    return Expression(limit(f.c[0] + f.c[2] * beta) + limit(f.c[1] / e) * y);
  };
  Expression slope(0);
  for (const auto& part : made.parts) {
    const auto& q = part.square.q;
    const Expression square = limit(q[0] + q[2] * beta + q[5] * beta * beta) +
                              limit((q[1] + q[4] * beta) / e) * y + limit(q[3] / (e * e)) * y * y;
    const Expression n = linear(part.normaliser);
    slope += (square / (n * n) - linear(part.linear) / n).diff(GiNaC::ex_to<GiNaC::symbol>(y));
  }
  const Expression claimed = v / ((without_correct ? Expression(1) : 1 - p_c) * p_m);
  return vanishes(slope.subs(y == claimed));
}

// Root of dL/dg / (tau v), or of dL/dalpha at the best beta, by Newton steps in 50 digits.
double ratio_at(Index topics, Index active, Index words, bool diagonal) {
  const DigitsScope digits(50);
  const TopicLaw<Real> law{topics, active, words, Real("0.15"), Real("0.1"), Real("0.1")};
  const auto made = landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  const Real scale = Real(static_cast<int>(active)) * Real(static_cast<int>(words));
  Real alpha = scale * Real(7);
  Real beta(diagonal ? 1 : 0);
  for (int i = 0; i < 60; ++i) {
    const Vector<Real> gradient = made.gradient(alpha, beta);
    const Matrix<Real> hessian = made.hessian(alpha, beta);
    if (!diagonal) {
      alpha = alpha - gradient[0] / hessian(0, 0);
      continue;
    }
    const Real determinant = hessian(0, 0) * hessian(1, 1) - hessian(0, 1) * hessian(0, 1);
    const Real move = (hessian(1, 1) * gradient[0] - hessian(0, 1) * gradient[1]) / determinant;
    beta = beta - (hessian(0, 0) * gradient[1] - hessian(0, 1) * gradient[0]) / determinant;
    alpha = alpha - move;
  }
  return to_double(Real(alpha / scale));
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const bool crowded = variant == "crowded";
  const Index active = 10'000;
  const Index topics = crowded ? 100'000 : 100'000'000;
  constexpr Index words = 10;
  result.parameters = sizes(topics, active, words);
  result.hypotheses.push_back({"tau and T/tau large", Truth::yes,
                               fmt::format("tau = {}, T/tau = {}", active, topics / active)});
  const bool wrong = variant == "inverse-p_m";
  for (const bool diagonal : {false, true}) {
    const char* const name = diagonal ? "diagonal" : "block";
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       fmt::format("{}: dL/dy = 0 at y = v/((1 - p_c) p_m)", name),
                                       vanishes_in_the_limit(diagonal, wrong)));
    const double limit = 1 / ((wrong ? 1.0 : 0.9) * 0.15);
    const double ratio = ratio_at(topics, active, words, diagonal);
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, fmt::format("{}: ratio at tau = 1e4 against the limit", name),
        std::fabs(ratio / limit - 1), 1e-3, "-51 tau/T - 4/tau, in 7.4: 7e-4",
        fmt::format("{:.5f}, limit {:.5f}", ratio, limit)));
  }
  if (variant.empty() && setting.full) {
    for (const Index tau : {100, 1000, 10'000}) {
      result.evidence.push_back(reported(fmt::format("block ratio at tau = {}, T = 1e4 tau", tau),
                                         ratio_at(10'000 * tau, tau, words, false)));
    }
  }
  return result;
}

}  // namespace

Statement attention_limit() {
  return {.id = "topic.attention-limit",
          .claim = "best attention over tau v tends to 1/((1 - p_c) p_m), block-wise and diagonal",
          .paper = "arXiv 2303.04245, Theorem 3",
          .status = "derived here",
          .hypotheses = {"T, tau, T/tau large", "p_c > 0", "squared loss"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"inverse-p_m", "1/p_m claimed"}, {"crowded", "T/tau = 10"}},
          .examine = examine};
}

}  // namespace popgrad::theorems::topic
