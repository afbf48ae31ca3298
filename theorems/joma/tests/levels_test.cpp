/// What networks have left to learn of each level, against a training and sums written out.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "theorems/joma/checks/level_networks.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace levels_test {

using namespace popgrad;
using namespace popgrad::joma;
using joma::checks::level_networks;
using joma::checks::LevelNetwork;
using joma::checks::LevelReading;

namespace {

const Record network{{"layers", "2"},
                     {"d", "6"},
                     {"latents", Value::List{"5", "6", "7"}},
                     {"children", Value::List{"2", "2", "2"}}};

// Probabilities of the classes, sequence by sequence, from the dual definition: the slope of the
// loss by b_O of a network that sees one sequence only.
Matrix<double> residual(const MultilayerInstance<double>& instance, const Vector<double>& x) {
  const Index count = instance.data.sequences();
  Matrix<double> found(instance.data.classes(), count);
  for (Index i = 0; i < count; ++i) {
    MultilayerInstance<double> alone = instance;
    alone.data.probability = Vector<double>::Unit(count, i);
    const MultilayerFlow<double> flow(alone);
    Vector<double> slope(x.size());
    flow.rhs(x, slope, 0);
    found.col(i) = slope.tail(instance.data.classes());
  }
  return found;
}

double left(const Matrix<double>& residual, const Matrix<double>& latents) {
  double sum = 0;
  for (Index j = 0; j < latents.rows(); ++j) {
    const double mean = latents.row(j).mean();
    const double variance = mean * (1 - mean);
    if (latents.row(j).sum() == 0 || latents.row(j).sum() == static_cast<double>(latents.cols()))
      continue;
    for (Index c = 0; c < residual.rows(); ++c) {
      double covariance = 0;
      for (Index i = 0; i < latents.cols(); ++i) {
        covariance += residual(c, i) * (latents(j, i) - mean) / static_cast<double>(latents.cols());
      }
      sum += covariance * covariance / variance;
    }
  }
  return sum;
}

MultilayerInstance<double> drawn(std::uint64_t seed) {
  return joma::checks::level_instance(network, seed);
}
std::vector<LevelNetwork> networks(std::uint64_t first, std::uint32_t count, int jobs) {
  return level_networks(drawn, joma::checks::half_learned, first, count, jobs);
}

}  // namespace

TEST_CASE("levels: what is left of each, by a training and sums of their own", "[joma]") {
  const std::vector<LevelNetwork> found = networks(3, 4, 1);
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    for (const bool trained : {true, false}) {
      MultilayerInstance<double> instance = drawn(3 + i);
      instance.shape.train_attention = trained;
      const std::vector<LevelReading>& readings = trained ? found[i].trained : found[i].uniform;
      const MultilayerFlow<double> flow(instance);
      Vector<double> x = instance.start;
      Vector<double> slope(x.size());
      const double loss = flow.loss(x);
      const Matrix<double> first = residual(instance, x);
      Matrix<double> before = first;
      Matrix<double> after = first;
      double time = 0;
      std::size_t read = 0;
      for (int steps = 1; read < readings.size(); ++steps) {
        flow.rhs(x, slope, 0);
        const double step = std::min(joma::checks::level_longest_step,
                                     joma::checks::level_step_share * loss / slope.squaredNorm());
        x += step * slope;
        time += step;
        before = after;
        after = residual(instance, x);
        while (read < readings.size() && readings[read].time <= time) {
          const LevelReading& reading = readings[read];
          const double share = 1 - (time - reading.time) / step;
          const auto between = [&](const Matrix<double>& latents) {
            const double last = left(before, latents);
            return (last + share * (left(after, latents) - last)) / left(first, latents);
          };
          CHECK((steps == joma::checks::level_most_steps ||
                 reading.lower == Approx(joma::checks::level_shares.at(read))));
          CHECK(reading.lower == Approx(between(instance.data.latent_means[0])));
          CHECK(reading.higher == Approx(between(instance.data.latent_means[1])));
          CHECK(reading.classes == Approx(between(instance.data.target)));
          ++read;
        }
      }
      // Along the classes lies all that varies over sequences.
      const auto varying = [](const Matrix<double>& m) {
        return (m.colwise() - m.rowwise().mean()).squaredNorm();
      };
      CHECK(left(after, instance.data.target) / left(first, instance.data.target) ==
            Approx(varying(after) / varying(first)));
    }
  }
}

TEST_CASE("levels: latents of the wrong sequences are learned as any are", "[joma]") {
  double apart = 0;
  double learned = 0;
  for (const LevelNetwork& n : networks(1, 40, 0)) {
    apart += n.trained.front().wrong - n.trained.front().classes;
    learned += 1 - n.trained.front().classes;
  }
  CHECK(std::fabs(apart) < 0.1 * learned);
}

TEST_CASE("levels: results do not depend on threads", "[joma]") {
  const std::vector<LevelNetwork> one = networks(1, 3, 1);
  const std::vector<LevelNetwork> many = networks(1, 3, 3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].trained.back().higher == many[i].trained.back().higher);
    CHECK(one[i].uniform.back().wrong == many[i].uniform.back().wrong);
    CHECK(one[i].units == many[i].units);
  }
}

}  // namespace levels_test
