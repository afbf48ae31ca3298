#pragma once
/// Classes of one query that are images of each other: the instance of scan-snap.fates-symmetric.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Hypothesis one_query{"one query, its classes equally likely"};
inline constexpr Hypothesis commons_alike{
    "P(l|n) of a common token is the same in all classes of the query"};
inline constexpr Hypothesis distinct_alike{"classes have distinct tokens of the same weights"};

std::vector<Knob> symmetric_classes_knobs();

class SymmetricClasses {
 public:
  /// The user's, or those that knobs and seed make.
  explicit SymmetricClasses(const Setting& setting);

  [[nodiscard]] const TrainingInstance<double>& training() const { return training_; }
  [[nodiscard]] Index commons() const { return static_cast<Index>(pairs_.size()); }
  // For double and for Real.
  /// f_c^2 of every common token, mean over classes, from f (nnz).
  template <class T>
  [[nodiscard]] Vector<T> squares(const Vector<T>& f) const;
  template <class T>
  [[nodiscard]] Vector<T> squares_at_start() const;
  /// z_c' of every common token on a rung.
  template <class T>
  [[nodiscard]] Vector<T> pulls(const auto& rung, const Vector<T>& x) const {
    Vector<T> rate(x.size());
    rung.rhs(x, rate, T(0));
    return rung.logits_at(rate)(pairs_);
  }
  /// All three.
  void require_hypotheses(Examination& it) const;

 private:
  TrainingInstance<double> training_;
  Layout layout_;
  std::vector<Index> pairs_;                 ///< of common tokens in z
  std::vector<std::vector<Index>> entries_;  ///< of common tokens, one a class that has it
};

}  // namespace popgrad::scan_snap::checks
