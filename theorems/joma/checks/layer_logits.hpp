#pragma once
/// Attention logits of every layer of a network, and what Theorem 1 says of them from the weights
/// of the MLP above.

#include <vector>

#include "popgrad/evidence/declarations.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::checks {

/// At the last position, over the columns of all sequences (a column of padding counts once).
struct LayerLogits {
  Vector<double> logits;        ///< l_s = (W_K x_s).(W_Q x_last)/sqrt d
  Vector<double> squares;       ///< (1/2) sum_k v_ks^2, v_ks = (W_1 W_V x_s)_k
  Vector<double> shared;        ///< b_s times the sum of these over the columns of the sequence
  Matrix<double> hidden;        ///< phi(W_1 u + b_1) at the last position (width x N)
  std::vector<Index> sequence;  ///< that a column belongs to
};

/// Of every layer, by a pass over one sequence after the other. LayerNorm and uniform attention are
/// not for Theorem 1: throws std::invalid_argument.
/// Cost O(n^2 d + n d^2 + n d width) a layer and sequence of n columns.
std::vector<LayerLogits> layer_logits(const MultilayerFlow<double>& flow, const Vector<double>& x);

inline constexpr Hypothesis loss_halves{"the loss halves before `t = 20`"};

/// A network at one time of descent; a number a layer.
struct LogitsLook {
  double t = 0;
  bool halved = false;  ///< whether the loss is half of what it was at the start, or less
  /// |predicted - change|/|change| of the logits since the start, a constant a sequence free:
  Vector<double> frozen;   ///< from weights that keep the velocity of the start
  Vector<double> theorem;  ///< `squares` - `shared`: Theorem 1 from the weights at that time
  Vector<double> factor;   ///< that makes the last miss least; Theorem 1 says 1
  Vector<double> scaled;   ///< the last miss with that factor
};

/// Steps of descent between looks, whole numbers of `unit`; as long as `end` is not reached.
struct LogitsWay {
  double step = 0.01;
  double unit = 0.02;  ///< looks are at least so far apart, then a twentieth of the time passed
  double end = 20;     ///< the last look comes before
  /// Whether it is where the loss is half of that at the start, if it comes so far: between two
  /// steps, by the loss at both.
  bool to_half = true;
};

/// Throws std::runtime_error if the network diverges.
std::vector<LogitsLook> logits_looks(const MultilayerFlow<double>& flow, const LogitsWay& way);

/// |predicted - change|/|change|.
double miss_of(const Vector<double>& predicted, const Vector<double>& change);
/// `least` less a miss, a layer each, in the limit of small steps of descent; `misses` are at
/// steps of which each is half of the one before.
std::vector<Quantity> short_of(double least, const std::vector<Vector<double>>& misses);

}  // namespace popgrad::joma::checks
