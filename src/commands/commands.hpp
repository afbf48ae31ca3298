#pragma once
/// The commands, one source each. Each adds its subcommand and options to the parser; the function
/// that is returned runs after parsing and gives the exit status.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "commands/command_line.hpp"
#include "popgrad/evidence/theory.hpp"
#include "presenting/reproduction.hpp"

namespace popgrad::cli {

struct Host;
struct Results;

/// What the program was called with, without its own name, and what it knows of.
struct Invocation {
  std::vector<std::string> words;
  Theories theories;
  std::string program = "popgrad";  ///< its own name, as in the lines that repeat an output
  const Host* host = nullptr;  ///< what stands around it; null: that of the caller's own command
  Results* results = nullptr;  ///< what a program gets as values; null: only files
  /// Theory file that the statements of a command are of, which is no longer among the words; or empty.
  std::string file = {};
};
using Action = std::function<int()>;

Action add_instance(CommandLine& app, const Invocation& call);
Action add_list(CommandLine& app, const Invocation& call);
Action add_run(CommandLine& app, const Invocation& call);
Action add_compare(CommandLine& app, const Invocation& call);
Action add_verify(CommandLine& app, const Invocation& call);
Action add_falsify(CommandLine& app, const Invocation& call);
Action add_frontier(CommandLine& app, const Invocation& call);
Action add_error_ratios(CommandLine& app, const Invocation& call);
Action add_figure(CommandLine& app, const Invocation& call);
Action add_ladder(CommandLine& app, const Invocation& call);
Action add_report(CommandLine& app, const Invocation& call);
Action add_sweep(CommandLine& app, const Invocation& call);
Action add_merge(CommandLine& app, const Invocation& call);
/// If a theory offers one.
Action add_landscape(CommandLine& app, const Invocation& call);
bool has_landscapes(Theories theories);
Action add_equations(CommandLine& app, const Invocation& call);
Action add_new(CommandLine& app, const Invocation& call);
Action add_check(CommandLine& app, const Invocation& call);
Action add_export(CommandLine& app, const Invocation& call);

/// Long names of the options of all commands, without dashes and without those of parameters.
std::set<std::string> option_names(const Invocation& call);

/// Of lines that repeat what a command has found.
Caller caller_of(const Invocation& call);

/// `PROGRAM WORD ...`, quoted for a shell.
std::string command_line(const Invocation& call);

/// Parses and answers: the exit status. Throws UsageError with its whole line, InputError (a
/// std::invalid_argument) for bad input, and what a computation throws.
int carry_out(const Invocation& call);

/// The same for a program: errors become lines on standard error and exit statuses.
int run(const Invocation& call);

}  // namespace popgrad::cli
