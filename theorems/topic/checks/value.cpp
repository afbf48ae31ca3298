#include "theorems/topic/checks/document_moments.hpp"
#include "theorems/topic/checks/exact_inertia.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/random_member.hpp"

namespace popgrad::topic::checks::value {
namespace {

Statement sheet{.id = "topic.value",
                .paper = "arXiv 2303.04245, Theorem 2",
                .status = "block shape proved in source, entries and penalty derived here",
                .about = "the moments of masked documents",
                .theorem = R"(
Under uniform attention W_V is optimal iff for numbers u_i its block sums and column 0 are
  sum_{j in t} W_ij = [t = topic(i)]/a + u_i
  W_i0              = -(b/a + u_i s)/p0,
with p0 the frequency of [MASK] and
  a = 1 - (1 - p_c) p_m,  b = p_m p_r/(T v),  s = a/v + T b.
Without a penalty entries may differ within blocks. A vanishing l2 penalty picks entries equal within
blocks and
  u = -(1/a) (s b/p0^2 + 1/v)/(s^2/p0^2 + T/v),
at a distance of first order in the penalty. With C = E[p p'] and c = E[p e_w'] over the frequencies p
and words w of selected positions, a penalty lambda |W|^2 has
  W = c' (C + lambda I)^{-1},
and without one the optimum of least norm is W = c' C^+, the gradient 2 (W C - c').)",
                .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
                .no_rival = "the least of a quadratic loss, by its gradient and Hessian",
                .false_version = "unique",
                .reads = "optimum"};

const Clause sums_and_column =
    sheet.clause("best `W_V` under uniform attention: block sums and column 0");
const Clause all_such = sheet.clause("all such `W_V`, no others");
const Clause least_entries = sheet.clause("minimum-norm limit");
const Clause ridge = sheet.clause("`l2` form");
const Clause first_order = sheet.clause("off it by `O(lambda)`");

const Hypothesis squared_loss =
    sheet.assume(by_construction("squared loss", "moments and gradient are those of it"));
const Hypothesis long_documents = sheet.assume("long documents");
const Hypothesis masks_occur = sheet.assume("`p0 > 0`");

const Control nothing_kept = sheet.control("nothing-kept", "`1 - p_m` in place of `a`");
const Control no_pull = sheet.control("no-pull", "column 0 without `u s`");
const Control larger_rank = sheet.control("rank", "a rank of `T + 1`");
const Control unique = sheet.control(
    "unique", "without a penalty, too, the `W_V` with a block a topic is the only optimal one");
const Control blocks_alone =
    sheet.control("blocks-alone", "`u = -1/(a T)`, least norm of the blocks only");
const Control half_penalty = sheet.control("half-penalty", "the optimum of half the penalty");
const Control other_order = sheet.control("order", "a distance of order 1.1 in `lambda`");

const Knob absent = sheet.knob(absent_knob(1, 4, 2));
const Knob active = sheet.knob(active_knob(1, 4, 2));
const Knob words = sheet.knob(words_knob(1, 6, 3));
const Knob any_masking = sheet.knob(masking);
const Knob any_keeping = sheet.knob(keeping);
const Knob any_replacing = sheet.knob(replacing);
const Knob penalty = sheet.knob(
    logarithmic_knob("penalty", "lambda, weight of |W_V|^2 in the loss", 1e-4, 10, 0.025));
const Knob shortness =
    sheet.knob(logarithmic_knob("inverse-length",
                                "1/N of documents of N tokens; 0: infinitely long", 1e-6, 0.25, 0)
                   .breaking(long_documents));

// Block sums and column 0 of the optimum of least norm, all rows; then its entries.
void judge_optimum(const TopicLaw<Rational>& exact, double inverse_length, Examination& it) {
  const TopicLaw<double> law = rounded(exact);
  const LeastNorm best =
      in_refined_digits([&]<class T>() { return least_norm(exact.cast<T>(), inverse_length); });
  const double unit = 1 / (law.kept() * static_cast<double>(law.words));
  const double of_mask = unit * law_sum(law) / law.mask();
  it.judge(sums_and_column, equal("own block sum less those of other topics", best.gaps,
                                  to_double(Rational(1 / exact.kept())))
                                .unless(nothing_kept, 1 / (1 - law.masked)));
  it.judge(sums_and_column, equal("column 0", best.masks, best.pulled)
                                .in_units_of(of_mask)
                                .unless(no_pull, -law.stray() / law.kept() / law.mask()));
  const auto entries = [](const auto& w) {
    return std::vector<Quantity>{to_double(w.mask), to_double(w.diagonal), to_double(w.other)};
  };
  const double u_of_blocks = -1 / (law.kept() * static_cast<double>(law.topics));
  // Predicted exactly, as the entry of a rare [MASK] is a small difference over p0.
  it.judge(least_entries,
           equal("entries of least norm", best.entries, entries(minimum_norm_value(exact)))
               .at({"[MASK]", "own topic", "other topic"})
               .in_units_of({of_mask, unit, unit})
               .unless(blocks_alone, entries(member(law, u_of_blocks, 0.0))));
}

void judge_equations(const TopicLaw<Rational>& law, const Rational& lambda, std::uint64_t seed,
                     Examination& it) {
  const auto stationary = [&](bool unpulled) {
    return is_optimal(law, random_value(law, seed, unpulled), 0);
  };
  it.judge(all_such, identity("the gradient is 0 on a member with random rows",
                              [&] { return stationary(false); })
                         .of_kind(EvidenceKind::exact)
                         .unless(no_pull, [&] { return stationary(true); }));
  // With C >= 0 the stationary are the optimal; of rank T, T v + 1 - T numbers of a row are free:
  // u and what adds up to 0 within the blocks.
  const SignCount signs = exact_inertia(second_moment(law));
  it.judge(all_such,
           identity("`C`, the Hessian of a row over 2, is positive semidefinite of rank `T`",
                    [&] { return semidefinite_of_rank(signs, law.topics); })
               .of_kind(EvidenceKind::exact)
               .unless(larger_rank, [&] { return semidefinite_of_rank(signs, law.topics + 1); })
               .unless(unique, [&] { return semidefinite_of_rank(signs, law.vocabulary()); }));
  const auto solves = [&](const Rational& used) {
    return is_optimal(law, expand(law, penalised_value(law, used)), lambda);
  };
  it.judge(ridge, identity("`W (C + lambda I) = c'`", [&] { return solves(lambda); })
                      .of_kind(EvidenceKind::exact)
                      .unless(half_penalty, [&] { return solves(lambda / 2); }));
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words));
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const double inverse = setting.value(shortness);
  it.require(long_documents, -inverse, fmt::format("`1/N = {:.4g}`", inverse));
  it.require(masks_occur, to_double(law.mask()), fmt::format("`p0 = {}`", to_text(law.mask())));
  Rational lambda = decimal(setting.value(penalty));
  if (setting.instance != nullptr && setting.instance->number<Rational>("lambda", "0") > 0) {
    lambda = setting.instance->number<Rational>("lambda", "0");
  }
  it.parameters["lambda"] = to_double(lambda);
  judge_optimum(law, inverse, it);
  judge_equations(law, lambda, setting.seed, it);
  it.judge(first_order, equal("order in `lambda` of the distance to the optimum of least norm",
                              order_in_penalty(law), 1)
                            .unless(other_order, times(1.1)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::value
