#include <optional>

#include "theorems/topic/checks/attention_borders.hpp"
#include "theorems/topic/checks/attention_weights.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::attention_optimum {
namespace {

constexpr Hypothesis several_topics{"`tau >= 2`"};
constexpr Hypothesis some_kept{"`p_c > 0`"};
constexpr Hypothesis squared_loss = by_construction("squared loss", "the landscape is that of it");

constexpr Knob crowding =
    logarithmic_knob("topics-over-active", "T/tau, topics over those of a document", 1.5, 64, 16);
constexpr Knob active_topics =
    whole_knob("topics-a-document", "tau, number of topics in a document", 2, 32, 4);
constexpr Knob words_of_topic = words_knob(2, 40, 10);
// Where hardly anything is masked or kept the landscape is flat.
constexpr Knob some_masking = masking_knob(0.02, 1);
constexpr Knob some_keeping = keeping_knob(0.01, 0.8);
// Each is 1 beyond its hypothesis.
constexpr Knob single_topic =
    whole_knob("single-topic", "1: documents of one topic", 1, 1, 0).breaking(several_topics);
constexpr Knob never_kept =
    whole_knob("never-kept", "1: no selected position keeps its word", 1, 1, 0).breaking(some_kept);

namespace block {

constexpr Hypothesis least_norm{"`W_V` of least norm"};

Statement sheet{.id = "topic.attention-block",
                .paper = "arXiv 2303.04245, Theorem 3",
                .status = "proved in source",
                .about = "the loss by attention weights",
                .theorem = R"(
With the minimum-norm W_V the loss depends only on
  g = alpha + (v - 1) beta,
so that the minimisers form a line; from uniform attention it falls as
  dL/dalpha = -2 p_c pi_1 (tau - 1)/(a tau v),
with pi_1 the frequency of a word of the document's topics and a = 1 - (1 - p_c) p_m. The mean weight
of same-topic words, g*/v, is above 1, that of each is not: the own word may have all of it. As tau
grows at one T/tau it is of order tau, and as T grows at one tau it comes to a limit. Beyond the
hypotheses uniform attention is optimal: g* = v at tau = 1 and at p_c = 0, where g*/v - 1 comes to 0
as p_c does.)",
                .hypotheses = {several_topics, some_kept, squared_loss, least_norm},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                            EvidenceKind::numerical},
                .false_version = "each-word",
                .knobs = {active_topics, crowding, words_of_topic, some_masking, some_keeping,
                          replacing, value_deviation_knob(least_norm), single_topic, never_kept},
                .reads = "optimum"};

const Clause line = sheet.clause("block-wise `W_V`: best attention is a line");
const Clause above = sheet.clause("same topic above others");
const Clause order = sheet.clause("order `tau`");
const Clause slope = sheet.clause("slope at uniform attention");
const Clause borders = sheet.clause("uniform at `tau = 1` or `p_c -> 0`");

const Control whole_tau =
    sheet.control("tau", "`tau` in place of `tau - 1` in the slope at uniform attention");
const Control longer_line = sheet.control("line", "the line of `alpha + v beta`");
const Control each_word = sheet.control(
    "each-word", "each word of the topic needs more attention than words of other topics");
const Control other_order = sheet.control("order", "`g*` grows as `tau^1.1`");
const Rival all_topics = sheet.rival(
    "all-topics", "`g*` goes as `T` and not as `tau`: both grow at one `T/tau`", "a factor");
const Rival both_counts =
    sheet.rival("both-counts", "`g*` goes as the square root of `T tau`", "a factor");
const Control off_single = sheet.control("single", "the optimum at `tau = 1` a tenth above `v`");
const Control off_never = sheet.control("never-kept", "the optimum at `p_c = 0` a tenth above `v`");
const Control vanishing = sheet.control("vanishing", "`g*/v - 1` goes as `p_c^1.1`");

}  // namespace block

