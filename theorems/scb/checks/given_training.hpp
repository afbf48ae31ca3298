#pragma once
/// The user's instance, for statements whose attention begins at 1/T or at states of their own.

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance_record.hpp"

namespace popgrad::scb::checks {

/// Throws InputError if the instance gives A, which the statement would not read.
inline Training<double> given_training(const Setting& setting) {
  if (setting.instance->has("A")) {
    reject("scb", "A", "of the instance file",
           "is not read by this statement, which does not depend on the start of attention or "
           "has one of its own; leave it out");
  }
  return scb::training<double>(*setting.instance, setting.seed);
}

/// That instance, else what `drawn` makes, handed over.
template <class Drawn>
Training<double> examined_training(const Setting& setting, Drawn drawn) {
  return examined(
      setting, [&](const Parameters&, std::uint64_t) { return given_training(setting); }, drawn);
}

}  // namespace popgrad::scb::checks
