/// What array formulas cost, next to the same fields written by hand and to PyTorch (peers/formulas.py).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/batch.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "popgrad/scalars/random.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::formulas;

/// Names, their sizes, and formulas over them.
class Formulas {
 public:
  Dimension size(const std::string& name, Index value) {
    scope_.insert_or_assign(name, graph_.size(name, value));
    return {value, name};
  }
  Array variable(const std::string& name, const Shape& shape) {
    return scope_.insert_or_assign(name, graph_.variable(name, shape)).first->second;
  }
  Array define(const std::string& name, std::string_view text) {
    return scope_.insert_or_assign(name, formula(text)).first->second;
  }
  Array formula(std::string_view text) {
    return elaborate(syntax::parse(std::string(text)), graph_, scope_);
  }

 private:
  Graph graph_;
  Scope scope_;
};

/// Between 0 and 1, without a pattern.
double start(Index i) {
  constexpr double golden = 0.6180339887498949;
  const double x = golden * static_cast<double>(i + 1);
  return x - std::floor(x);
}
void fill(std::span<double> numbers, double scale) {
  Index i = 0;
  for (double& x : numbers) x = scale * start(i++);
}

/// A field of order parameters: by formulas, and by hand.
struct Field {
  virtual ~Field() = default;
  /// Of the state at `x`.
  virtual void by_hand(const double* x, double* dx) = 0;
  std::vector<Array> outputs;
  std::vector<std::string> states;
  Formulas formulas;
  double scale = 1;
};

/// n weights: (mu - v) exp(v^2/2).
struct Weights final : Field {
  Weights() {
    const Dimension n = formulas.size("n", weights);
    formulas.variable("v", {n});
    formulas.define("mu", "arange(n) / n");
    outputs = {formulas.formula("(mu - v) * exp(v**2 / 2)")};
    states = {"v"};
    for (Index i = 0; i < weights; ++i)
      mu.push_back(static_cast<double>(i) / static_cast<double>(weights));
  }
  void by_hand(const double* x, double* dx) override {
    for (Index i = 0; i < weights; ++i)
      dx[i] = (mu[static_cast<std::size_t>(i)] - x[i]) * std::exp(x[i] * x[i] / 2);
  }
  // Known at run time only, as those of a rung are.
  Index weights = 100;
  std::vector<double> mu;
};

/// Factors of a matrix: the descent of |A - U V|^2/2.
struct Factors final : Field {
  Factors() {
    const Dimension n = formulas.size("n", outer_size), k = formulas.size("k", inner_size);
    const Array u = formulas.variable("U", {n, k}), v = formulas.variable("V", {k, n});
    for (const Array& slope : gradient(formulas.formula("sum((eye(n) - U @ V)**2) / 2"), {u, v}))
      outputs.push_back(-slope);
    states = {"U", "V"};
  }
  void by_hand(const double* x, double* dx) override {
    const double* u = x;
    const double* v = x + outer_size * inner_size;
    const auto rest = [this](Index i, Index j) -> double& {
      return rests[static_cast<std::size_t>(i * outer_size + j)];
    };
    for (Index i = 0; i < outer_size; ++i) {
      for (Index j = 0; j < outer_size; ++j) {
        double sum = i == j ? 1 : 0;
        for (Index k = 0; k < inner_size; ++k) sum -= u[i * inner_size + k] * v[k * outer_size + j];
        rest(i, j) = sum;
      }
    }
    double* du = dx;
    double* dv = dx + outer_size * inner_size;
    for (Index i = 0; i < outer_size; ++i) {
      for (Index k = 0; k < inner_size; ++k) {
        double sum = 0;
        for (Index j = 0; j < outer_size; ++j) sum += rest(i, j) * v[k * outer_size + j];
        du[i * inner_size + k] = sum;
      }
    }
    for (Index k = 0; k < inner_size; ++k) {
      for (Index j = 0; j < outer_size; ++j) {
        double sum = 0;
        for (Index i = 0; i < outer_size; ++i) sum += u[i * inner_size + k] * rest(i, j);
        dv[k * outer_size + j] = sum;
      }
    }
  }
  Index outer_size = 6, inner_size = 5;
  std::vector<double> rests =
      std::vector<double>(static_cast<std::size_t>(outer_size * outer_size));
};

