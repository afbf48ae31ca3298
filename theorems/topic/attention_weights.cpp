#include "theorems/topic/attention_weights.hpp"

#include <fmt/format.h>

#include "theorems/topic/examples.hpp"

namespace popgrad::theorems::topic {

using namespace popgrad::topic;

Box<Rational> weight_box(const TopicLaw<Rational>& law, bool narrow) {
  const Rational far = Rational(20) * Rational(static_cast<int>(law.active * law.words));
  return {Rational(0), far, Rational(0), narrow ? Rational(20) : far};
}

std::optional<Certificate> certified(const TopicLaw<Rational>& law,
                                     const Landscape<Rational>& landscape, bool narrow,
                                     const Rational& off, std::string& detail) {
  const Rational tolerance = Rational(1) / 1'000'000'000;
  try {
    Certificate found = certify_minimum(law, landscape, weight_box(law, narrow), tolerance);
    if (off != 0) {
      const Rational claimed = found.upper + off;
      found = certify_minimum(law, landscape, weight_box(law, narrow), tolerance, &claimed);
    }
    detail = fmt::format("min L in [{:.12f}, {:.12f}], {} boxes", to_double(found.lower),
                         to_double(found.upper), found.boxes);
    return found;
  } catch (const std::domain_error& refuted) {
    detail = refuted.what();
    return std::nullopt;
  }
}

OverTopics certified_over_topics(
    const std::function<BlockValue<Rational>(const TopicLaw<Rational>&)>& value, bool narrow,
    const Rational& off,
    const std::function<double(const Landscape<Rational>&, const Certificate&, std::string&)>&
        look) {
  OverTopics made;
  for (const Index active : {2, 4, 8, 16, 32}) {
    const auto law = law_of<Rational>(16 * active, active, 10);
    const Landscape<Rational> own = landscape(law, value(law));
    const auto found = certified(law, own, narrow, off, made.detail);
    if (!found) return made;
    std::string words;
    made.active.push_back(static_cast<double>(active));
    made.weight.push_back(look(own, *found, words));
    made.detail += fmt::format("; {} at tau = {}", words, active);
  }
  made.all = true;
  return made;
}

Evidence certificate_evidence(bool certified, const std::string& what, const std::string& detail) {
  return identity(EvidenceKind::certified, what, certified ? Truth::yes : Truth::no, detail);
}

}  // namespace popgrad::theorems::topic
