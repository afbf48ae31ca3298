// Theorem    joma.tree-cooccurrence
// Status     proved in source; the form at H = L is derived here (Theorem 5)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 5
// Statement  for leaves that meet H <= L - 1 levels up
//                                     1 + rho^{2H} - 2 rho^{L-1} rho_0
//              P[y_l = 1 | y_m = 1] = --------------------------------
//                                         2 (1 - rho^{L-1} rho_0)
//            and at H = L the same with rho^{2(L-1)} E[rho_0c^2] for rho^{2H}
// Hypotheses H1 layer-1 variables independent given the label; H2 1 - rho^{L-1} rho_0 > 0
// Check      summation over the tree, on symbols and at the tree at hand; share of sampled pairs
// Controls   rho^{2H-1} for rho^{2H}; rho^L rho_0 for rho^{L-1} rho_0; E[rho_0c]^2 at H = L
// Uses       closed form and samples of the latent tree

#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/trees.hpp"

namespace popgrad::joma::checks::tree_cooccurrence {
namespace {

constexpr Knob rho = linear_knob("rho", "correlation across an edge", -1, 1, 0.8);
constexpr Knob copying =
    logarithmic_knob("copying", "chance that two layer-1 variables are copies of each other", 1e-4,
                     1, 0)
        .breaking("layer-1 variables independent given the label");

constexpr TreeMistake edges{.edges_missed = 1};
constexpr TreeMistake bias{.edges_added = 1};
constexpr TreeMistake mean_squared{.mean_squared = true};

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
  it.judge(Identity{.what = "summation over the tree = formula, L = 2..4, H = 1..L",
                    .holds = [] { return summation_is({}); },
                    .mistakes = {{"edges", [] { return summation_is(edges); }},
                                 {"bias", [] { return summation_is(bias); }},
                                 {"mean-squared", [] { return summation_is(mean_squared); }}}});
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

void examine(const Setting& setting, Examination& it) {
  const LatentTree<double> tree = drawn_tree(setting, setting.value(rho));
  const double copies = setting.value(copying);
  it.parameters = {{"L", tree.depth}, {"rho", tree.rho}, {"P", tree.class_law}};
  it.parameters["rho_0c"] = tree.class_polarity;
  const double single = 1 - whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
  it.require("layer-1 variables independent given the label", -copies,
             fmt::format("copies with chance {:.3g}", copies));
  it.require("1 - rho^{L-1} rho_0 > 0", single > 0 ? Truth::yes : Truth::no);
  if (!(single > 0)) return;
  Comparison summation;
  summation.what = "summation over the tree";
  Comparison pairs;
  pairs.kind = EvidenceKind::statistical;
  pairs.what = "share of sampled pairs";
  const auto predicted = [&](const TreeMistake& mistake) {
    std::vector<Quantity> values;
    for (int levels = 1; levels <= tree.depth; ++levels) {
      values.emplace_back(cooccurrence_with(tree, levels, mistake));
    }
    return values;
  };
  for (int levels = 1; levels <= tree.depth; ++levels) {
    summation.measured.push_back(summed(tree, levels, copies, single));
    pairs.measured.push_back(sampled(tree, levels, copies, setting));
    summation.places.push_back(fmt::format("H = {}", levels));
  }
  pairs.places = summation.places;
  for (Comparison* c : {&summation, &pairs}) {
    c->predicted = predicted({});
    c->mistakes = {predicts("edges", predicted(edges)), predicts("bias", predicted(bias)),
                   predicts("mean-squared", predicted(mean_squared))};
    it.judge(*c);
  }
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.tree-cooccurrence",
      .claim = "co-occurrence of two leaves as a function of how high they meet",
      .paper = "arXiv 2310.00535, Theorem 5",
      .status = "proved in source; the form at H = L is derived here",
      .hypotheses = {"layer-1 variables independent given the label", "1 - rho^{L-1} rho_0 > 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"edges", "rho^{2H-1} in place of rho^{2H}"},
                   {"bias", "rho^L rho_0 in place of rho^{L-1} rho_0"},
                   {"mean-squared", "E[rho_0c]^2 in place of E[rho_0c^2] at H = L"}},
      .knobs = {tree_depth, rho, label_count, polarity, copying},
      .derive = derive,
      .examine = examine};
}

}  // namespace popgrad::joma::checks::tree_cooccurrence
