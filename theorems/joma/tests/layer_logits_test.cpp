/// Logits of layers and what Theorem 1 makes of them: against the library's pass, and in a network
/// that is the model of the theorem.

#include "theorems/joma/checks/layer_logits.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/rungs/parameters.hpp"

namespace layer_logits_test {

using namespace popgrad;
using namespace popgrad::joma;
using joma::checks::layer_logits;
using joma::checks::LayerLogits;
using joma::checks::logits_looks;
using joma::checks::LogitsLook;

namespace {

MultilayerFlow<double> network(const char* attention, const char* layers,
                               const char* norm = "false") {
  Parameters p("joma");
  p.set("layers", layers);
  p.set("d", "6");
  p.set("attention", attention);
  p.set("layer-norm", norm);
  p.set("latents", Value::List{"6", "7"});
  p.set("children", Value::List{"2", "2"});
  return MultilayerFlow<double>(multilayer_instance(p, 2));
}

// The entropy of softmax(logits) over the positions, from the logits of a pass of its own.
double entropy_of(const MultilayerFlow<double>& flow, const LayerLogits& layer) {
  const SequenceData& data = flow.instance().data;
  double mean = 0;
  Index column = 0;
  for (Index i = 0; i < data.sequences(); ++i) {
    const SequenceBatch batch = sequence_batch(data, {i});
    double whole = 0;
    double along = 0;
    for (Index s = 0; s < batch.columns(); ++s, ++column) {
      REQUIRE(layer.sequence[static_cast<std::size_t>(column)] == i);
      const double weight = static_cast<double>(batch.positions[static_cast<std::size_t>(s)]) *
                            std::exp(layer.logits[column]);
      whole += weight;
      along += weight * layer.logits[column];
    }
    mean += data.probability[i] * (std::log(whole) - along / whole);
  }
  CHECK(column == layer.logits.size());
  return mean;
}

}  // namespace

TEST_CASE("layer logits: units and entropies are those of the network", "[joma]") {
  for (const char* attention : {"softmax", "exp", "linear"}) {
    const MultilayerFlow<double> flow = network(attention, "3");
    const Vector<double> x = 0.5 * flow.initial();
    const std::vector<LayerLogits> layers = layer_logits(flow, x);
    std::vector<double> row(flow.columns().size());
    flow.observe(x, 0, row);
    REQUIRE(layers.size() == 3);
    for (std::size_t h = 0; h < layers.size(); ++h) {
      const Matrix<double> units = flow.hidden(x, static_cast<Index>(h));
      CHECK((layers[h].hidden - units).norm() <= 1e-12 * units.norm());
      CHECK(entropy_of(flow, layers[h]) == Approx(row[2 + h]).epsilon(1e-12));
    }
  }
}

// With W_V the identity, v_k = w_k at orthonormal embeddings: rows of W_1 themselves.
TEST_CASE("layer logits: squares are those of W_1 at orthonormal embeddings", "[joma]") {
  Parameters p("joma");
  p.set("layers", "1");
  p.set("d", "8");
  p.set("M", "8");
  p.set("latents", Value::List{"6", "7"});
  p.set("children", Value::List{"2", "2"});
  MultilayerInstance<double> instance = multilayer_instance(p, 1);
  Matrix<double> in;
  for (const NetworkBlock& block : network_blocks(instance.shape)) {
    auto own = instance.start.segment(block.offset, block.rows * block.cols);
    if (block.name == "W_E" || block.name == "W_V_0") {
      own = Matrix<double>(Matrix<double>::Identity(8, 8)).reshaped();
    }
    if (block.name == "W_1_0") in = own.reshaped(block.rows, block.cols);
  }
  const MultilayerFlow<double> flow(instance);
  const LayerLogits layer = layer_logits(flow, instance.start).front();
  const SequenceBatch first = sequence_batch(instance.data, {0});
  double sum = 0;
  for (Index s = 0; s < first.columns(); ++s) {
    const double squares = in.col(first.token[static_cast<std::size_t>(s)]).squaredNorm() / 2;
    CHECK(layer.squares[s] == Approx(squares));
    sum += squares;
  }
  CHECK(layer.shared.head(first.columns()).sum() == Approx(sum));
}

TEST_CASE("layer logits: looks come at their times, and frozen weights miss nothing at first",
          "[joma]") {
  const MultilayerFlow<double> flow = network("softmax", "2");
  const std::vector<LogitsLook> fine = logits_looks(flow, {.end = 2});
  const std::vector<LogitsLook> coarse =
      logits_looks(flow, {.step = 0.02, .end = 2, .to_half = false});
  REQUIRE(fine.size() <= coarse.size());
  for (std::size_t k = 0; k + 1 < fine.size(); ++k) CHECK(fine[k].t == coarse[k].t);
  // One step with frozen velocities is one step.
  CHECK(coarse.front().frozen.maxCoeff() < 1e-9);
  CHECK(fine.front().frozen.minCoeff() > 0);
  CHECK((fine.back().scaled.array() <= fine.back().theorem.array()).all());
  CHECK((fine.back().scaled.array() <= 1).all());
}

// Read at the step after it, or at the next look, it would move by as much and in no order.
TEST_CASE("layer logits: the time at which the loss is half is of first order in the step",
          "[joma]") {
  const MultilayerFlow<double> flow = network("softmax", "2");
  const auto time_of_half = [&](double step) {
    const LogitsLook last = logits_looks(flow, {.step = step, .unit = 0.04}).back();
    REQUIRE(last.halved);
    return last.t;
  };
  const double large = time_of_half(0.04) - time_of_half(0.02);
  const double small = time_of_half(0.0025) - time_of_half(0.00125);
  CHECK(std::log(large / small) / std::log(16) == Approx(1).epsilon(0.05));
}

TEST_CASE("layer logits: what Theorem 1 is not about is refused", "[joma]") {
  const MultilayerFlow<double> flow = network("softmax", "1", "true");
  CHECK_THROWS_WITH(layer_logits(flow, flow.initial()), Catch::Contains("LayerNorm"));
}

}  // namespace layer_logits_test
