#include "popgrad/judging/compare.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/checks/attention_weights.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/trained_embedding.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks::either_alone {
namespace {

Statement sheet{.id = "topic.either-alone",
                .paper = "arXiv 2303.04245, either part alone suffices",
                .status = "observed in source (either part suffices); the losses derived here",
                .about = "training on the expected loss",
                .theorem = R"(
Of a selected position in a long document the losses of Bayes' rule are, from the topics of the
document only and from the token at the position as well,
  L_T = 1 - 1/(tau v)
  L_B = L_T (1 - p_c c),  c = p_c/(p_c + p_r tau/T).
Embeddings alone end at L_T, with inner products on average 1/(a v) larger inside a topic,
a = 1 - (1 - p_c) p_m. Attention alone, on one-hot embeddings and the diagonal W_V, has its least
loss below L_T and above L_B, by no more than, with P = p_c + p_r tau/T and theta = a c,
  P c^2 (1 - a)^2/(tau v) + p_r (1 - tau/T) theta_0^2 (1/a^2 + 1/(tau v)),
  theta_0/(1 - theta_0) = pi_0/pi_1 theta/(1 - theta),
pi_1 and pi_0 the frequencies of a word of the document's topics and of another. Trained, it comes
as near, with more attention inside a topic. No training ends below L_B.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::certified,
                            EvidenceKind::numerical},
                .reads = "optimum"};

const Clause of_embeddings = sheet.clause("embeddings alone end at the Bayes loss of topics");
const Clause of_attention = sheet.clause("attention alone near that of topics and token");
const Clause least = sheet.clause("never below it");
const Clause own_topic = sheet.clause("either favours the own topic");

const Hypothesis some_kept = sheet.assume("p_c > 0");
const Hypothesis squared =
    sheet.assume(by_construction("squared loss", "all losses here are squared"));
const Hypothesis infinite =
    sheet.assume(by_construction("infinitely long documents", "expectations are over them"));
const Hypothesis several_topics =
    sheet.assume({"tau >= 2", Basis::evaluated,
                  "at tau = 1 the losses stand, and attention inside the topic is the smaller"});
const Hypothesis wide = sheet.assume(
    {"embeddings of at least T v + 1 dimensions", Basis::evaluated,
     "the loss is convex in E = W_E' W_E; W_E with as many dimensions as words, [MASK] among them, "
     "is invertible or lacks rank where it rests, so that every minimum in W_E is one in E. "
     "Narrower ones may rest elsewhere: T + 2 dimensions end at 0.9133 for L_T = 0.9, T = 6, "
     "tau = 2, v = 5, seeds 1, 2, 3, 5 (--set missing-dimensions=23)"});

const Control own_topics =
    sheet.control("own-topics", "a replaced position always of the document's topics");
const Control all_lost = sheet.control("all-lost", "p_m in place of 1 - a in the bound");
const Control token_used =
    sheet.control("token-used", "embeddings use a tenth of the information in the token");
const Control tenth_more =
    sheet.control("tenth-more", "inner products a tenth larger inside a topic");

const Knob absent = sheet.knob(absent_knob(1, 3, 2));
const Knob active = sheet.knob(active_knob(2, 3, 2));
const Knob words = sheet.knob(words_knob(2, 4, 3));
// Relaxation takes times of order 1/a^2.
const Knob selecting = sheet.knob(masking_knob(0.02, 0.6));
const Knob few_kept = sheet.knob(keeping_knob(0.01, 0.6));
const Knob few_replaced = sheet.knob(replacing_knob(0.001, 0.5));
const Knob missing = sheet.knob(
    whole_knob("missing-dimensions", "by how many embeddings have less than T v + 1", 1, 23, 0)
        .breaking(wide));

// The weight alpha on the own word, others 1, that makes the outputs of a query whose topic is in
// the document (1 - a c) u + c e_x on the diagonal W_V.
template <class T, class Count>
T own_word_weight(const TopicLaw<T, Count>& law) {
  const T theta = law.kept() * kept_probability(law);
  return T(1) + theta / ((T(1) - theta) * law.frequency(true));
}

// Its loss above L_B; `lost` is 1 - a.
template <class T, class Count>
T own_word_excess(const TopicLaw<T, Count>& law, const T& lost) {
  const T c = kept_probability(law);
  const T all_words = law.number(law.active * law.words);
  const T more = (own_word_weight(law) - T(1)) * law.stray();
  const T stray = more / (T(1) + more);  // theta_0
  const T a = law.kept();
  return (law.correct + law.random * law.share()) * c * c * lost * lost / all_words +
         law.random * (T(1) - law.share()) * stray * stray * (T(1) / (a * a) + T(1) / all_words);
}

