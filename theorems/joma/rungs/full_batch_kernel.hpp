#pragma once
/// The full-batch field of `PopulationFlow` for the authors' setting, without a general product.
///
/// Setting: exp or softmax attention, linear phi, no decoder, orthonormal embeddings, residual, f as
/// it is. Relaxes: sums are reordered, exp is a polynomial (below 2 units in the last place; infinite
/// from exp(709) on), and the sum over tokens of z' is rearranged,
///   T z' = sum_k v_k o v_k' - sum_c w_c b_c q_c     (exp: only the first sum)
///   q_c  = g_c' V'b_c
/// which saves a third of the products. Tested against the plain field.
/// Chosen at run time among AVX-512, AVX2 with FMA, and the processor's least.
/// Cost 2 M_C K C multiply-adds, K C exp; no allocation.

#include <boost/align/aligned_allocator.hpp>
#include <vector>

#include "popgrad/scalars/vector.hpp"
#include "theorems/joma/rungs/attention.hpp"

namespace popgrad::joma {

class FullBatchKernel final {
 public:
  /// Doubles a vector in the instruction sets that this processor has, the widest first.
  static std::vector<Index> widths();

  /// `token_law` (M_C x C), with K = C units; `width` is one of widths().
  FullBatchKernel(const Matrix<double>& token_law, Attention attention, double temperature,
                  Index width = widths().front());

  /// State x = (v by columns, (M_C + 1) x C; z, M_C) and its rate, classes weighted by `weight`.
  void rhs(const Vector<double>& x, const Vector<double>& weight, Vector<double>& dx);

  /// Aligned to a cache line, which no vector is wider than.
  using Buffer = std::vector<double, boost::alignment::aligned_allocator<double, 64>>;
  /// Everything that one evaluation reads and writes; sizes are rounded up to whole vectors.
  struct Workspace {
    Index tokens = 0;
    Index classes = 0;
    Index padded_tokens = 0;
    Index padded_classes = 0;
    double temperature = 1;
    bool normalised = true;  ///< softmax
    Buffer law;              ///< X, padded_tokens x classes
    Buffer law_transposed;   ///< X', padded_classes x tokens
    Buffer gain;             ///< exp(z/T), padded_tokens
    Buffer b;                ///< padded_tokens x classes
    Buffer b_transposed;     ///< padded_classes x tokens
    Buffer hidden;           ///< V'b, then w g: padded_classes x units
    Buffer scale;            ///< 1 / sum of exp(z/T) o x of each class (exp: 1), padded_classes
    Buffer own;              ///< v_c'b_c of each class c, padded_classes
    Buffer mean;             ///< w_c q_c, padded_classes
    Buffer weight;           ///< w, padded_classes
  };

 private:
  Workspace work_;
  void (*evaluate_)(Workspace&, const double*, double*);
};

}  // namespace popgrad::joma
