#include "learning/sample_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formulas/operation.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/sparse_laws.hpp"

namespace popgrad::learning {
namespace sample_draws_cpp {
namespace {

// Combinations of values of draws for which probabilities that depend on them are checked.
constexpr double most_checked = 1e6;

// Do the probabilities depend on other draws?
bool is_conditional(const Draw& draw, const std::vector<Draw>& draws) {
  return draw.probabilities && std::any_of(draws.begin(), draws.end(), [&](const Draw& other) {
           return reads(*draw.probabilities, other.variable);
         });
}

Shape with_block(const Dimension& size, const Shape& shape) {
  Shape all{size};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

// FNV-1a.
std::uint64_t mixed(std::uint64_t seed, std::string_view text) {
  constexpr std::uint64_t offset = 0xcbf29ce484222325U, prime = 0x100000001b3U;
  std::uint64_t hash = seed ^ offset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

// The value that a uniform number u stands for: how many of the first sums of probabilities it has passed.
Array from_uniform(const Draw& draw, const Array& uniform) {
  const Array& p = *draw.probabilities;
  const Array one = p.number(1), zero = p.number(0);
  if (draw.law == Law::bernoulli) return where(formulas::apply("less", {uniform, p}), one, zero);
  if (draw.categories == 1) return broadcast(zero, uniform.shape());
  const Array sums = slice(scan("cumsum", p, 0), {{0, 1, {draw.categories - 1, {}}}});
  const Index axis = uniform.rank();
  const Array passed =
      where(formulas::apply("greater_equal", {keep_axes(uniform, axis, 1), sums}), one, zero);
  return reduce("sum", passed, axis);
}

}  // namespace
}  // namespace sample_draws_cpp

DrawnBlock given_block(LossArrays& arrays, const std::vector<Draw>& draws, Index size) {
  DrawnBlock block;
  for (const Draw& draw : draws) {
    const Array variable = arrays.graph->variable(
        "block of " + draw.name(), sample_draws_cpp::with_block({size, {}}, draw.variable.shape()),
        draw.variable.node().type);
    block.samples.push_back({draw.variable, variable});
    block.variables.push_back(variable);
  }
  return block;
}

DrawnBlock drawn_block(LossArrays& arrays, const std::vector<Draw>& draws, const Dimension& size) {
  using namespace sample_draws_cpp;
  DrawnBlock block;
  for (const Draw& draw : draws) {
    const Shape& shape = draw.variable.shape();
    const std::string name = "block of " + draw.name();
    if (!draw.covariance && !is_conditional(draw, draws)) {
      const Array variable =
          arrays.graph->variable(name, with_block(size, shape), draw.variable.node().type);
      block.variables.push_back(variable);
      block.samples.push_back({draw.variable, variable});
      continue;
    }
    const Array raw = arrays.graph->variable("raw numbers of " + draw.name(), shape);
    const Array raws = arrays.graph->variable(name, with_block(size, shape));
    block.variables.push_back(raws);
    std::vector<formulas::Samples> before = block.samples;
    before.push_back({raw, raws});
    const Array made =
        draw.covariance ? correlated(raw, *draw.covariance) : from_uniform(draw, raw);
    block.samples.push_back({draw.variable, over_batch(made, before)});
  }
  return block;
}

DrawSampler::DrawSampler(const LossArrays& arrays, std::vector<Draw> draws,
                         const std::vector<std::vector<double>>& parameters)
    : draws_(std::move(draws)), cumulative_(draws_.size()) {
  for (std::size_t k = 0; k < draws_.size(); ++k) {
    const Draw& draw = draws_[k];
    if (!draw.probabilities || sample_draws_cpp::is_conditional(draw, draws_)) continue;
    const Array p =
        draw.law == Law::categorical ? scan("cumsum", *draw.probabilities, 0) : *draw.probabilities;
    formulas::Evaluator<double> evaluator = prepared({p}, arrays, parameters);
    evaluator.run();
    cumulative_[k].assign(evaluator.output(0).begin(), evaluator.output(0).end());
    if (draw.law == Law::categorical) cumulative_[k].back() = 1;
  }
}

std::size_t DrawSampler::entries(std::size_t k) const {
  return static_cast<std::size_t>(formulas::entries(draws_[k].variable.shape()));
}

namespace sample_draws_cpp {
namespace {

// Rows of a matrix with normal entries, or columns where there are fewer, made orthonormal one after the other.
void orthonormalise(std::span<double> numbers, const Shape& shape) {
  const Index rows = shape[0].extent, columns = shape[1].extent;
  Eigen::Map<RowMatrix<double>> whole(numbers.data(), rows, columns);
  Matrix<double> vectors =
      rows <= columns ? Matrix<double>(whole.transpose()) : Matrix<double>(whole);
  for (Index j = 0; j < vectors.cols(); ++j) {
    constexpr int passes = 2;  // the second for what rounding leaves of the first
    for (int pass = 0; pass < passes; ++pass) {
      const Vector<double> along = vectors.leftCols(j).transpose() * vectors.col(j);
      vectors.col(j) -= vectors.leftCols(j) * along;
    }
    vectors.col(j).normalize();
  }
  if (rows <= columns) {
    whole = vectors.transpose();
  } else {
    whole = vectors;
  }
}

}  // namespace
}  // namespace sample_draws_cpp

void DrawSampler::fill(std::size_t k, std::uint64_t seed, std::uint64_t part,
                       std::span<double> numbers) const {
  const Draw& draw = draws_[k];
  const std::vector<double>& cumulative = cumulative_[k];
  Stream stream(sample_draws_cpp::mixed(seed, draw.name()), 0, part);
  if (draw.law == Law::normal || draw.law == Law::orthogonal) {
    stream.normals(numbers);
    if (draw.law == Law::orthogonal)
      sample_draws_cpp::orthonormalise(numbers, draw.variable.shape());
    return;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& x = numbers[i];
    if (draw.law == Law::index) {
      x = stream.index(static_cast<std::uint32_t>(draw.categories));
    } else if (cumulative.empty()) {
      x = stream.uniform();
    } else if (draw.law == Law::categorical) {
      x = stream.category(cumulative);
    } else {
      x = stream.uniform() < cumulative[i % cumulative.size()] ? 1 : 0;
    }
  }
}

void StoredSamples::copy(const Draw& draw, Index first, std::span<double> to) const {
  const Index entries = formulas::entries(draw.variable.shape());
  const auto from = numbers.at(draw.name()).begin() + first * entries;
  std::copy(from, from + std::ssize(to), to.begin());
}

StoredSamples stored_samples(const DrawSampler& sampler, Index count, std::uint64_t seed) {
  StoredSamples stored{count, {}};
  double total = 0;
  for (std::size_t k = 0; k < sampler.draws().size(); ++k)
    total += static_cast<double>(sampler.entries(k)) * static_cast<double>(count);
  require_memory(total * sizeof(double), fmt::format("{} samples", count), "lower samples");
  for (std::size_t k = 0; k < sampler.draws().size(); ++k) {
    std::vector<double>& numbers = stored.numbers[sampler.draws()[k].name()];
    numbers.resize(sampler.entries(k) * static_cast<std::size_t>(count));
    sampler.fill(k, seed, 0, numbers);
  }
  return stored;
}

namespace sample_draws_cpp {
namespace {

void require_covariance(const SampleLoss& written, const Draw& draw, const LossArrays& arrays,
                        const std::vector<std::vector<double>>& parameters) {
  if (!read_draws(*draw.covariance, arrays.draws).empty()) return;
  const Array root = formulas::of_square_matrix("cholesky", *draw.covariance);
  formulas::Evaluator<double> evaluator = prepared({*draw.covariance, root}, arrays, parameters);
  evaluator.run();
  const Index n = root.shape()[0].extent;
  const Eigen::Map<const RowMatrix<double>> matrix(evaluator.output(0).data(), n, n),
      lower(evaluator.output(1).data(), n, n);
  const double size = sum_tolerance * matrix.cwiseAbs().maxCoeff();
  if (!((matrix - matrix.transpose()).cwiseAbs().maxCoeff() <= size) || !lower.allFinite()) {
    reject_entry(written.name, "draw " + draw.name(),
                 "has a covariance that is not symmetric and positive semidefinite");
  }
}

}  // namespace
}  // namespace sample_draws_cpp

void require_laws(const SampleLoss& written, const LossArrays& arrays,
                  const std::vector<std::vector<double>>& parameters) {
  for (const Draw& draw : arrays.draws) {
    if (draw.covariance) sample_draws_cpp::require_covariance(written, draw, arrays, parameters);
    if (!draw.probabilities) continue;
    const std::string entry = "draw " + draw.name();
    // A batch of the values of the draws that it depends on, one after the other.
    Array p = *draw.probabilities;
    const std::vector<Draw> others = read_draws(p, arrays.draws);
    double combinations = 1;
    for (const Draw& other : others) combinations *= other.is_finite() ? other.values() : HUGE_VAL;
    if (combinations > sample_draws_cpp::most_checked) continue;
    const Index own = draw.law == Law::categorical ? draw.categories : 1;
    for (const Draw& other : others) p = over_batch(p, {{other.variable, all_values(other)}});
    formulas::Evaluator<double> evaluator = prepared({p}, arrays, parameters);
    evaluator.run();
    const std::span<const double> values = evaluator.output(0);
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(own)) {
      double sum = 0;
      for (Index j = 0; j < own; ++j) {
        const double value = values[i + static_cast<std::size_t>(j)];
        sum += value;
        if (value >= 0 && value <= 1 + sum_tolerance) continue;
        reject_entry(written.name, entry, fmt::format("has a probability of {}", value));
      }
      if (draw.law != Law::categorical || std::abs(sum - 1) <= sum_tolerance) continue;
      reject_entry(written.name, entry,
                   fmt::format("has probabilities that sum to {}; it must be 1 (to 1e-9)", sum));
    }
  }
}

}  // namespace popgrad::learning
