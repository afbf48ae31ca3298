/// What exact expectations cost: the field of a committee next to one written by hand, that of in-context regression
/// next to its products of matrices, and a polynomial of high degree.

#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "expectations/expectation.hpp"
#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/gradient.hpp"
#include "popgrad/scalars/vector.hpp"

namespace {

using namespace popgrad;
using namespace popgrad::formulas;
using expectations::Expectation;
using expectations::NormalDraw;

class Law {
 public:
  Array variable(const std::string& name, const std::vector<Index>& extents) {
    Shape shape;
    for (const Index extent : extents) shape.push_back({extent, {}});
    return scope_.insert_or_assign(name, graph_.variable(name, shape)).first->second;
  }
  void draw(const std::string& name, const std::vector<Index>& extents) {
    draws_.push_back({variable(name, extents)});
  }
  void draw(const std::string& name, const std::vector<Index>& extents, const Array& covariance) {
    draws_.push_back({variable(name, extents), covariance});
  }
  Array mean(const std::string& loss) {
    const Expectation found =
        expectations::expectation(elaborate(syntax::parse(loss), graph_, scope_), draws_);
    if (!found.mean) throw std::runtime_error(found.why);
    return *found.mean;
  }

 private:
  Graph graph_;
  Scope scope_;
  std::vector<NormalDraw> draws_;
};

void fill(std::span<double> numbers, double scale, double rate) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = scale * std::sin(rate * static_cast<double>(i + 1));
}

/// Students J (3 x 1000) of teachers B (2 x 1000), erf units: Saad, Solla 1995, Phys. Rev. E 52, 4225.
constexpr Index students = 3, teachers = 2, inputs = 1000;

struct Committee {
  std::array<double, std::size_t{students} * inputs> J{}, slope{};
  std::array<double, std::size_t{teachers} * inputs> B{};

  Committee() {
    constexpr double scale = 1. / 30;
    fill(J, scale, 1.7);
    fill(B, scale, 0.9);
  }
  static double dot(const double* a, const double* b) {
    double sum = 0;
    for (Index i = 0; i < inputs; ++i) sum += a[i] * b[i];
    return sum;
  }
  const double* student(Index k) const { return J.data() + k * inputs; }
  const double* teacher(Index m) const { return B.data() + m * inputs; }
  // Gradient of the expected loss.
  void by_hand() {
    std::array<std::array<double, students>, students> Q{};
    std::array<std::array<double, teachers>, students> R{};
    std::array<double, teachers> T{};
    for (std::size_t m = 0; m < teachers; ++m)
      T[m] = dot(teacher(static_cast<Index>(m)), teacher(static_cast<Index>(m)));
    for (std::size_t k = 0; k < students; ++k) {
      for (std::size_t l = 0; l <= k; ++l)
        Q[k][l] = Q[l][k] = dot(student(static_cast<Index>(k)), student(static_cast<Index>(l)));
      for (std::size_t m = 0; m < teachers; ++m)
        R[k][m] = dot(student(static_cast<Index>(k)), teacher(static_cast<Index>(m)));
    }
    for (std::size_t k = 0; k < students; ++k) {
      std::array<double, students> of_students{};
      std::array<double, teachers> of_teachers{};
      const double own = 1 + Q[k][k];
      double self = 0;
      for (std::size_t l = 0; l < students; ++l) {
        const double weight =
            2 * std::numbers::inv_pi / std::sqrt(own * (1 + Q[l][l]) - Q[k][l] * Q[k][l]);
        of_students[l] = weight;
        self -= weight * Q[k][l] / own;
      }
      for (std::size_t m = 0; m < teachers; ++m) {
        const double weight =
            2 * std::numbers::inv_pi / std::sqrt(own * (1 + T[m]) - R[k][m] * R[k][m]);
        of_teachers[m] = -weight;
        self += weight * R[k][m] / own;
      }
      of_students[k] += self;
      double* to = slope.data() + k * inputs;
      std::fill_n(to, inputs, 0.);
      for (std::size_t l = 0; l < students; ++l) {
        for (Index i = 0; i < inputs; ++i)
          to[i] += of_students[l] * student(static_cast<Index>(l))[i];
      }
      for (std::size_t m = 0; m < teachers; ++m) {
        for (Index i = 0; i < inputs; ++i)
          to[i] += of_teachers[m] * teacher(static_cast<Index>(m))[i];
      }
    }
  }
};

