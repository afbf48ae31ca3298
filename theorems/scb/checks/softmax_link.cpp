// Theorem    scb.softmax-link
// Status     claimed in source (the authors' reply), corrected here
// Source     Ren, Wang, Lee, arXiv 2410.23438, reply to the reviewers
// Statement  softmax attention moves by J^2, J = diag(a) - a a', of what moves linear attention:
//              (J^2)_ij = a_i^2 delta_ij - a_i a_j (a_i + a_j - |a|^2)
//              J^2      = (I - 11'/T)/T^2   at a = 1/T;
//            so near the start softmax with eta T^2 follows linear attention with eta, ahead by
//              alpha_A (softmax)/alpha_A (linear) = 1 + kappa T alpha_A + ...
//              kappa = sum_k mu_k sum_t (q^k_t - 1/T)^3 / (K_Q - 1/T)
// Hypotheses H1 near the start; H2 projected
// Check      both facts on the fields of the rungs, N = 2, T = 3, generic; ratio of alpha_A of
//            the two flows as T alpha_A goes to 0, and its slope
// Controls   J in place of J^2; eta T (T - 1) in place of eta T^2; eta T^1.9 in place of it; 4/3
//            kappa, as for alpha_A that grows like an exponential
// Uses       rungs sgd, flow

#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/softmax_movement.hpp"

namespace popgrad::scb::checks::softmax_link {
namespace {

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 50, 1e6, 1000);
constexpr Knob logit = logarithmic_knob(
    "logit", "T alpha_A from which the limit at 0 is extrapolated", 1e-3, 0.03, 0.01);
constexpr Knob far_from_start =
    logarithmic_knob("far-from-start",
                     "T alpha_A at which the curves are compared; 0: as it goes to 0", 0.01, 10, 0)
        .breaking("near the start");

Truth moves_by(bool square) {
  Vector<Expression> a = symbols("a", 3);
  a[2] = 1 - a[0] - a[1];
  const Movement found = movement(a, 1, false);
  Matrix<Expression> by(3, 3);
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) {
      const Expression own = i == j ? a[i] : Expression(0);
      by(i, j) = square ? own * a[i] - a[i] * a[j] * (a[i] + a[j] - a.squaredNorm())
                        : Expression(own - a[i] * a[j]);
    }
  }
  return vanishes(Matrix<Expression>(found.softmax - by * found.linear));
}

// At a = 1/T, T = 3.
Truth same_at_start(const Expression& rate) {
  const Movement found = movement(Vector<Expression>::Constant(3, Expression(1) / 3), rate, true);
  return vanishes(Matrix<Expression>(found.softmax - found.linear));
}

void derive(Examination& it) {
  it.judge(Identity{.what = "velocity of softmax attention minus J^2 times the linear field",
                    .holds = [] { return moves_by(true); },
                    .mistakes = {{"jacobian", [] { return moves_by(false); }}},
                    .detail = "generic V, P, mu, q, a; N = 2, T = 3"});
  it.judge(Identity{.what = "velocity of softmax at a = 1/T and rate T^2 minus the linear one",
                    .holds = [] { return same_at_start(9); },
                    .mistakes = {{"one-position-less", [] { return same_at_start(6); }}}});
}

// kappa.
double lead(const Bigrams<double>& b) {
  const double share = 1 / static_cast<double>(b.context);
  double cubes = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k)).array();
    const auto rest = static_cast<double>(b.context - b.support(k));
    cubes += b.stationary[k] * ((law - share).cube().sum() - rest * std::pow(share, 3));
  }
  return cubes / (context_size(b) - share);
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = examined_training(setting, [&] {
    return from_scratch(setting.count(tokens_knob), setting.count(length),
                        setting.count(support_knob), setting.seed);
  });
  const double far = setting.value(far_from_start);
  const double top = far > 0 ? far : setting.value(logit);
  it.parameters = {{"N", training.bigrams.tokens()},
                   {"T", training.bigrams.context},
                   {"T alpha_A", top},
                   {"seed", setting.seed}};
  it.require("near the start", 0 - far, fmt::format("compared at T alpha_A = {:.3g}", far));
  it.require("projected", training.project ? Truth::yes : Truth::no);
  const auto at_start = [&](const Curves& curves, const std::vector<Quantity>& values) {
    return std::vector{far > 0 ? values.front() : limit_in(curves.logits, values)};
  };
  in_refined_digits([&]<class T>() {
    const Curves curves = follow<T>(training, top, 2);
    it.judge(Comparison{
        .what = "alpha_A of softmax over that of linear attention",
        .measured = at_start(curves, curves.ratio),
        .predicted = {1.0},
        .mistakes = {measures("other-power",
                              [&] {
                                const Curves other = follow<T>(training, top, 1.9);
                                return at_start(other, other.ratio);
                              })},
        .detail = fmt::format("{:.6g} at T alpha_A = {:.3g}", curves.ratio.front().value(), top)});
    it.judge(Comparison{
        .what = "lead of softmax over T alpha_A",
        .measured = at_start(curves, curves.slope),
        .predicted = {lead(training.bigrams)},
        .mistakes = {predicts_times("jacobian", 0.5), predicts_times("late-lead", 4.0 / 3)}});
  });
}

}  // namespace

Statement statement() {
  return {.id = "scb.softmax-link",
          .claim = "near the start softmax attention is linear attention slowed down by T^2",
          .paper = "arXiv 2410.23438, reply to the reviewers",
          .status = "claimed in source",
          .hypotheses = {"near the start", "projected"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"jacobian", "J in place of J^2"},
                       {"one-position-less", "eta T (T - 1) in place of eta T^2"},
                       {"other-power", "eta T^1.9 in place of eta T^2"},
                       {"late-lead", "kappa 4/3, as while alpha_A grows like an exponential"}},
          .knobs = {tokens_knob, length, support_knob, logit, far_from_start},
          .reads = "flow",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scb::checks::softmax_link
