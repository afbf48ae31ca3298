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

}  // namespace popgrad::joma::checks
