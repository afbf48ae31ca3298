/// Networks of several layers: gradients against dual numbers, descent against PyTorch, data against
/// their definitions, scores against a search through all assignments.

#include "theorems/joma/rungs/multilayer_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "places.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/latent_correlation.hpp"

namespace multilayer_test {

using namespace popgrad;
using namespace popgrad::joma;
using Json = nlohmann::json;

namespace {

Parameters parameters(const Json& instance) {
  return Parameters::parse("joma", instance.dump(), "test");
}

Vector<double> drawn(Index size, std::uint64_t which, double deviation) {
  Stream stream(3, 0, which);
  Vector<double> x(size);
  for (double& entry : x) entry = deviation * stream.normal();
  return x;
}

// The slope of the loss along a direction, by dual numbers through the way forward.
double slope(const MultilayerFlow<Dual<double>>& flow, const Vector<double>& x,
             const Vector<double>& direction) {
  Vector<Dual<double>> moving(x.size());
  for (Index i = 0; i < x.size(); ++i) moving[i] = Dual<double>(x[i], direction[i]);
  return flow.loss(moving).slope;
}

}  // namespace

TEST_CASE("multilayer: the field of W_1 is what is propagated back times the inputs", "[joma]") {
  for (const int layers : {1, 2, 3}) {
    const Json instance{{"d", 4}, {"layers", layers}, {"latents", {4, 3}}, {"children", {2, 2}}};
    const MultilayerFlow<double> flow(multilayer_instance(parameters(instance), 2));
    Vector<double> field(flow.dimension());
    flow.rhs(flow.initial(), field, 0);
    for (Index h = 0; h < layers; ++h) {
      const auto& blocks = flow.network().blocks();
      const auto block = std::ranges::find(blocks, fmt::format("W_1_{}", h), &NetworkBlock::name);
      REQUIRE(block != blocks.end());
      const Matrix<double> product =
          flow.network().pulled(h) * flow.network().inputs(h).transpose();
      const Vector<double> own = field.segment(block->offset, block->rows * block->cols);
      CHECK(own.norm() > 0);
      CHECK((own - Vector<double>(product.reshaped())).norm() <= 1e-14 * own.norm());
    }
  }
}

TEST_CASE("multilayer: the field is minus the gradient of the loss, by dual numbers", "[joma]") {
  const Json sets{{"d", 3}, {"width", 5},        {"M", 6},
                  {"L", 7}, {"latents", {4, 3}}, {"children", {2, 2}}};
  const Json tree{{"d", 3}, {"width", 5}, {"hierarchy", "tree"}, {"depth", 2}, {"rho", 0.4}};
  for (const Json& data : {sets, tree}) {
    for (const int layers : {1, 2, 3}) {
      for (const char* attention : {"softmax", "exp", "linear"}) {
        for (const char* phi : {"relu", "gelu", "tanh", "linear"}) {
          for (const int kind : {0, 1, 2}) {
            Json instance = data;
            instance["layers"] = layers;
            instance["attention"] = attention;
            instance["phi"] = phi;
            instance["layer-norm"] = kind == 1;
            instance["train-attention"] = kind != 2;
            INFO(instance.dump());
            const MultilayerFlow<double> flow(multilayer_instance(parameters(instance), 2));
            const auto dual = flow.cast<Dual<double>>();
            const Vector<double> x = flow.initial() + drawn(flow.dimension(), 1, 0.3);
            Vector<double> field(x.size());
            flow.rhs(x, field, 0);
            // Every component at once, then some of them only.
            Vector<double> direction = drawn(x.size(), 2, 1);
            const double bound = 1e-12 * (1 + field.norm()) * (1 + direction.norm());
            CHECK(std::fabs(slope(dual, x, direction) + field.dot(direction)) <= bound);
            for (Index i = 0; i < x.size(); i += 17) {
              direction = Vector<double>::Unit(x.size(), i);
              CHECK(std::fabs(slope(dual, x, direction) + field[i]) <= bound);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("multilayer: descent agrees with PyTorch from the same start", "[joma]") {
  std::ifstream file(places::sources() + "/tests/recorded/data/multilayer.json");
  const Json recorded = Json::parse(file);
  REQUIRE(recorded.at("runs").size() == 4);
  for (const Json& run : recorded.at("runs")) {
    const AnyRung<double> rung =
        find_model("joma").rung("multilayer-gd", parameters(run.at("instance")), 1);
    const auto losses = run.at("loss").get<std::vector<double>>();
    WalkRequest request;
    request.step_size = run.at("eta");
    request.steps = losses.size() - 1;
    request.save_steps = evenly_spread_steps(request.steps, losses.size());
    request.jobs = 1;
    const Trajectory<double> walked = walk(rung, rung.initial, request).front();
    REQUIRE(walked.rows.size() == losses.size());
    INFO(run.at("instance").at("phi") << " " << run.at("instance").at("attention"));
    double worst = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      worst = std::max(worst, std::fabs(walked.rows[i][0] - losses[i]));
    }
    CHECK(worst < 1e-10);
    CHECK(losses.back() < 0.9 * losses.front());
    for (const auto& [name, values] : run.at("last").items()) {
      INFO(name);
      std::size_t at = 0;
      double off = 0;
      double moved = 0;
      for (std::size_t i = 0; i < rung.state_names.size(); ++i) {
        if (!rung.state_names[i].starts_with(name + "_")) continue;
        const auto place = static_cast<Index>(i);
        off = std::max(off, std::fabs(walked.last_state[place] - values.at(at++).get<double>()));
        moved = std::max(moved, std::fabs(walked.last_state[place] - rung.initial[place]));
      }
      CHECK(at == values.size());
      CHECK(off < 1e-10);
      CHECK(moved > 1e-4);
    }
  }
}

TEST_CASE("multilayer: latents are different sets of the level below", "[joma]") {
  const LatentSets shape{.tokens = 9, .length = 8, .latents = {7, 6, 5}, .children = {3, 2, 2}};
  const SequenceData data = latent_sets(shape, 4);
  REQUIRE(data.latent_means.size() == 2);
  CHECK(data.sequences() == 5);
  CHECK(data.target == Matrix<double>::Identity(5, 5));
  for (Index c = 0; c < 5; ++c) {
    const std::vector<Index>& content = data.content[static_cast<std::size_t>(c)];
    CHECK(std::is_sorted(content.begin(), content.end()));
    CHECK(std::set<Index>(content.begin(), content.end()).size() == content.size());
    CHECK(content.front() >= 1);
    CHECK(content.back() <= 8);
    CHECK(content.size() >= 3);
    // Two latents of level 1, of two of level 0 each; all different sets, so three at least.
    CHECK(data.latent_means[1].col(c).sum() == 2);
    CHECK(data.latent_means[0].col(c).sum() >= 3);
    CHECK(data.latent_means[0].col(c).sum() <= 4);
  }
  CHECK_THROWS_WITH(latent_sets({.tokens = 4, .length = 8, .latents = {4}, .children = {2}}, 1),
                    Catch::Contains("--latents 4 at level 0"));
  CHECK_THROWS_WITH(latent_sets({.tokens = 4, .length = 8, .latents = {2}, .children = {4}}, 1),
                    Catch::Contains("--children 4 at level 0"));
  CHECK_THROWS_WITH(latent_sets({.tokens = 9, .length = 3, .latents = {2}, .children = {4}}, 1),
                    Catch::Contains("--L 3 is shorter"));
}

TEST_CASE("multilayer: sequences of the tree have its law, latents their posterior", "[joma]") {
  LatentTree<double> tree;
  tree.depth = 2;
  tree.rho = 0.6;
  tree.class_law = {0.3, 0.7};
  tree.class_polarity = {0.5, -0.2};
  const SequenceData data = latent_tree_sequences(tree);
  REQUIRE(data.sequences() == 16);
  CHECK(data.probability.sum() == Approx(1).epsilon(1e-14));
  // Both layer-1 variables, and four leaves below them, written out.
  const auto edge = [&](int above, int below) {
    return (1 + (above == below ? tree.rho : -tree.rho)) / 2;
  };
  for (Index i = 0; i < 16; ++i) {
    std::array<int, 4> leaf{};
    for (const Index token : data.content[static_cast<std::size_t>(i)]) {
      leaf[static_cast<std::size_t>(token - 1)] = 1;
    }
    std::array<double, 2> with_class{};
    std::array<double, 2> with_latent{};
    for (std::size_t c = 0; c < 2; ++c) {
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          const auto top = [&](int y) {
            return (1 + (y == 1 ? -tree.class_polarity[c] : tree.class_polarity[c])) / 2;
          };
          const double chance = tree.class_law[c] * top(a) * top(b) * edge(a, leaf[0]) *
                                edge(a, leaf[1]) * edge(b, leaf[2]) * edge(b, leaf[3]);
          with_class[c] += chance;
          with_latent[0] += a * chance;
          with_latent[1] += b * chance;
        }
      }
    }
    const double chance = with_class[0] + with_class[1];
    CHECK(data.probability[i] == Approx(chance).epsilon(1e-13));
    CHECK(data.target(0, i) == Approx(with_class[0] / chance).epsilon(1e-13));
    CHECK(data.latent_means[0](0, i) == Approx(with_latent[0] / chance).epsilon(1e-13));
    CHECK(data.latent_means[0](1, i) == Approx(with_latent[1] / chance).epsilon(1e-13));
  }
  // Deeper: the co-occurrences of Theorem 5 at every height, and of a latent with its own leaves.
  tree.depth = 3;
  const SequenceData deep = latent_tree_sequences(tree);
  const auto both = [&](Index l, Index m) {
    double sum = 0;
    for (Index i = 0; i < deep.sequences(); ++i) {
      const std::vector<Index>& seen = deep.content[static_cast<std::size_t>(i)];
      const bool has = std::count(seen.begin(), seen.end(), l + 1) > 0 &&
                       std::count(seen.begin(), seen.end(), m + 1) > 0;
      sum += has ? deep.probability[i] : 0.0;
    }
    return sum;
  };
  CHECK(both(0, 1) / both(0, 0) == Approx(cooccurrence_by_summation(tree, 1)));
  CHECK(both(0, 2) / both(0, 0) == Approx(cooccurrence_by_summation(tree, 2)));
  CHECK(both(0, 7) / both(0, 0) == Approx(cooccurrence_by_summation(tree, 3)));
  REQUIRE(deep.latent_means.size() == 2);
  CHECK(deep.latent_means[0].rows() == 4);
  CHECK(deep.latent_means[1].rows() == 2);
  const double upper = deep.latent_means[1].row(0).dot(deep.probability);
  const double lower = deep.latent_means[0].row(0).dot(deep.probability);
  CHECK(2 * lower - 1 == Approx(tree.rho * (2 * upper - 1)));
  CHECK(2 * both(0, 0) - 1 == Approx(tree.rho * (2 * lower - 1)));
}

TEST_CASE("multilayer: what the data cannot be is said", "[joma]") {
  const auto refused = [](const Json& instance, const char* says) {
    INFO(instance.dump());
    CHECK_THROWS_WITH(multilayer_instance(parameters(instance), 1), Catch::Contains(says));
  };
  refused({{"inputs", {{0, 1}, {2, 0}}}}, "padding behind a token");
  refused({{"inputs", {{0, 1.5}}}}, "must be a token");
  refused({{"inputs", {{0, 5}}}, {"M", 4}}, "must be a token");
  refused({{"inputs", {{0, 1e9}}}}, "too large a token");
  refused({{"inputs", {{0, 5}}}, {"L", 4}}, "with inputs leave it out");
  refused({{"hierarchy", "tree"}, {"M", 9}}, "is of sets");
  refused({{"rho", 0.5}}, "give --hierarchy tree");
  refused({{"hierarchy", "tree"}, {"polarity", {2}}}, "must lie in [-1, 1]");
  refused({{"latents", {2.5, 3}}}, "whole numbers");
}

TEST_CASE("multilayer: the assignment is the best of all", "[joma]") {
  for (const auto& [n, m] : {std::pair<Index, Index>{3, 3}, {2, 6}, {5, 4}, {1, 4}, {4, 6}}) {
    for (std::uint64_t which = 0; which < 20; ++which) {
      const Matrix<double> value = drawn(n * m, which, 1).cwiseAbs().reshaped(n, m);
      std::vector<Index> order(static_cast<std::size_t>(std::max(n, m)));
      std::iota(order.begin(), order.end(), Index{0});
      double best = 0;
      do {
        double sum = 0;
        for (Index i = 0; i < std::min(n, m); ++i) {
          const Index other = order[static_cast<std::size_t>(i)];
          sum += n <= m ? value(i, other) : value(other, i);
        }
        best = std::max(best, sum);
      } while (std::next_permutation(order.begin(), order.end()));
      CHECK(largest_assignment(value) == Approx(best).epsilon(1e-13));
    }
  }
}

TEST_CASE("multilayer: scores of units that are the latents, of constants and of noise", "[joma]") {
  Matrix<double> latents(3, 4);
  latents << 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1;  // the last never varies
  const Vector<double> probability{{0.1, 0.4, 0.3, 0.2}};
  Matrix<double> units(3, 4);
  units.row(0) = 2 - 3 * latents.row(1).array();
  units.row(1).setConstant(0.7);
  units.row(2) = latents.row(0) + latents.row(1);
  const Matrix<double> found = latent_correlations(units, latents, probability);
  CHECK(found(1, 0) == Approx(1));
  CHECK(found(1, 1) == 0);
  CHECK(std::isnan(found(2, 0)));
  CHECK(found(0, 2) > 0.7);
  CHECK(found(0, 2) < 0.8);
  const LatentScore score = latent_score(found);
  CHECK(score.free == Approx((1 + found(0, 2)) / 2));
  CHECK(score.matched == Approx((1 + found(0, 2)) / 2));
  // Where one unit is the best of both latents, only one of them can have it.
  const Matrix<double> one = found.middleCols(2, 1);
  CHECK(latent_score(one).matched < latent_score(one).free);
}

}  // namespace multilayer_test
