#pragma once
/// The instance that a check examines, as an instance file gives it: what `popgrad instance` writes.
///
/// A check hands it over once, where it reads the user's file or makes an instance from knobs and a
/// seed. Nobody asks in an examination, and handing over then costs nothing; where it is asked for,
/// the check ends there, before it measures.

#include <functional>
#include <string>

#include "popgrad/base/record.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad {

struct ExaminedInstance {
  Record parameters;      ///< under the names of the rung that the statement reads
  Record chosen = {};     ///< what else the check made of it: width of embeddings, size of a start
  std::string none = {};  ///< why no file can hold the instance; empty: `parameters` hold it
};

/// Throws what the check throws where it has no instance at these knobs, and std::logic_error if it
/// hands none over.
ExaminedInstance examined_instance(const Statement& statement, const Setting& setting);

/// For checks: `instance` is made only where it is asked for.
void hand_over(const std::function<ExaminedInstance()>& instance);
/// The same of an instance that no file can hold, and why.
void hand_over_none(const std::string& why);

/// The user's instance as `read` reads it, else what `drawn` makes, handed over by the `record_of`
/// of its type.
template <class Read, class Drawn>
auto examined(const Setting& setting, Read read, Drawn drawn) {
  auto instance = setting.instance != nullptr ? read(*setting.instance, setting.seed) : drawn();
  hand_over([&] { return ExaminedInstance{record_of(instance), {}}; });
  return instance;
}

}  // namespace popgrad
