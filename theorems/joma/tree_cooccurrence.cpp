// Theorem    joma.tree-cooccurrence
// Status     proved in source; the form at H = L is derived here (Theorem 5)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 5
// Statement  for leaves that meet H <= L - 1 levels up
//                                     1 + rho^{2H} - 2 rho^{L-1} rho_0
//              P[y_l = 1 | y_m = 1] = --------------------------------
//                                         2 (1 - rho^{L-1} rho_0)
//            and at H = L the same with rho^{2(L-1)} E[rho_0c^2] for rho^{2H}
// Hypotheses H1 layer-1 variables independent given the label; H2 1 - rho^{L-1} rho_0 > 0
// Check      summation over the tree with generic rho, rho_0c, P_c (symbols); sampled pairs
// Controls   rho^H for rho^{2H}; E[rho_0c]^2 for E[rho_0c^2] at H = L
// Uses       closed form and samples of the latent tree

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/latent_tree.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob layers{.name = "depth",
                      .meaning = "layers L below the label",
                      .low = 2,
                      .high = 7,
                      .usual = 3,
                      .spacing = Spacing::whole};
constexpr Knob rho{
    .name = "rho", .meaning = "correlation across an edge", .low = -1, .high = 1, .usual = 0.8};
constexpr Knob labels{.name = "labels",
                      .meaning = "values of the label",
                      .low = 1,
                      .high = 6,
                      .usual = 3,
                      .spacing = Spacing::whole};
constexpr Knob polarity{.name = "polarity",
                        .meaning = "largest |rho_0c|, the correlation with the label",
                        .low = 0,
                        .high = 1,
                        .usual = 0.9};
constexpr Knob copying{.name = "copying",
                       .meaning = "chance that two layer-1 variables are copies of each other",
                       .low = 1e-4,
                       .high = 1,
                       .usual = 0,
                       .spacing = Spacing::logarithmic,
                       .breaks = "layer-1 variables independent given the label"};

// The tree that verify looks at, or one whose label is drawn.
LatentTree<double> tree_of(const Setting& setting) {
  LatentTree<double> tree;
  tree.depth = static_cast<int>(setting.count(layers));
  tree.rho = setting.value(rho);
  const Index count = setting.count(labels);
  if (!setting.only_what_varies && count == 3) {
    tree.class_law = {0.5, 0.3, 0.2};
    tree.class_polarity = {setting.value(polarity), -0.4, 0.2};
    return tree;
  }
  Stream stream(setting.seed, stream_of_drawn_instances, 12);
  double total = 0;
  for (Index c = 0; c < count; ++c) {
    tree.class_law.push_back(stream.uniform());
    total += tree.class_law.back();
    tree.class_polarity.push_back(setting.value(polarity) * (2 * stream.uniform() - 1));
  }
  for (double& p : tree.class_law) p /= total;
  tree.class_polarity.front() = setting.value(polarity);
  return tree;
}

LatentTree<Expression> generic_tree(int depth) {
  LatentTree<Expression> tree;
  tree.depth = depth;
  tree.rho = symbol("rho");
  // Two classes with probabilities p and 1 - p and generic polarities.
  const Expression p = symbol("p");
  tree.class_law = {p, 1 - p};
  tree.class_polarity = {symbol("a"), symbol("b")};
  return tree;
}

template <class T>
T predicted(const LatentTree<T>& tree, int levels_up, std::string_view variant) {
  if (variant == "single-power" && levels_up < tree.depth) {
    const T bias = whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
    return (T(1) + whole_power(tree.rho, levels_up) - T(2) * bias) / (T(2) * (T(1) - bias));
  }
  if (variant == "mean-squared" && levels_up == tree.depth) {
    const T bias = whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
    return (T(1) + bias * bias - T(2) * bias) / (T(2) * (T(1) - bias));
  }
  return cooccurrence_formula(tree, levels_up);
}

// Generic symbols, so nothing that a search could vary.
Truth summation_is_the_formula(std::string_view variant) {
  Truth all = Truth::yes;
  for (int levels_below = 2; levels_below <= 4; ++levels_below) {
    const LatentTree<Expression> tree = generic_tree(levels_below);
    for (int levels = 1; levels <= levels_below; ++levels) {
      const Truth one =
          vanishes(cooccurrence_by_summation(tree, levels) - predicted(tree, levels, variant));
      if (one == Truth::no) all = Truth::no;
      if (one == Truth::undecided && all == Truth::yes) all = Truth::undecided;
    }
  }
  return all;
}

