#pragma once
/// The user's instance, for statements that begin at Y = Z = 0 or judge states of their own.

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/instance_record.hpp"

namespace popgrad::scan_snap::checks {

/// Throws InputError if the instance gives Y or Z, which the statement would not read.
inline TrainingInstance<double> given_training(const Setting& setting) {
  for (const char* name : {"Y", "Z"}) {
    if (!setting.instance->has(name)) continue;
    reject("scan-snap", name, "of the instance file",
           "is not read by this statement, which does not depend on the start or has one of "
           "its own; leave it out");
  }
  return training_instance<double>(*setting.instance, setting.seed);
}

/// That instance, else what `drawn` makes, handed over.
template <class Drawn>
TrainingInstance<double> examined_training(const Setting& setting, Drawn drawn) {
  return examined(
      setting, [&](const Parameters&, std::uint64_t) { return given_training(setting); }, drawn);
}

}  // namespace popgrad::scan_snap::checks
