#pragma once
/// The commands, one source each. Each adds its subcommand and options to the parser; the function
/// that is returned runs after parsing and gives the exit status.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace popgrad::cli {

/// The words the program was called with, without its own name.
using Words = std::vector<std::string>;
using Action = std::function<int()>;

Action add_list(CLI::App& app);
Action add_run(CLI::App& app, const Words& words);
Action add_compare(CLI::App& app, const Words& words);
Action add_verify(CLI::App& app, const Words& words);
Action add_falsify(CLI::App& app, const Words& words);
Action add_frontier(CLI::App& app, const Words& words);
Action add_figure(CLI::App& app, const Words& words);
Action add_ladder(CLI::App& app, const Words& words);
Action add_report(CLI::App& app, const Words& words);
Action add_sweep(CLI::App& app, const Words& words);
Action add_landscape(CLI::App& app, const Words& words);
Action add_equations(CLI::App& app, const Words& words);

/// `popgrad WORD ...`, quoted for a shell.
std::string command_line(const Words& words);

/// What `main` runs: parses and answers, mapping errors to exit statuses.
int run(const Words& words);

}  // namespace popgrad::cli