namespace diagonal {

constexpr Hypothesis several_words{"`v >= 2`"};
constexpr Hypothesis diagonal_only{"diagonal `W_V`"};

Statement sheet{
    .id = "topic.attention-diagonal",
    .paper = "arXiv 2303.04245, Theorem 3",
    .status = "described in source; slopes, `beta* < 1` and the order of `alpha*` derived here",
    .about = "the loss by attention weights",
    .theorem = R"(
With diagonal W_V the loss at uniform attention falls with the weight of the same word and rises with
that of other words of the topic,
  dL/dalpha = -2 p_c pi_1 (tau v - 1)/(a tau v)
  dL/dbeta  =  2 p_c pi_1 (v - 1)/(a tau v),
with pi_1 the frequency of a word of the document's topics and a = 1 - (1 - p_c) p_m. The optimum is a
single point, alpha* of order tau as tau grows at one T/tau, at a limit as T grows at one tau, and
  0 <= beta* < 1:
other words of the topic get less than words of other topics (and nothing where dL/dbeta >= 0 at the
best alpha of beta = 0), the topic with the own word more,
  (alpha* + (v - 1) beta*)/v > 1.
Beyond the hypotheses: alpha* = beta* = 1 at p_c = 0; at tau = 1 that mean is below 1.)",
    .hypotheses = {several_topics, some_kept, squared_loss, several_words, diagonal_only},
    .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                EvidenceKind::numerical},
    .false_version = "without-own",
    .knobs = {active_topics, crowding, words_of_topic, some_masking, some_keeping, replacing,
              value_deviation_knob(diagonal_only), single_topic, never_kept},
    .reads = "optimum"};

const Clause point = sheet.clause("diagonal `W_V`: isolated best point");
const Clause order = sheet.clause("`alpha*` of order `tau`");
const Clause below_one = sheet.clause("`beta* < 1`");
const Clause above = sheet.clause("same topic above others");
const Clause one_topic = sheet.clause("below at `tau = 1`");
const Clause slope = sheet.clause("slopes at uniform");
const Clause borders = sheet.clause("uniform at `p_c = 0`");

const Control same_word =
    sheet.control("same-word", "`tau v` in place of `tau v - 1` in `dL/dalpha`");
const Control other_words = sheet.control("other-words", "`v` in place of `v - 1` in `dL/dbeta`");
const Control without_own = sheet.control(
    "without-own", "other words of the topic, too, get more than words of other topics");
const Control other_order = sheet.control("order", "`alpha*` grows as `tau^1.1`");
const Control off_never = sheet.control("never-kept", "weights a tenth above 1 at `p_c = 0`");
const Rival all_topics = sheet.rival(
    "all-topics", "`alpha*` goes as `T` and not as `tau`: both grow at one `T/tau`", "a factor");
const Rival both_counts =
    sheet.rival("both-counts", "`alpha*` goes as the square root of `T tau`", "a factor");

}  // namespace diagonal

// -dL/dalpha and dL/dbeta at uniform attention for diagonal W_V, -dL/dalpha for any W_V whose
// same-topic entries, the diagonal's included, exceed those of other topics by 1/(a v):
//   2 p_c pi_1/(a tau v) n
// with n = tau v - 1, v - 1 and tau - 1.
template <class T, class Count>
T pull_at_uniform(const TopicLaw<T, Count>& law, const T& n) {
  const T words = TopicLaw<T, Count>::number(law.active * law.words);
  return T(2) * law.correct * law.frequency(true) / (law.kept() * words) * n;
}

Quantity exact_pull(const TopicLaw<Rational>& law, Index n) {
  const double size = to_double(pull_at_uniform(law, Rational(n)));
  return {size, {ErrorPart::rounding(2, size)}};
}

using SymbolicLaw = TopicLaw<Expression, Expression>;

SymbolicLaw symbolic_law() {
  return {symbol("T"), symbol("tau"), symbol("v"), symbol("p_m"), symbol("p_c"), symbol("p_r")};
}

Identity pull_is(const char* what, const Expression& pull, const SymbolicLaw& law,
                 const Expression& n, const Control& mistake, const Expression& mistaken) {
  const auto is = [=](const Expression& count) {
    return vanishes(pull - pull_at_uniform(law, count));
  };
  return identity(what, [=] { return is(n); }).unless(mistake, [=] { return is(mistaken); });
}

void prove_block(Examination& it) {
  const SymbolicLaw law = symbolic_law();
  const auto value = member(law, symbol("u"), Expression(0));
  const Expression slope = landscape(law, value).gradient(Expression(1), Expression(1))[0];
  it.judge(block::slope, pull_is("`dL/dalpha` at uniform attention", -slope, law, law.active - 1,
                                 block::whole_tau, law.active));
}

void prove_diagonal(Examination& it) {
  const SymbolicLaw law = symbolic_law();
  const Vector<Expression> slopes =
      landscape(law, diagonal_value(law)).gradient(Expression(1), Expression(1));
  const Expression all = law.active * law.words;
  it.judge(diagonal::slope, pull_is("`dL/dalpha` at uniform attention", -slopes[0], law, all - 1,
                                    diagonal::same_word, all));
  it.judge(diagonal::slope, pull_is("`dL/dbeta` at uniform attention", slopes[1], law,
                                    law.words - 1, diagonal::other_words, law.words));
}

