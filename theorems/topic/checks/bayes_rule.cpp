#include "theorems/topic/checks/bayes_rule.hpp"

#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

Rational enumerated_bayes_loss(const TopicLaw<Rational>& law, bool token) {
  const Index present = law.active * law.words;  // words 1 .. tau v
  const Rational word_share = 1 / Rational(present);
  const Rational drawn = law.random / Rational(law.topics * law.words);
  const Index shown = token ? law.vocabulary() : 1;
  Rational loss(1);
  for (Index x = 0; x < shown; ++x) {
    Rational total(0);
    Rational squares(0);
    for (Index word = 1; word <= present; ++word) {
      Rational joint = word_share;
      if (token) {
        joint *= x == 0 ? law.hidden() : Rational(drawn + (x == word ? law.correct : Rational(0)));
      }
      total += joint;
      squares += joint * joint;
    }
    if (total != 0) loss -= squares / total;
  }
  return loss;
}

Rational mistaken_bayes_loss(const TopicLaw<Rational>& law) {
  const Rational kept = law.correct / (law.correct + law.random);
  return bayes_loss(law, Known::topics) * (1 - law.correct * kept);
}

void judge_bayes_rule(const TopicLaw<Rational>& law, Examination& it) {
  const Rational rule = enumerated_bayes_loss(law, true);
  const auto is = [&](const Rational& loss) { return rule == loss ? Truth::yes : Truth::no; };
  it.judge(Identity{.kind = EvidenceKind::exact,
                    .what = "Bayes loss of topics and token, run through",
                    .holds = [&] { return is(bayes_loss(law, Known::topics_and_token)); },
                    .mistakes = {{"own-topics", [&] { return is(mistaken_bayes_loss(law)); }}}});
  it.judge(Identity{
      .kind = EvidenceKind::exact, .what = "Bayes loss of topics, run through", .holds = [&] {
        return enumerated_bayes_loss(law, false) == bayes_loss(law, Known::topics) ? Truth::yes
                                                                                   : Truth::no;
      }});
}

}  // namespace popgrad::topic::checks
