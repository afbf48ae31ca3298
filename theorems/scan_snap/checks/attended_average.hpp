#pragma once
/// The attended average X'b of sampled sequences of one class, against its limit c.

#include <cstdint>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::scan_snap::checks {

/// Of many sequences of n = T - 1 contextual tokens.
struct Deviations {
  /// n |X'b - c|^2, and n times X'b - c along `AttendedClass::bias`, less its part that is linear
  /// in the frequencies, whose mean is 0 (sequences x 2).
  Matrix<double> samples;
  /// Sequences in which the frequency of a token is outside Hoeffding's band (tokens).
  std::vector<std::uint32_t> outside;
};

class AttendedClass {
 public:
  /// P(l|n) and z of its tokens; a token repeats the one before it with probability `repetition`.
  AttendedClass(const Vector<double>& law, const Vector<double>& logits, double repetition);

  [[nodiscard]] Index tokens() const { return law_.size(); }
  /// sum_l c_l u_l >= 1, u_l = c_l/P_l: by how many fewer tokens are attended to than drawn.
  [[nodiscard]] double unevenness() const { return limit_.dot(relative_); }
  /// sum_l P_l u_l^2 |e_l - c|^2
  [[nodiscard]] double mean_square() const;
  /// c_l (sum_k c_k u_k - u_l)
  [[nodiscard]] Vector<double> bias() const;

  /// `outside`: delta of the band sqrt(ln(2/delta)/(2 n)).
  [[nodiscard]] Deviations sample(Index drawn, std::uint32_t sequences, double outside,
                                  std::uint64_t seed) const;

 private:
  void draw(Stream& stream, Index drawn, std::vector<std::uint32_t>& counts) const;

  Vector<double> law_, limit_, relative_;  ///< P, c, u (tokens)
  AliasTable table_;
  std::vector<double> cumulative_;  ///< of P
  double repetition_;
};

}  // namespace popgrad::scan_snap::checks