struct Examined {
  TopicLaw<Rational> law;
  Landscape<Rational> made;
};

// The law of the knobs or the user's, beyond its hypotheses where a knob says so, and the landscape
// of its W_V; hypotheses and uniform attention are judged. Nothing where nothing else can be.
std::optional<Examined> examined_attention(const Setting& setting, bool on_diagonal,
                                           Examination& it) {
  const Index active = setting.count(active_topics);
  const auto wide = std::llround(setting.value(crowding) * static_cast<double>(active));
  TopicLaw<Rational> law = examined_law(setting, std::max<Index>(wide, active + 1), active,
                                        setting.count(words_of_topic));
  if (setting.count(single_topic) == 1) law.active = 1;
  if (setting.count(never_kept) == 1) law.correct = 0;
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return {};
  it.require(several_topics, static_cast<double>(law.active - 2),
             fmt::format("`tau = {}`", law.active));
  it.require_positive(some_kept, to_double(law.correct),
                      fmt::format("`p_c = {}`", to_text(law.correct)));
  if (on_diagonal) {
    it.require(diagonal::several_words, static_cast<double>(law.words - 2),
               fmt::format("`v = {}`", law.words));
  }
  const Hypothesis& of_value = on_diagonal ? diagonal::diagonal_only : block::least_norm;
  const double off = setting.value(value_deviation_knob(of_value));
  it.require(of_value, -off, fmt::format("off by {:.3g} of its largest entry", off));
  if (on_diagonal && law.words < 2) return {};
  BlockValue<Rational> value = on_diagonal ? diagonal_value(law) : minimum_norm_value(law);
  if (off != 0) {
    value = deviating(value.cast<double>(), off, setting.seed).cast<Rational>();
  }
  const Landscape<Rational> made = landscape(law, value);
  const Vector<Rational> slopes = made.gradient(1, 1);
  it.judge(on_diagonal ? diagonal::slope : block::slope,
           identity("uniform attention is not stationary", [&] {
             return slopes[0] == 0 && slopes[1] == 0 ? Truth::no : Truth::yes;
           }).of_kind(EvidenceKind::exact));
  if (law.correct == 0 || (!on_diagonal && law.active < 2)) return {};
  return Examined{law, made};
}

TopicLaw<Rational> of_one_topic(TopicLaw<Rational> law) {
  law.active = 1;
  return law;
}
TopicLaw<Rational> without_keeping(TopicLaw<Rational> law) {
  law.correct = 0;
  return law;
}

// L on the line of g, at two beta, less L at beta = 0, over the depth of L below uniform attention.
// `others` is v - 1.
std::vector<Quantity> rises(const Landscape<Rational>& made, const Rational& g,
                            const Rational& words, const Rational& others) {
  const Rational at_end = made(g, 0);
  const Rational depth = made(1, 1) - at_end;
  std::vector<Quantity> found;
  for (const Rational& beta : {Rational(g / (2 * words)), Rational(g / words)}) {
    const Rational rise = made(g - others * beta, beta) - at_end;
    found.emplace_back(to_double(Rational(rise / depth)));
  }
  return found;
}

void examine_block(const Setting& setting, Examination& it) {
  const auto examined = examined_attention(setting, false, it);
  if (!examined) return;
  const TopicLaw<Rational>& law = examined->law;
  const Landscape<Rational>& made = examined->made;
  it.judge(block::slope, equal("`-dL/dalpha` at uniform attention",
                               -to_double(made.gradient(1, 1)[0]), exact_pull(law, law.active - 1))
                             .of_kind(EvidenceKind::exact)
                             .unless(block::whole_tau, exact_pull(law, law.active).value()));
  const auto uniform = static_cast<double>(law.words);
  const BestSum best = best_sum(law, made);
  it.judge(block::above, below("uniform weight below the mean weight `g*/v` of the topic", 1,
                               best.g * Quantity(1 / uniform))
                             .of_kind(EvidenceKind::certified)
                             // The least that a word has on the line: nothing, at beta = 0.
                             .unless(block::each_word, 0));
  const Rational words(law.words);
  const std::vector<Quantity> on_line = rises(made, best.at, words, words - 1);
  it.judge(block::line,
           equal("`L` on the line of `g*` less `L` at `beta = 0`, over its depth")
               .add("`beta = g*/(2 v)`", on_line[0], 0)
               .add("`beta = g*/v`", on_line[1], 0)
               .in_units_of(1)
               .of_kind(EvidenceKind::exact)
               .unless(block::longer_line, [&] { return rises(made, best.at, words, words); }));
  const auto judge_border = [&](const char* what, const TopicLaw<Rational>& at,
                                const Control& off) {
    const Landscape<Rational> there = landscape(at, minimum_norm_value(at));
    it.judge(block::borders, equal(what, certified_weights(at, there, false).alpha, uniform)
                                 .of_kind(EvidenceKind::certified)
                                 .unless(off, times(1.1)));
  };
  judge_border("`g*` of documents of one topic", of_one_topic(law), block::off_single);
  judge_border("`g*` where no word is kept", without_keeping(law), block::off_never);
  it.judge(block::borders,
           equal("order of `g*/v - 1` in `p_c`, towards 0", order_in_keeping(law), 1)
               .unless(block::vanishing, times(1.1)));
  it.judge(block::order, equal("order of `g*` in `tau`, far out", order_in_active(law, false), 1)
                             .unless(block::other_order, times(1.1)));
  it.judge(block::order,
           equal("order of `g*` in `T` at one `tau`, far out", order_in_topics(law, false), 0)
               .in_units_of(1)
               .against(block::all_topics, 1)
               .against(block::both_counts, 0.5));
}

