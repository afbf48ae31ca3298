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

namespace popgrad::theorems::topic::figures::either_alone_figure {
namespace {

using namespace popgrad::topic;

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
      const std::vector<std::string> columns = rung_of(part, law, loss, request.seed).columns;
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

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-either-alone",
                   .title = "Loss of embeddings alone, attention alone, both and neither",
                   .shows = {"topic.either-alone"},
                   .parameters = document_law("5", "2", "4")},
          .data = data};
}

}  // namespace popgrad::theorems::topic::figures::either_alone_figure