void expected_committee(benchmark::State& state) {
  Law law;
  const Array J = law.variable("J", {students, inputs});
  law.variable("B", {teachers, inputs});
  law.draw("x", {inputs});
  law.draw("z", {});
  const Array loss =
      law.mean("(sum(erf(J @ x / sqrt(2))) - sum(erf(B @ x / sqrt(2))) - z / 3)**2 / 2");
  Evaluator<double> evaluator(gradient(loss, {J}), {"B"});
  Committee committee;
  std::copy(committee.B.begin(), committee.B.end(), evaluator.variable("B").begin());
  evaluator.prepare();
  for ([[maybe_unused]] auto _ : state) {
    std::copy(committee.J.begin(), committee.J.end(), evaluator.variable("J").begin());
    evaluator.run();
    benchmark::DoNotOptimize(evaluator.output(0).data());
    benchmark::ClobberMemory();
  }
  committee.by_hand();
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < committee.slope.size(); ++i) {
    apart = std::max(apart, std::abs(committee.slope[i] - evaluator.output(0)[i]));
    size = std::max(size, std::abs(committee.slope[i]));
  }
  state.counters["apart"] = apart / size;
}
void expected_committee_by_hand(benchmark::State& state) {
  Committee committee;
  for ([[maybe_unused]] auto _ : state) {
    committee.by_hand();
    benchmark::DoNotOptimize(committee.slope.data());
    benchmark::ClobberMemory();
  }
}

// Operations of the formulas, two a summand of a product of arrays.
double operations_of(const std::vector<Array>& outputs) {
  const std::vector<bool> needed = needed_for(outputs);
  double all = 0;
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array node{outputs.front().graph, k};
    if (!node.is("einsum")) {
      if (!node.node().inputs.empty()) all += static_cast<double>(entries(node.shape()));
      continue;
    }
    std::map<char, Index> extents;
    std::size_t axis = 0, operand = 0;
    for (const char label : node.node().text.substr(0, node.node().text.find("->"))) {
      if (label == ',') {
        ++operand;
        axis = 0;
      } else {
        extents[label] = node.input(operand).shape()[axis++].extent;
      }
    }
    double product = 2;
    for (const auto& [label, extent] : extents) product *= static_cast<double>(extent);
    all += product;
  }
  return all;
}

constexpr Index dimensions = 20;

void expected_regression(benchmark::State& state) {
  Law law;
  const Array U = law.variable("U", {dimensions, dimensions}), u = law.variable("u", {}),
              S = law.variable("S", {dimensions, dimensions});
  law.draw("w", {dimensions});
  law.draw("X", {2 * dimensions, dimensions}, S);
  law.draw("q", {dimensions}, S);
  const Array loss = law.mean("(u * (X @ w) @ X @ U @ q / 40 - w @ q)**2 / 2");
  const std::vector<Array> outputs = gradient(loss, {U, u});
  Evaluator<double> evaluator(outputs, {"S"});
  fill(evaluator.variable("U"), 1, 1.7);
  fill(evaluator.variable("u"), 1, 1);
  const std::span<double> covariance = evaluator.variable("S");
  for (std::size_t i = 0; i < dimensions; ++i) covariance[i * dimensions + i] = 1;
  evaluator.prepare();
  for ([[maybe_unused]] auto _ : state) {
    evaluator.run();
    benchmark::DoNotOptimize(evaluator.output(0).data());
    benchmark::ClobberMemory();
  }
  state.counters["operations"] = operations_of(outputs);
}
void matrix_product(benchmark::State& state) {
  const Matrix<double> a = Matrix<double>::Random(dimensions, dimensions), b = a.transpose();
  Matrix<double> c(dimensions, dimensions);
  for ([[maybe_unused]] auto _ : state) {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  state.counters["operations"] = 2. * dimensions * dimensions * dimensions;
}

// Degree 12 in three arrays, derived.
void expectation_of_degree(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    Law law;
    law.variable("p", {10});
    law.variable("A", {10, 10});
    for (const char* name : {"x", "y", "z"}) law.draw(name, {10});
    benchmark::DoNotOptimize(law.mean("((p @ x) * (y @ A @ z))**4").place);
  }
}

BENCHMARK(expected_committee);
BENCHMARK(expected_committee_by_hand);
BENCHMARK(expected_regression);
BENCHMARK(matrix_product);
BENCHMARK(expectation_of_degree)->Unit(benchmark::kMillisecond);

}  // namespace
