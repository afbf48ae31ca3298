#pragma once
/// Sequences of i.i.d. tokens as strings of symbols: a symbol stands for one token, or for two where
/// all pairs are few compared with the positions. Two at a time halve the random words and the look-ups.

#include <cstdint>
#include <span>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::scb {

class SequenceSymbols {
 public:
  /// Tokens a symbol, 1 or 2, that are fastest for N tokens and T positions: 2 for N^2 <= T/8 and
  /// N <= 32, whose tables stay in the first cache.
  static int fastest(Index tokens, Index length);

  SequenceSymbols() = default;
  /// Tokens drawn from `law` (N <= 65536, at most 32 for two a symbol); T = `length`.
  SequenceSymbols(const Vector<double>& law, Index length, int tokens_a_symbol);

  /// Symbols of a sequence; of two tokens and odd T, the second token of the last one is ignored.
  [[nodiscard]] Index count() const { return (length_ + each_ - 1) / each_; }
  /// A symbol for each 32 random bits; probabilities are right to 2^-32.
  void draw(std::span<const std::uint32_t> bits, std::span<std::uint16_t> symbols) const {
    table_.draw(bits, symbols);
  }
  /// The token at position t.
  [[nodiscard]] Index token(const std::uint16_t* symbols, Index t) const {
    const Index symbol = symbols[t / each_];
    return t % each_ == 0 ? symbol % tokens_ : symbol / tokens_;
  }

  /// histogram[x] (N) = sum of a_t (T) over the positions with token x. Cost O(T), for two tokens a
  /// symbol O(T + N^2).
  void weigh(const std::uint16_t* symbols, const double* a, double* histogram) const;
  /// to_t (T) += pull[token_t] (N). Cost as `weigh`.
  void add_pulls(const std::uint16_t* symbols, const double* pull, double* to) const;

 private:
  Index tokens_ = 1;
  Index length_ = 0;
  Index each_ = 1;
  AliasTable table_;
};

}  // namespace popgrad::scb
