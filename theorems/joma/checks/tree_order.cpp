#include <algorithm>
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
0, from a tenth learned to nine tenths (or 400 steps), with attention trained or uniform. It bounds
what the source argues.)",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "apart-later",
                .knobs = knobs_of_network_shape()};

const Clause same_label = sheet.clause("leaves of Theorem 5's tree covary alike with the label");
const Clause together =
    sheet.clause("strong and weak co-occurrences are learned together to a tenth, to nine tenths");
const Clause together_uniform = sheet.clause("also with attention uniform");

const Hypothesis positive_edge = sheet.assume("`0 < rho`");
const Hypothesis label_only =
    sheet.assume(by_construction("depth 3, trained on the label only", "the data are the rung's"));

const Control one_missing = sheet.control("one-missing", "one leaf is not seen in one sequence");
const Control other_label =
    sheet.control("leaf", "the value of a leaf that is not shown for the label");

const Rival apart_later = sheet.rival(
    "apart-later", "together at first, apart later, as with that leaf for the label", "when");

const Knob strong_edge =
    sheet.knob(linear_knob("rho", "correlation across an edge", 0.7, 0.95, 0.8));
const Knob opposed =
    sheet.knob(linear_knob("opposed-rho", "the same, not positive; 1: as rho says", -0.9, -0.1, 1)
                   .breaking(positive_edge));
const Knob label =
    sheet.knob(linear_knob("polarity", "of the two labels, one each sign", 0.6, 0.95, 0.8));

constexpr std::uint32_t usual_networks = 48;
constexpr std::uint32_t few_networks = 12;    // for a mistake that is large
constexpr std::uint32_t fewest_networks = 4;  // that have moments
constexpr double longest_lead = 0.1;          // of what is learned of level 0

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

// The same sequences without the first leaf, whose value is the label.
MultilayerInstance<double> with_leaf_for_label(MultilayerInstance<double> instance) {
  SequenceData& data = instance.data;
  data.target.setZero();
  for (Index s = 0; s < data.sequences(); ++s) {
    std::vector<Index>& content = data.content[static_cast<std::size_t>(s)];
    const bool shown = !content.empty() && content.front() == 1;
    data.target(shown ? 0 : 1, s) = 1;
    if (shown) content.erase(content.begin());
  }
  return instance;
}

// By how much levels are apart beyond what is allowed, at every reading.
Vector<double> beyond(const std::vector<LevelReading>& readings) {
  Vector<double> found(4 * std::ssize(readings));
  Index at = 0;
  for (const LevelReading& reading : readings) {
    const double allowed = longest_lead * (1 - reading.lower);
    for (const double lead : {reading.lower - reading.higher, reading.higher - reading.classes}) {
      found[at++] = lead - allowed;
      found[at++] = -lead - allowed;
    }
  }
  return found;
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = tree(setting);
  const auto networks = [&, parameters = it.parameters](std::uint32_t usual, const auto& change) {
    return level_networks(
        [&](std::uint64_t seed) { return change(level_instance(parameters, seed)); },
        level_shares.size(), setting.draw_seed() * usual_networks,
        std::max(fewest_networks, setting.draws(usual)), setting.jobs);
  };
  const std::vector<LevelNetwork> all =
      networks(usual_networks, [](auto instance) { return instance; });
  const SequenceData data = level_instance(it.parameters, setting.seed).data;
  it.parameters["seed"] = std::to_string(setting.seed);
  it.require(positive_edge, edge_of(setting));

  const std::vector<Quantity> of_leaves = label_by_token(data, 0);
  it.judge(same_label,
           equal("covariance of a leaf with the label, of the first", of_leaves, of_leaves.front())
               .unless(one_missing, [&] { return label_by_token(data, 1); }));
  // Both kinds of attention and what is reported share the chance of a false alarm.
  const auto apart = [&](const std::vector<LevelNetwork>& some,
                         std::vector<LevelReading> LevelNetwork::*attention) {
    return mean_over_networks(some, setting.false_alarm / 3,
                              [=](const auto& n) { return beyond(n.*attention); });
  };
  std::vector<LevelNetwork> on_leaf;
  const auto apart_on_leaf = [&](std::vector<LevelReading> LevelNetwork::*attention) {
    if (on_leaf.empty()) on_leaf = networks(few_networks, with_leaf_for_label);
    return apart(on_leaf, attention);
  };
  // Apart as late as can be: at the last reading.
  const auto apart_at_last = [&](std::vector<LevelReading> LevelNetwork::*attention) {
    std::vector<Quantity> numbers = apart(all, attention);
    const std::vector<Quantity> leaf = apart_on_leaf(attention);
    const auto places = static_cast<std::ptrdiff_t>(numbers.size() / level_shares.size());
    std::copy(leaf.end() - places, leaf.end(), numbers.end() - places);
    return numbers;
  };
  const auto judge = [&](const Clause& clause, const char* what,
                         std::vector<LevelReading> LevelNetwork::*attention) {
    it.judge(clause,
             below(what, apart(all, attention), 0)
                 .of_kind(EvidenceKind::statistical)
                 .in_units_of(1)
                 .at(level_places(level_shares.size(),
                                  {"level 0 behind level 1", "level 1 behind level 0",
                                   "level 1 behind the label", "the label behind level 1"}))
                 .unless(other_label, [&, attention] { return apart_on_leaf(attention); })
                 .against(apart_later, [&, attention] { return apart_at_last(attention); }));
  };
  judge(together, "lead of a level beyond a tenth of what is learned, attention trained",
        &LevelNetwork::trained);
  judge(together_uniform, "the same with attention uniform", &LevelNetwork::uniform);
  const std::array names{"time", "level 1 behind level 0", "label behind level 1"};
  const std::vector<Quantity> means =
      mean_over_networks(all, setting.false_alarm / 3, [](const auto& n) {
        Vector<double> found(3 * std::ssize(n.trained));
        Index at = 0;
        for (const LevelReading& reading : n.trained) {
          found[at++] = reading.time;
          found[at++] = reading.higher - reading.lower;
          found[at++] = reading.classes - reading.higher;
        }
        return found;
      });
  const std::vector<std::string> what =
      level_places(level_shares.size(), {names.begin(), names.end()});
  for (std::size_t i = 0; i < what.size(); ++i) {
    it.report(what[i], means[i].value(), fmt::format("+- {:.2g}", means[i].error()));
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::tree_order
