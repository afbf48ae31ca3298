#include "theorems/joma/checks/trees.hpp"

#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

LatentTree<double> drawn_tree(const Setting& setting, double rho) {
  LatentTree<double> tree;
  tree.depth = static_cast<int>(setting.count(tree_depth));
  tree.rho = rho;
  Stream stream(setting.seed, stream_of_drawn_instances, 12);
  double total = 0;
  for (Index c = 0; c < setting.count(label_count); ++c) {
    tree.class_law.push_back(stream.uniform());
    total += tree.class_law.back();
    tree.class_polarity.push_back(setting.value(polarity) * (2 * stream.uniform() - 1));
  }
  for (double& p : tree.class_law) p /= total;
  tree.class_polarity.front() = setting.value(polarity);
  return tree;
}

ReducedInstance<double> learning_on(const LatentTree<double>& tree, const Setting& setting) {
  const double kappa = setting.value(tree_scale);
  Stream stream(setting.seed, stream_of_drawn_instances, 13);
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = setting.value(tau);
  instance.target.resize(tree.depth, 1);
  instance.start.resize(tree.depth, 1);
  instance.logits = Vector<double>::Zero(tree.depth);
  for (Index l = 0; l < tree.depth; ++l) {
    instance.target(l, 0) = kappa * cooccurrence_by_summation(tree, static_cast<int>(l) + 1) *
                            std::exp(setting.value(tree_noise) * stream.normal());
    instance.start(l, 0) = setting.value(tree_start) * kappa * stream.normal();
  }
  return instance;
}

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

}  // namespace popgrad::joma::checks
