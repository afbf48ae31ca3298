#include "theorems/joma/checks/level_networks.hpp"

#include <omp.h>
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "popgrad/rungs/parameters.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr Knob level_layer_count = whole_knob("layers", "layers of attention and MLP", 1, 3, 2);
constexpr Knob level_dimension = whole_knob("d", "dimension of the embeddings", 8, 16, 12);
constexpr Knob level_class_count = whole_knob("classes", "sequences", 12, 20, 16);
constexpr Knob level_latent_count = whole_knob("latents", "latents of level 0", 8, 14, 10);
constexpr Knob more = whole_knob("more", "latents of level 1 beyond those of level 0", 0, 10, 4);
constexpr Knob fewer = whole_knob("fewer", "latents that level 1 has less than level 0", 0, 20, 0)
                           .breaking(no_fewer_above);
constexpr Knob level_set_size = whole_knob("children", "size of the sets", 2, 3, 2);
constexpr Knob level_activation = whole_knob("phi", "0 linear, 1 ReLU, 2 GELU, 3 tanh", 0, 3, 1);

constexpr int orders = 8;  // of the sequences, for the latents of the wrong ones

// Columns P(sequence) (y - E y)/sd(y) of the latents that vary: m times them is the covariance of
// the rows of m with standardised latents.
Matrix<double> directions(const Matrix<double>& latents, const Vector<double>& probability) {
  Matrix<double> found(latents.cols(), latents.rows());
  Index count = 0;
  for (Index j = 0; j < latents.rows(); ++j) {
    if (latents.row(j).minCoeff() == latents.row(j).maxCoeff()) continue;
    const Vector<double> y = latents.row(j).transpose().array() - latents.row(j) * probability;
    const double variance = probability.dot(y.cwiseAbs2());
    found.col(count++) = probability.cwiseProduct(y) / std::sqrt(variance);
  }
  return found.leftCols(count);
}

// A network on its way, with the directions of what it may learn.
class Watched {
 public:
  Watched(const MultilayerInstance<double>& instance, Stream stream)
      : flow_(instance), network_(instance.shape) {
    const SequenceData& data = instance.data;
    std::vector<Index> all(static_cast<std::size_t>(data.sequences()));
    std::iota(all.begin(), all.end(), Index{0});
    batch_ = sequence_batch(data, all);
    for (const Matrix<double>& level : data.latent_means) {
      along_.push_back(directions(level, data.probability));
    }
    along_.push_back(directions(data.target, data.probability));
    for (int i = 0; i < orders; ++i) {
      const std::vector<Index> wrong = cyclic_order(data.sequences(), stream);
      along_.push_back(directions(data.latent_means[0](Eigen::all, wrong), data.probability));
    }
  }

  // Of level 0, level 1, the classes, then level 0 with the sequences in every order.
  [[nodiscard]] Vector<double> left(const Vector<double>& x) const {
    const Matrix<double>& logits = network_.forward(x, batch_);
    Matrix<double> residual = flow_.instance().data.target;
    for (Index i = 0; i < logits.cols(); ++i) {
      residual.col(i).array() -= (logits.col(i).array() - log_sum_exp(logits.col(i))).exp();
    }
    Vector<double> found(std::ssize(along_));
    for (Index l = 0; l < found.size(); ++l) {
      found[l] = (residual * along_[static_cast<std::size_t>(l)]).squaredNorm();
    }
    return found;
  }

  [[nodiscard]] Matrix<double> units(const Vector<double>& x) const {
    network_.forward(x, batch_);
    Matrix<double> found(network_.shape().layers, 2);
    for (Index h = 0; h < found.rows(); ++h) {
      const Matrix<double> hidden = network_.hidden(h, batch_);
      const auto mean_along = [&](const Matrix<double>& some) {
        return (hidden * some).squaredNorm() / static_cast<double>(some.cols());
      };
      for (Index l = 0; l < found.cols(); ++l) {
        found(h, l) = mean_along(along_[static_cast<std::size_t>(l)]) / mean_along(along_[2]);
      }
    }
    return found;
  }

  [[nodiscard]] Vector<double> start() const { return flow_.initial(); }

