// Loss over (alpha, beta) for block-wise W_V, the middle of both, and diagonal W_V: contours, the
// certified optimum, and where attention trained on the frozen W_V goes, by the flow of W_K, W_Q
// and by SGD. T = 5, tau = 2, v = 3.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::landscape_figure {
namespace {

// Mean weights of the same word and of others of its topic over those of other topics.
std::pair<double, double> weights(const TopicLaw<double>& law, const Matrix<double>& logits) {
  double own = 0;
  double same = 0;
  double other = 0;
  double same_count = 0;
  double other_count = 0;
  for (Index i = 1; i < logits.cols(); ++i) {
    own += logits(i, i);
    for (Index j = 1; j < logits.rows(); ++j) {
      if (i == j) continue;
      const bool alike = law.topic_of(i) == law.topic_of(j);
      (alike ? same : other) += logits(j, i);
      (alike ? same_count : other_count) += 1;
    }
  }
  const double base = other / other_count;
  return {std::exp(own / static_cast<double>(law.vocabulary() - 1) - base),
          std::exp(same / same_count - base)};
}

// (alpha, beta) along a path.
using Path = std::vector<std::pair<double, double>>;

Path path_of(const Layout& layout, const TopicLaw<double>& law, const Trajectory<double>& run) {
  Path path;
  for (const Vector<double>& x : run.states) {
    path.push_back(weights(law, effective(layout, x).logits));
  }
  return path;
}

// Of the flow of W_K and W_Q on a frozen W_V, and of SGD.
std::array<Path, 2> training_paths(const TopicLaw<Rational>& law, const BlockValue<Rational>& value,
                                   std::uint64_t seed) {
  Training training;
  training.law = law.cast<double>();
  training.key_width = training.law.vocabulary();
  training.scale = 0.05;
  training.start = ValueStart::block;
  training.value = value.cast<double>();
  training.train_value = false;
  training.seed = seed;
  const Layout layout(training);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  SolveRequest<double> solve_request;
  solve_request.end = 1e5;
  solve_request.save_at = equally_spaced(0.0, solve_request.end, 401);
  solve_request.relative_tolerance = 1e-8;
  solve_request.absolute_tolerance = 1e-10;
  solve_request.find_events = false;
  solve_request.keep_states = true;
  WalkRequest walk_request;
  walk_request.step_size = 3;
  walk_request.steps = 12'000;
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 241);
  walk_request.batch = 64;
  walk_request.seed = seed;
  walk_request.keep_states = true;
  return {path_of(layout, training.law, solve(rung, solve_request)),
          path_of(layout, training.law, walk(rung, rung.initial, walk_request).front())};
}

// The part of alpha + others beta = g in the box, as its two ends.
void add_line(CsvText& csv, double g, int others, int most_alpha, int most_beta) {
  const double low = std::max(0.0, (g - most_alpha) / others);
  const double high = std::min<double>(most_beta, g / others);
  for (const double beta : {low, high}) csv.number(g - others * beta).number(beta).end_row();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText grid{"alpha", "beta", "excess"};
  CsvText optima{"alpha", "beta"};
  CsvText paths{"alpha", "beta"};
  const TopicLaw<Rational> exact = topic_law<Rational>(request.parameters);
  // The best alpha of a large tau is below 9 tau v, and beta matters up to the number of words; all
  // panels show the paths whole.
  int most_beta = static_cast<int>(exact.active * exact.words);
  int most_alpha = 9 * most_beta;
  std::vector<BlockValue<Rational>> values;
  for (const int half : {0, 1, 2}) {
    values.push_back(mixture_value(exact, Rational(Rational(half) / 2)));
    for (const Path& path : training_paths(exact, values.back(), request.seed)) {
      for (const auto& [alpha, beta] : path) {
        most_alpha = std::max(most_alpha, static_cast<int>(std::ceil(alpha)));
        most_beta = std::max(most_beta, static_cast<int>(std::ceil(beta)));
        paths.number(alpha).number(beta).end_row();
      }
      paths.end_block();
    }
  }
  const auto others = static_cast<int>(exact.words - 1);
  for (const BlockValue<Rational>& value : values) {
    const Landscape<Rational> made = landscape(exact, value);
    const Certificate c =
        certify_minimum(exact, made, {0, most_alpha, 0, most_beta}, Rational(1) / 1'000'000'000);
    const std::vector<double> alphas = equally_spaced(0.0, static_cast<double>(most_alpha), 217);
    const std::vector<double> betas = equally_spaced(0.0, static_cast<double>(most_beta), 81);
    const std::vector<double> losses = on_grid(made.cast<double>(), alphas, betas, request.jobs);
    throw_if_stopped();
    for (std::size_t i = 0; i < betas.size(); ++i) {
      for (std::size_t j = 0; j < alphas.size(); ++j) {
        grid.number(alphas[j]).number(betas[i]);
        grid.number(losses[i * alphas.size() + j] - to_double(c.upper)).end_row();
      }
    }
    grid.end_block();
    if (c.on_line && others > 0) {
      add_line(optima, to_double(Rational(c.alpha + Rational(others) * c.beta)), others, most_alpha,
               most_beta);
    } else {
      optima.number(to_double(c.alpha)).number(to_double(c.beta)).end_row();
    }
    optima.end_block();
  }
  return {{request.name + ".csv", paths.text()},
          {request.name + "-grid.csv", grid.text()},
          {request.name + "-optimum.csv", optima.text()}};
}

constexpr const char* script =
    R"gp(# -grid.csv: blocks block-wise, middle, diagonal: alpha, beta, loss above the minimum. -optimum.csv:
# line or point of minimisers. .csv: for each W_V the path of the flow, then that of SGD.
height = 6
data = name.'.csv'
grid = name.'-grid.csv'
optimum = name.'-optimum.csv'
array titles[3] = ['block-wise W_V', 'the mean of both', 'diagonal W_V']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.12,0.78,0.07,0.96 spacing 0,0.07
  eval x_range('0:54', '*:*')
  eval y_range('0:6', '*:*')
  set palette defined (0 '#ffffff', 0.3 '#9ecae1', 1 '#2171b5')
  set logscale cb
  set cbrange [1e-5:0.3]
  set format cb '10^{%T}'
  set cblabel 'loss above the minimum' offset 1.5,0
  set key top right
  do for [i=0:2] {
    set title titles[i+1].(own eq '1' ? ', T = '.T.', τ = '.tau.', v = '.v : '')
    if (i == 2) { set xlabel 'α, weight of the same word' }
    set ylabel 'β, other words of the topic' offset 0+right,0
    plot grid index i every ::(i==0) using 1:2:($3 > 1e-5 ? $3 : 1e-5) with image notitle, \
         data index 2*i every ::(i==0) using 1:2 with lines linetype 7 title (i == 0 ? 'flow of W_K, W_Q' : ''), \
         data index 2*i+1 using 1:2 every 12 with points linetype 2 pointtype 6 pointsize 0.5 title (i == 0 ? 'SGD' : ''), \
         optimum index i every ::(i==0) using 1:2 with linespoints linetype 3 pointtype 7 pointsize 0.7 title (i == 0 ? 'certified minimisers' : '')
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-landscape",
                   .title = "Loss over (alpha, beta) with optimum and training paths",
                   .in_report = true,
                   .shows = {"topic.attention-block", "topic.attention-diagonal",
                             "topic.stage2-optimum"},
                   .parameters = document_law("5", "2", "3")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::landscape_figure
