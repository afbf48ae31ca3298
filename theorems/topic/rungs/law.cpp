#include "theorems/topic/rungs/law.hpp"

#include <fmt/format.h>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/topic/rungs/parameters.hpp"

namespace popgrad::topic {

template <class T>
TopicLaw<T> topic_law(const Parameters& p, Index most_words) {
  constexpr const char* where = "topic";
  TopicLaw<T> law;
  law.topics = read(p, parameter::T);
  law.active = read(p, parameter::tau);
  law.words = read(p, parameter::v);
  if (law.active >= law.topics) {
    reject(where, "--tau", std::to_string(law.active),
           fmt::format("must be < --T {}: with all topics in it every document is the same",
                       law.topics));
  }
  if (law.words > most_words / law.topics) {
    reject(where, "--v", std::to_string(law.words),
           fmt::format("times --T {} must be at most {:g} words", law.topics,
                       static_cast<double>(most_words)));
  }
  law.masked = read<T>(p, parameter::p_m);
  law.correct = read<T>(p, parameter::p_c);
  law.random = read<T>(p, parameter::p_r);
  if (!(law.hidden() > T(0))) {
    reject(where, "--p_r", to_text(law.random),
           fmt::format("with --p_c {} leaves nothing for [MASK]; p_c + p_r must be < 1, as W_V "
                       "divides by the frequency of [MASK]",
                       to_text(law.correct)));
  }
  return law;
}

std::vector<std::vector<Index>> subsets(Index topics, Index active) {
  std::vector<std::vector<Index>> all;
  std::vector<Index> chosen(static_cast<std::size_t>(active));
  for (Index i = 0; i < active; ++i) chosen[static_cast<std::size_t>(i)] = i;
  while (true) {
    all.push_back(chosen);
    Index last = active - 1;
    while (last >= 0 && chosen[static_cast<std::size_t>(last)] == topics - active + last) --last;
    if (last < 0) return all;
    ++chosen[static_cast<std::size_t>(last)];
    for (Index i = last + 1; i < active; ++i) {
      chosen[static_cast<std::size_t>(i)] = chosen[static_cast<std::size_t>(i - 1)] + 1;
    }
  }
}

double subset_count(Index topics, Index active) {
  double count = 1;
  for (Index i = 1; i <= active; ++i) {
    count *= static_cast<double>(topics - active + i) / static_cast<double>(i);
  }
  return count;
}

template TopicLaw<double> topic_law(const Parameters&, Index);
template TopicLaw<Real> topic_law(const Parameters&, Index);
template TopicLaw<Rational> topic_law(const Parameters&, Index);

}  // namespace popgrad::topic
