#include "theorems/topic/rungs/documents.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace documents_test {

using namespace popgrad;
using namespace popgrad::topic;

// With a Dirichlet law of T parameters c two tokens have one topic with probability
// (c + 1)/(T c + 1).
TEST_CASE("topic: tokens of LDA documents share topics as their Dirichlet law says", "[topic]") {
  Training training;
  training.law = {5, 2, 3, 0.15, 0.1, 0.1};
  training.documents = DocumentKind::lda;
  training.concentration = 0.3;
  training.document = 10;
  training.longer = 5;
  constexpr int documents = 40'000;
  DocumentLoss drawn(training);
  std::vector<int> lengths(16, 0);
  std::vector<int> words(16, 0);
  int together = 0;
  for (int d = 0; d < documents; ++d) {
    Stream stream(7, 0, static_cast<std::uint64_t>(d));
    drawn.draw(stream);
    const std::vector<Index>& document = drawn.words();
    ++lengths.at(document.size());
    ++words.at(static_cast<std::size_t>(document.back()));
    // Exchangeable: any two tokens do.
    together +=
        training.law.topic_of(document.front()) == training.law.topic_of(document.back()) ? 1 : 0;
  }
  const auto within = [&](int count, double probability) {
    const double mean = documents * probability;
    return std::fabs(count - mean) < 4.5 * std::sqrt(mean * (1 - probability));
  };
  CHECK(within(together, 1.3 / 2.5));
  for (std::size_t n = 10; n <= 15; ++n) CHECK(within(lengths[n], 1.0 / 6));
  for (std::size_t w = 1; w <= 15; ++w) CHECK(within(words[w], 1.0 / 15));
}

}  // namespace documents_test
