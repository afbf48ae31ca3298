// Theorem    joma.tree-order
// Status     derived here; it bounds what the source argues
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 5, on the tree of Theorem 5
// Statement  every leaf of the tree tells the same of the label, E[(1_c - P(c)) x_l],
//            so networks that are trained on the label learn strong co-occurrences
//            (latents of level 0) and weak ones (level 1, then the label) together: what
//            is left of one and of the next differs by at most a tenth of what is learned
//            of level 0, attention trained or uniform
// Hypotheses H1 0 < rho; H2 depth 3, trained on the label alone
// Check      the expectation at every leaf, by summation over sequences; 96 networks an
//            instance: the residual along the latents of a level, in units of its start,
//            as that of level 0 is down to 9/10 or less; intervals over networks
// Controls   leaves of which one lacks a sequence; the authors' sets in place of the tree
// Uses       rung multilayer-gd

#include <array>

#include "theorems/joma/checks/level_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/trees.hpp"

namespace popgrad::joma::checks::tree_order {
namespace {

constexpr std::uint32_t usual_networks = 96;
constexpr double longest_lead = 0.1;  // of what is learned of level 0

constexpr Knob strong_edge = linear_knob("rho", "correlation across an edge", 0.7, 0.95, 0.8);
constexpr Knob opposed =
    linear_knob("opposed-rho", "the same, not positive; 1: as rho says", -0.9, -0.1, 1)
        .breaking("0 < rho");
constexpr Knob label = linear_knob("polarity", "of the two labels, one each sign", 0.6, 0.95, 0.8);

std::vector<Knob> knobs() {
  std::vector<Knob> all = knobs_of_network_shape();
  all.insert(all.end(), {strong_edge, opposed, label});
  return all;
}

double edge_of(const Setting& setting) {
  return setting.value(setting.value(opposed) < 0 ? opposed : strong_edge);
}

Record tree(const Setting& setting) {
  const auto text = [](double number) { return fmt::format("{}", number); };
  const double p = setting.value(label);
  Record told = told_network_shape(setting);
  told["hierarchy"] = "tree";
  told["depth"] = "3";
  told["rho"] = text(edge_of(setting));
  told["polarity"] = Value::List{text(p), text(-p)};
  return told;
}

Record sets(const Setting& setting) {
  Record told = told_network_shape(setting);
  told["latents"] = Value::List{"10", "14", "16"};
  told["children"] = Value::List{"2", "2", "2"};
  return told;
}

// By how much levels are apart beyond what is allowed.
Vector<double> beyond(const LevelReading& reading) {
  const double allowed = longest_lead * (1 - reading.lower);
  const double lower = reading.lower - reading.higher;
  const double higher = reading.higher - reading.classes;
  return Vector<double>{{lower - allowed, -lower - allowed, higher - allowed, -higher - allowed}};
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = tree(setting);
  const auto networks = [&](const Record& parameters) {
    return level_networks(parameters, setting.draw_seed() * usual_networks,
                          setting.draws(usual_networks), setting.jobs, 1);
  };
  const std::vector<LevelNetwork> all = networks(it.parameters);
  const SequenceData data = level_instance(it.parameters, setting.seed).data;
  it.parameters["seed"] = std::to_string(setting.seed);
  it.require("0 < rho", edge_of(setting));

  const std::vector<Quantity> told = label_by_token(data, 0);
  it.judge(
      Comparison{.what = "what a leaf tells of the label, of that of the first",
                 .measured = told,
                 .predicted = {told.front()},
                 .mistakes = {measures("one-missing", [&] { return label_by_token(data, 1); })}});
  // Both kinds of attention and what is told share the chance of a false alarm.
  const auto apart = [&](const std::vector<LevelNetwork>& some,
                         LevelReading LevelNetwork::*attention) {
    return mean_over_networks(some, setting.false_alarm / 3,
                              [=](const auto& n) { return beyond(n.*attention); });
  };
  const auto judge = [&](const char* what, LevelReading LevelNetwork::*attention) {
    it.judge(Comparison{
        .kind = EvidenceKind::statistical,
        .what = what,
        .measured = apart(all, attention),
        .relation = Relation::below,
        .predicted = {0.0},
        .scale = {1.0},
        .mistakes = {measures("sets", [&] { return apart(networks(sets(setting)), attention); })},
        .places = {"level 0 behind level 1", "level 1 behind level 0", "level 1 behind the label",
                   "the label behind level 1"}});
  };
  judge("lead of a level beyond a tenth of what is learned, attention trained",
        &LevelNetwork::trained);
  judge("the same with attention uniform", &LevelNetwork::uniform);
  const std::vector<Quantity> means =
      mean_over_networks(all, setting.false_alarm / 3, [](const auto& n) {
        return Vector<double>{{n.trained.time, 1 - n.trained.lower,
                               n.trained.higher - n.trained.lower,
                               n.trained.classes - n.trained.higher}};
      });
  const std::array names{"time", "learned of level 0", "level 1 behind level 0",
                         "label behind level 1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    it.report(names.at(i), means[i].value(), fmt::format("+- {:.2g}", means[i].error()));
  }
}

}  // namespace

Statement statement() {
  return {.id = "joma.tree-order",
          .claim = "on Theorem 5's tree the label teaches strong and weak co-occurrences together",
          .paper = "arXiv 2310.00535, Section 5",
          .status = "derived here",
          .hypotheses = {"0 < rho", by_construction("depth 3, trained on the label alone",
                                                    "the data are the rung's")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"one-missing", "one leaf is not seen in one sequence"},
                       {"sets", "the authors' sets in place of the tree"}},
          .knobs = knobs(),
          .examine = examine};
}

}  // namespace popgrad::joma::checks::tree_order
