#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/trees.hpp"

namespace popgrad::joma::checks::tree_cooccurrence {
namespace {

Statement sheet{
    .id = "joma.tree-cooccurrence",
    .paper = "arXiv 2310.00535, Theorem 5",
    .status = "proved in source; the form at `H = L` is derived here",
    .about = "generic symbols, sums over the latent tree and samples of it",
    .theorem = R"(
For leaves of the latent tree that meet H <= L - 1 levels up
                         1 + rho^{2H} - 2 rho^{L-1} rho_0
  P[y_l = 1 | y_m = 1] = --------------------------------
                             2 (1 - rho^{L-1} rho_0)
and at H = L the same with rho^{2(L-1)} E[rho_0c^2] for rho^{2H}. rho is the correlation across
an edge, rho_0c that of a layer-1 variable with the label c, rho_0 its mean over labels.)",
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
    .no_rival = "an identity of the data law",
    .false_version = "height-only",
    .knobs = {tree_depth}};

const Clause by_height = sheet.clause(
    "co-occurrence of two leaves by how high they meet and by the labels' mean `rho_0`");

const Hypothesis independent = sheet.assume("layer-1 variables independent given the label");
const Hypothesis query_occurs = sheet.assume("`1 - rho^{L-1} rho_0 > 0`");

struct Wrong {
  Control control;
  TreeMistake mistake;
};
const std::array all_wrong{
    Wrong{sheet.control("edges", "`rho^{2H-1}` in place of `rho^{2H}`"), {.edges_missed = 1}},
    Wrong{sheet.control("bias", "`rho^L rho_0` in place of `rho^{L-1} rho_0`"), {.edges_added = 1}},
    Wrong{sheet.control("mean-squared", "`E[rho_0c]^2` in place of `E[rho_0c^2]` at `H = L`"),
          {.mean_squared = true}},
    Wrong{sheet.control("height-only", "nothing but the height at which two leaves meet counts"),
          {.no_bias = true}}};

const Knob correlation = sheet.knob(linear_knob("rho", "correlation across an edge", -1, 1, 0.8));
const Knob labels = sheet.knob(label_count);
const Knob largest_polarity = sheet.knob(polarity);
const Knob copying = sheet.knob(
    logarithmic_knob("copying", "chance that two layer-1 variables are copies of each other", 1e-4,
                     1, 0)
        .breaking(independent));

// Two labels with probabilities p and 1 - p and generic polarities; L = 2..4, H = 1..L.
Truth summation_is(const TreeMistake& mistake) {
  LatentTree<Expression> tree;
  tree.rho = symbol("rho");
  const Expression p = symbol("p");
  tree.class_law = {p, 1 - p};
  tree.class_polarity = {symbol("a"), symbol("b")};
  Truth all = Truth::yes;
  for (tree.depth = 2; tree.depth <= 4; ++tree.depth) {
    for (int levels = 1; levels <= tree.depth; ++levels) {
      const Truth one = vanishes(cooccurrence_by_summation(tree, levels) -
                                 cooccurrence_with(tree, levels, mistake));
      if (one == Truth::no) return one;
      if (one == Truth::undecided) all = one;
    }
  }
  return all;
}

void derive(Examination& it) {
  Identity same = identity("summation over the tree = formula, `L = 2..4`, `H = 1..L`",
                           [] { return summation_is({}); });
  for (const Wrong& wrong : all_wrong) {
    same.unless(wrong.control, [&wrong] { return summation_is(wrong.mistake); });
  }
  it.judge(by_height, same);
}

// Of the same tree, layer-1 variables being copies of each other with chance `copies`: then two
// leaves below different ones meet there, one level under the label.
Quantity summed(const LatentTree<double>& tree, int levels, double copies, double single) {
  double chance = cooccurrence_by_summation(tree, levels);
  if (levels == tree.depth) {
    chance += copies * (cooccurrence_by_summation(tree, levels - 1) - chance);
  }
  // Eight operations an edge of numbers below 1, divided by 2 P[y_m = 1].
  return {chance, {ErrorPart::rounding(8.0 * tree.depth, 1 / single)}};
}

Quantity sampled(const LatentTree<double>& tree, int levels, double copies,
                 const Setting& setting) {
  Stream stream(setting.draw_seed(), static_cast<std::uint32_t>(levels), 0);
  std::uint32_t given = 0;
  std::uint32_t both = 0;
  for (std::uint32_t k = setting.draws(400'000); k > 0; --k) {
    throw_if_stopped();
    const bool copied = levels == tree.depth && copies > 0 && stream.uniform() < copies;
    const auto [l, m] = sample_leaf_pair(tree, copied ? levels - 1 : levels, stream);
    given += m ? 1 : 0;
    both += l && m ? 1 : 0;
  }
  Quantity share = success_probability(both, given, setting.false_alarm / tree.depth);
  share.add(ErrorPart::rounding(2, 1));  // of the ends of the interval
  return share;
}

std::vector<Quantity> by_formula(const LatentTree<double>& tree, const TreeMistake& mistake) {
  std::vector<Quantity> values;
  for (int levels = 1; levels <= tree.depth; ++levels) {
    values.emplace_back(cooccurrence_with(tree, levels, mistake));
  }
  return values;
}

void examine(const Setting& setting, Examination& it) {
  const LatentTree<double> tree = drawn_tree(setting, setting.value(correlation));
  const double copies = setting.value(copying);
  it.parameters = {{"L", tree.depth}, {"rho", tree.rho}, {"P", tree.class_law}};
  it.parameters["rho_0c"] = tree.class_polarity;
  const double single = 1 - whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
  it.require(independent, -copies, fmt::format("copies with chance {:.3g}", copies));
  if (!it.require(query_occurs, single > 0)) return;
  Comparison summation = equal("summation over the tree");
  Comparison pairs = equal("share of sampled pairs").of_kind(EvidenceKind::statistical);
  for (int levels = 1; levels <= tree.depth; ++levels) {
    const std::string place = fmt::format("`H = {}`", levels);
    const double chance = cooccurrence_with(tree, levels, {});
    summation.add(place, summed(tree, levels, copies, single), chance);
    pairs.add(place, sampled(tree, levels, copies, setting), chance);
  }
  for (Comparison* found : {&summation, &pairs}) {
    for (const Wrong& wrong : all_wrong) {
      found->unless(wrong.control, by_formula(tree, wrong.mistake));
    }
    it.judge(by_height, *found);
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, derive); }

}  // namespace popgrad::joma::checks::tree_cooccurrence
