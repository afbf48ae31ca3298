#pragma once
/// Instances with one token that all classes have, and the limit in which Theorem 4 speaks of them.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Hypothesis one_common{"one common token"};
inline constexpr Hypothesis classes_alike{"classes are alike"};

/// Knobs that make the instance, with the one that makes classes unlike.
std::vector<Knob> one_common_token_knobs();

struct OneCommonToken {
  TrainingInstance<double> training;
  double vocabulary = 0;        ///< M in the formulas
  Index commons = 0;            ///< how many tokens are common
  std::vector<Index> entries;   ///< of the common token, by class; empty unless all classes have it
  std::vector<double> squares;  ///< f_nc^2 at the start (K)
  Index members = 0;            ///< K_m of the largest query
  double unlike = 0;            ///< largest relative deviation of f_nc, K_m and w_n between classes

  /// What the closed forms contain of it, with the mean of f_nc^2.
  [[nodiscard]] CommonToken<double> token() const;
};

/// Of the user's instance or of the one that knobs and seed make.
OneCommonToken one_common_token(const Setting& setting);

/// What is to be known of a training; B_n is tracked from now on.
OneCommonToken described(TrainingInstance<double> training);

/// K, K_m, M, rates and f_c^2.
Record common_token_parameters(const OneCommonToken& instance);
/// one_common and classes_alike; is there a token that all classes have?
bool require_one_common_token(const OneCommonToken& instance, Examination& it);

/// t0 of the instance.
double transition_time_of(const OneCommonToken& instance);

/// B_n of class 0 and z of the common token on the reduced flow, over their closed forms.
struct InLimit {
  std::vector<Quantity> growth, logit;  ///< one a time
  OneCommonToken finest;                ///< the instance nearest to the limit
};
/// At times in units of t0, extrapolated along refined instances: every distinct token parted into
/// 2, 4, 8 alike, f_nc^2 smaller by that factor, M - 1 larger by its square, so that K f_c^2,
/// 1/(M f_c^2) and sum_l f_nl^4 fall by it, and eta_Z larger, so that 4 w K_m Gamma/C0 stays.
InLimit over_closed_forms(const OneCommonToken& instance, const std::vector<double>& times_in_t0);

}  // namespace popgrad::scan_snap::checks
