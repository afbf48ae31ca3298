#pragma once
/// Noise and changed instances that several statements on sparse contextual bigrams share.

#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb::checks {

inline NoiseLevels levels_of_shape(const Bigrams<double>& bigrams, NoiseShape shape) {
  NoiseLevels levels = noise_at_solution(bigrams);
  levels.shape = shape;
  return levels;
}

/// One token attends to a position more, with weight `mass`: the last of those that are free.
inline void add_position(Bigrams<double>& b, Index token, double mass) {
  const Index begin = b.first[static_cast<std::size_t>(token)];
  const Index end = b.first[static_cast<std::size_t>(token + 1)];
  Index place = b.context - 1;
  Index at = end;
  while (at > begin && b.position[static_cast<std::size_t>(at - 1)] == place) {
    --at;
    --place;
  }
  if (place < 0) return;
  b.position.insert(b.position.begin() + at, place);
  Vector<double> law(b.law.size() + 1);
  law << b.law.head(at), mass, b.law.tail(b.law.size() - at);
  for (Index e = begin; e <= end; ++e) {
    if (e != at) law[e] *= 1 - mass;
  }
  b.law = law;
  for (Index k = token + 1; k <= b.tokens(); ++k) ++b.first[static_cast<std::size_t>(k)];
}

/// One number a position and token (T x N): of token k `on(k, e)` at the position of entry e of its
/// support, `off(k)` at others.
template <class On, class Off>
auto dense_attention(const Bigrams<double>& b, On on, Off off) {
  Matrix<decltype(off(Index{}))> made(b.context, b.tokens());
  for (Index k = 0; k < b.tokens(); ++k) {
    made.col(k).setConstant(off(k));
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      made(b.position[static_cast<std::size_t>(e)], k) = on(k, e);
    }
  }
  return made;
}
/// Q (T x N).
inline Matrix<double> dense_law(const Bigrams<double>& b) {
  return dense_attention(
      b, [&](Index, Index e) { return b.law[e]; }, [](Index) { return 0.0; });
}

}  // namespace popgrad::scb::checks
