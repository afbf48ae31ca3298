#include "theorems/scb/tests/law.hpp"

#include <cmath>

#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::laws {

BigramLaw bigram_law(const Case& made) {
  const Parameters& p = made.parameters;
  BigramLaw b;
  if (p.has("P")) {
    b.kernel = p.matrix<double>("P");
    b.context = p.matrix<double>("q").transpose();
    const Index n = b.kernel.rows();
    b.mu = Vector<double>::Constant(n, 1.0 / static_cast<double>(n));
    for (int i = 0; i < 5000; ++i) b.mu = (b.kernel * b.mu).eval();
    return b;
  }
  const scb::Bigrams<double> drawn = scb::training<double>(p, made.seed).bigrams;
  b.kernel = drawn.transition;
  b.mu = drawn.stationary;
  b.context = Matrix<double>::Zero(drawn.context, drawn.tokens());
  for (Index k = 0; k < drawn.tokens(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    for (Index e = drawn.first[at]; e < drawn.first[at + 1]; ++e) {
      b.context(drawn.position[static_cast<std::size_t>(e)], k) = drawn.law[e];
    }
  }
  return b;
}

Whole whole(const Case& made, const BigramLaw& b, const AnyRung<double>& rung,
            const Vector<double>& x) {
  const Index n = b.tokens();
  const Index positions = b.positions();
  Whole now;
  now.values = Eigen::Map<const Matrix<double>>(x.data(), n, n);
  now.attention = Matrix<double>::Zero(positions, n);
  const std::string& rest_name = rung.state_names[static_cast<std::size_t>(n * n)];
  const bool parts = rung.state_names.back() == "steps_of_part";
  const bool lumped = made.rung.name == "noisy-lumped" || (parts && made.rung.name == "gd");
  const bool dense = made.rung.name == "sgd" || made.rung.name == "noisy";
  const bool later = parts && x[x.size() - 2] > 1;
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    std::vector<Index> rest;
    for (Index t = 0; t < positions; ++t) {
      if (dense || b.context(t, k) > 0) {
        now.attention(t, k) = x[at++];
      } else {
        rest.push_back(t);
      }
    }
    if (dense) continue;
    if (lumped && later) {
      // The value of those that are not listed, how many are listed, and the list.
      const double common = x[at++];
      const auto listed = static_cast<std::size_t>(x[at++]);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        now.attention(rest[i], k) = i < listed ? x[at++] : common;
      }
      continue;
    }
    const double mean = x[at++];
    for (const Index t : rest) now.attention(t, k) = mean;
    if (!lumped) continue;
    const double norm = x[at++];
    if (rest.size() < 2) continue;
    now.attention(rest[0], k) += norm / std::sqrt(2.0);
    now.attention(rest[1], k) -= norm / std::sqrt(2.0);
  }
  if (rest_name.starts_with("w_")) {
    const double temperature = made.parameters.number<double>("temperature", "1");
    for (Index k = 0; k < n; ++k) {
      now.attention.col(k) = (now.attention.col(k).array() / temperature).exp();
      now.attention.col(k) /= now.attention.col(k).sum();
    }
  }
  return now;
}

void for_each_sample(const BigramLaw& b, const Visit& visit, bool query_last) {
  std::vector<Index> sequence(static_cast<std::size_t>(b.positions()), 0);
  while (true) {
    double probability = 1;
    for (const Index token : sequence) probability *= b.mu[token];
    for (Index query = 0; query < b.tokens(); ++query) {
      if (query_last && query != sequence.back()) continue;
      const double chance = query_last ? probability : probability * b.mu[query];
      // The label's law, over the positions that the query attends to.
      Vector<double> label = Vector<double>::Zero(b.tokens());
      for (Index s = 0; s < b.positions(); ++s) {
        label += b.context(s, query) * b.kernel.col(sequence[static_cast<std::size_t>(s)]);
      }
      for (Index y = 0; y < b.tokens(); ++y) {
        visit(sequence, query, y, chance * label[y]);
      }
    }
    std::size_t i = 0;
    while (i < sequence.size() && ++sequence[i] == b.tokens()) sequence[i++] = 0;
    if (i == sequence.size()) return;
  }
}

double enumerated_loss(const BigramLaw& b, const Whole& now) {
  double loss = 0;
  Vector<double> miss(b.tokens());
  for_each_sample(b, [&](const std::vector<Index>& x, Index query, Index label, double p) {
    miss.setZero();
    for (Index t = 0; t < b.positions(); ++t) {
      miss -= now.attention(t, query) * now.values.col(x[static_cast<std::size_t>(t)]);
    }
    miss[label] += 1;
    loss += p * miss.squaredNorm() / 2;
  });
  return loss;
}

}  // namespace popgrad::laws