  // At the first `count` shares of what is left of level 0; x ends a step behind the last.
  [[nodiscard]] std::vector<LevelReading> read(std::size_t count, Vector<double>& x) const {
    Vector<double> slope(x.size());
    const double decrease = level_step_share * flow_.loss(x);
    const Vector<double> first = left(x);
    Vector<double> before = first;
    Vector<double> now = first;
    std::vector<LevelReading> readings;
    double time = 0;
    for (int steps = 1; readings.size() < count && !stop_asked(); ++steps) {
      flow_.rhs(x, slope, 0.0);
      const double step = std::min(level_longest_step, decrease / slope.squaredNorm());
      x += step * slope;
      time += step;
      before = std::exchange(now, left(x));
      const bool last = steps == level_most_steps || !now.allFinite();
      while (readings.size() < count) {
        const double goal = level_shares.at(readings.size()) * first[0];
        if (now[0] > goal && !last) break;
        const double share = now[0] <= goal ? (before[0] - goal) / (before[0] - now[0]) : 1;
        const Vector<double> here = before + share * (now - before);
        readings.push_back({.time = time - (1 - share) * step,
                            .lower = here[0] / first[0],
                            .higher = here[1] / first[1],
                            .classes = here[2] / first[2],
                            .wrong = here.tail(orders).sum() / first.tail(orders).sum()});
      }
    }
    return readings;
  }

 private:
  MultilayerFlow<double> flow_;
  Network<double> network_;
  SequenceBatch batch_;
  std::vector<Matrix<double>> along_;
};

}  // namespace

std::vector<Knob> knobs_of_level_networks() {
  return {level_layer_count, level_dimension, level_class_count, level_latent_count, more, fewer,
          level_set_size,    level_activation};
}

std::vector<Knob> knobs_of_network_shape() {
  return {level_layer_count, level_dimension, level_activation};
}

Index latents_to_spare(const Setting& setting) {
  const Index missing = setting.count(fewer);
  return missing > 0 ? -missing : setting.count(more);
}

Record network_shape_parameters(const Setting& setting) {
  constexpr std::array names{"linear", "relu", "gelu", "tanh"};
  return {{"layers", std::to_string(setting.count(level_layer_count))},
          {"d", std::to_string(setting.count(level_dimension))},
          {"phi", names.at(static_cast<std::size_t>(setting.count(level_activation)))}};
}

Record level_network_parameters(const Setting& setting) {
  const auto text = [](Index number) { return Value(std::to_string(number)); };
  const Index fewest = setting.count(level_latent_count);
  const Index spare = latents_to_spare(setting);
  const Value size = text(setting.count(level_set_size));
  Record all = network_shape_parameters(setting);
  all["latents"] =
      Value::List{text(fewest + std::max<Index>(0, -spare)),
                  text(fewest + std::max<Index>(0, spare)), text(setting.count(level_class_count))};
  all["children"] = Value::List{size, size, size};
  return all;
}

MultilayerInstance<double> level_instance(const Record& parameters, std::uint64_t seed) {
  Parameters p("joma");
  for (const auto& [name, value] : parameters.entries()) p.set(name, value);
  return multilayer_instance(p, seed);
}

std::vector<LevelNetwork> level_networks(
    const std::function<MultilayerInstance<double>(std::uint64_t seed)>& draw,
    std::size_t uniform_readings, std::uint64_t first, std::uint32_t count, int jobs) {
  std::vector<LevelNetwork> all(count);
  std::vector<MultilayerInstance<double>> instances;
  for (std::uint32_t i = 0; i < count; ++i) instances.push_back(draw(first + i));
  const int threads = jobs > 0 ? jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < count; ++i) {
    if (stop_asked()) continue;
    MultilayerInstance<double>& instance = instances[i];
    const Stream stream(first + i, stream_of_drawn_instances, 43);
    const Watched trained(instance, stream);
    Vector<double> x = trained.start();
    all[i].units_at_start = trained.units(x);
    all[i].trained = trained.read(level_shares.size(), x);
    all[i].units = trained.units(x);
    instance.shape.train_attention = false;
    const Watched uniform(instance, stream);
    x = uniform.start();
    all[i].uniform = uniform.read(uniform_readings, x);
  }
  throw_if_stopped();
  const auto finite = [](const std::vector<LevelReading>& some) {
    return std::ranges::all_of(
        some, [](double number) { return std::isfinite(number); }, &LevelReading::classes);
  };
  for (const LevelNetwork& network : all) {
    if (!finite(network.trained) || !finite(network.uniform)) {
      throw Failure("a network diverges: take a smaller step");
    }
  }
  return all;
}

std::vector<std::string> level_places(std::size_t readings_of,
                                      const std::vector<std::string>& each) {
  std::vector<std::string> places;
  for (std::size_t r = 0; r < readings_of; ++r) {
    for (const std::string& place : each) {
      places.push_back(
          fmt::format("{:.0f}/10 of level 0 learned, {}", 10 * (1 - level_shares.at(r)), place));
    }
  }
  return places;
}

}  // namespace popgrad::joma::checks
