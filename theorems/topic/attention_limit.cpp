// Theorem    topic.attention-limit
// Status     derived here
// Source     the constant that Theorem 3 of Li, Li, Risteski, arXiv 2303.04245, leaves open
// Statement  as T, tau and T/tau grow,
//              g*/(tau v)     -> 1/((1 - p_c) p_m)   for block-wise W_V
//              alpha*/(tau v) -> 1/((1 - p_c) p_m)   for diagonal W_V
// Hypotheses H1 tau large; H2 T/tau large; H3 p_c > 0; H4 squared loss
// Check      symbolic: with tau = 1/e, T = 1/(e d), g = y/e the coefficients of the landscape's own
//            code have joint limits at e = d = 0, and dL/dy is 0 at y = v/((1 - p_c) p_m), for
//            symbols p_m, p_c, p_r, v; numerical: T = 1e8, tau = 1e4
// Controls   1/p_m claimed; T/tau = 10 in place of 1e4
// Uses       closed form of the landscape, on symbols and in 50 digits

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "popgrad/identity.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/topic/landscape.hpp"
#include "popgrad/topic/optimum.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

// T v is at most 2e9, as a law counts its words in int.
constexpr Knob words = words_knob(2, 20, 10);
constexpr Knob few_kept = keeping_knob(0.05, 0.8);
constexpr Knob few_masked = masking_knob(0.05, 1);
constexpr Knob active_topics{.name = "topics-a-document",
                             .meaning = "tau, number of topics in a document",
                             .low = 2,
                             .high = 5000,
                             .usual = 10'000,
                             .spacing = Spacing::logarithmic,
                             .breaks = "tau large"};
constexpr Knob emptiness{.name = "topics-over-active",
                         .meaning = "T/tau, topics over those of a document",
                         .low = 1.2,
                         .high = 5000,
                         .usual = 10'000,
                         .spacing = Spacing::logarithmic,
                         .breaks = "T/tau large"};

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

double limit_at(const TopicLaw<Rational>& law) {
  return 1 / to_double(Rational((1 - law.correct) * law.masked));
}

// Root of dL/dg / (tau v), or of dL/dalpha at the best beta, by Newton steps in 50 digits.
double ratio_at(const TopicLaw<Rational>& exact, bool diagonal) {
  const auto scaled = static_cast<double>(exact.active * exact.words);
  const double far = 3 * limit_at(exact) * scaled;
  const TopicLaw<double> close = rounded(exact);
  const Minimum begin =
      find_minimum(landscape(close, diagonal ? diagonal_value(close) : minimum_norm_value(close)),
                   {0, far, 0, diagonal ? 20.0 : 0.0});
  const DigitsScope digits(50);
  const auto real = [](const Rational& x) {
    return Real(to_text(Rational(numerator(x)))) / Real(to_text(Rational(denominator(x))));
  };
  const TopicLaw<Real> law{exact.topics,       exact.active,        exact.words,
                           real(exact.masked), real(exact.correct), real(exact.random)};
  const auto made = landscape(law, diagonal ? diagonal_value(law) : minimum_norm_value(law));
  Real alpha(begin.alpha);
  Real beta(diagonal ? begin.beta : 0);
  const bool inside = diagonal && begin.beta > 0;  // else the best beta is on the border
  for (int i = 0; i < 60; ++i) {
    const Vector<Real> gradient = made.gradient(alpha, beta);
    const Matrix<Real> hessian = made.hessian(alpha, beta);
    if (!inside) {
      alpha = alpha - gradient[0] / hessian(0, 0);
      continue;
    }
    const Real determinant = hessian(0, 0) * hessian(1, 1) - hessian(0, 1) * hessian(0, 1);
    const Real move = (hessian(1, 1) * gradient[0] - hessian(0, 1) * gradient[1]) / determinant;
    beta = beta - (hessian(0, 0) * gradient[1] - hessian(0, 1) * gradient[0]) / determinant;
    alpha = alpha - move;
  }
  return to_double(Real(alpha / Real(static_cast<int>(exact.active * exact.words))));
}

// The ratio of the optimum to its limit is to first order
//   1 + x/tau + y tau/T:
// |x|/tau + |y| tau/T from two points farther out in one of them.
double first_order(TopicLaw<Rational> law, bool diagonal) {
  const auto off = [&](Index active, Index topics) {
    TopicLaw<Rational> at = law;
    at.active = active;
    at.topics = topics;
    return ratio_at(at, diagonal) / limit_at(law) - 1;
  };
  const Index many = 2'000'000'000 / law.words;
  const auto share = [&](Index active) {
    return static_cast<double>(active) / static_cast<double>(many);
  };
  // [1/tau, tau/T] (x, y)' = off, twice.
  const Index small = 4000;
  const Index large = many / 20'000;
  const double at_small = off(small, many);
  const double at_large = off(large, many);
  const double determinant =
      share(large) / static_cast<double>(small) - share(small) / static_cast<double>(large);
  const double x = (at_small * share(large) - at_large * share(small)) / determinant;
  const double y =
      (at_large / static_cast<double>(small) - at_small / static_cast<double>(large)) / determinant;
  return std::fabs(x) / static_cast<double>(law.active) + std::fabs(y) * to_double(law.share());
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const bool crowded = variant == "crowded";
  const Index active = std::llround(setting.value(active_topics));
  const Index topics = std::max<Index>(
      active + 1,
      std::llround((crowded ? 10 : setting.value(emptiness)) * static_cast<double>(active)));
  const auto law = law_at(setting, topics, active, setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  if (!makes_a_law(law, result)) return result;
  const bool large = setting.value(active_topics) == active_topics.usual &&
                     setting.value(emptiness) == emptiness.usual;
  result.hypotheses.push_back({"tau and T/tau large", large ? Truth::yes : Truth::no,
                               fmt::format("tau = {}, T/tau = {}", active, topics / active)});
  const bool wrong = variant == "inverse-p_m";
  for (const bool diagonal : {false, true}) {
    const char* const name = diagonal ? "diagonal" : "block";
    if (!setting.only_what_varies) {
      result.evidence.push_back(identity(
          EvidenceKind::symbolic, fmt::format("{}: dL/dy = 0 at y = v/((1 - p_c) p_m)", name),
          vanishes_in_the_limit(diagonal, wrong)));
    }
    const double limit = wrong ? 1 / to_double(law.masked) : limit_at(law);
    const double ratio = ratio_at(law, diagonal);
    // In a search of its own laws; half as much again for the second order.
    const double allowed = setting.only_what_varies && large && setting.slack == 0
                               ? 1.5 * first_order(law, diagonal)
                               : setting.allow(1e-3);
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, fmt::format("{}: ratio at tau = 1e4 against the limit", name),
        std::fabs(ratio / limit - 1), allowed, "-51 tau/T - 4/tau, in 7.4: 7e-4",
        fmt::format("{:.5f}, limit {:.5f}", ratio, limit)));
  }
  if (variant.empty() && setting.full) {
    for (const Index tau : {100, 1000, 10'000}) {
      result.evidence.push_back(
          reported(fmt::format("block ratio at tau = {}, T = 1e4 tau", tau),
                   ratio_at(law_at(setting, 10'000 * tau, tau, law.words), false)));
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
          .hypotheses = {"tau large", "T/tau large", "p_c > 0", "squared loss"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"inverse-p_m", "1/p_m claimed"}, {"crowded", "T/tau = 10"}},
          .knobs = {words, few_masked, few_kept, replacing, active_topics, emptiness},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
