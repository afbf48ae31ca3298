#include "theorems/joma/rungs/sequence_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "popgrad/base/error.hpp"

namespace popgrad::joma {
namespace {

/// Apart from the streams of instances and of training.
constexpr std::uint32_t sequence_run = 0xFFFFFFFFU;
constexpr std::uint64_t set_stream = 32;

using Set = std::vector<Index>;

// At most `limit`; C(n, k) of large arguments does not fit.
double sets_of(Index n, Index k, double limit) {
  double count = 1;
  for (Index i = 0; i < k && count < limit; ++i) {
    count *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return std::min(std::round(count), limit);
}

Set drawn_set(Index from, Index size, Stream& stream) {
  std::set<Index> drawn;
  while (std::ssize(drawn) < size) drawn.insert(stream.index(static_cast<std::uint32_t>(from)));
  return {drawn.begin(), drawn.end()};
}

// The sets of a level over `below` children; different ones.
std::vector<Set> drawn_level(Index latents, Index size, Index below, Stream& stream) {
  std::vector<Set> level;
  std::set<Set> seen;
  while (std::ssize(level) < latents) {
    Set next = drawn_set(below, size, stream);
    if (seen.insert(next).second) level.push_back(std::move(next));
  }
  return level;
}

void check(const LatentSets& shape) {
  if (shape.latents.empty() || shape.latents.size() != shape.children.size()) {
    reject("joma", "--children", fmt::format("{}", fmt::join(shape.children, ",")),
           fmt::format("must have one number for each of the {} levels of --latents",
                       shape.latents.size()));
  }
  Index below = shape.tokens - 1;
  for (std::size_t l = 0; l < shape.latents.size(); ++l) {
    const Index size = shape.children[l];
    const auto needed = static_cast<double>(shape.latents[l]);
    if (size < 1 || size > below) {
      reject("joma", "--children", std::to_string(size),
             fmt::format("at level {} must be from 1 to {}, what the level below has", l, below));
    }
    if (needed < 1 || sets_of(below, size, needed) < needed) {
      reject("joma", "--latents", std::to_string(shape.latents[l]),
             fmt::format("at level {} must be from 1 to the number of sets of {} out of {}", l,
                         size, below));
    }
    below = shape.latents[l];
  }
}

// P[leaves below a node | its value], [node][value]; nodes in heap order, 1 above the root's children
// being absent: layer k begins at 2^k.
using Messages = std::vector<std::array<double, 2>>;

class TreePosterior {
 public:
  explicit TreePosterior(const LatentTree<double>& tree)
      : tree_(tree), leaves_(Index{1} << tree.depth), up_(size()), down_(size()) {}

  [[nodiscard]] Index leaves() const { return leaves_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(2 * leaves_); }

  void see(Index pattern) {
    for (Index l = 0; l < leaves_; ++l) {
      const bool one = ((pattern >> l) & 1) != 0;
      up_[node(l + leaves_)] = {one ? 0.0 : 1.0, one ? 1.0 : 0.0};
    }
    for (Index v = leaves_ - 1; v >= 2; --v) {
      for (int y = 0; y < 2; ++y) {
        up_[node(v)][static_cast<std::size_t>(y)] = from(2 * v, y) * from(2 * v + 1, y);
      }
    }
  }

  // P[y_v = 1 and the leaves | class] of every node from 2 on; the chance of the leaves itself at 1.
  std::vector<double> joint(double polarity) {
    const std::array<double, 2> top{(1 + polarity) / 2, (1 - polarity) / 2};
    std::array<double, 2> seen{};
    for (Index v = 2; v < 4; ++v) {
      seen[static_cast<std::size_t>(v - 2)] = top[0] * up_[node(v)][0] + top[1] * up_[node(v)][1];
    }
    std::vector<double> joint(size(), 0.0);
    joint[1] = seen[0] * seen[1];
    for (Index v = 2; v < 4; ++v) {
      const double other = seen[static_cast<std::size_t>(3 - v)];
      down_[node(v)] = {top[0] * other, top[1] * other};
    }
    for (Index v = 4; v < 2 * leaves_; ++v) {
      const Index parent = v / 2;
      const Index sibling = v ^ 1;
      for (int y = 0; y < 2; ++y) {
        double sum = 0;
        for (int above = 0; above < 2; ++above) {
          sum += down_[node(parent)][static_cast<std::size_t>(above)] * edge(above, y) *
                 from(sibling, above);
        }
        down_[node(v)][static_cast<std::size_t>(y)] = sum;
      }
    }
    for (Index v = 2; v < 2 * leaves_; ++v) joint[node(v)] = down_[node(v)][1] * up_[node(v)][1];
    return joint;
  }

 private:
  static std::size_t node(Index v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] double edge(int above, int below) const {
    return (above == below ? 1 + tree_.rho : 1 - tree_.rho) / 2;
  }
  // P[leaves below v | the parent of v has this value].
  [[nodiscard]] double from(Index v, int above) const {
    return edge(above, 0) * up_[node(v)][0] + edge(above, 1) * up_[node(v)][1];
  }

  const LatentTree<double>& tree_;
  Index leaves_;
  Messages up_, down_;
};

}  // namespace

SequenceData latent_sets(const LatentSets& shape, std::uint64_t seed) {
  check(shape);
  Stream stream(seed, sequence_run, set_stream);
  std::vector<std::vector<Set>> levels;
  Index below = shape.tokens - 1;
  for (std::size_t l = 0; l < shape.latents.size(); ++l) {
    levels.push_back(drawn_level(shape.latents[l], shape.children[l], below, stream));
    below = shape.latents[l];
  }
  SequenceData data;
  data.tokens = shape.tokens;
  data.length = shape.length;
  const Index classes = shape.latents.back();
  data.probability = Vector<double>::Constant(classes, 1 / static_cast<double>(classes));
  data.target = Matrix<double>::Identity(classes, classes);
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    data.latent_means.emplace_back(Matrix<double>::Zero(shape.latents[l], classes));
  }
  for (Index c = 0; c < classes; ++c) {
    std::set<Index> active{c};
    for (std::size_t l = levels.size(); l-- > 0;) {
      std::set<Index> under;
      for (const Index latent : active) {
        const Set& children = levels[l][static_cast<std::size_t>(latent)];
        under.insert(children.begin(), children.end());
      }
      active = std::move(under);
      if (l == 0) break;
      for (const Index latent : active) data.latent_means[l - 1](latent, c) = 1;
    }
    if (std::ssize(active) > shape.length) {
      reject("joma", "--L", std::to_string(shape.length),
             fmt::format("is shorter than the {} tokens of class {}; give at least that many",
                         active.size(), c));
    }
    Set content;
    for (const Index token : active) content.push_back(token + 1);
    data.content.push_back(std::move(content));
  }
  return data;
}

SequenceData latent_tree_sequences(const LatentTree<double>& tree) {
  TreePosterior posterior(tree);
  const Index leaves = posterior.leaves();
  const auto classes = std::ssize(tree.class_law);
  std::vector<std::vector<double>>
      kept;  // of every sequence: P[y_v = 1, leaves], then P[class, leaves]
  SequenceData data;
  data.tokens = leaves + 1;
  data.length = leaves;
  for (Index pattern = 0; pattern < (Index{1} << leaves); ++pattern) {
    posterior.see(pattern);
    std::vector<double> sums(posterior.size() + tree.class_law.size(), 0.0);
    for (std::size_t c = 0; c < tree.class_law.size(); ++c) {
      const std::vector<double> joint = posterior.joint(tree.class_polarity[c]);
      for (std::size_t v = 1; v < joint.size(); ++v) sums[v] += tree.class_law[c] * joint[v];
      sums[joint.size() + c] = tree.class_law[c] * joint[1];
    }
    if (!(sums[1] > 0)) continue;
    kept.push_back(std::move(sums));
    Set content;
    for (Index l = 0; l < leaves; ++l) {
      if (((pattern >> l) & 1) != 0) content.push_back(l + 1);
    }
    data.content.push_back(std::move(content));
  }
  const auto count = std::ssize(kept);
  data.probability.resize(count);
  data.target.resize(classes, count);
  for (int layer = tree.depth - 1; layer >= 1; --layer) {
    data.latent_means.emplace_back(Index{1} << layer, count);
  }
  for (Index i = 0; i < count; ++i) {
    const std::vector<double>& sums = kept[static_cast<std::size_t>(i)];
    data.probability[i] = sums[1];
    for (Index c = 0; c < classes; ++c) {
      data.target(c, i) = sums[posterior.size() + static_cast<std::size_t>(c)] / sums[1];
    }
    for (int layer = 1; layer < tree.depth; ++layer) {
      Matrix<double>& means = data.latent_means[static_cast<std::size_t>(tree.depth - 1 - layer)];
      for (Index v = 0; v < means.rows(); ++v) {
        means(v, i) = sums[static_cast<std::size_t>(means.rows() + v)] / sums[1];
      }
    }
  }
  data.probability /= data.probability.sum();
  return data;
}

SequenceData given_sequences(const Matrix<double>& rows, Index tokens) {
  SequenceData data;
  data.tokens = tokens;
  data.length = rows.cols();
  const Index count = rows.rows();
  data.probability = Vector<double>::Constant(count, 1 / static_cast<double>(count));
  data.target = Matrix<double>::Identity(count, count);
  for (Index i = 0; i < count; ++i) {
    Set content;
    for (Index t = 0; t < rows.cols(); ++t) {
      const double token = rows(i, t);
      if (token != std::floor(token) || token < 0 || token >= static_cast<double>(tokens)) {
        reject("joma", "inputs", fmt::format("{:g}", token),
               fmt::format("in row {} must be a token: a whole number from 0 (padding) to {}", i,
                           tokens - 1));
      }
      if (token == 0 && !content.empty()) {
        reject("joma", "inputs", "0",
               fmt::format("in row {}, column {} is padding behind a token; it comes first", i, t));
      }
      if (token > 0) content.push_back(static_cast<Index>(token));
    }
    data.content.push_back(std::move(content));
  }
  return data;
}

}  // namespace popgrad::joma
