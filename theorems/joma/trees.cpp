#include "theorems/joma/trees.hpp"

#include <cmath>

#include "popgrad/random.hpp"
#include "theorems/joma/knobs.hpp"

namespace popgrad::theorems::joma {

popgrad::joma::LatentTree<double> drawn_tree(const Setting& setting, double rho) {
  popgrad::joma::LatentTree<double> tree;
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

popgrad::joma::ReducedInstance<double> learning_on(const popgrad::joma::LatentTree<double>& tree,
                                                   const Setting& setting) {
  const double kappa = setting.value(tree_scale);
  Stream stream(setting.seed, stream_of_drawn_instances, 13);
  popgrad::joma::ReducedInstance<double> instance;
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

}  // namespace popgrad::theorems::joma
