#pragma once
/// The instance of scan-snap.fates: classes with one common token, and what a state says of them.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Hypothesis single_common{"a single common token"};
inline constexpr Hypothesis everywhere{"every class has it"};

std::vector<Knob> fates_knobs();

class FatesInstance {
 public:
  /// The user's, or the one that knobs and seed make.
  explicit FatesInstance(const Setting& setting);
  explicit FatesInstance(TrainingInstance<double> training);

  [[nodiscard]] const TrainingInstance<double>& training() const { return training_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] double vocabulary() const { return static_cast<double>(training_.classes.tokens); }
  [[nodiscard]] Index commons() const { return commons_; }
  /// Entries of distinct tokens.
  [[nodiscard]] const std::vector<Index>& distinct() const { return distinct_; }
  /// Of distinct tokens and of queries.
  [[nodiscard]] Index numbers() const {
    return static_cast<Index>(distinct_.size()) + layout_.queries();
  }
  // For double and for Real.
  template <class T>
  [[nodiscard]] Vector<T> start() const;  ///< f (nnz)
  /// f_nc of the first common token by class, from f (nnz); 0 where a class lacks it.
  template <class T>
  [[nodiscard]] Vector<T> common_parts(const Vector<T>& f) const;
  /// z_l'/f_nl^2 of every distinct token, then z_c' of every query, over eta_Z w gamma.
  template <class T>
  [[nodiscard]] Vector<T> measured(const Vector<T>& logit_rates, const Vector<T>& f,
                                   const T& gamma) const;
  /// The same numbers where distinct tokens gain and the common one loses so much by class (K).
  template <class T>
  [[nodiscard]] Vector<T> numbers_by(const Vector<T>& gains, const Vector<T>& losses) const;
  /// What is measured of a rung at a state.
  template <class T>
  [[nodiscard]] Vector<T> measured(const auto& rung, const Vector<T>& x, const T& gamma) const {
    Vector<T> rate(x.size());
    rung.rhs(x, rate, T(0));
    return measured<T>(rung.logits_at(rate), rung.features_at(x), gamma);
  }
  [[nodiscard]] Record parameters() const;
  /// single_common, everywhere and equally_likely.
  void require_hypotheses(Examination& it) const;

 private:
  TrainingInstance<double> training_;
  Layout layout_;
  Index commons_ = 0;  ///< how many tokens are common
  std::vector<Index> distinct_, common_;
};

}  // namespace popgrad::scan_snap::checks
