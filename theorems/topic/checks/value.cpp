// Theorem    topic.value
// Status     block shape proved in source (Theorem 2), entries and penalty derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Theorem 2
// Statement  under uniform attention W_V is optimal iff for numbers u_i its block sums and column 0
//            are, with s = a/v + T b,
//              sum_{j in t} W_ij = [t = topic(i)]/a + u_i
//              W_i0              = -(b/a + u_i s)/p0;
//            a vanishing l2 penalty picks entries equal within blocks and
//              u = -(1/a) (s b/p0^2 + 1/v)/(s^2/p0^2 + T/v),
//            at a distance of first order in the penalty; a penalty lambda |W|^2 has
//              W = c' (C + lambda I)^{-1}
// Hypotheses H1 squared loss; H2 long documents; H3 p0 > 0
// Check      W = c' C^+ in floating point against block sums, column 0 and entries; in fractions,
//            the gradient 2 (W C - c') on a member with random rows, the inertia of C, the equation
//            of the penalised optimum; order of its distance in lambda
// Controls   1 - p_m for a; column 0 without u s; a rank of T + 1; u of the blocks alone; half the
//            penalty; a distance of order 1.1
// Uses       closed forms

#include "theorems/topic/checks/document_moments.hpp"
#include "theorems/topic/checks/exact_inertia.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/random_member.hpp"

namespace popgrad::topic::checks::value {
namespace {

constexpr Knob absent = absent_knob(1, 4, 2);
constexpr Knob active = active_knob(1, 4, 2);
constexpr Knob words = words_knob(1, 6, 3);
constexpr Knob penalty =
    logarithmic_knob("penalty", "lambda, weight of |W_V|^2 in the loss", 1e-4, 10, 0.025);
constexpr Knob shortness =
    logarithmic_knob("inverse-length", "1/N of documents of N tokens; 0: infinitely long", 1e-6,
                     0.25, 0)
        .breaking("long documents");

// Block sums and column 0 of the optimum of least norm, all rows; then its entries.
void judge_optimum(const TopicLaw<Rational>& exact, double inverse_length, Examination& it) {
  const TopicLaw<double> law = rounded(exact);
  const LeastNorm best =
      in_refined_digits([&]<class T>() { return least_norm(exact.cast<T>(), inverse_length); });
  const double unit = 1 / (law.kept() * static_cast<double>(law.words));
  const double of_mask = unit * law_sum(law) / law.mask();
  it.judge(Comparison{.what = "own block sum less those of other topics",
                      .measured = best.gaps,
                      .predicted = {to_double(Rational(1 / exact.kept()))},
                      .mistakes = {predicts("nothing-kept", 1 / (1 - law.masked))}});
  it.judge(Comparison{.what = "column 0",
                      .measured = best.masks,
                      .predicted = best.pulled,
                      .scale = {of_mask},
                      .mistakes = {predicts("no-pull", -law.stray() / law.kept() / law.mask())}});
  const auto entries = [](const auto& w) {
    return std::vector<Quantity>{to_double(w.mask), to_double(w.diagonal), to_double(w.other)};
  };
  const double u_of_blocks = -1 / (law.kept() * static_cast<double>(law.topics));
  it.judge(
      Comparison{.what = "entries of least norm",
                 .measured = best.entries,
                 // Exact, as the entry of a rare [MASK] is a small difference over p0.
                 .predicted = entries(minimum_norm_value(exact)),
                 .scale = {of_mask, unit, unit},
                 .mistakes = {predicts("blocks-alone", entries(member(law, u_of_blocks, 0.0)))},
                 .places = {"[MASK]", "own topic", "other topic"}});
}

void judge_equations(const TopicLaw<Rational>& law, const Rational& lambda, std::uint64_t seed,
                     Examination& it) {
  const auto stationary = [&](bool no_pull) {
    return is_optimal(law, random_value(law, seed, no_pull), 0);
  };
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "the gradient is 0 on a member with random rows",
                    .holds = [&] { return stationary(false); },
                    .mistakes = {{"no-pull", [&] { return stationary(true); }}}});
  const SignCount signs = exact_inertia(second_moment(law));
  it.judge(Identity{
      .kind = EvidenceKind::exact,
      .what = "C, the Hessian of a row over 2, is positive semidefinite of rank T",
      .holds = [&] { return semidefinite_of_rank(signs, law.topics); },
      .mistakes = {{"rank", [&] { return semidefinite_of_rank(signs, law.topics + 1); }}}});
  const auto solves = [&](const Rational& used) {
    return is_optimal(law, expand(law, penalised_value(law, used)), lambda);
  };
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "W (C + lambda I) = c'",
                    .holds = [&] { return solves(lambda); },
                    .mistakes = {{"half-penalty", [&] { return solves(lambda / 2); }}}});
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const double inverse = setting.value(shortness);
  it.require("long documents", -inverse, fmt::format("1/N = {:.4g}", inverse));
  it.require("p0 > 0", to_double(law.mask()), fmt::format("p0 = {}", to_text(law.mask())));
  Rational lambda = decimal(setting.value(penalty));
  if (setting.instance != nullptr && setting.instance->number<Rational>("lambda", "0") > 0) {
    lambda = setting.instance->number<Rational>("lambda", "0");
  }
  it.parameters["lambda"] = to_double(lambda);
  judge_optimum(law, inverse, it);
  judge_equations(law, lambda, setting.seed, it);
  it.judge(Comparison{.what = "order in lambda of the distance to the optimum of least norm",
                      .measured = {order_in_penalty(law)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("order", 1.1)}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.value",
          .claim = "best W_V under uniform attention, its minimum-norm limit and its l2 form",
          .paper = "arXiv 2303.04245, Theorem 2",
          .status = "block shape proved in source",
          .hypotheses = {by_construction("squared loss", "moments and gradient are those of it"),
                         "long documents", "p0 > 0"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"nothing-kept", "1 - p_m in place of a"},
                       {"no-pull", "column 0 without u s"},
                       {"rank", "a rank of T + 1"},
                       {"blocks-alone", "u = -1/(a T), least norm of the blocks alone"},
                       {"half-penalty", "the optimum of half the penalty"},
                       {"order", "a distance of order 1.1 in lambda"}},
          .knobs = {absent, active, words, masking, keeping, replacing, penalty, shortness},
          .reads = "optimum",
          .examine = examine};
}

}  // namespace popgrad::topic::checks::value
