#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::latent_scores {
namespace {

Statement sheet{.id = "joma.latent-scores",
                .paper = "arXiv 2310.00535, Table 1",
                .status = "observed in source; the nulls are ours",
                .about = "full-batch descent from random starts",
                .theorem = R"(
The score of hidden units on latents is the mean over latents of the best |correlation| of a
unit. On 12 to 24 sequences of the authors' hierarchies of sets, networks trained on permuted
labels reach the score that those on the true ones do, and more than half of it is reached on the
latents of the wrong sequences, the mean over 20 cyclic orders of them. Means are over networks,
which are paired.)",
                .hypotheses = {one_sequence_a_class},
                .reaches = {EvidenceKind::statistical},
                .knobs = knobs_of_latent_networks()};

const Clause same_score =
    sheet.clause("hidden units correlate with latents as well after training on permuted labels");
const Clause mostly_chance = sheet.clause("more than half of the score is chance");

const Hypothesis alike = sheet.assume(
    by_construction("rows of the output layer drawn alike", "uniform numbers of one law"));

const Control wrong_sequences =
    sheet.control("wrong-sequences", "the score on latents of the wrong sequences");
const Control one_unit =
    sheet.control("one-unit", "chance of one unit in place of the best of all");

const Knob shared = sheet.knob(shared_classes);

constexpr double step_size = 0.05;
constexpr std::uint64_t steps = 150;
constexpr std::uint32_t usual_networks = 32;

// The mean over networks of what `number` gives, one a layer and level.
template <class Number>
std::vector<Quantity> mean_of(const std::vector<NetworkScores>& all, const Setting& setting,
                              const Number& number) {
  // Two comparisons share what may fail.
  return mean_over_networks(all, setting.false_alarm / 2, number);
}

void report(const std::vector<NetworkScores>& all, const Setting& setting, Examination& it,
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
  const LatentTraining training{examined_latent_network(setting, it), step_size, steps};
  std::vector<NetworkScores> all =
      network_scores(training, setting.draw_seed(), setting.draws(usual_networks), setting.jobs);
  double loss = 0;
  for (const NetworkScores& network : all) loss += network.loss / static_cast<double>(all.size());
  it.report("mean loss at the end", loss,
            fmt::format("{:.3g} nats by chance",
                        std::log(static_cast<double>(training.instance.data.classes()))));
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
  it.judge(same_score,
           equal("score after permuted labels less that after the true ones",
                 less_trained(Reading::permuted_labels), 0)
               .of_kind(EvidenceKind::statistical)
               .in_units_of(scale)
               .unless(wrong_sequences, [&] { return less_trained(Reading::permuted_latents); }));
  it.judge(mostly_chance, below("score less twice that on latents of the wrong sequences",
                                less_twice(&Scores::free), 0)
                              .of_kind(EvidenceKind::statistical)
                              .in_units_of(scale)
                              .unless(one_unit, [&] { return less_twice(&Scores::single); }));
  report(all, setting, it, "trained", Reading::trained, Reading::permuted_latents);
  report(all, setting, it, "untrained", Reading::untrained, Reading::untrained_permuted);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::latent_scores
