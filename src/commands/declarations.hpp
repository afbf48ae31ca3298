#pragma once
/// All declarations of options and parameters, for other programs.

#include <string>

#include "commands/command_line.hpp"
#include "popgrad/evidence/theory.hpp"

namespace popgrad::cli {

/// Commands with their options, models with their rungs and parameters: see options.schema.json.
std::string declarations_json(const CommandLine& app, Theories theories);

}  // namespace popgrad::cli