void prove(Examination& it) {
  const TopicLaw<Expression, Expression> law{symbol("T"),   symbol("tau"), symbol("v"),
                                             symbol("p_m"), symbol("p_c"), symbol("p_r")};
  const Expression excess =
      landscape(law, diagonal_value(law))(own_word_weight(law), Expression(1)) -
      bayes_loss(law, Known::topics_and_token);
  const auto is = [&](const Expression& lost) {
    return vanishes(excess - own_word_excess(law, lost));
  };
  it.judge(of_attention,
           identity("loss of the diagonal W_V at one own-word weight less Bayes loss", [&] {
             return is(1 - law.kept());
           }).unless(all_lost, [&] { return is(law.masked); }));
}

// 1 - sum_x P(x) |P(word | x)|^2 over all tokens x and words of a document of the first tau topics,
// whose topics are known.
Rational enumerated_bayes_loss(const TopicLaw<Rational>& law) {
  const Index present = law.active * law.words;  // words 1 .. tau v
  const Rational drawn = law.random / Rational(law.topics * law.words);
  Rational loss(1);
  for (Index x = 0; x < law.vocabulary(); ++x) {
    Rational total(0);
    Rational squares(0);
    for (Index word = 1; word <= present; ++word) {
      const Rational kept = x == word ? law.correct : Rational(0);
      const Rational joint = (x == 0 ? law.hidden() : Rational(drawn + kept)) / Rational(present);
      total += joint;
      squares += joint * joint;
    }
    if (total != 0) loss -= squares / total;
  }
  return loss;
}

// L_B with c = p_c/(p_c + p_r): replaced positions taken for words of the document's topics.
Rational mistaken_bayes_loss(const TopicLaw<Rational>& law) {
  const Rational c = law.correct / (law.correct + law.random);
  return bayes_loss(law, Known::topics) * (1 - law.correct * c);
}

void judge_bayes_rule(const TopicLaw<Rational>& law, Examination& it) {
  const auto is = [](const TopicLaw<Rational>& known, const Rational& loss) {
    return enumerated_bayes_loss(known) == loss ? Truth::yes : Truth::no;
  };
  it.judge(of_attention,
           identity("Bayes loss of topics and token, run through",
                    [&] { return is(law, bayes_loss(law, Known::topics_and_token)); })
               .of_kind(EvidenceKind::exact)
               .unless(own_topics, [&] { return is(law, mistaken_bayes_loss(law)); }));
  TopicLaw<Rational> unseen = law;  // every token [MASK]
  unseen.correct = unseen.random = 0;
  it.judge(of_embeddings, identity("Bayes loss of topics, run through", [&] {
                            return is(unseen, bayes_loss(law, Known::topics));
                          }).of_kind(EvidenceKind::exact));
}

// Only embeddings, by the flow. `gap`: L_T - L_B, the gain from the token.
void judge_embeddings(const TopicLaw<double>& law, Index width, double gap, std::uint64_t seed,
                      Examination& it) {
  const TrainedEmbedding trained = train_embedding(law, width, 0, seed);
  const double topics = bayes_loss(law, Known::topics);
  const Quantity loss(topics + trained.excess,
                      {ErrorPart::next_order(trained.falling), ErrorPart::rounding(2, topics)});
  it.judge(of_embeddings, equal("loss of embeddings trained alone", loss, topics)
                              .in_units_of(gap)
                              .unless(token_used, topics - 0.1 * gap));
  const auto v = static_cast<double>(law.words);
  std::vector<Quantity> larger;
  for (const Quantity& sums : trained.gaps) larger.push_back(sums * Quantity(1 / v));
  it.judge(own_topic, equal("mean inner product inside a topic less that with another topic",
                            larger, 1 / (law.kept() * v))
                          .unless(tenth_more, times(1.1)));
}

void judge_least_attention(const TopicLaw<Rational>& law, Examination& it) {
  const auto judge = [&](const Clause& clause, Comparison certified) {
    it.judge(clause, certified.of_kind(EvidenceKind::certified));
  };
  const Certificate found =
      certified_weights(law, landscape(law, diagonal_value(law)), true).certificate;
  const Quantity attention = enclosed(found.lower, found.upper);
  const Rational bayes = bayes_loss(law, Known::topics_and_token);
  const Rational bound = bayes + own_word_excess(law, Rational(1 - law.kept()));
  judge(least,
        below("Bayes loss below the least loss of attention alone", to_double(bayes), attention)
            .unless(own_topics, [&] { return to_double(mistaken_bayes_loss(law)); }));
  judge(of_attention, below("least loss of attention alone below the Bayes loss of topics alone",
                            attention, to_double(bayes_loss(law, Known::topics))));
  judge(of_attention,
        at_most("least loss of attention alone at most the bound", attention, to_double(bound))
            .in_units_of(to_double(Rational(bound - bayes))));
}

