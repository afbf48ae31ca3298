/// What networks have left to learn of each level, against a training and sums written out.

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
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

}  // namespace

TEST_CASE("levels: what is left of each, by a training and sums of their own", "[joma]") {
  const std::vector<LevelNetwork> found = level_networks(network, 3, 4, 1);
  Parameters p("joma");
  for (const auto& [name, value] : network.entries()) p.set(name, value);
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    for (const bool trained : {true, false}) {
      MultilayerInstance<double> instance = multilayer_instance(p, 3 + i);
      instance.shape.train_attention = trained;
      const LevelReading& reading = trained ? found[i].trained : found[i].uniform;
      WalkRequest request;
      request.step_size = joma::checks::level_step;
      request.steps = static_cast<std::uint64_t>(std::llround(reading.time / request.step_size));
      request.jobs = 1;
      const AnyRung<double> rung = forget_type(MultilayerFlow<double>(instance));
      const Vector<double> end = walk(rung, rung.initial, request).front().last_state;
      const Matrix<double> before = residual(instance, instance.start);
      const Matrix<double> after = residual(instance, end);
      const auto share = [&](const Matrix<double>& latents) {
        return left(after, latents) / left(before, latents);
      };
      CHECK(reading.lower == Approx(share(instance.data.latent_means[0])));
      CHECK(reading.higher == Approx(share(instance.data.latent_means[1])));
      CHECK(reading.classes == Approx(share(instance.data.target)));
      // Along the classes lies all that varies over sequences.
      const auto varying = [](const Matrix<double>& m) {
        return (m.colwise() - m.rowwise().mean()).squaredNorm();
      };
      CHECK(reading.classes == Approx(varying(after) / varying(before)));
      CHECK(reading.lower < 1);
      CHECK((reading.lower <= 0.9 || reading.time == joma::checks::level_latest));
    }
  }
}

TEST_CASE("levels: latents of the wrong sequences are learned as any are", "[joma]") {
  double apart = 0;
  double learned = 0;
  for (const LevelNetwork& n : level_networks(network, 1, 40, 0)) {
    apart += n.trained.wrong - n.trained.classes;
    learned += 1 - n.trained.classes;
  }
  CHECK(std::fabs(apart) < 0.1 * learned);
}

TEST_CASE("levels: results do not depend on threads", "[joma]") {
  const std::vector<LevelNetwork> one = level_networks(network, 1, 3, 1);
  const std::vector<LevelNetwork> many = level_networks(network, 1, 3, 3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].trained.higher == many[i].trained.higher);
    CHECK(one[i].uniform.wrong == many[i].uniform.wrong);
    CHECK(one[i].trained.units == many[i].trained.units);
  }
}

}  // namespace levels_test
