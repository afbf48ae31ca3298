// The loss over training with Adam on sampled documents where embeddings alone, the attention layer
// alone, both or neither are trained, against the losses of Bayes' rule; squared loss and cross
// entropy. T = 5, tau = 2, v = 4, 8 seeds, 95 % intervals.

#include <array>
#include <string>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/figures/seeded_runs.hpp"
#include "theorems/topic/rungs/bayes_loss.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::either_alone_figure {
namespace {

struct Part {
  const char* name;
  bool embedding, attention;
};
constexpr std::array<Part, 4> parts{{{"neither", false, false},
                                     {"embeddings", true, false},
                                     {"attention", false, true},
                                     {"both", true, true}}};

// Embeddings start at random with W_V = I; the attention layer alone has one-hot embeddings and
// W_V = 0.
Training training_of(const Part& part, const TopicLaw<double>& law, LossKind loss) {
  Training made;
  made.law = law;
  made.loss = loss;
  made.key_width = law.vocabulary();
  made.scale = 0.1;
  made.train_embedding = part.embedding;
  made.train_attention = made.train_value = part.attention;
  if (part.embedding || !part.attention) {
    made.embedding_width = law.vocabulary();
    made.start = ValueStart::identity;
  }
  return made;
}

AnyRung<double> rung_of(const Part& part, const TopicLaw<double>& law, LossKind loss,
                        std::uint64_t seed) {
  Training training = training_of(part, law, loss);
  training.seed = seed;
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  // Untrained attention is uniform.
  if (!part.attention) rung.initial.head(Layout(training).values()).setZero();
  return rung;
}

// The mean over the topic, the own word included, less that over other topics, of a kind of column.
std::function<double(const std::vector<double>&)> same_less_other(
    const std::vector<std::string>& columns, const std::string& kind, const char* own,
    double words) {
  return [words, own_word = place_of(columns, kind + own),
          same = place_of(columns, kind + "same_topic"),
          other = place_of(columns, kind + "other_topic")](const std::vector<double>& row) {
    return (row[own_word] + (words - 1) * row[same]) / words - row[other];
  };
}

// Blocks of the two losses by parts. A row of -ends.csv is a loss and part: loss, attention and
// inner products (in units of 1/(a v)) inside topics less outside, with their half widths.
std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"step", "loss", "half_width"};
  CsvText bayes{"nothing", "topics", "topics_and_token"};
  CsvText ends{"loss_kind", "trained",        "seeds",          "loss",          "half_width",
               "attention", "its_half_width", "inner_products", "its_half_width"};
  const auto law = topic_law<double>(request.parameters);
  const auto words = static_cast<double>(law.words);
  WalkRequest walk_request;
  walk_request.step_size = 0.01;
  walk_request.optimiser.rule = Optimiser::Rule::adam;
  walk_request.steps = 3000;
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 61);
  walk_request.batch = 16;
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    for (const Known known : {Known::nothing, Known::topics, Known::topics_and_token}) {
      bayes.number(bayes_loss(law, loss, known));
    }
    bayes.end_row();
    for (const Part& part : parts) {
      const std::vector<std::string> columns =
          rung_of(part, law, loss, request.seed).observables.columns;
      const auto runs =
          seeded_runs([&](std::uint64_t seed) { return rung_of(part, law, loss, seed); },
                      walk_request, 8, request);
      for (std::size_t save = 0; save < walk_request.save_steps.size(); ++save) {
        const MeanInterval at = interval_over(runs, columns, "loss", save);
        csv.number(static_cast<double>(walk_request.save_steps[save]));
        csv.number(at.value).number(at.half_width).end_row();
      }
      csv.end_block();
      const std::size_t last = walk_request.save_steps.size() - 1;
      ends.word(loss == LossKind::squared ? "squared" : "cross-entropy").word(part.name);
      ends.number(static_cast<double>(runs.size()));
      const auto tell = [&](const MeanInterval& of, double unit) {
        ends.number(of.value / unit).number(of.half_width / unit);
      };
      tell(interval_over(runs, columns, "loss", last), 1);
      tell(interval_over(runs, last, same_less_other(columns, "attention_", "same_word", words)),
           1);
      tell(interval_over(runs, last, same_less_other(columns, "gram_", "diagonal", words)),
           1 / (law.kept() * words));
      ends.end_row();
    }
  }
  return {{request.name + ".csv", csv.text()},
          {request.name + "-bayes.csv", bayes.text()},
          {request.name + "-ends.csv", ends.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, squared loss then cross entropy, each neither, embeddings, attention, both: step,
# mean loss over seeds, half width of its 95 % interval. -bayes.csv, a row a loss: Bayes loss of
# nothing, of the topics, of topics and token.
height = 3.6
data = name.'.csv'
bayes = name.'-bayes.csv'
array titles[2] = ['squared loss', 'cross entropy']
array parts[4] = ['neither', 'embeddings alone', 'attention alone', 'both']
array colours[4] = [grey, red, blue, green]
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.96,0.10,0.95 spacing 0,0.10
  set ylabel 'loss of a selected position' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel 'step of Adam'; set key at graph 0.98,0.66 } else { unset key }
    set autoscale xy
    stats bayes every ::(i+1)::(i+1) using 1 nooutput
    nothing = STATS_max
    stats bayes every ::(i+1)::(i+1) using 2 nooutput
    topics = STATS_max
    stats bayes every ::(i+1)::(i+1) using 3 nooutput
    token = STATS_max
    set xrange [0:3000]
    set yrange [token-0.2*(nothing-token):nothing+0.45*(nothing-token)]
    set label 1 'Bayes: nothing' at graph 0.99, first nothing right offset 0,-0.45*line font ',6'
    set label 2 'Bayes: topics' at graph (i == 1 ? 0.3 : 0.99), first topics right offset 0,-0.45*line font ',6'
    set label 3 'Bayes: topics and token' at graph 0.99, first token right offset 0,-0.45*line font ',6'
    plot nothing with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         topics with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         token with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         for [p=1:4] data index 4*i+p-1 every ::(i==0 && p==1) using 1:($2-$3):($2+$3) with filledcurves fillcolor rgb colours[p] fillstyle transparent solid 0.25 noborder notitle, \
         for [p=1:4] data index 4*i+p-1 every ::(i==0 && p==1) using 1:2 with lines linecolor rgb colours[p] title parts[p]
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-either-alone",
                   .title = "Loss of embeddings alone, attention alone, both and neither",
                   .shows = {"topic.either-alone"},
                   .parameters = document_law("5", "2", "4")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::either_alone_figure
