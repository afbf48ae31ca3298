#include "theorems/topic/attention_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "theorems/topic/examples.hpp"

namespace popgrad::theorems::topic {

using namespace popgrad::topic;

namespace {

template <class T>
Box<double> rounded(const Box<T>& box) {
  return {to_double(box.alpha_low), to_double(box.alpha_high), to_double(box.beta_low),
          to_double(box.beta_high)};
}

// Does the hull of the minimisers leave open on which side of beta = 0 and beta = 1 they are, or of
// uniform attention g = v where they lie on a line of g?
bool straddles(const Certificate& found, bool narrow, Index words) {
  const Rational uniform(static_cast<int>(words));
  if (!narrow) {
    return found.minimisers.alpha_low <= uniform && uniform <= found.minimisers.alpha_high;
  }
  if (found.beta == 0) return false;
  return found.minimisers.beta_low == 0 ||
         (found.minimisers.beta_low <= 1 && found.minimisers.beta_high >= 1);
}

double weight_of(const RoundedMinimum& m, bool narrow) {
  const auto v = static_cast<double>(m.law.words);
  return narrow ? m.at.alpha : (m.at.alpha + (v - 1) * m.at.beta) / v;
}

}  // namespace

Box<Rational> weight_box(const TopicLaw<Rational>& law, bool narrow) {
  const double longer = 0.135 / to_double(Rational((1 - law.correct) * law.masked));
  const Rational far = Rational(20) * Rational(static_cast<int>(law.active * law.words)) *
                       Rational(std::max(1, static_cast<int>(std::ceil(longer - 1e-9))));
  return {Rational(0), far, Rational(0), narrow ? Rational(20) : far};
}

double depth(const TopicLaw<Rational>& law, const Landscape<double>& landscape, bool narrow) {
  return landscape(1, 1) - find_minimum(landscape, rounded(weight_box(law, narrow))).value;
}

std::optional<Certificate> certified(const TopicLaw<Rational>& law,
                                     const Landscape<Rational>& landscape, bool narrow,
                                     const Rational& off, std::string& detail) {
  Rational tolerance = Rational(1) / 1'000'000'000;
  const double deep = depth(law, landscape.cast<double>(), narrow);
  for (double d = 1e-3; d > deep && d > 1e-12; d /= 10) tolerance /= 10;
  try {
    const Box<Rational> box = weight_box(law, narrow);
    Certificate found = certify_minimum(law, landscape, box, tolerance);
    for (int closer = 0; closer < 3 && straddles(found, narrow, law.words); ++closer) {
      tolerance /= 100;
      found = certify_minimum(law, landscape, box, tolerance);
    }
    if (off != 0) {
      const Rational claimed = found.upper + off;
      found = certify_minimum(law, landscape, box, tolerance, &claimed);
    }
    detail = fmt::format("min L in [{:.12f}, {:.12f}], {} boxes", to_double(found.lower),
                         to_double(found.upper), found.boxes);
    return found;
  } catch (const std::domain_error& refuted) {
    detail = refuted.what();
    return std::nullopt;
  }
}

std::vector<TopicLaw<Rational>> laws_over_topics(const Setting& setting, Index factor) {
  std::vector<TopicLaw<Rational>> laws;
  for (const Index active : {2, 4, 8, 16, 32}) {
    const Index tau = active * factor;
    const auto topics =
        std::max<Index>(std::llround(setting.value(crowding) * static_cast<double>(tau)), tau + 1);
    laws.push_back(law_at(setting, topics, tau, setting.count(words_of_topic)));
  }
  return laws;
}

OverTopics certified_over_topics(
    const Setting& setting, const MakeValue& value, bool narrow, const Rational& off,
    const std::function<double(const Landscape<Rational>&, const Certificate&, std::string&)>&
        look) {
  OverTopics made;
  for (const TopicLaw<Rational>& law : laws_over_topics(setting)) {
    const Landscape<Rational> own = landscape(law, value(law));
    const auto found = certified(law, own, narrow, off, made.detail);
    if (!found) return made;
    std::string words;
    made.active.push_back(static_cast<double>(law.active));
    made.weight.push_back(look(own, *found, words));
    made.detail += fmt::format("; {} at tau = {}", words, law.active);
  }
  made.all = true;
  return made;
}

std::vector<RoundedMinimum> minima_over_topics(const Setting& setting,
                                               const MakeRoundedValue& value, bool narrow,
                                               Index factor) {
  std::vector<RoundedMinimum> made;
  for (const TopicLaw<Rational>& exact : laws_over_topics(setting, factor)) {
    const TopicLaw<double> law = rounded(exact);
    RoundedMinimum m{law, landscape(law, value(law)), {}, 0};
    m.at = find_minimum(m.landscape, rounded(weight_box(exact, narrow)));
    m.depth = m.landscape(1, 1) - m.at.value;
    made.push_back(m);
  }
  return made;
}

double order_in_active(const Setting& setting, const MakeRoundedValue& value, bool narrow,
                       const OverTopics& found) {
  const auto far = minima_over_topics(setting, value, narrow, 1024);
  const double v = narrow ? static_cast<double>(far.back().law.words) : 1;
  const double c = weight_of(far.back(), narrow) / static_cast<double>(far.back().law.active) / v;
  // Elsewhere than at the usual point small tau have corrections of order 1/tau of any size.
  const Index beyond = setting.only_what_varies ? 16 : 1;
  const auto factor = beyond * static_cast<Index>(std::min(1000.0, std::ceil(2 / c)));
  if (factor <= 1 && !found.weight.empty()) return log_log_slope(found.active, found.weight);
  std::vector<double> active, weight;
  for (const RoundedMinimum& m : minima_over_topics(setting, value, narrow, factor)) {
    active.push_back(static_cast<double>(m.law.active));
    weight.push_back(weight_of(m, narrow));
  }
  return log_log_slope(active, weight);
}

Evidence certificate_evidence(bool certified, const std::string& what, const std::string& detail) {
  return identity(EvidenceKind::certified, what, certified ? Truth::yes : Truth::no, detail);
}

Evidence order_evidence(const std::string& what, double order) {
  return bounded(EvidenceKind::numerical, what, std::fabs(order - 1), 0.2,
                 "T/tau is 16: the constant of small tau differs by a third",
                 fmt::format("measured {:.3f}", order));
}

}  // namespace popgrad::theorems::topic
