#include <fmt/format.h>

#include <cmath>

#include "popgrad/base/error.hpp"
#include "theorems/joma/rungs/enumerations.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma {
namespace {

/// In the names of defaults.
constexpr std::string_view several_layers = "with several layers";

std::vector<Index> whole_numbers(const Parameters& p, const ListParameter& list,
                                 std::vector<Index> standard) {
  if (!given(p, list)) return standard;
  const Vector<double> numbers = p.vector<double>(list.name);
  constexpr double most = 1e6;
  std::vector<Index> found;
  for (const double number : numbers) {
    if (number != std::floor(number) || number < 1 || number > most) {
      reject("joma", "--" + std::string(list.name), fmt::format("{:g}", number),
             "must be a list of whole numbers from 1 to 1000000");
    }
    found.push_back(static_cast<Index>(number));
  }
  return found;
}

template <class... Parameter>
void refuse_all(const Parameters& p, std::string_view rule, const Parameter&... parameter) {
  (refuse_given(p, "joma", parameter, rule), ...);
}

SequenceData sets_of(const Parameters& p, std::uint64_t seed) {
  using namespace parameter;
  refuse_all(p, "is of the tree; give --hierarchy tree as well", depth, rho, polarity);
  LatentSets shape;
  shape.tokens = read(p, M);
  shape.length = read(p, L);
  shape.latents = whole_numbers(p, latents, shape.latents);
  shape.children = whole_numbers(p, children, shape.children);
  return latent_sets(shape, seed);
}

SequenceData tree_of(const Parameters& p) {
  using namespace parameter;
  refuse_all(p, "is of sets; the tree has its own", M, L, latents, children);
  LatentTree<double> tree;
  tree.depth = static_cast<int>(read(p, depth));
  tree.rho = read<double>(p, rho);
  const Vector<double> polarities =
      given(p, polarity) ? p.vector<double>("polarity") : Vector<double>{{0.8, -0.8}};
  for (const double value : polarities) {
    if (std::fabs(value) > 1) {
      reject("joma", "--polarity", fmt::format("{:g}", value), "must lie in [-1, 1]");
    }
    tree.class_polarity.push_back(value);
    tree.class_law.push_back(1 / static_cast<double>(polarities.size()));
  }
  return latent_tree_sequences(tree);
}

SequenceData inputs_of(const Parameters& p) {
  using namespace parameter;
  refuse_all(p, "is of a hierarchy; with inputs leave it out", hierarchy, L, latents, children,
             depth, rho, polarity);
  const Matrix<double> rows = p.matrix<double>("inputs");
  constexpr double most = 99'999;
  if (rows.maxCoeff() > most) {
    reject("joma", "inputs", fmt::format("{:g}", rows.maxCoeff()),
           "is too large a token; number the tokens 1, 2, ... up to 99999");
  }
  const auto largest = static_cast<Index>(rows.maxCoeff());
  const Index tokens = given(p, M) ? read(p, M) : std::max<Index>(largest + 1, 2);
  return given_sequences(rows, tokens);
}

}  // namespace

MultilayerInstance<double> multilayer_instance(const Parameters& p, std::uint64_t seed) {
  MultilayerInstance<double> instance;
  if (given(p, parameter::inputs)) {
    instance.data = inputs_of(p);
  } else {
    instance.data = read(p, parameter::hierarchy) == "tree" ? tree_of(p) : sets_of(p, seed);
  }
  NetworkShape& shape = instance.shape;
  shape.layers = read(p, parameter::layers);
  shape.dimension = read(p, parameter::d);
  shape.width = read_or(p, parameter::width, 4 * shape.dimension);
  shape.tokens = instance.data.tokens;
  shape.classes = instance.data.classes();
  shape.attention = attention_of(p, several_layers);
  shape.phi = phi_of(p, several_layers);
  shape.layer_norm = read(p, parameter::layer_norm);
  shape.train_attention = read(p, parameter::train_attention);
  instance.start = network_start(shape, seed);
  return instance;
}

}  // namespace popgrad::joma
