#pragma once
/// The manual page and the completions of a shell, from the same texts as --help.

#include <string>

#include "commands/command_line.hpp"
#include "popgrad/evidence/theory.hpp"

namespace popgrad::cli {

/// For man(1), in roff: every command with its options.
std::string manual_page(const CommandLine& app);

/// For bash, to be sourced: commands, their options, models, rungs, parameters, statements, figures.
std::string bash_completions(const CommandLine& app, Theories theories);

}  // namespace popgrad::cli
