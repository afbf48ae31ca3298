// Best attention over tau v against tau, block-wise and diagonal, for three values of T/tau, and
// the limit 1/((1 - p_c) p_m). v = 10.

#include "theorems/topic/rungs/optimum.hpp"
#include "popgrad/evidence/figure.hpp"
#include "theorems/topic/rungs/parameters.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::optimum_figure {
namespace {

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

constexpr const char* script =
    R"gp(# Blocks of .csv, T/tau = 4, 64, 4096: tau, best attention over tau v (block-wise, diagonal), beta* of
# diagonal W_V.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale x
  set format x '10^{%T}'
  set xrange [1.5:2e4]
  eval y_range('0:9', '0:*')
  set xlabel 'topics of a document, τ'
  set ylabel 'best attention over τ v' offset 0+right,0
  set key at graph 0.98,0.7
  limit = 1/((1 - p_c)*p_m)
  plot limit with lines linetype 7 dashtype 2 linewidth 0.6 title 'limit 1/((1 − p_c) p_m)', \
       data index 2 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.4 title 'T = 4096 τ, block-wise', \
       data index 2 using 1:3 with linespoints linetype 1 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal', \
       data index 1 using 1:2 with linespoints linetype 2 pointtype 7 pointsize 0.4 title 'T = 64 τ, block-wise', \
       data index 1 using 1:3 with linespoints linetype 2 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal', \
       data index 0 every ::1 using 1:2 with linespoints linetype 3 pointtype 7 pointsize 0.4 title 'T = 4 τ, block-wise', \
       data index 0 every ::1 using 1:3 with linespoints linetype 3 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal'
  unset output
}
)gp";

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
          .script = script};
}

}  // namespace popgrad::topic::figures::optimum_figure
