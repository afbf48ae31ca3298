// Theorem    topic.either-alone
// Status     observed in source (either part suffices); the losses derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, abstract and summary: "either alone suffices"
// Statement  of a selected position in a long document the losses of Bayes' rule are, from the
//            topics of the document alone and from the token at the position as well,
//              L_T = 1 - 1/(tau v)
//              L_B = L_T (1 - p_c c),  c = p_c/(p_c + p_r tau/T);
//            embeddings alone end at L_T, with inner products that are on average 1/(a v) larger
//            inside a topic; attention alone, on one-hot embeddings and the diagonal W_V, at least
//            below L_T and above L_B by no more than, with P = p_c + p_r tau/T, theta = a c,
//              P c^2 (1 - a)^2/(tau v) + p_r (1 - tau/T) theta_0^2 (1/a^2 + 1/(tau v)),
//              theta_0/(1 - theta_0) = pi_0/pi_1 theta/(1 - theta),
//            with more attention inside a topic; no training ends below L_B. (At tau = 1 the
//            losses stand, and attention inside the topic is the smaller.) The loss of embeddings
//            is convex in E = W_E' W_E: with as many dimensions as words, [MASK] among them, W_E is
//            invertible or lacks rank where it rests, and every minimum in W_E is one in E.
//            (Narrower ones may rest elsewhere: T + 2 dimensions end at 0.9133 for L_T = 0.9,
//            T = 6, tau = 2, v = 5, seeds 1, 2, 3, 5, --set missing-dimensions=23.)
// Hypotheses H1 p_c > 0; H2 squared loss; H3 infinitely long documents; H4 tau >= 2; H5 embeddings
//            of at least T v + 1 dimensions
// Check      L_T and L_B against Bayes' rule run through in fractions; the bound for symbols T,
//            tau, v, p_m, p_c, p_r; the certified minimum over attention; ends of training by the
//            expected gradient
// Controls   a replaced position always of the document's topics; p_m for 1 - a in the bound;
//            embeddings that use a tenth of what the token tells; inner products a tenth larger
// Uses       rung flow; certified minimum

#include "theorems/topic/checks/attention_weights.hpp"
#include "theorems/topic/checks/bayes_rule.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"
#include "theorems/topic/checks/trained_parts.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"

namespace popgrad::topic::checks::either_alone {
namespace {

constexpr Knob absent = absent_knob(1, 3, 2);
constexpr Knob active = active_knob(2, 3, 2);
constexpr Knob words = words_knob(2, 4, 3);
// Relaxation takes times of order 1/a^2.
constexpr Knob selecting = masking_knob(0.02, 0.6);
constexpr Knob kept = keeping_knob(0.01, 0.6);
constexpr Knob replaced = replacing_knob(0.001, 0.5);

constexpr const char* wide_text = "embeddings of at least T v + 1 dimensions";
constexpr Knob missing =
    whole_knob("missing-dimensions", "by how many embeddings have less than T v + 1", 1, 23, 0)
        .breaking(wide_text);

void derive(Examination& it) {
  const TopicLaw<Expression, Expression> law{symbol("T"),   symbol("tau"), symbol("v"),
                                             symbol("p_m"), symbol("p_c"), symbol("p_r")};
  const Expression own = own_word_weight(law);
  const Expression excess = landscape(law, diagonal_value(law))(own, Expression(1)) -
                            bayes_loss(law, Known::topics_and_token);
  const auto is = [&](const Expression& lost) {
    return vanishes(excess - own_word_excess(law, lost));
  };
  it.judge(Identity{.what = "loss of the diagonal W_V at one own-word weight less Bayes loss",
                    .holds = [&] { return is(1 - law.kept()); },
                    .mistakes = {{"all-lost", [&] { return is(law.masked); }}}});
}

void judge_attention(const TopicLaw<Rational>& law, Examination& it) {
  const auto bayes = [](const Rational& loss) { return Quantity(to_double(loss)); };
  const Rational least = bayes_loss(law, Known::topics_and_token);
  const Landscape<Rational> made = landscape(law, diagonal_value(law));
  const Certificate found = certified_weights(law, made, true).certificate;
  const Quantity attention(
      to_double(Rational((found.lower + found.upper) / 2)),
      {ErrorPart::enclosure(to_double(Rational(found.upper - found.lower)) / 2)});
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "Bayes loss below the least loss of attention alone",
                      .measured = {bayes(least)},
                      .relation = Relation::below,
                      .predicted = {attention},
                      .mistakes = {measures("own-topics", [&] {
                        return std::vector{bayes(mistaken_bayes_loss(law))};
                      })}});
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "least loss of attention alone below the Bayes loss of topics alone",
                      .measured = {attention},
                      .relation = Relation::below,
                      .predicted = {bayes(bayes_loss(law, Known::topics))}});
  const Rational bound = least + own_word_excess(law, Rational(1 - law.kept()));
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "least loss of attention alone at most the bound",
                      .measured = {attention},
                      .relation = Relation::at_most,
                      .predicted = {bayes(bound)},
                      .scale = {to_double(Rational(bound - least))}});
}

std::string start_text() { return fmt::format("W_E normal, deviation {:g}", embedding_start); }

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto width_of = [&](const TopicLaw<Rational>& own) {
    return std::max<Index>(1, own.vocabulary() - setting.count(missing));
  };
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words),
                                [&](const TopicLaw<Rational>& own) {
                                  return Record{{"d_e", width_of(own)}, {"start", start_text()}};
                                });
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  it.require_positive("p_c > 0", to_double(law.correct),
                      fmt::format("p_c = {}", to_text(law.correct)));
  it.require("tau >= 2", static_cast<double>(law.active - 2), fmt::format("tau = {}", law.active));
  const Index width = width_of(law);
  it.parameters["d_e"] = width;
  it.parameters["start"] = start_text();
  it.require(wide_text, static_cast<double>(width - law.vocabulary()),
             fmt::format("{} of {}", width, law.vocabulary()));
  if (law.correct == 0 || law.active < 2) return;
  judge_bayes_rule(law, it);
  const Rational gap = bayes_loss(law, Known::topics) - bayes_loss(law, Known::topics_and_token);
  judge_trained_embedding(rounded(law), width, to_double(gap), setting.seed, it);
  judge_attention(law, it);
  judge_trained_attention(rounded(law), to_double(gap), setting.seed, it);
}

}  // namespace

Statement statement() {
  return {.id = "topic.either-alone",
          .claim =
              "embeddings alone end at the Bayes loss of topics, attention alone near that "
              "of topics and token",
          .paper = "arXiv 2303.04245, either part alone suffices",
          .status = "observed in source",
          .hypotheses = {"p_c > 0", by_construction("squared loss", "all losses here are squared"),
                         by_construction("infinitely long documents", "expectations are over them"),
                         "tau >= 2", wide_text},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                      EvidenceKind::numerical},
          .controls = {{"own-topics", "a replaced position always of the document's topics"},
                       {"all-lost", "p_m in place of 1 - a in the bound"},
                       {"token-used", "embeddings use a tenth of what the token tells"},
                       {"tenth-more", "inner products a tenth larger inside a topic"}},
          .knobs = {absent, active, words, selecting, kept, replaced, missing},
          .reads = "optimum",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::topic::checks::either_alone
