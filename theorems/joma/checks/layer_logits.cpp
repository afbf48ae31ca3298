#include "theorems/joma/checks/layer_logits.hpp"

#include <tuple>

#include "scalars/softmax.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

namespace {

Matrix<double> weights_of(const MultilayerFlow<double>& flow, const Vector<double>& x,
                          const std::string& name) {
  for (const NetworkBlock& block : flow.network().blocks()) {
    if (block.name != name) continue;
    return x.segment(block.offset, block.rows * block.cols).reshaped(block.rows, block.cols);
  }
  throw std::logic_error("layer_logits: the network has no " + name);
}

// b_st for t, s among the columns of one sequence (columns x queries).
Matrix<double> attention_of(const Matrix<double>& logits, const Vector<double>& positions,
                            Attention attention) {
  Matrix<double> weights = Matrix<double>::Zero(logits.rows(), logits.cols());
  for (Index t = 0; t < logits.cols(); ++t) {
    double total = 0;
    for (Index s = 0; s <= t; ++s) {
      const double strength =
          attention == Attention::linear ? logits(s, t) : std::exp(logits(s, t));
      weights(s, t) = positions[s] * strength;
      total += attention == Attention::softmax ? weights(s, t) : positions[s];
    }
    weights.col(t) /= total;
  }
  return weights;
}

void append(Vector<double>& all, const Vector<double>& more) {
  const Index before = all.size();
  all.conservativeResize(before + more.size());
  all.tail(more.size()) = more;
}

}  // namespace

std::vector<LayerLogits> layer_logits(const MultilayerFlow<double>& flow, const Vector<double>& x) {
  const NetworkShape& shape = flow.instance().shape;
  if (shape.layer_norm || !shape.train_attention) {
    throw std::invalid_argument(
        "layer_logits: the network must have no LayerNorm, and train attention");
  }
  const SequenceData& data = flow.instance().data;
  const Matrix<double> embedding = weights_of(flow, x, "W_E");
  std::vector<LayerLogits> found(static_cast<std::size_t>(shape.layers));
  for (LayerLogits& layer : found) layer.hidden.resize(shape.width, data.sequences());
  std::vector<std::vector<Matrix<double>>> weights(found.size());
  for (std::size_t h = 0; h < found.size(); ++h) {
    for (const char* name : {"W_K", "W_Q", "W_V", "W_1", "b_1", "W_2", "b_2"}) {
      weights[h].push_back(weights_of(flow, x, fmt::format("{}_{}", name, h)));
    }
  }
  for (Index i = 0; i < data.sequences(); ++i) {
    const SequenceBatch batch = sequence_batch(data, {i});
    Matrix<double> stream = embedding(Eigen::all, batch.token);
    Vector<double> positions(batch.columns());
    for (Index s = 0; s < positions.size(); ++s) {
      positions[s] = static_cast<double>(batch.positions[static_cast<std::size_t>(s)]);
    }
    const Index last = batch.columns() - 1;
    for (std::size_t h = 0; h < found.size(); ++h) {
      const auto& [key, query, value] = std::tie(weights[h][0], weights[h][1], weights[h][2]);
      const auto& [in, in_bias] = std::tie(weights[h][3], weights[h][4]);
      const auto& [out, out_bias] = std::tie(weights[h][5], weights[h][6]);
      const Matrix<double> logits = (key * stream).transpose() * (query * stream) /
                                    std::sqrt(static_cast<double>(shape.dimension));
      const Matrix<double> attention = attention_of(logits, positions, shape.attention);
      const Vector<double> squares =
          (in * (value * stream)).colwise().squaredNorm().transpose() / 2;
      append(found[h].logits, logits.col(last));
      append(found[h].squares, squares);
      append(found[h].shared, squares.sum() * attention.col(last));
      found[h].sequence.insert(found[h].sequence.end(), batch.token.size(), i);
      stream += value * stream * attention;
      Matrix<double> hidden = in * stream;
      hidden.colwise() += in_bias.col(0);
      hidden = hidden.unaryExpr([&](double a) { return activate(shape.phi, a); });
      found[h].hidden.col(i) = hidden.col(last);
      stream += out * hidden;
      stream.colwise() += out_bias.col(0);
    }
  }
  return found;
}