// Along the weights that are not on the border.
bool positive_definite(const Landscape<Rational>& made, const Certificate& found) {
  const Matrix<Rational> hessian = made.hessian(found.alpha, found.beta);
  return found.beta == 0 ? hessian(0, 0) > 0 : inertia(hessian).positive == 2;
}

void examine_diagonal(const Setting& setting, Examination& it) {
  const auto examined = examined_attention(setting, true, it);
  if (!examined) return;
  const TopicLaw<Rational>& law = examined->law;
  const Landscape<Rational>& made = examined->made;
  const Vector<Rational> slopes = made.gradient(1, 1);
  const Index all = law.active * law.words;
  it.judge(diagonal::slope, equal("`-dL/dalpha` at uniform attention", -to_double(slopes[0]),
                                  exact_pull(law, all - 1))
                                .of_kind(EvidenceKind::exact)
                                .unless(diagonal::same_word, exact_pull(law, all)));
  it.judge(diagonal::slope, equal("`dL/dbeta` at uniform attention", to_double(slopes[1]),
                                  exact_pull(law, law.words - 1))
                                .of_kind(EvidenceKind::exact)
                                .unless(diagonal::other_words, exact_pull(law, law.words)));
  const CertifiedWeights best = certified_weights(law, made, true);
  it.judge(diagonal::below_one, below("`beta*` below 1", best.beta, 1)
                                    .of_kind(EvidenceKind::certified)
                                    .with(fmt::format("`alpha* = {:.5g}`; {} boxes",
                                                      best.alpha.value(), best.certificate.boxes)));
  it.judge(diagonal::above, below("uniform weight below the mean over the topic, own word included",
                                  1, mean_weight(law))
                                .unless(diagonal::without_own, best.beta));
  it.judge(diagonal::point, identity("the Hessian at the minimum is positive definite", [&] {
                              return positive_definite(made, best.certificate) ? Truth::yes
                                                                               : Truth::no;
                            }).of_kind(EvidenceKind::exact));
  it.judge(diagonal::order,
           equal("order of `alpha*` in `tau`, far out", order_in_active(law, true), 1)
               .unless(diagonal::other_order, times(1.1)));
  it.judge(diagonal::order,
           equal("order of `alpha*` in `T` at one `tau`, far out", order_in_topics(law, true), 0)
               .in_units_of(1)
               .against(diagonal::all_topics, 1)
               .against(diagonal::both_counts, 0.5));
  const std::vector<Quantity> bordering = minimisers_near_uniform(without_keeping(law));
  it.judge(diagonal::borders, equal("`alpha*` and `beta*` where no word is kept")
                                  .add("`alpha*`", bordering[0], 1)
                                  .add("`beta*`", bordering[1], 1)
                                  .of_kind(EvidenceKind::certified)
                                  .unless(diagonal::off_never, times(1.1)));
  it.judge(diagonal::one_topic,
           below("documents of one topic: mean weight of the topic, own word included, below 1",
                 mean_weight(of_one_topic(law)), 1));
}

}  // namespace

Statement attention_block() { return block::sheet.checked_by(examine_block, prove_block); }

Statement attention_diagonal() {
  return diagonal::sheet.checked_by(examine_diagonal, prove_diagonal);
}

}  // namespace popgrad::topic::checks::attention_optimum
