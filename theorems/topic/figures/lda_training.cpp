// The setting of the paper's synthetic experiments: documents of 100 to 150 tokens drawn by LDA,
// T = v = 10, cross entropy, Adam at 0.01 with batches of 40; embeddings one-hot and trained.
// Attention by kind of pair over training and the block patterns at the end, 10 seeds, 95 %
// intervals.
//
// Ours: the concentration 0.1 of LDA, starts of deviation 0.05, no biases, PAD, START or END, 1000
// steps. Attention is that in documents of exactly tau topics, as the columns of all rungs are.

#include <string>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/figures/matrix_block.hpp"
#include "theorems/topic/figures/seeded_runs.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::lda_training_figure {
namespace {

constexpr std::uint32_t seeds = 10;

Training training_of(const TopicLaw<double>& law, bool embedded) {
  Training made;
  made.law = law;
  made.loss = LossKind::cross_entropy;
  made.scale = 0.05;
  made.start = ValueStart::normal;
  made.document = 100;
  made.longer = 50;
  made.documents = DocumentKind::lda;
  if (embedded) made.embedding_width = 100;
  return made;
}

// -blocks.csv has means over seeds; -ends.csv, inside topics less outside.
std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table, blocks, ends;
  const auto law = topic_law<double>(request.parameters);
  const auto v = static_cast<double>(law.words);
  const Index words = law.topics * law.words;
  WalkRequest walk_request;
  walk_request.step_size = 0.01;
  walk_request.optimiser.rule = Optimiser::Rule::adam;
  walk_request.steps = 1000;
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 26);
  walk_request.batch = 40;
  walk_request.keep_states = true;
  for (const bool embedded : {false, true}) {
    const auto made = [&](std::uint64_t seed) {
      Training training = training_of(law, embedded);
      training.seed = seed;
      return forget_type(PopulationFlow(std::move(training)));
    };
    const auto runs = seeded_runs(made, walk_request, seeds, request);
    const std::vector<std::string> columns = made(request.seed).observables.columns;
    table.block(embedded ? "trained embeddings" : "one-hot embeddings");
    for (std::size_t save = 0; save < walk_request.save_steps.size(); ++save) {
      const auto at = [&](const char* column) {
        return interval_over(runs, columns, column, save);
      };
      const MeanInterval own = at("attention_same_word"), same = at("attention_same_topic"),
                         other = at("attention_other_topic");
      table.add("step", walk_request.save_steps[save], "same_word", own.value, "half_width",
                own.half_width, "same_topic", same.value, "half_width_2", same.half_width,
                "other_topic", other.value, "half_width_3", other.half_width);
    }
    const Layout layout(training_of(law, embedded));
    Matrix<double> value = Matrix<double>::Zero(words, words);
    Matrix<double> gram = value;
    for (const Trajectory<double>& run : runs) {
      const Vector<double>& x = run.last_state;
      value += effective(layout, x).value.bottomRightCorner(words, words) / seeds;
      if (!embedded) continue;
      const ConstView e(x.data() + layout.embedding(), layout.width, layout.vocabulary);
      gram += Matrix<double>(e.transpose() * e).bottomRightCorner(words, words) / seeds;
    }
    add_matrix(blocks, embedded ? "W_E' W_V W_E" : "W_V of one-hot embeddings", value);
    if (embedded) add_matrix(blocks, "W_E' W_E", gram);
    const auto add_end = [&](const char* number, const std::string& kind, const char* own) {
      const MeanInterval of = interval_over(runs, walk_request.save_steps.size() - 1,
                                            same_less_other(columns, kind, own, v));
      ends.add("embeddings", embedded ? "trained" : "one-hot", "number", number, "seeds", seeds,
               "mean", of.value, "half_width", of.half_width);
    };
    add_end("attention", "attention_", "same_word");
    add_end("attention without the own word", "attention_", "same_topic");
    add_end("W_V", "value_", "diagonal");
    add_end("W_V without the diagonal", "value_", "same_topic");
    if (embedded) add_end("inner products of different words", "gram_", "same_topic");
  }
  return {table.file(request), blocks.file(request, "blocks"), ends.file(request, "ends")};
}

constexpr const char* script =
    R"gp(foot = given ? 0.05 + 0.1*int(caption_lines) : 0
height = 4.7 + foot
up_to(share) = (foot + 4.7*share)/height
data = name.'.csv'
blocks = name.'-blocks.csv'
array titles[2] = ['one-hot embeddings', 'trained embeddings']
array matrices[3] = ['W_V, one-hot', 'W_E^T W_V W_E', 'W_E^T W_E']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  if (given) { set label 1 caption at screen 0.02, screen (foot-0.04)/height left noenhanced font ',5.5' }
  set size nosquare
  set format x '%g'
  set format y '%g'
  set xtics autofreq
  set ytics autofreq
  eval y_range('0:5.5', '0:*')
  set xrange [0:1000]
  set lmargin at screen 0.17
  set rmargin at screen 0.96
  set ylabel 'attention, uniform = 1' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    set tmargin at screen up_to(0.965 - 0.37*i)
    set bmargin at screen up_to(0.965 - 0.37*i - 0.27)
    if (i == 1) { set xlabel 'step of Adam'; unset key } else { set key at graph 0.98,(given ? 0.72 : 0.98) }
    plot for [k=1:3] data index i every ::(i==0) using 1:(column(2*k)-column(2*k+1)):(column(2*k)+column(2*k+1)) with filledcurves linetype k fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:2 with lines linetype 1 title 'same word', \
         data index i every ::(i==0) using 1:4 with lines linetype 2 title 'other words of the topic', \
         data index i every ::(i==0) using 1:6 with lines linetype 3 title 'words of other topics'
    unset label 1
  }
  unset xlabel
  unset ylabel
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set xtics v+0
  set ytics v+0
  set format x ''
  set format y ''
  set colorbox
  do for [i=0:2] {
    set title matrices[i+1]
    set lmargin at screen 0.03 + 0.32*i
    set rmargin at screen 0.03 + 0.32*i + 0.225
    set tmargin at screen up_to(0.195)
    set bmargin at screen up_to(0.025)
    set autoscale xy
    stats blocks index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.2g', -top) -top, '0' 0, sprintf('%.2g', top) top) scale 0.3 offset -0.6,0
    set xrange [0:T*v]
    set yrange [T*v:0]
    plot blocks index i every ::(i==0) using ($1+0.5):($2+0.5):3 with image
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-lda",
                   .title = "The paper's synthetic experiment: attention, `W_V` and embeddings",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::lda_training_figure
