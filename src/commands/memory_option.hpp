#pragma once

#include "commands/command_line.hpp"

namespace popgrad::cli {

/// --memory, which every command has.
void add_memory_option(Command& command);

}  // namespace popgrad::cli