// Steps of Adam at 0.02 on the expected loss, saved over their second half.
Trajectory<double> trained(const Training& training, std::uint64_t steps) {
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  WalkRequest request;
  request.step_size = 0.02;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = steps;
  for (std::uint64_t k = 8; k <= 16; ++k) request.save_steps.push_back(steps * k / 16);
  return walk(rung, rung.initial, request).front();
}

// The end of training; part next order: by how much it varied over the second half of the steps.
Quantity ended(const std::vector<double>& numbers) {
  const auto [low, high] = std::ranges::minmax(numbers);
  return {numbers.back(), {ErrorPart::next_order(high - low)}};
}

constexpr std::uint64_t least_steps = 1500;

// Steps are doubled until over their second half the loss varies by less than 1e-5 of the gain that
// is asked for: rare tokens are attended late.
Trajectory<double> trained_to_rest(const Training& training, double gain) {
  // Once, and after it has come to rest twice more in a confirmation.
  std::size_t times_to_rest = falling_parameters(1, 2, 1).size();
  Trajectory<double> run;
  for (std::uint64_t steps = least_steps; times_to_rest > 0 && steps <= 48'000; steps *= 2) {
    run = trained(training, steps);
    if (ended(curve(run, "loss")).error() <= 1e-5 * gain) --times_to_rest;
  }
  return run;
}

void judge_trained_attention(const TopicLaw<double>& law, double gap, std::uint64_t seed,
                             Examination& it) {
  Training training;
  training.law = law;
  training.key_width = law.vocabulary();
  training.start = ValueStart::block;
  training.value = diagonal_value(law);
  training.train_value = false;
  training.seed = seed;
  const Trajectory<double> run = trained_to_rest(training, gap);
  const double bayes = bayes_loss(law, Known::topics_and_token);
  it.judge(of_attention,
           at_most("loss of attention trained alone at most the bound", ended(curve(run, "loss")),
                   bayes + own_word_excess(law, 1 - law.kept()))
               .in_units_of(gap));
  // Mean attention of a word on a key of its topic, its own word among them; uniform attention: 1.
  const auto v = static_cast<double>(law.words);
  std::vector<double> same_topic = curve(run, "attention_same_topic");
  std::ranges::transform(curve(run, "attention_same_word"), same_topic, same_topic.begin(),
                         [v](double word, double topic) { return (word + (v - 1) * topic) / v; });
  it.judge(own_topic, below("attention trained alone: other topics less than the same topic",
                            ended(curve(run, "attention_other_topic")), ended(same_topic)));
  // At no time below, at rest or not.
  Training both = training;
  both.embedding_width = law.vocabulary();
  both.embedding = Matrix<double>::Identity(law.vocabulary(), law.vocabulary());
  both.train_value = true;
  it.judge(least, below("Bayes loss below that of both, trained", bayes,
                        curve(trained(both, 2 * least_steps), "loss").back()));
}

void examine(const Setting& setting, Examination& it) {
  const Index tau = setting.count(active);
  const auto width_of = [&](const TopicLaw<Rational>& own) {
    return std::max<Index>(1, own.vocabulary() - setting.count(missing));
  };
  const std::string start = fmt::format("W_E normal, deviation {:g}", embedding_start);
  const auto law = examined_law(setting, tau + setting.count(absent), tau, setting.count(words),
                                [&](const TopicLaw<Rational>& own) {
                                  return Record{{"d_e", width_of(own)}, {"start", start}};
                                });
  it.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, it.parameters);
  it.parameters["seed"] = setting.seed;
  if (!makes_a_law(law, it)) return;
  const bool kept = it.require_positive(some_kept, to_double(law.correct),
                                        fmt::format("p_c = {}", to_text(law.correct)));
  const bool several = it.require(several_topics, static_cast<double>(law.active - 2),
                                  fmt::format("tau = {}", law.active));
  const Index width = width_of(law);
  it.parameters["d_e"] = width;
  it.parameters["start"] = start;
  it.require(wide, static_cast<double>(width - law.vocabulary()),
             fmt::format("{} of {}", width, law.vocabulary()));
  if (!kept || !several) return;
  judge_bayes_rule(law, it);
  const double gap = to_double(
      Rational(bayes_loss(law, Known::topics) - bayes_loss(law, Known::topics_and_token)));
  judge_embeddings(rounded(law), width, gap, setting.seed, it);
  judge_least_attention(law, it);
  judge_trained_attention(rounded(law), gap, setting.seed, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::topic::checks::either_alone
