#include "theorems/joma/checks/latent_networks.hpp"

#include <omp.h>
#include <array>

#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/latent_correlation.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr Knob layer_count = whole_knob("layers", "layers of attention and MLP", 1, 3, 2);
constexpr Knob dimension = whole_knob("d", "dimension of the embeddings", 8, 64, 16);
constexpr Knob class_count = whole_knob("classes", "sequences", 10, 24, 16);
constexpr Knob latent_count = whole_knob("latents", "latents above the tokens", 8, 20, 10);
constexpr Knob set_size = whole_knob("children", "size of the sets", 2, 3, 2);
constexpr Knob phi_of_network = whole_knob("phi", "0 linear, 1 ReLU, 2 GELU, 3 tanh", 0, 3, 1);

constexpr int permutations = 20;  // of the sequences, for scores by chance

Scores scores_at(const MultilayerFlow<double>& flow, const Vector<double>& x,
                 const std::vector<Index>& order) {
  const SequenceData& data = flow.instance().data;
  const Index layers = flow.instance().shape.layers;
  const auto levels = std::ssize(data.latent_means);
  const Index entries = layers * levels;
  Scores scores{Vector<double>(entries), Vector<double>(entries)};
  for (Index h = 0; h < layers; ++h) {
    const Matrix<double> units = flow.hidden(x, h);
    for (Index l = 0; l < levels; ++l) {
      const Matrix<double>& means = data.latent_means[static_cast<std::size_t>(l)];
      const LatentScore score =
          latent_score(latent_correlations(units, means(Eigen::all, order), data.probability));
      scores.free[h * levels + l] = score.free;
      scores.matched[h * levels + l] = score.matched;
    }
  }
  return scores;
}

Scores mean_of(const std::vector<Scores>& all) {
  Scores mean = all.front();
  for (const auto number : {&Scores::free, &Scores::matched}) {
    for (std::size_t i = 1; i < all.size(); ++i) mean.*number += all[i].*number;
    mean.*number /= static_cast<double>(all.size());
  }
  return mean;
}

NetworkScores scores_from(const LatentTraining& training, std::uint64_t seed) {
  const MultilayerInstance<double>& instance = training.instance;
  const Vector<double> start = network_start(instance.shape, seed);
  Stream stream(seed, stream_of_drawn_instances, 40);
  const Index count = instance.data.sequences();
  std::vector<Index> own(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = i;

  MultilayerInstance<double> relabelled = instance;
  relabelled.data.target = instance.data.target(Eigen::all, cyclic_order(count, stream));
  const MultilayerFlow<double> flow(instance);
  const MultilayerFlow<double> other(relabelled);
  const Vector<double> end = trained_network(flow, start, training);
  NetworkScores scores;
  const auto set = [&](Reading reading, Scores found) {
    scores.of[static_cast<std::size_t>(reading)] = std::move(found);
  };
  set(Reading::trained, scores_at(flow, end, own));
  set(Reading::untrained, scores_at(flow, start, own));
  set(Reading::permuted_labels, scores_at(flow, trained_network(other, start, training), own));
  std::vector<Scores> by_chance;
  std::vector<Scores> by_chance_at_start;
  for (int i = 0; i < permutations; ++i) {
    const std::vector<Index> order = cyclic_order(count, stream);
    by_chance.push_back(scores_at(flow, end, order));
    by_chance_at_start.push_back(scores_at(flow, start, order));
  }
  set(Reading::permuted_latents, mean_of(by_chance));
  set(Reading::untrained_permuted, mean_of(by_chance_at_start));
  scores.loss = flow.loss(end);
  return scores;
}

}  // namespace

std::vector<Knob> knobs_of_latent_networks(Index widest, Index fewest) {
  Knob d = dimension;
  d.high = static_cast<double>(widest);
  Knob classes = class_count;
  classes.low = static_cast<double>(fewest);
  return {layer_count, d, classes, latent_count, set_size, phi_of_network};
}

Record latent_network_parameters(const Setting& setting) {
  constexpr std::array names{"linear", "relu", "gelu", "tanh"};
  const auto text = [&](const Knob& knob) { return Value(std::to_string(setting.count(knob))); };
  return {{"layers", text(layer_count)},
          {"d", text(dimension)},
          {"phi", names.at(static_cast<std::size_t>(setting.count(phi_of_network)))},
          {"latents", Value::List{text(latent_count), text(class_count)}},
          {"children", Value::List{text(set_size), text(set_size)}},
          {"shared", text(shared_classes)},
          {"seed", std::to_string(setting.seed)}};
}

MultilayerInstance<double> drawn_latent_network(const Setting& setting) {
  Parameters p("joma");
  const Record all = latent_network_parameters(setting);
  for (const auto& [name, value] : all.entries()) {
    if (name != "seed" && name != "shared") p.set(name, value);
  }
  return multilayer_instance(p, setting.seed);
}

MultilayerInstance<double> examined_latent_network(const Setting& setting, Examination& it) {
  MultilayerInstance<double> instance = drawn_latent_network(setting);
  SequenceData& data = instance.data;
  const Index classes = data.classes() - setting.count(shared_classes);
  Matrix<double> target = data.target.topRows(classes);
  for (Index i = classes; i < data.sequences(); ++i) target(i - classes, i) = 1;
  data.target = target;
  instance.shape.classes = classes;
  it.parameters = latent_network_parameters(setting);
  it.require(one_sequence_a_class, static_cast<double>(classes - data.sequences()),
             fmt::format("{} sequences, {} classes", data.sequences(), classes));
  return instance;
}

std::vector<Index> cyclic_order(Index classes, Stream& stream) {
  // Sattolo's shuffle.
  std::vector<Index> order(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[stream.index(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

Vector<double> trained_network(const MultilayerFlow<double>& flow, const Vector<double>& start,
                               const LatentTraining& training) {
  Vector<double> x = start;
  Vector<double> slope(x.size());
  for (std::uint64_t step = 0; step < training.steps && !stop_asked(); ++step) {
    flow.rhs(x, slope, 0.0);
    x += training.step_size * slope;
  }
  throw_if_stopped();
  if (!x.allFinite()) throw Failure("the network diverges: take a smaller step");
  return x;
}

std::vector<NetworkScores> network_scores(const LatentTraining& training, std::uint64_t first,
                                          std::uint32_t count, int jobs) {
  std::vector<NetworkScores> all(count);
  const int threads = jobs > 0 ? jobs : omp_get_num_procs();
  bool diverged = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < count; ++i) {
    if (stop_asked()) continue;
    try {
      all[i] = scores_from(training, first + i);
    } catch (const std::runtime_error&) {
#pragma omp atomic write
      diverged = true;
    }
  }
  throw_if_stopped();
  if (diverged) throw Failure("a network diverges: take a smaller step");
  return all;
}

}  // namespace popgrad::joma::checks