// P[y_l = 1 | y_m = 1] by summation. With copies in layer 1 two leaves below them meet there, one
// level under the label, and otherwise as if they were independent.
double cooccurrence(const Setting& setting, const LatentTree<double>& tree, int levels) {
  const double plain = cooccurrence_by_summation(tree, levels);
  if (levels < tree.depth) return plain;
  const double copies = setting.value(copying);
  return (1 - copies) * plain + copies * cooccurrence_by_summation(tree, levels - 1);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  if (!setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "summation over the tree = formula, L = 2..4, H = 1..L",
                                       summation_is_the_formula(variant)));
  }
  const LatentTree<double> tree = tree_of(setting);
  result.parameters = {{"L", tree.depth},
                       {"rho", tree.rho},
                       {"P", tree.class_law},
                       {"rho_0c", tree.class_polarity},
                       {"seed", setting.seed}};
  const double single = 1 - whole_power(tree.rho, tree.depth - 1) * mean_polarity(tree);
  // P[y_m = 1] = single / 2: what is conditioned on.
  if (single < 1e-3) {
    result.hypotheses.push_back(
        {"1 - rho^{L-1} rho_0 > 0", Truth::no, fmt::format("{:.3g}", single)});
    return result;
  }
  if (setting.value(copying) > 0) {
    result.hypotheses.push_back({"layer-1 variables independent given the label", Truth::no,
                                 fmt::format("copies with chance {}", setting.value(copying))});
  }
  double largest = 0;
  for (int levels = 1; levels <= tree.depth; ++levels) {
    const double p = predicted(tree, levels, variant);
    largest = std::max(largest, std::fabs(cooccurrence(setting, tree, levels) / p - 1));
  }
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "summation over the tree, relative to the formula, minus 1", largest,
      setting.allow(1e-14 * tree.depth / single), "rounding, magnified by 1/P[y_m = 1]"));
  if (setting.slack > 0) return result;

  const std::uint32_t draws = setting.full               ? 4'000'000
                              : setting.only_what_varies ? 40'000
                                                         : 400'000;
  // One look a level; conditional on y_m = 1 the count of y_l = 1 is binomial.
  const double bound = two_sided_normal_bound(setting.false_alarm, tree.depth);
  for (int levels = 1; levels <= tree.depth; ++levels) {
    const double p = predicted(tree, levels, variant);
    double given = 0;
    double both = 0;
    Stream stream(setting.seed, static_cast<std::uint32_t>(levels), 0);
    for (std::uint32_t k = 0; k < draws; ++k) {
      const auto [l, m] = sample_leaf_pair(tree, levels, stream);
      if (!m) continue;
      ++given;
      if (l) ++both;
    }
    // Bernstein's inequality in place of the normal law, where a search comes to rare events.
    const double deviation = std::sqrt(std::max(p * (1 - p), 1e-30) / given);
    const double tail = std::log(2 * tree.depth / setting.false_alarm);
    const double allowed =
        setting.only_what_varies ? std::sqrt(2 * tail) + 2 * tail / (3 * given * deviation) : bound;
    const double z = (both / given - p) / deviation;
    result.evidence.push_back(bounded(
        EvidenceKind::statistical,
        fmt::format("|Z| of sampled pairs, L = {}, H = {}", tree.depth, levels), std::fabs(z),
        allowed, fmt::format("level {:.2g} over {} looks", setting.false_alarm, tree.depth),
        fmt::format("{:.5f} of {:.0f} pairs, predicted {:.5f}", both / given, given, p)));
  }
  return result;
}

}  // namespace

Statement tree_cooccurrence() {
  return {
      .id = "joma.tree-cooccurrence",
      .claim = "co-occurrence of two leaves as a function of how high they meet",
      .paper = "arXiv 2310.00535, Theorem 5",
      .status = "proved in source; the form at H = L is derived here",
      .hypotheses = {"layer-1 variables independent given the label", "1 - rho^{L-1} rho_0 > 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
      .controls = {{"single-power", "rho^H in place of rho^{2H}"},
                   {"mean-squared", "E[rho_0c]^2 in place of E[rho_0c^2] at H = L"}},
      .knobs = {layers, rho, labels, polarity, copying},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
