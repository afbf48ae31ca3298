// Best attention over tau v against tau, block-wise and diagonal, for three values of T/tau, and
// the limit 1/((1 - p_c) p_m). v = 10.

#include "theorems/topic/rungs/optimum.hpp"
#include "popgrad/evidence/figure.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::theorems::topic::figures::optimum_figure {
namespace {

using namespace popgrad::topic;

std::vector<FigureFile> data(const FigureRequest& request) {
  // Only v and the probabilities of it are used.
  const TopicLaw<double> given = topic_law<double>(request.parameters);
  CsvText csv{"tau", "block", "diagonal", "beta_diagonal"};
  for (const Index spread : {4, 64, 4096}) {
    for (Index active = 2; active <= 16'384; active *= 2) {
      TopicLaw<double> law = given;
      law.topics = spread * active;
      law.active = active;
      const double scale = static_cast<double>(active * law.words);
      const auto best = [&](const BlockValue<double>& value) {
        return find_minimum(landscape(law, value), {0, 20 * scale, 0, 20});
      };
      const Minimum block = best(minimum_norm_value(law));
      const Minimum diagonal = best(diagonal_value(law));
      csv.number(static_cast<double>(active));
      csv.number((block.alpha + static_cast<double>(law.words - 1) * block.beta) / scale);
      csv.number(diagonal.alpha / scale).number(diagonal.beta).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-optimum",
                   .title = "Best attention against the number of topics, and its limit",
                   .shows = {"topic.attention-limit"},
                   .parameters = {{"v", "10"}, {"p_m", "0.15"}, {"p_c", "0.1"}, {"p_r", "0.1"}}},
          .data = data};
}

}  // namespace popgrad::theorems::topic::figures::optimum_figure
