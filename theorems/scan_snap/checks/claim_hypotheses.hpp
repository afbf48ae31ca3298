#pragma once
/// Hypotheses of the paper's theorems, evaluated on the instances that errata are shown on.

#include "popgrad/evidence/examination.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// Two classes of one query, K = 2, M = 1e5: class 0 has tokens 0 (common) and 1, class 1 has 0, 2
/// and 3. Far inside Assumption 2.
SequenceClasses<double> small_overlap();

/// Three classes of one query, each with one token of its own and a fifth of its weight on token 0,
/// M = 1e5: inside Assumption 2.
SequenceClasses<double> one_shared_token();

/// Assumption 2 at z = 0, M >> K^2 read as what its other parts imply:
///   M > 36 K^2,  |lambda_1(E)| < 1/K,  |lambda_i(E)| >= 6/sqrt(M).
/// The eigenvalues of E (K), and M.
void require_assumption_2(const Vector<double>& eigenvalues, double vocabulary, Examination& it);
void require_assumption_2(const SequenceClasses<double>& classes, Examination& it);
/// M > 100 and M^-0.99 < eta_Y < 1, where the paper has >> and <<.
void require_rates(double vocabulary, double decoder_rate, Examination& it);
/// P(n) = 1/K.
void require_uniform_classes(const SequenceClasses<double>& classes, Examination& it);

}  // namespace popgrad::scan_snap::checks
