#include "popgrad/fluctuations/draw_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {
namespace {

constexpr double most_moments = 25;
constexpr int least_degree = 2, largest_degree = 4;
constexpr Index nodes_of_a_moment = 3;
constexpr std::uint32_t stream_of_nodes = 0xFFFFFFE0U;

using Monomial = std::vector<Index>;  // tokens, ascending

// Of degree up to `degree` in so many variables, the constant first.
std::vector<Monomial> monomials(Index variables, int degree) {
  std::vector<Monomial> all{{}};
  std::size_t begin = 0;
  for (int d = 1; d <= degree; ++d) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin) {
      for (Index v = all[begin].empty() ? 0 : all[begin].back(); v < variables; ++v) {
        Monomial next = all[begin];
        next.push_back(v);
        all.push_back(std::move(next));
      }
    }
  }
  return all;
}

double moments_of(Index variables, int degree) {
  double count = 1;
  for (int d = 1; d <= degree; ++d) count *= static_cast<double>(variables + d) / d;
  return count;
}

// The largest that is not of too many moments.
int degree_for(Index variables) {
  int degree = least_degree;
  while (degree < largest_degree && moments_of(variables, degree + 1) <= most_moments) ++degree;
  return degree;
}

double moment_of_one(const Vector<double>& tokens, std::span<const Index> list) {
  double shared = 1;
  for (const Index token : list) shared *= -tokens[token];
  // Of draws of no token of the list, then of each of its tokens.
  double rest = 1;
  double sum = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0 && list[i] == list[i - 1]) continue;
    double product = tokens[list[i]];
    for (const Index token : list) product *= (token == list[i] ? 1.0 : 0.0) - tokens[token];
    sum += product;
    rest -= tokens[list[i]];
  }
  return sum + rest * shared;
}

// F(R, L) of central_moment.
double moment_of_sum(const Vector<double>& tokens, double left, const Monomial& list) {
  if (list.empty()) return 1;
  if (list.size() == 1) return 0;
  const std::size_t others = list.size() - 1;
  double sum = 0;
  for (std::size_t chosen = 1; chosen < (std::size_t{1} << others); ++chosen) {
    Monomial block{list[0]}, rest;
    for (std::size_t i = 0; i < others; ++i) {
      (((chosen >> i) & 1U) != 0 ? block : rest).push_back(list[i + 1]);
    }
    if (rest.size() == 1) continue;
    sum += moment_of_one(tokens, block) * moment_of_sum(tokens, left - 1, rest);
  }
  return left * sum;
}

// Weights of the columns of `values` (moments x nodes) that meet the moments, all positive; columns
// that stay are kept. False if there are none.
bool find_weights(Matrix<double>& values, Matrix<double>& frequencies,
                  const Vector<double>& moments, Vector<double>& weights) {
  constexpr int most_rounds = 40;
  for (int round = 0; round < most_rounds; ++round) {
    const Index nodes = values.cols();
    if (nodes < moments.size()) return false;
    const double equal = 1 / static_cast<double>(nodes);
    weights = Vector<double>::Constant(nodes, equal);
    const Matrix<double> gram = values * values.transpose();
    for (int refinement = 0; refinement < 2; ++refinement) {
      const Matrix<double> missing = moments - values * weights;
      weights += values.transpose() * solve_symmetric<double>(gram, missing);
    }
    if (!weights.allFinite()) return false;
    if (weights.minCoeff() > 0) {
      constexpr double rounding = 1e-9;
      return (moments - values * weights).lpNorm<Eigen::Infinity>() <= rounding;
    }
    std::vector<Index> kept;
    for (Index i = 0; i < nodes; ++i) {
      if (weights[i] > 0) kept.push_back(i);
    }
    values = Matrix<double>(values(Eigen::all, kept));
    frequencies = Matrix<double>(frequencies(Eigen::all, kept));
  }
  return false;
}

Matrix<double> drawn(const Vector<double>& tokens, Index length, Index nodes, Stream& stream) {
  const AliasTable law({tokens.data(), static_cast<std::size_t>(tokens.size())});
  Matrix<double> frequencies(tokens.size(), nodes);
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(tokens.size()));
  for (Index i = 0; i < nodes; ++i) {
    std::fill(counts.begin(), counts.end(), 0);
    stream.count(law, static_cast<std::size_t>(length), counts);
    for (Index t = 0; t < tokens.size(); ++t) {
      frequencies(t, i) = counts[static_cast<std::size_t>(t)] / static_cast<double>(length);
    }
  }
  return frequencies;
}

}  // namespace

double central_moment(const Vector<double>& tokens, Index length, std::span<const Index> list) {
  Monomial sorted(list.begin(), list.end());
  std::sort(sorted.begin(), sorted.end());
  const auto total = static_cast<double>(length);
  return moment_of_sum(tokens, total, sorted) / std::pow(total, static_cast<double>(list.size()));
}

bool has_draw_nodes(const Vector<double>& tokens, Index length) {
  constexpr Index most_tokens = 32;
  constexpr double least_shown = 10;
  if (length < 1) return false;
  const Index occurring = (tokens.array() > 0).count();
  if (occurring < 1 || occurring > most_tokens) return false;
  const int degree = degree_for(occurring - 1);
  const double drawn_tokens =
      static_cast<double>(length * nodes_of_a_moment) * moments_of(occurring - 1, degree);
  return ((tokens.array() == 0) || (tokens.array() * drawn_tokens >= least_shown)).all();
}

DrawNodes draw_nodes(const Vector<double>& tokens, Index length, std::uint64_t which,
                     std::uint32_t part) {
  if (!has_draw_nodes(tokens, length)) {
    throw std::invalid_argument("draw_nodes: too many tokens, or too rare ones");
  }
  std::vector<Index> support;
  for (Index t = 0; t < tokens.size(); ++t) {
    if (tokens[t] > 0) support.push_back(t);
  }
  const auto rarer = [&](Index a, Index b) { return tokens[a] < tokens[b]; };
  // Frequencies sum to 1: the likeliest token is left to the others.
  std::iter_swap(std::max_element(support.begin(), support.end(), rarer), support.end() - 1);
  const Index variables = std::ssize(support) - 1;
  const auto total = static_cast<double>(length);
  for (int degree = degree_for(variables); degree >= least_degree; --degree) {
    const std::vector<Monomial> basis = monomials(variables, degree);
    // Where too many of the nodes fall out, others are drawn, and more.
    for (Index more = 1; more <= 4; more *= 2) {
      Stream stream(which, stream_of_nodes + part, static_cast<std::uint64_t>(more));
      DrawNodes nodes;
      nodes.degree = degree;
      nodes.frequencies =
          drawn(tokens, length, more * nodes_of_a_moment * std::ssize(basis), stream);
      Matrix<double> values(std::ssize(basis), nodes.frequencies.cols());
      Vector<double> moments(std::ssize(basis));
      for (Index k = 0; k < values.rows(); ++k) {
        values.row(k).setOnes();
        double scale = 1;
        Monomial list;
        for (const Index v : basis[static_cast<std::size_t>(k)]) {
          const Index token = support[static_cast<std::size_t>(v)];
          const double deviation = std::sqrt(tokens[token] / total);
          values.row(k).array() *=
              (nodes.frequencies.row(token).array() - tokens[token]) / deviation;
          scale /= deviation;
          list.push_back(token);
        }
        moments[k] = scale * central_moment(tokens, length, list);
      }
      if (find_weights(values, nodes.frequencies, moments, nodes.weights)) return nodes;
    }
  }
  throw std::logic_error("draw_nodes: no positive weights meet the covariance of the counts");
}

}  // namespace popgrad
