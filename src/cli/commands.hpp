#pragma once
/// The commands, one source each. Each adds its subcommand and options to the parser; the function
/// that is returned runs after parsing and gives the exit status.

#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace popgrad::cli {

/// The words the program was called with, without its own name.
using Words = std::vector<std::string>;
using Action = std::function<int()>;

Action add_list(CommandLine& app);
Action add_run(CommandLine& app, const Words& words);
Action add_compare(CommandLine& app, const Words& words);
Action add_verify(CommandLine& app, const Words& words);
Action add_falsify(CommandLine& app, const Words& words);
Action add_frontier(CommandLine& app, const Words& words);
Action add_figure(CommandLine& app, const Words& words);
Action add_ladder(CommandLine& app, const Words& words);
Action add_report(CommandLine& app, const Words& words);
Action add_sweep(CommandLine& app, const Words& words);
Action add_landscape(CommandLine& app, const Words& words);
Action add_equations(CommandLine& app, const Words& words);

/// `popgrad WORD ...`, quoted for a shell.
std::string command_line(const Words& words);

/// What `main` runs: parses and answers, mapping errors to exit statuses.
int run(const Words& words);

}  // namespace popgrad::cli