namespace {

// Less its mean over the columns of every sequence.
Vector<double> centred(Vector<double> numbers, const std::vector<Index>& sequence) {
  for (std::size_t begin = 0; begin < sequence.size();) {
    std::size_t end = begin;
    while (end < sequence.size() && sequence[end] == sequence[begin]) ++end;
    auto own = numbers.segment(static_cast<Index>(begin), static_cast<Index>(end - begin));
    own.array() -= own.mean();
    begin = end;
  }
  return numbers;
}

}  // namespace

double miss_of(const Vector<double>& predicted, const Vector<double>& change) {
  return (predicted - change).norm() / change.norm();
}

std::vector<LogitsLook> logits_looks(const MultilayerFlow<double>& flow, const LogitsWay& way) {
  const Vector<double> start = flow.initial();
  Vector<double> slope(start.size());
  Vector<double> first(start.size());
  flow.rhs(start, first, 0.0);
  const std::vector<LayerLogits> before = layer_logits(flow, start);
  const double half = flow.loss(start) / 2;
  const auto step = [&](Vector<double>& x) {
    throw_if_stopped();
    flow.rhs(x, slope, 0.0);
    x += way.step * slope;
  };
  const auto look_at = [&](const Vector<double>& x, double t, bool halved) {
    LogitsLook look{.t = t, .halved = halved};
    const std::vector<LayerLogits> now = layer_logits(flow, x);
    const std::vector<LayerLogits> ahead = layer_logits(flow, start + t * first);
    look.frozen = look.theorem = look.factor = look.scaled = Vector<double>(std::ssize(now));
    for (std::size_t h = 0; h < now.size(); ++h) {
      const auto since = [&](const LayerLogits& later, Vector<double> LayerLogits::*what) {
        return centred(later.*what - before[h].*what, now[h].sequence);
      };
      const Vector<double> change = since(now[h], &LayerLogits::logits);
      const Vector<double> claimed =
          since(now[h], &LayerLogits::squares) - since(now[h], &LayerLogits::shared);
      const auto layer = static_cast<Index>(h);
      const double factor = claimed.dot(change) / claimed.squaredNorm();
      look.frozen[layer] = miss_of(since(ahead[h], &LayerLogits::logits), change);
      look.theorem[layer] = miss_of(claimed, change);
      look.factor[layer] = factor;
      look.scaled[layer] = miss_of(factor * claimed, change);
    }
    return look;
  };
  // From a time at which more than half is left, step by step; the last step ends where half is.
  const auto look_at_half = [&](Vector<double> x, double t) {
    double loss = flow.loss(x);
    double above = loss;
    do {
      step(x);
      t += way.step;
      above = std::exchange(loss, flow.loss(x));
    } while (loss > half);
    const double beyond = way.step * (half - loss) / (above - loss);
    return look_at(x - beyond * slope, t - beyond, true);
  };
  const auto steps_of_unit = std::llround(way.unit / way.step);
  std::vector<LogitsLook> looks;
  Vector<double> x = start;
  double passed = 0;
  for (double units = 1; way.unit * units <= way.end; units = std::ceil(units * 1.05)) {
    const Vector<double> last = x;
    for (auto i = std::llround(units - passed) * steps_of_unit; i > 0; --i) step(x);
    if (!x.allFinite()) throw Failure("the network diverges: take a smaller step");
    const bool halved = flow.loss(x) <= half;
    if (halved && way.to_half) {
      looks.push_back(look_at_half(last, way.unit * passed));
      break;
    }
    looks.push_back(look_at(x, way.unit * units, halved));
    passed = units;
  }
  return looks;
}

std::vector<Quantity> short_of(double least, const std::vector<Vector<double>>& misses) {
  std::vector<double> share_of_largest_step;
  std::vector<std::vector<Quantity>> values;
  for (const Vector<double>& miss : misses) {
    share_of_largest_step.push_back(std::ldexp(1, -static_cast<int>(values.size())));
    values.emplace_back();
    for (const double own : miss) values.back().emplace_back(least - own);
  }
  return limits_in(share_of_largest_step, values);
}

}  // namespace popgrad::joma::checks
