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
unit; chance is the score on the latents of the wrong sequences, the mean over 20 cyclic orders of
them. On 12 to 24 sequences of the authors' hierarchies of sets, d <= 24, networks trained on permuted
labels reach the score that those on the true ones do,
  score - chance < (1 - chance)/2
(1 is a unit a latent), and score - chance is less than 3/2 of what it is before training. Means are
over networks, which are paired.)",
                .hypotheses = {one_sequence_a_class},
                .reaches = {EvidenceKind::statistical},
                .false_version = "half-found",
                .knobs = knobs_of_latent_networks(24, 12)};

const Clause same_score =
    sheet.clause("hidden units correlate with latents as well after training on permuted labels");
const Clause mostly_not_found =
    sheet.clause("they reach less than half of the way from chance to a unit a latent");
const Clause before_training =
    sheet.clause("training adds less than half to what units are above chance before it");
[[maybe_unused]] const Clause wider = sheet.not_checked(
    "networks as wide as the authors' on as few sequences, where chance is nearly 1");

const Hypothesis alike = sheet.assume(
    by_construction("rows of the output layer drawn alike", "uniform numbers of one law"));

const Control half_found =
    sheet.control("half-found", "hidden units find half of the latents: one unit each");
const Control doubled = sheet.control("doubled", "training doubles what units are above chance");

const Rival labels_teach = sheet.rival(
    "labels-teach",
    "the labels teach the latents: trained on permuted ones, units are left with chance");

const Knob shared = sheet.knob(shared_classes);

constexpr double step_size = 0.05;
constexpr std::uint64_t steps = 150;
constexpr std::uint32_t usual_networks = 48;

// The mean over networks of what `number` gives, one a layer and level.
template <class Number>
std::vector<Quantity> mean_of(const std::vector<NetworkScores>& all, const Setting& setting,
                              const Number& number) {
  // Three comparisons share what may fail.
  return mean_over_networks(all, setting.false_alarm / 3, number);
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
  const auto beyond_half_way = [&](double found) {  // with a unit for this share of the latents
    return mean_of(all, setting, [found](const NetworkScores& n) -> Vector<double> {
      const Vector<double> score = found + (1 - found) * n.at(Reading::trained).free.array();
      return score.array() - (n.at(Reading::permuted_latents).free.array() + 1) / 2;
    });
  };
  const auto above_chance = [](const NetworkScores& n, Reading own, Reading chance) {
    return Vector<double>(n.at(own).free - n.at(chance).free);
  };
  const auto added = [&](bool doubles) {
    return mean_of(all, setting, [&](const NetworkScores& n) -> Vector<double> {
      const Vector<double> before =
          above_chance(n, Reading::untrained, Reading::untrained_permuted);
      const Vector<double> after =
          doubles ? Vector<double>(2 * before)
                  : above_chance(n, Reading::trained, Reading::permuted_latents);
      return after - 1.5 * before;
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
               .against(labels_teach, [&] { return less_trained(Reading::permuted_latents); }));
  it.judge(mostly_not_found, below("score less the mean of chance and 1", beyond_half_way(0), 0)
                                 .of_kind(EvidenceKind::statistical)
                                 .in_units_of(scale)
                                 .unless(half_found, [&] { return beyond_half_way(0.5); }));
  it.judge(before_training,
           below("score above chance less 3/2 of that before training", added(false), 0)
               .of_kind(EvidenceKind::statistical)
               .in_units_of(scale)
               .unless(doubled, [&] { return added(true); }));
  report(all, setting, it, "trained", Reading::trained, Reading::permuted_latents);
  report(all, setting, it, "untrained", Reading::untrained, Reading::untrained_permuted);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::latent_scores
