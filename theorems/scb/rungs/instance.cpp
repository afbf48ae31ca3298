#include "theorems/scb/rungs/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/sparse_laws.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/instance_record.hpp"
#include "theorems/scb/rungs/parameters.hpp"

namespace popgrad::scb {
namespace {

constexpr const char* of_instance = "scb";
constexpr const char* contradicts = "contradicts P and q of the instance file; leave it out";

/// Instances draw from streams of their own, so that no training draw repeats one.
constexpr std::uint32_t instance_run = 0xFFFFFFFFU;
enum InstanceStream : std::uint64_t {
  transition_stream,
  position_stream,
  law_stream,
  transfer_stream
};

Matrix<double> random_kernel(Index n, std::uint64_t seed, std::uint64_t which) {
  Stream stream(seed, instance_run, which);
  Matrix<double> p(n, n);
  for (double& value : p.reshaped()) value = stream.uniform();
  for (Index k = 0; k < n; ++k) p.col(k) /= p.col(k).sum();
  return p;
}

// mu with P mu = mu, sum 1: the rows of P - I with one replaced by the sum.
template <class T>
Vector<T> stationary_law(const Matrix<T>& p) {
  const Index n = p.rows();
  Matrix<T> system = p - Matrix<T>::Identity(n, n);
  system.row(n - 1).setConstant(T(1));
  Vector<T> right = Vector<T>::Constant(n, T(0));
  right[n - 1] = T(1);
  return solve_square<T>(system, right);
}

// Support and weights of every q^k, from dense rows or from lists.
template <class T>
SparseLaws<T> context_laws(const Parameters& p, Index tokens, Index& context) {
  if (given(p, parameter::q_positions) || given(p, parameter::q_weights)) {
    if (given(p, parameter::q)) {
      reject(of_instance, "q", "and q_positions", "exclude each other: both are the context laws");
    }
    if (!given(p, parameter::T)) {
      reject(of_instance, "q_positions", "without T",
             "does not say how long the context is; give T");
    }
    context = read(p, parameter::T);
    SparseLaws<T> laws = sparse_laws<T>(p, parameter::q_positions, parameter::q_weights, context);
    if (laws.laws() != tokens) {
      reject(of_instance, "q_positions", fmt::format("{} lists", laws.laws()),
             fmt::format("must have one for each of the {} tokens", tokens));
    }
    return laws;
  }
  refuse_given(p, of_instance, parameter::T, contradicts);
  if (!given(p, parameter::q)) {
    reject(of_instance, "q", "",
           "is missing; with P give N rows of T probabilities, or q_positions, q_weights and T");
  }
  Matrix<T> q = p.matrix<T>("q");
  if (q.rows() != tokens) {
    reject(of_instance, "q", fmt::format("{} rows", q.rows()),
           fmt::format("must have one for each of the {} tokens", tokens));
  }
  if (q.cols() < 2) reject(of_instance, "q", fmt::format("{} columns", q.cols()), "needs T >= 2");
  context = q.cols();
  for (Index k = 0; k < tokens; ++k) {
    make_sum_one<T>(q.row(k), of_instance, "q", fmt::format("row {}", k));
  }
  return sparse_rows(q);
}

template <class T>
Bigrams<T> given_bigrams(const Parameters& p) {
  Bigrams<T> b;
  b.transition = p.matrix<T>("P");
  const Index n = b.transition.rows();
  if (b.transition.cols() != n || n < 2) {
    reject(of_instance, "P", fmt::format("{} x {}", n, b.transition.cols()),
           "must be square, 2 x 2 or larger; column k is the law of the token after k");
  }
  for (Index k = 0; k < n; ++k) {
    make_sum_one<T>(b.transition.col(k), of_instance, "P", fmt::format("column {}", k));
  }
  b.stationary = stationary_law(b.transition);
  if (given(p, parameter::mu)) {
    Vector<T> given = p.vector<T>("mu");
    if (given.size() != n) {
      reject(of_instance, "mu", fmt::format("{} numbers", given.size()),
             fmt::format("must have one for each of the {} tokens", n));
    }
    make_sum_one<T>(given, of_instance, "mu", "the list");
    const double apart = to_double(Vector<T>(b.transition * given - given).cwiseAbs().maxCoeff());
    if (!(apart <= sum_tolerance)) {
      reject(of_instance, "mu", "as given",
             fmt::format("misses P mu = mu by {:.3g}; leave it out to have it computed", apart));
    }
    b.stationary = given;
  }
  for (Index k = 0; k < n; ++k) {
    if (!(to_double(b.stationary[k]) > 1e-12)) {
      reject(of_instance, "P", fmt::format("with mu_{} = {:.3g}", k, to_double(b.stationary[k])),
             "must lead to a stationary law with all entries > 0; join the classes of the chain");
    }
  }
  SparseLaws<T> laws = context_laws<T>(p, n, b.context);
  b.first = std::move(laws.first);
  b.position = std::move(laws.category);
  b.law = std::move(laws.weight);
  return b;
}

// Projected gradients keep 1'V, and are those of the loss only where it is 1'.
template <class T>
void check_columns(const Matrix<T>& values) {
  for (Index k = 0; k < values.cols(); ++k) {
    const double defect = to_double(T(values.col(k).sum())) - 1;
    if (!(defect <= sum_tolerance && defect >= -sum_tolerance)) {
      reject(of_instance, "V", fmt::format("column {}", k),
             fmt::format("sums to {}; it must be 1 (to 1e-9) where gradients are projected onto "
                         "1'V = 1'; or give --no-project",
                         1 + defect));
    }
  }
}

}  // namespace

Bigrams<double> random_bigrams(Index tokens, Index context, Index support, std::uint64_t seed) {
  Bigrams<double> b;
  b.transition = random_kernel(tokens, seed, transition_stream);
  b.stationary = stationary_law(b.transition);
  b.context = context;
  b.first = {0};
  require_memory(
      static_cast<double>(tokens) * static_cast<double>(support) * (sizeof(double) + sizeof(Index)),
      fmt::format("the {} positions of each of {} tokens", support, tokens), "lower --Q or --N");
  b.law.resize(tokens * support);
  Stream where_stream(seed, instance_run, position_stream);
  Stream weight_stream(seed, instance_run, law_stream);
  for (Index k = 0; k < tokens; ++k) {
    // Floyd's sampling: distinct positions without a list of all.
    std::vector<Index> chosen;
    std::unordered_set<Index> taken_ones;
    for (Index j = context - support; j < context; ++j) {
      const auto t = static_cast<Index>(where_stream.uniform() * static_cast<double>(j + 1));
      const bool taken = !taken_ones.insert(t).second;
      if (taken) taken_ones.insert(j);
      chosen.push_back(taken ? j : t);
    }
    std::sort(chosen.begin(), chosen.end());
    double sum = 0;
    for (Index i = 0; i < support; ++i) {
      b.law[k * support + i] = weight_stream.uniform();
      sum += b.law[k * support + i];
    }
    b.law.segment(k * support, support) /= sum;
    b.position.insert(b.position.end(), chosen.begin(), chosen.end());
    b.first.push_back(b.entries());
  }
  return b;
}

Training<double> from_scratch(Index tokens, Index context, Index support, std::uint64_t seed) {
  Training<double> made;
  made.bigrams = random_bigrams(tokens, context, support, seed);
  made.start = made.bigrams.stationary * Vector<double>::Ones(tokens).transpose();
  return made;
}

Matrix<double> transfer_start(const Bigrams<double>& b, double theta, double correlation,
                              std::uint64_t seed) {
  const Index n = b.tokens();
  const Vector<double>& mu = b.stationary;
  const Matrix<double> ground = mu * Vector<double>::Ones(n).transpose();
  const Matrix<double> target = b.transition - ground;
  // A random direction, made orthogonal to P - mu 1' and as long, then mixed to the correlation.
  Matrix<double> other = random_kernel(n, seed, transfer_stream);
  other -= (other * mu) * Vector<double>::Ones(n).transpose();
  const double size = covariance_product(target, target, mu);
  other -= covariance_product(other, target, mu) / size * target;
  const double length = covariance_product(other, other, mu);
  // What is left of a direction of size 1 after rounding.
  if (correlation < 1 && length < 1e-24 * size) {
    reject(of_instance, "--correlation", to_text(correlation),
           fmt::format("needs --N >= 3 (it is {}): kernels of two tokens with one stationary law "
                       "are all multiples of each other; give --correlation 1",
                       n));
  }
  const double left = std::sqrt(std::max(0.0, 1 - correlation * correlation));
  Matrix<double> mixed = correlation * target;
  if (left > 0) mixed += left * std::sqrt(size / length) * other;
  return ground + theta * mixed;
}

template <class T>
Training<T> training(const Parameters& p, std::uint64_t seed) {
  Training<T> made;
  if (given(p, parameter::P)) {
    refuse_given(p, of_instance, parameter::N, contradicts);
    refuse_given(p, of_instance, parameter::Q, contradicts);
    made.bigrams = given_bigrams<T>(p);
  } else {
    for (const ListParameter& list :
         {parameter::mu, parameter::q, parameter::q_positions, parameter::q_weights}) {
      if (given(p, list)) {
        reject(of_instance, list.name, "without P", "describes an instance; give P as well");
      }
    }
    const Index context = read(p, parameter::T);
    const Index support = read(p, parameter::Q);
    if (support > context) {
      reject(of_instance, "--Q", std::to_string(support),
             fmt::format("exceeds --T {}; a sparse context needs 1 <= Q <= T", context));
    }
    made.bigrams = random_bigrams(read(p, parameter::N), context, support, seed).template cast<T>();
  }
  const Index n = made.bigrams.tokens();
  const std::string start = read(p, parameter::start);
  if (start != "transfer") {
    refuse_given(p, of_instance, parameter::theta, "belongs to --start transfer");
    refuse_given(p, of_instance, parameter::correlation, "belongs to --start transfer");
  }
  if (given(p, parameter::V)) {
    refuse_given(p, of_instance, parameter::start,
                 "contradicts V of the instance file; give one of the two");
    made.start = given_block<T>(p, parameter::V, n, n);
  } else if (start == "uniform") {
    made.start = Matrix<T>::Constant(n, n, T(1) / T(static_cast<int>(n)));
  } else if (start == "transfer") {
    Bigrams<double> rounded;
    rounded.transition = made.bigrams.transition.template cast<double>();
    rounded.stationary = made.bigrams.stationary.template cast<double>();
    made.start = transfer_start(rounded, read<double>(p, parameter::theta),
                                read<double>(p, parameter::correlation), seed)
                     .template cast<T>();
  } else {
    made.start = made.bigrams.stationary * Vector<T>::Constant(n, T(1)).transpose();
  }
  made.attention_start = given_block<T>(p, parameter::A, made.bigrams.context, n);
  made.softmax = read(p, parameter::attention) == "softmax";
  made.attention_rate = read<T>(p, parameter::eta_A);
  made.project = read(p, parameter::project);
  made.label_noise = read<T>(p, parameter::label_noise);
  made.temperature = read<T>(p, parameter::temperature);
  made.query_last = read(p, parameter::query_position) == "last";
  if (made.project && given(p, parameter::V)) check_columns(made.start);
  return made;
}

Record record_of(const Training<double>& training) {
  const Bigrams<double>& b = training.bigrams;
  Record record{{"P", rows_of(b.transition)},
                {"mu", list_of(b.stationary)},
                {"T", b.context},
                {"q_positions", support_lists(b.first, b.position)},
                {"q_weights", weight_lists(b.first, b.law)},
                {"V", rows_of(training.start)}};
  if (training.attention_start.size() > 0) record["A"] = rows_of(training.attention_start);
  record["attention"] = training.softmax ? "softmax" : "linear";
  record["eta_A"] = training.attention_rate;
  record["project"] = training.project;
  record["label_noise"] = training.label_noise;
  record["temperature"] = training.temperature;
  record["query_position"] = training.query_last ? "last" : "free";
  return record;
}

template Training<double> training(const Parameters&, std::uint64_t);
template Training<Real> training(const Parameters&, std::uint64_t);

}  // namespace popgrad::scb
