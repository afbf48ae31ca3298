#pragma once
/// The observables that all rungs of scan and snap share, in one order.
///
///   loss, accuracy
///   entropy_N, distinct_entropy_N   of c_n, and of its distinct part where it has one, class N
///   xi_N, B_N                       of class N; B_N where growth is tracked
///   lambda_max_E, lambda_min_abs_E  audit of Assumption 2
///   f_N_L, chi_N_L                  of the pairs watched, chi = exp(2 (z - z(0)))
/// Cost of a row nnz, and K^3 for the eigenvalues of E.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap {

/// What Assumption 2 bounds: the largest eigenvalue of E = F'F - I, and the least modulus of one.
template <class T>
struct OverlapExtremes {
  T largest, least_modulus;
};

/// From F'F (K x K). Cost K^3. Symbols have no eigenvalues here: both are 0.
template <class T>
OverlapExtremes<T> overlap_extremes(const Matrix<T>& gram);

/// What a rung computes of itself at one state.
template <class T>
struct Snapshot {
  const Vector<T>& f;           ///< (nnz)
  OverlapExtremes<T> overlaps;  ///< of E
  const Vector<T>& z;           ///< (pairs)
  T loss;                       ///< mean over classes, nats
  T accuracy;                   ///< probability of the right next token
  const Vector<T>& xi;          ///< (K)
  const Vector<T>& B;           ///< (K), or empty
};

template <class T>
class Observer final {
 public:
  Observer(const TrainingInstance<T>& instance, const Layout& layout, Vector<T> start_logits);

  /// Of all rungs that are integrated.
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_.names(); }
  void write(const SequenceClasses<T>& classes, const Layout& layout, const Snapshot<T>& at,
             std::span<T> row) const;

 private:
  /// What the columns are read from.
  struct Readings {
    using Scalar = T;
    const Snapshot<T>& at;
    std::vector<std::pair<T, T>> entropies;  ///< (K) of all tokens, and of distinct ones
    const Vector<T>& start_logits;
  };

  IndexedColumns<Readings> columns_;
  Vector<T> start_logits_;
};

/// h and gamma, of the rungs that sum the decoder up by h.
std::vector<ObservableInfo> decoder_observables();

}  // namespace popgrad::scan_snap
