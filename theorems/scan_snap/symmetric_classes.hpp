#pragma once
/// Classes of one query that are images of each other: the instance of scan-snap.fates-symmetric.

#include <vector>

#include "popgrad/scan_snap/instance.hpp"
#include "popgrad/scan_snap/layout.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

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
  /// z_c' of every common token on a rung, over eta_Z w.
  template <class T>
  [[nodiscard]] Vector<T> pulls(const auto& rung, const Vector<T>& x,
                                const T& attention_rate) const {
    Vector<T> rate(x.size());
    rung.rhs(x, rate, T(0));
    const auto k = static_cast<T>(training_.classes.classes());
    const T weight = training_.clock == Clock::consistent ? T(1) / k : T(1);
    const Vector<T> logit_rates = rung.logits_at(rate);
    return logit_rates(pairs_) / T(attention_rate * weight);
  }
  void require_hypotheses(Examination& it) const;

 private:
  TrainingInstance<double> training_;
  Layout layout_;
  std::vector<Index> pairs_;                 ///< of common tokens in z
  std::vector<std::vector<Index>> entries_;  ///< of common tokens, one a class that has it
};

}  // namespace popgrad::theorems::scan_snap
