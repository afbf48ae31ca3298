#include "theorems/topic/checks/sampled_kinds.hpp"

#include <array>

#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/documents.hpp"

namespace popgrad::topic::checks {

namespace {

constexpr std::uint32_t most_documents = 40'000;

std::uint32_t documents_for(const Setting& setting, double rarest, Index length) {
  const double z = two_sided_normal_bound(setting.false_alarm / 2, 3);
  const double positions = runs_needed(z, std::sqrt(rarest), 0.8 * noticed_share * rarest);
  const double most = setting.draws(most_documents);
  // Half of them at least, for the variance.
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(positions / static_cast<double>(length)), most / 2, most));
}

}  // namespace

SampledKinds sampled_kinds(const TopicLaw<double>& law, Index length, double rarest,
                           const Setting& setting) {
  Training training;
  training.law = law;
  training.document = length;
  const std::uint32_t documents = documents_for(setting, rarest, length);
  const auto tokens = static_cast<double>(length);
  DocumentLoss drawn(training);
  Matrix<double> masks(documents, 1);
  std::array<double, 3> counts{};
  Stream stream(setting.draw_seed(), 0, 0);
  std::vector<bool> present;
  for (std::uint32_t i = 0; i < documents; ++i) {
    throw_if_stopped();
    drawn.draw(stream);
    present.assign(static_cast<std::size_t>(law.topics), false);
    for (const Index w : drawn.words()) present[static_cast<std::size_t>(law.topic_of(w))] = true;
    const Vector<double> frequency = drawn.frequencies();
    masks(i, 0) = frequency[0];
    counts[0] += frequency[0] * tokens;
    for (Index w = 1; w < law.vocabulary(); ++w) {
      const bool own = present[static_cast<std::size_t>(law.topic_of(w))];
      counts[own ? 1 : 2] += frequency[w] * tokens;
    }
  }
  SampledKinds found;
  for (const double count : counts) {
    found.shares.push_back(success_probability(static_cast<std::uint32_t>(std::llround(count)),
                                               documents * static_cast<std::uint32_t>(length),
                                               setting.false_alarm / 6));
  }
  found.mask_variance = sample_moments(masks, setting.false_alarm / 2).variance.front();
  found.detail = fmt::format("{} documents of {} tokens", documents, length);
  return found;
}

std::vector<Quantity> enumerated(const TopicLaw<Rational>& law,
                                 const std::vector<Rational>& of_word) {
  Rational mask(0);
  Rational replaced(0);
  std::vector<Quantity> found(2);
  const Rational any = Rational(1) / Rational(law.topics * law.words);
  for (const Rational& share : of_word) {
    mask += share * law.masked * law.hidden();
    replaced += share * law.masked * law.random * any;
  }
  for (const Rational& share : of_word) {
    const Rational unselected = share * (1 - law.masked);
    const Rational kept = share * law.masked * law.correct;
    found.emplace_back(to_double(Rational(unselected + kept + replaced)));
  }
  found[0] = to_double(mask);
  found[1] = to_double(replaced);
  return found;
}

std::vector<Rational> word_law(Index count, double size, std::uint64_t seed) {
  Stream stream(seed, 1, 0);
  std::vector<Rational> law;
  Rational sum(0);
  for (Index w = 0; w < count; ++w) {
    law.push_back(1 + decimal(size * (2 * stream.uniform() - 1)));
    sum += law.back();
  }
  for (Rational& share : law) share /= sum;
  return law;
}

}  // namespace popgrad::topic::checks
