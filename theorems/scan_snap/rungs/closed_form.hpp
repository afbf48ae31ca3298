#pragma once
/// Rung closed-form: one common token, without integration (Theorem 4, corrected).
///
/// State: h, Gamma, B and z of the common token.
/// Cost O(1) a time.

#include "popgrad/rungs/observable.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

/// Throws InputError unless exactly one token is common, all classes have it with the same f, and
/// all queries hold equally many classes.
template <class T>
CommonToken<T> common_token(const TrainingInstance<T>& instance);

/// Of its columns.
std::vector<ObservableInfo> closed_form_observables();

template <class T>
AnyRung<T> closed_form_rung(const TrainingInstance<T>& instance);

}  // namespace popgrad::scan_snap
