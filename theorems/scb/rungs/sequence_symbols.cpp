#include "theorems/scb/rungs/sequence_symbols.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "scalars/wide.hpp"

namespace popgrad::scb {
namespace {

constexpr Index most_paired = 32;
constexpr Index most_pairs = most_paired * most_paired;

/// Of two tokens that follow each other.
using Pair __attribute__((vector_size(16))) = double;

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

void weigh_tokens(const std::uint16_t* tokens, const double* a, Index count, Index size,
                  double* histogram) {
  // Four histograms side by side: a token that comes again need not wait for the last sum.
  constexpr Index most = 256;
  std::fill(histogram, histogram + size, 0.0);
  Index t = 0;
  if (size <= most) {
    std::array<double, 4 * most> bins;
    std::fill_n(bins.begin(), 4 * size, 0.0);
    for (; t + 4 <= count; t += 4) {
      for (Index j = 0; j < 4; ++j)
        bins[4 * std::size_t{tokens[t + j]} + static_cast<std::size_t>(j)] += a[t + j];
    }
    for (Index i = 0; i < size; ++i) {
      const double* const own = bins.data() + 4 * i;
      histogram[i] = (own[0] + own[1]) + (own[2] + own[3]);
    }
  }
  for (; t < count; ++t) histogram[tokens[t]] += a[t];
}

// A bin for each pair of tokens first, which are then summed along both.
void weigh_pairs(const std::uint16_t* pairs, const double* a, Index count, Index size,
                 double* histogram) {
  std::array<Pair, most_pairs> bins;
  std::fill_n(bins.begin(), size * size, Pair{});
  for (Index i = 0; i < count / 2; ++i) bins[pairs[i]] += load(a + 2 * i);
  std::fill(histogram, histogram + size, 0.0);
  for (Index second = 0; second < size; ++second) {
    double sum = 0;
    for (Index first = 0; first < size; ++first) {
      const Pair bin = bins[static_cast<std::size_t>(first + size * second)];
      histogram[first] += bin[0];
      sum += bin[1];
    }
    histogram[second] += sum;
  }
  if (count % 2 != 0) histogram[pairs[count / 2] % size] += a[count - 1];
}

POPGRAD_WIDE
void add_token_pulls(const std::uint16_t* tokens, const double* pull, Index count, double* to) {
#pragma omp simd
  for (Index t = 0; t < count; ++t) to[t] += pull[tokens[t]];
}

void add_pair_pulls(const std::uint16_t* pairs, const double* pull, Index count, Index size,
                    double* to) {
  std::array<Pair, most_pairs> pulls;
  for (Index second = 0; second < size; ++second) {
    for (Index first = 0; first < size; ++first) {
      pulls[static_cast<std::size_t>(first + size * second)] = Pair{pull[first], pull[second]};
    }
  }
  for (Index i = 0; i < count / 2; ++i) {
    const Pair sum = load(to + 2 * i) + pulls[pairs[i]];
    std::memcpy(to + 2 * i, &sum, sizeof sum);
  }
  if (count % 2 != 0) to[count - 1] += pull[pairs[count / 2] % size];
}

}  // namespace

int SequenceSymbols::fastest(Index tokens, Index length) {
  return tokens <= most_paired && 8 * tokens * tokens <= length ? 2 : 1;
}

SequenceSymbols::SequenceSymbols(const Vector<double>& law, Index length, int tokens_a_symbol)
    : tokens_(law.size()), length_(length), each_(tokens_a_symbol) {
  if (each_ == 1) {
    table_ = AliasTable({law.data(), static_cast<std::size_t>(law.size())});
  } else if (each_ == 2 && tokens_ <= most_paired) {
    const Matrix<double> pairs = law * law.transpose();
    table_ = AliasTable({pairs.data(), static_cast<std::size_t>(pairs.size())});
  } else {
    throw std::invalid_argument("SequenceSymbols: one token a symbol, or two of at most 32");
  }
}

void SequenceSymbols::weigh(const std::uint16_t* symbols, const double* a,
                            double* histogram) const {
  if (each_ == 1) {
    weigh_tokens(symbols, a, length_, tokens_, histogram);
  } else {
    weigh_pairs(symbols, a, length_, tokens_, histogram);
  }
}

void SequenceSymbols::add_pulls(const std::uint16_t* symbols, const double* pull,
                                double* to) const {
  if (each_ == 1) {
    add_token_pulls(symbols, pull, length_, to);
  } else {
    add_pair_pulls(symbols, pull, length_, tokens_, to);
  }
}

}  // namespace popgrad::scb