/// Overlaps of a soft committee of erf units with its teacher: the descent of the error in R and Q.
/// Source: Saad, Solla, On-line learning in soft committee machines (1995), Eqn 8, orthonormal teacher.
struct Overlaps final : Field {
  Overlaps() {
    scale = 0.1;
    const Dimension k = formulas.size("k", units);
    const Array r = formulas.variable("R", {k, k}), q = formulas.variable("P", {k, k});
    formulas.define("Q", "P + eye(k)");
    formulas.define("q", "1 + diag(Q)");
    const Array error = formulas.formula(
        "(sum(asin(Q / sqrt(outer(q, q)))) - 2 * sum(asin(R / sqrt(2 * q[:, newaxis])))) / pi");
    for (const Array& slope : gradient(error, {r, q})) outputs.push_back(-slope);
    states = {"R", "P"};
  }
  void by_hand(const double* x, double* dx) override {
    const double* r = x;
    const double* p = x + units * units;
    double* dr = dx;
    double* dp = dx + units * units;
    double* q = sizes.data();
    for (Index i = 0; i < units; ++i) q[i] = 2 + p[i * units + i];
    for (Index i = 0; i < units; ++i) {
      double of_size = 0;
      for (Index j = 0; j < units; ++j) {
        const double teacher = 1 / std::sqrt(2 * q[i] - r[i * units + j] * r[i * units + j]);
        dr[i * units + j] = 2 * std::numbers::inv_pi * teacher;
        of_size -= teacher * r[i * units + j] / q[i];
        const double overlap = p[i * units + j] + (i == j ? 1 : 0);
        const double own = 1 / std::sqrt(q[i] * q[j] - overlap * overlap);
        dp[i * units + j] = -std::numbers::inv_pi * own;
        // Of row and column.
        const double back = p[j * units + i] + (i == j ? 1 : 0);
        const double other = 1 / std::sqrt(q[i] * q[j] - back * back);
        of_size += (own * overlap + other * back) / (2 * q[i]);
      }
      dp[i * units + i] += std::numbers::inv_pi * of_size;
    }
  }
  Index units = 4;
  std::vector<double> sizes = std::vector<double>(static_cast<std::size_t>(units));
};

template <class Which>
void field_by_formulas(benchmark::State& state) {
  Which field;
  Evaluator<double> evaluator(field.outputs);
  std::vector<double> x;
  for (const std::string& name : field.states) x.resize(x.size() + evaluator.variable(name).size());
  fill(x, field.scale);
  std::vector<double> dx(x.size()), expected(x.size());
  const auto run = [&] {
    const double* from = x.data();
    for (const std::string& name : field.states) {
      const std::span<double> to = evaluator.variable(name);
      std::copy_n(from, to.size(), to.begin());
      from += to.size();
    }
    evaluator.run();
    double* to = dx.data();
    for (std::size_t k = 0; k < field.outputs.size(); ++k)
      to = std::copy(evaluator.output(k).begin(), evaluator.output(k).end(), to);
  };
  for ([[maybe_unused]] auto _ : state) {
    run();
    benchmark::DoNotOptimize(dx.data());
    benchmark::ClobberMemory();
  }
  field.by_hand(x.data(), expected.data());
  double apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    apart = std::max(apart, std::abs(dx[i] - expected[i]) / (1 + std::abs(expected[i])));
  state.counters["apart"] = apart;
  state.counters["numbers"] = static_cast<double>(x.size());
}

template <class Which>
void field_by_hand(benchmark::State& state) {
  Which field;
  Evaluator<double> evaluator(field.outputs);
  std::vector<double> x;
  for (const std::string& name : field.states) x.resize(x.size() + evaluator.variable(name).size());
  fill(x, field.scale);
  std::vector<double> dx(x.size());
  for ([[maybe_unused]] auto _ : state) {
    field.by_hand(x.data(), dx.data());
    benchmark::DoNotOptimize(dx.data());
    benchmark::ClobberMemory();
  }
}

/// SGD on the mean of a loss over a batch, draws included.
class Descent {
 public:
  Descent(Formulas& formulas, std::string_view loss, const std::vector<std::string>& draws,
          const std::vector<Array>& states, Index batch)
      : evaluator_(slopes(formulas, loss, draws, states, batch)) {
    for (const Array& s : states) states_.push_back(evaluator_.variable(s.node().text));
    for (const std::string& name : draws) draws_.push_back(evaluator_.variable(name + "_batch"));
  }

  std::span<double> state(std::size_t k) { return states_[k]; }
  /// Mean loss of the batch.
  [[nodiscard]] double loss() const { return evaluator_.output(states_.size())[0]; }

