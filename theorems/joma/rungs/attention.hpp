#pragma once
/// Attention weights b(x, z) of one sample and the transposed Jacobian (db/dz)'.
///
///   linear   b = (z/T) o x          (db/dz)' u = x o u / T
///   exp      b = exp(z/T) o x       (db/dz)' u = b o u / T
///   softmax  b = exp(z/T) o x / sum (db/dz)' u = (b o u - b (b.u)) / T
///
/// Source: arXiv 2310.00535, Section 3; T is the temperature (1 in the paper's theorems).

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/softmax.hpp"

namespace popgrad::joma {

enum class Attention { exp, softmax, linear };

/// What multiplies x, for all samples at once: z/T, or exp(z/T) (shifted by its maximum for
/// softmax, where a common factor cancels). Shape (M_C).
template <Transcendental T>
void attention_gain(Attention kind, const Vector<T>& z, const T& temperature, Vector<T>& gain) {
  using std::exp;
  gain = z / temperature;
  if (kind == Attention::linear) return;
  if (kind == Attention::softmax) {
    const Vector<T> logits = gain;
    shifted_exponentials(logits, gain);
    return;
  }
  for (Index i = 0; i < gain.size(); ++i) gain[i] = exp(T(gain[i]));
}

/// b for each column of x (M_C x samples), given the gain.
template <Transcendental T, class Columns>
void attention_weights(Attention kind, const Vector<T>& gain, const Columns& x, Matrix<T>& b) {
  b = gain.asDiagonal() * x;
  if (kind != Attention::softmax) return;
  for (Index s = 0; s < b.cols(); ++s) {
    const T total = b.col(s).sum();
    b.col(s) /= total;
  }
}

/// Adds (db/dz)' u for every sample, weighted: out += sum_s weight_s (db_s/dz)' u_s.
/// `b`, `x`, `u`: (M_C x samples); all products are entrywise.
template <Transcendental T, class Columns>
void add_attention_pullback(Attention kind, const Matrix<T>& b, const Columns& x,
                            const Matrix<T>& u, const Vector<T>& weight, const T& temperature,
                            Vector<T>& out) {
  for (Index s = 0; s < u.cols(); ++s) {
    const T scale = weight[s] / temperature;
    switch (kind) {
      case Attention::linear:
        out += scale * x.col(s).cwiseProduct(u.col(s));
        break;
      case Attention::exp:
        out += scale * b.col(s).cwiseProduct(u.col(s));
        break;
      case Attention::softmax: {
        const T mean = b.col(s).dot(u.col(s));
        for (Index l = 0; l < out.size(); ++l) {
          out[l] = out[l] + scale * b(l, s) * (u(l, s) - mean);
        }
        break;
      }
    }
  }
}

}  // namespace popgrad::joma
