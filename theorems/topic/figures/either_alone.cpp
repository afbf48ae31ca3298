// The loss over training with Adam on sampled documents where only embeddings, only the attention
// layer, both or neither are trained, against the losses of Bayes' rule; squared loss and cross
// entropy. T = 5, tau = 2, v = 4, 8 seeds, 95 % intervals.

#include <fmt/format.h>

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
constexpr std::array<const char*, 2> losses{"squared loss", "cross entropy"};
constexpr std::array<Part, 4> parts{{{"neither", false, false},
                                     {"embeddings", true, false},
                                     {"attention", false, true},
                                     {"both", true, true}}};

// Embeddings start at random with W_V = I; the attention layer by itself has one-hot embeddings and
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

std::string label_of(const char* loss, const Part& part) {
  return fmt::format("{}, {}", loss, part.name);
}

// -ends.csv: attention, and inner products in units of 1/(a v), inside topics less outside.
std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table, bayes, ends;
  const auto law = topic_law<double>(request.parameters);
  const auto words = static_cast<double>(law.words);
  WalkRequest walk_request;
  walk_request.step_size = 0.01;
  walk_request.optimiser.rule = Optimiser::Rule::adam;
  walk_request.steps = 3000;
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 61);
  walk_request.batch = 16;
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    const char* const name = losses[loss == LossKind::squared ? 0 : 1];
    const auto best = [&](Known known) { return bayes_loss(law, loss, known); };
    bayes.block(name);
    bayes.add("nothing", best(Known::nothing), "topics", best(Known::topics), "topics_and_token",
              best(Known::topics_and_token));
    for (const Part& part : parts) {
      const std::vector<std::string> columns =
          rung_of(part, law, loss, request.seed).observables.columns;
      const auto runs =
          seeded_runs([&](std::uint64_t seed) { return rung_of(part, law, loss, seed); },
                      walk_request, 8, request);
      table.block(label_of(name, part));
      for (std::size_t save = 0; save < walk_request.save_steps.size(); ++save) {
        const MeanInterval at = interval_over(runs, columns, "loss", save);
        table.add("step", walk_request.save_steps[save], "loss", at.value, "half_width",
                  at.half_width);
      }
      const std::size_t last = walk_request.save_steps.size() - 1;
      const MeanInterval end = interval_over(runs, columns, "loss", last);
      const MeanInterval attention =
          interval_over(runs, last, same_less_other(columns, "attention_", "same_word", words));
      const MeanInterval gram =
          interval_over(runs, last, same_less_other(columns, "gram_", "diagonal", words));
      const double unit = 1 / (law.kept() * words);
      ends.add("loss_kind", loss == LossKind::squared ? "squared" : "cross-entropy", "trained",
               part.name, "seeds", runs.size(), "loss", end.value, "half_width", end.half_width,
               "attention", attention.value, "its_half_width", attention.half_width,
               "inner_products", gram.value / unit, "its_half_width", gram.half_width / unit);
    }
  }
  return {table.file(request), bayes.file(request, "bayes"), ends.file(request, "ends")};
}

Picture picture() {
  constexpr std::array<const char*, 4> colours{"grey", "red", "blue", "green"};
  constexpr std::array<const char*, 4> titles{"neither", "only embeddings", "only attention",
                                              "both"};
  Picture made{.height = 3.6, .left = 0.17, .right = 0.95};
  for (const char* loss : losses) {
    const std::string i = std::to_string(made.panels.size());
    const std::string nothing = "nothing_" + i, topics = "topics_" + i, token = "token_" + i;
    made.values.push_back({nothing, "bayes", loss, "nothing"});
    made.values.push_back({topics, "bayes", loss, "topics"});
    made.values.push_back({token, "bayes", loss, "topics_and_token"});
    Panel panel{.title = loss,
                .x = {.range = "0:3000"},
                .y = {.label = "loss of a selected position",
                      .range = fmt::format("1.2*{1}-0.2*{0}:1.45*{0}-0.45*{1}", nothing, token),
                      .label_offset = 0},
                .curves = {},
                .guides = {{.y = nothing, .text = "Bayes: nothing", .after = true},
                           {.y = topics, .text = "Bayes: topics", .after = true},
                           {.y = token, .text = "Bayes: topics and token", .after = true}}};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::string label = label_of(loss, parts[part]);
      panel.curves.push_back(plot::band("step", "[loss]-[half_width]", "[loss]+[half_width]")
                                 .of(label)
                                 .coloured(colours[part]));
      panel.curves.push_back(
          plot::line("step", "loss").of(label).coloured(colours[part]).titled(titles[part]));
    }
    made.panels.push_back(panel);
  }
  made.panels.back().x.label = "step of Adam";
  made.panels.back().key = "at graph 0.98,0.62";
  made.panels.back().guides[1].text_at = 0.3;
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-either-alone",
                   .title = "Loss where embeddings, attention, both or neither are trained",
                   .shows = {"topic.either-alone"},
                   .parameters = document_law("5", "2", "4")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::either_alone_figure
