#pragma once
/// Starts that are given in an instance file: whole matrices under the names of the theory, and
/// components of a reduced state under their own names.
///
/// Matrices (`A`, `B`, ...) belong to the instance, so all that depends on the start is made
/// from them: invariants, shared columns, measured noise. Components (`"state": {"h": 0.2}`)
/// replace numbers of `initial` after the rung was made, for states that no matrix of the theory
/// describes.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// The key of instance files that holds components by name.
inline constexpr const char* state_key = "state";

/// Components that are given otherwise: names that begin with `prefix` belong to the key `key`.
struct StartKey {
  std::string_view prefix, key;
};

/// The matrix `block`, rows x columns; empty if it is not given. Throws InputError naming the
/// block, the shape given, the shape needed and what the declaration says of it.
template <class T>
Matrix<T> given_block(const Parameters& p, const ListParameter& block, Index rows, Index columns);

/// Replaces the components of `rung.initial` that the object `state` names: a number for a name of
/// `state_names`, or a flat list for all names that begin with the key and an underscore, in their
/// order. The others keep their start; nothing happens without `state`. Throws InputError for an
/// unknown name, a list of the wrong length, a component that a key of `keys` gives, and for closed
/// forms, which have no start to replace.
template <class T>
void set_state(AnyRung<T>& rung, const Parameters& p, std::string_view where,
               std::span<const StartKey> keys);

/// The same rung of a model after set_state. `where` is the rung in errors.
Rung with_given_state(Rung rung, std::string where, std::vector<StartKey> keys = {});

}  // namespace popgrad
