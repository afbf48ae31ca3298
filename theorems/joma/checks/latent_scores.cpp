// Theorem    joma.latent-scores
// Status     observed in source; the nulls are ours
// Source     Tian et al., JoMA, arXiv 2310.00535, Table 1 with the data of the authors' scripts
// Statement  the score of hidden units on latents (mean over latents of the best |correlation|), on
//            12 to 24 sequences: networks trained on permuted labels reach what those on the true
//            ones do, and more than half of it is reached on the latents of the wrong sequences
// Hypotheses H1 one sequence a class; H2 rows of the output layer drawn alike
// Check      32 networks an instance, untrained, trained on true and on permuted labels, scored on
//            their own latents and on those of 20 cyclic orders of the sequences; intervals over
//            networks, which are paired
// Controls   chance for the score on permuted labels; chance of one unit for that of the best
// Uses       rung multilayer-gd

#include <functional>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::latent_scores {
namespace {

constexpr double step_size = 0.05;
constexpr std::uint64_t steps = 150;
constexpr std::uint32_t usual_networks = 32;

using Number = std::function<Vector<double>(const NetworkScores&)>;

// The mean over networks of what `number` gives, one a layer.
std::vector<Quantity> mean_of(const std::vector<NetworkScores>& all, const Setting& setting,
                              const Number& number) {
  Matrix<double> samples(std::ssize(all), number(all.front()).size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    samples.row(static_cast<Index>(i)) = number(all[i]).transpose();
  }
  // Two comparisons share what may fail.
  return sample_moments(samples, setting.false_alarm / 2).mean;
}

void tell(const std::vector<NetworkScores>& all, const Setting& setting, Examination& it,
          const char* what, Reading own, Reading chance) {
  const std::vector<Quantity> scores =
      mean_of(all, setting, [&](const NetworkScores& n) { return n.at(own).free; });
  const std::vector<Quantity> above = mean_of(
      all, setting,
      [&](const NetworkScores& n) -> Vector<double> { return n.at(own).free - n.at(chance).free; });
  for (std::size_t h = 0; h < scores.size(); ++h) {
    it.report(fmt::format("score of layer {}, {}", h, what), scores[h].value(),
              fmt::format("+- {:.3f}, of which above chance {:.3f} +- {:.3f}", scores[h].error(),
                          above[h].value(), above[h].error()));
  }
}

// The networks of an instance, trained.
std::vector<NetworkScores> examined_networks(const Setting& setting, Examination& it) {
  LatentTraining training{drawn_latent_network(setting), step_size, steps};
  share_classes(training.instance, setting.count(shared_classes));
  it.parameters = told_latent_network(setting);
  const SequenceData& data = training.instance.data;
  it.require("one sequence a class", -static_cast<double>(data.sequences() - data.classes()),
             fmt::format("{} sequences, {} classes", data.sequences(), data.classes()));
  std::vector<NetworkScores> all =
      network_scores(training, setting.draw_seed(), setting.draws(usual_networks), setting.jobs);
  double loss = 0;
  for (const NetworkScores& network : all) loss += network.loss / static_cast<double>(all.size());
  it.report("mean loss at the end", loss,
            fmt::format("{:.3g} nats by chance", std::log(static_cast<double>(data.classes()))));
  return all;
}

void examine(const Setting& setting, Examination& it) {
  const std::vector<NetworkScores> all = examined_networks(setting, it);
  const auto less_trained = [&](Reading other) {
    return mean_of(all, setting, [other](const NetworkScores& n) -> Vector<double> {
      return n.at(other).free - n.at(Reading::trained).free;
    });
  };
  const auto less_twice = [&](Vector<double> Scores::*chance) {
    return mean_of(all, setting, [chance](const NetworkScores& n) -> Vector<double> {
      return n.at(Reading::trained).free - 2 * (n.at(Reading::permuted_latents).*chance);
    });
  };
  std::vector<double> scale;
  for (const Quantity& score :
       mean_of(all, setting, [](const NetworkScores& n) { return n.at(Reading::trained).free; })) {
    scale.push_back(score.value());
  }
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "score after permuted labels less that after the true ones",
                      .measured = less_trained(Reading::permuted_labels),
                      .predicted = {0.0},
                      .scale = scale,
                      .mistakes = {measures("wrong-sequences", [&] {
                        return less_trained(Reading::permuted_latents);
                      })}});
  it.judge(
      Comparison{.kind = EvidenceKind::statistical,
                 .what = "score less twice that on latents of the wrong sequences",
                 .measured = less_twice(&Scores::free),
                 .relation = Relation::below,
                 .predicted = {0.0},
                 .scale = scale,
                 .mistakes = {measures("one-unit", [&] { return less_twice(&Scores::single); })}});
  tell(all, setting, it, "trained", Reading::trained, Reading::permuted_latents);
  tell(all, setting, it, "untrained", Reading::untrained, Reading::untrained_permuted);
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.latent-scores",
      .claim = "hidden units correlate with latents, for the most part as chance makes them",
      .paper = "arXiv 2310.00535, Table 1",
      .status = "observed in source; the nulls are ours",
      .hypotheses = {"one sequence a class", by_construction("rows of the output layer drawn alike",
                                                             "uniform numbers of one law")},
      .reaches = {EvidenceKind::statistical},
      .controls = {{"wrong-sequences", "the score on latents of the wrong sequences"},
                   {"one-unit", "chance of one unit in place of the best of all"}},
      .knobs = knobs_of_latent_networks(),
      .examine = examine};
}

}  // namespace popgrad::joma::checks::latent_scores
