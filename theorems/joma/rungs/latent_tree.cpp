#include "theorems/joma/rungs/latent_tree.hpp"

namespace popgrad::joma {
namespace {

// Passes a value down `edges` noisy edges.
bool descend(bool value, int edges, double rho, Stream& stream) {
  for (int e = 0; e < edges; ++e) {
    if (stream.uniform() > (1 + rho) / 2) value = !value;
  }
  return value;
}

}  // namespace

std::pair<bool, bool> sample_leaf_pair(const LatentTree<double>& tree, int levels_up,
                                       Stream& stream) {
  double u = stream.uniform();
  std::size_t c = 0;
  while (c + 1 < tree.class_law.size() && u >= tree.class_law[c]) u -= tree.class_law[c++];
  const double one = (1 - tree.class_polarity[c]) / 2;
  const bool first = stream.uniform() < one;
  if (levels_up == tree.depth) {
    const bool second = stream.uniform() < one;
    const bool a = descend(first, tree.depth - 1, tree.rho, stream);
    const bool b = descend(second, tree.depth - 1, tree.rho, stream);
    return {a, b};
  }
  const bool ancestor = descend(first, tree.depth - levels_up - 1, tree.rho, stream);
  const bool a = descend(ancestor, levels_up, tree.rho, stream);
  const bool b = descend(ancestor, levels_up, tree.rho, stream);
  return {a, b};
}

}  // namespace popgrad::joma
