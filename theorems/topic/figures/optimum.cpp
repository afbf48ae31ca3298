// Best attention over tau v against tau, block-wise and diagonal, for three values of T/tau, and
// the limit 1/((1 - p_c) p_m). v = 10.

#include "theorems/topic/rungs/optimum.hpp"

#include <fmt/format.h>

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "theorems/topic/rungs/parameters.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::optimum_figure {
namespace {

constexpr std::array<Index, 3> spreads{4, 64, 4096};

std::string label_of(Index spread) { return fmt::format("T = {} τ", spread); }

std::vector<FigureFile> data(const FigureRequest& request) {
  // Only v and the probabilities of it are used.
  const TopicLaw<double> given = topic_law<double>(request.parameters);
  FigureTable table;
  for (const Index spread : spreads) {
    table.block(label_of(spread));
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
      const double sum = block.alpha + static_cast<double>(law.words - 1) * block.beta;
      table.add("tau", active, "block", sum / scale, "diagonal", diagonal.alpha / scale,
                "beta_diagonal", diagonal.beta);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Panel panel{.x = {.label = "topics of a document, τ", .range = "1.5:2e4", .logarithmic = true},
              .y = {.label = "best attention over τ v",
                    .range = "0:9",
                    .own_range = "0:*",
                    .label_offset = 0},
              .key = "at graph 0.98,0.7",
              .curves = {plot::formula("1/((1 - p_c)*p_m)")
                             .colour(7)
                             .dashed()
                             .wide(0.6)
                             .titled("limit 1/((1 − p_c) p_m)")}};
  for (const std::size_t i : {2U, 1U, 0U}) {
    const auto curve = [&](const char* column) {
      return plot::line_with_points("tau", column)
          .of(label_of(spreads.at(i)))
          .colour(3 - static_cast<int>(i));
    };
    panel.curves.push_back(
        curve("block").mark(7, 0.4).titled(label_of(spreads.at(i)) + ", block-wise"));
    panel.curves.push_back(curve("diagonal").dashed().mark(6, 0.6).titled("diagonal"));
  }
  return {.height = 2.7, .left = 0.13, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-optimum",
                   .title = "Best attention against the number of topics, and its limit",
                   .shows = {"topic.attention-limit"},
                   .parameters = {{parameter::v, "10"},
                                  {parameter::p_m, "0.15"},
                                  {parameter::p_c, "0.1"},
                                  {parameter::p_r, "0.1"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::optimum_figure