  void step(double rate) {
    std::uint32_t run = 0;
    for (const std::span<double> draw : draws_) {
      constexpr std::size_t part = 4096;
      const std::size_t parts = (draw.size() + part - 1) / part;
      const Stream stream(1, run++, steps_);
#pragma omp parallel for schedule(static)
      for (std::size_t k = 0; k < parts; ++k) {
        Stream own = stream.skip(static_cast<std::uint32_t>(k) * Stream::groups(part));
        own.normals(draw.subspan(k * part, std::min(part, draw.size() - k * part)));
      }
    }
    ++steps_;
    evaluator_.run();
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const std::span<const double> slope = evaluator_.output(k);
      for (std::size_t i = 0; i < slope.size(); ++i) states_[k][i] -= rate * slope[i];
    }
  }

 private:
  static std::vector<Array> slopes(Formulas& formulas, std::string_view loss,
                                   const std::vector<std::string>& draws,
                                   const std::vector<Array>& states, Index batch) {
    std::vector<Samples> samples;
    const Array single = formulas.formula(loss);
    for (const std::string& name : draws) {
      const Array variable = formulas.formula(name);
      Shape shape = variable.shape();
      shape.insert(shape.begin(), Dimension{batch, "batch"});
      samples.push_back({variable, formulas.variable(name + "_batch", shape)});
    }
    const Array mean = reduce("mean", over_batch(single, samples));
    std::vector<Array> outputs = gradient(mean, states);
    outputs.push_back(mean);
    return outputs;
  }

  Evaluator<double> evaluator_;
  std::vector<std::span<double>> states_, draws_;
  std::uint64_t steps_ = 0;
};

void measure(benchmark::State& state, Descent& descent, double rate) {
  descent.step(rate);
  double loss = descent.loss(), steps = 0;
  for ([[maybe_unused]] auto _ : state) {
    descent.step(rate);
    loss += descent.loss();
    ++steps;
  }
  state.counters["loss"] = loss / (steps + 1);
}

/// Linear regression in context by one layer of linear attention: n examples of d numbers, batch 256.
void regression_in_context(benchmark::State& state) {
  Formulas formulas;
  const Dimension n = formulas.size("n", 40), d = formulas.size("d", 20);
  const Array u = formulas.variable("U", {d, d});
  formulas.variable("X", {n, d});
  formulas.variable("x", {d});
  formulas.variable("w", {d});
  formulas.define("attention", "softmax(X @ U @ x / sqrt(d))");
  Descent descent(formulas, "(attention @ (X @ w) - x @ w)**2 / 2", {"X", "x", "w"}, {u}, 256);
  measure(state, descent, 0);
}

/// Two layers of 100 units on 100 numbers, batch 1000, a linear teacher.
void two_layers(benchmark::State& state) {
  Formulas formulas;
  const Dimension d = formulas.size("d", 100), k = formulas.size("k", 100);
  const Array w = formulas.variable("W", {k, d}), a = formulas.variable("a", {k});
  formulas.variable("x", {d});
  Descent descent(formulas, "(a @ tanh(W @ x / sqrt(d)) / k - x[0])**2 / 2", {"x"}, {w, a}, 1000);
  fill(descent.state(0), 1);
  fill(descent.state(1), 1);
  measure(state, descent, 0);
}

/// A theory of 30 lines: parsed, differentiated and prepared.
void preparation(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    Formulas formulas;
    const Dimension d = formulas.size("d", 20), k = formulas.size("k", 10);
    const Array w = formulas.variable("W", {k, d}), a = formulas.variable("a", {k}),
                u = formulas.variable("U", {d, d});
    formulas.variable("X", {k, d});
    formulas.define("h0", "softmax(X @ U @ X.T, axis=1) @ X");
    constexpr int layers = 25;
    for (int layer = 1; layer <= layers; ++layer) {
      formulas.define("h" + std::to_string(layer), "h" + std::to_string(layer - 1) + " + tanh(h" +
                                                       std::to_string(layer - 1) + " @ U) * exp(-" +
                                                       std::to_string(layer) + " * (W * X)**2)");
    }
    formulas.define("h", "h" + std::to_string(layers));
    formulas.define("f", "a @ relu(h * W)");
    formulas.define("p", "softmax(f)");
    const Array loss = formulas.formula("-sum(log(p) * f) + norm(h)");
    Evaluator<double> evaluator(gradient(loss, {w, a, u}));
    benchmark::DoNotOptimize(evaluator.output(0).data());
  }
}

BENCHMARK(field_by_formulas<Weights>)->Name("field_by_formulas/weights");
BENCHMARK(field_by_hand<Weights>)->Name("field_by_hand/weights");
BENCHMARK(field_by_formulas<Factors>)->Name("field_by_formulas/factors");
BENCHMARK(field_by_hand<Factors>)->Name("field_by_hand/factors");
BENCHMARK(field_by_formulas<Overlaps>)->Name("field_by_formulas/overlaps");
BENCHMARK(field_by_hand<Overlaps>)->Name("field_by_hand/overlaps");
BENCHMARK(regression_in_context)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(two_layers)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(preparation)->Unit(benchmark::kMillisecond);

}  // namespace
