#pragma once
/// Where tests find what they read and run. Known to one source alone, so that the objects of the others are
/// the same wherever a clone lies, and its compiler cache serves the next one.

#include <string>

namespace places {

/// Top folder of the sources.
std::string sources();
/// The program.
std::string popgrad();

}  // namespace places
