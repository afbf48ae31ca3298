#include <array>

#include "theorems/joma/checks/level_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/trees.hpp"

namespace popgrad::joma::checks::tree_order {
namespace {

Statement sheet{.id = "joma.tree-order",
                .paper = "arXiv 2310.00535, Section 5",
                .status = "derived here",
                .about = "sums over the latent tree; full-batch descent from random starts",
                .theorem = R"(
On the tree of Theorem 5 every leaf has the same covariance with the label c,
  E[(1_c - P(c)) x_l],
so networks that are trained on the label learn strong co-occurrences (latents of level 0) and
weak ones (level 1, then the label) together: what is left of one and of the next, the residual
along their latents in units of its start, differs by at most a tenth of what is learned of level
0 as that is a tenth or more, with attention trained or uniform. It bounds what the source
argues.)",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .knobs = knobs_of_network_shape()};

const Clause same_label = sheet.clause("leaves of Theorem 5's tree covary alike with the label");
const Clause together =
    sheet.clause("strong and weak co-occurrences are learned together to a tenth");
const Clause together_uniform = sheet.clause("also with attention uniform");

const Hypothesis positive_edge = sheet.assume("0 < rho");
const Hypothesis label_only =
    sheet.assume(by_construction("depth 3, trained on the label alone", "the data are the rung's"));

const Control one_missing = sheet.control("one-missing", "one leaf is not seen in one sequence");
const Control authors_sets = sheet.control("sets", "the authors' sets in place of the tree");

const Knob strong_edge =
    sheet.knob(linear_knob("rho", "correlation across an edge", 0.7, 0.95, 0.8));
const Knob opposed =
    sheet.knob(linear_knob("opposed-rho", "the same, not positive; 1: as rho says", -0.9, -0.1, 1)
                   .breaking(positive_edge));
const Knob label =
    sheet.knob(linear_knob("polarity", "of the two labels, one each sign", 0.6, 0.95, 0.8));

constexpr std::uint32_t usual_networks = 96;
constexpr double longest_lead = 0.1;  // of what is learned of level 0

// What each token says of the label: E[(1_c - P(c)) x_l] of the first class c, l = 1..M-1, with its
// rounding. `lacking`: of the first token, this many sequences are left out.
std::vector<Quantity> label_by_token(const SequenceData& data, int lacking) {
  const double chance = data.target.row(0) * data.probability;
  std::vector<double> sums(static_cast<std::size_t>(data.tokens - 1), 0.0);
  std::vector<double> sizes = sums;
  for (Index s = 0; s < data.sequences(); ++s) {
    for (const Index token : data.content[static_cast<std::size_t>(s)]) {
      if (token == 1 && lacking-- > 0) continue;
      const auto l = static_cast<std::size_t>(token - 1);
      sums[l] += data.probability[s] * (data.target(0, s) - chance);
      sizes[l] += data.probability[s];
    }
  }
  std::vector<Quantity> all;
  for (std::size_t l = 0; l < sums.size(); ++l) {
    all.push_back(
        {sums[l], {ErrorPart::rounding(static_cast<double>(data.sequences()), sizes[l])}});
  }
  return all;
}

double edge_of(const Setting& setting) {
  return setting.value(setting.value(opposed) < 0 ? opposed : strong_edge);
}

Record tree(const Setting& setting) {
  const auto text = [](double number) { return fmt::format("{}", number); };
  const double p = setting.value(label);
  Record all = network_shape_parameters(setting);
  all["hierarchy"] = "tree";
  all["depth"] = "3";
  all["rho"] = text(edge_of(setting));
  all["polarity"] = Value::List{text(p), text(-p)};
  return all;
}

Record sets(const Setting& setting) {
  Record all = network_shape_parameters(setting);
  all["latents"] = Value::List{"10", "14", "16"};
  all["children"] = Value::List{"2", "2", "2"};
  return all;
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
  it.require(positive_edge, edge_of(setting));

  const std::vector<Quantity> of_leaves = label_by_token(data, 0);
  it.judge(same_label,
           equal("covariance of a leaf with the label, of the first", of_leaves, of_leaves.front())
               .unless(one_missing, [&] { return label_by_token(data, 1); }));
  // Both kinds of attention and what is reported share the chance of a false alarm.
  const auto apart = [&](const std::vector<LevelNetwork>& some,
                         LevelReading LevelNetwork::*attention) {
    return mean_over_networks(some, setting.false_alarm / 3,
                              [=](const auto& n) { return beyond(n.*attention); });
  };
  const auto judge = [&](const Clause& clause, const char* what,
                         LevelReading LevelNetwork::*attention) {
    it.judge(clause,
             below(what, apart(all, attention), 0)
                 .of_kind(EvidenceKind::statistical)
                 .in_units_of(1)
                 .at({"level 0 behind level 1", "level 1 behind level 0",
                      "level 1 behind the label", "the label behind level 1"})
                 .unless(authors_sets, [&] { return apart(networks(sets(setting)), attention); }));
  };
  judge(together, "lead of a level beyond a tenth of what is learned, attention trained",
        &LevelNetwork::trained);
  judge(together_uniform, "the same with attention uniform", &LevelNetwork::uniform);
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

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::tree_order
