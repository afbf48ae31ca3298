#include "commands/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "commands/distribute.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/manual.hpp"
#include "commands/options.hpp"
#include "commands/statement_choice.hpp"
#include "commands/theory_word.hpp"
#include "io/input_files.hpp"
#include "io/made_with.hpp"
#include "learning/entry_error.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/interruption.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/base/stop.hpp"

namespace popgrad::cli {

Caller caller_of(const Invocation& call) { return {call.program, call.file}; }

std::string command_line(const Invocation& call) {
  if (call.words.empty()) return call.program;
  std::string line = caller_of(call).line(shell_word(call.words.front()));
  for (auto word = call.words.begin() + 1; word != call.words.end(); ++word)
    line += " " + shell_word(*word);
  return line;
}

namespace {

// Throws InputError for what no document could quote: the line that made it stands in each.
void check_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    try {
      static_cast<void>(json_text(word));
    } catch (const std::exception&) {
      std::string shown;
      for (const char c : word) {
        const auto byte = static_cast<unsigned char>(c);
        shown += byte < 0x80 ? std::string(1, c) : fmt::format("\\x{:02X}", byte);
      }
      throw InputError(fmt::format(
          "popgrad: {} is not UTF-8 text; give such a file another name, or a link to it", shown));
    }
  }
}

}  // namespace

namespace {

struct CommandEntry {
  const char* name;
  Action (*add)(CommandLine& app, const Invocation& call);
};

// In the order of the help.
constexpr std::array entries{
    CommandEntry{"list", add_list},           CommandEntry{"run", add_run},
    CommandEntry{"compare", add_compare},     CommandEntry{"verify", add_verify},
    CommandEntry{"falsify", add_falsify},     CommandEntry{"instance", add_instance},
    CommandEntry{"frontier", add_frontier},   CommandEntry{"error-ratios", add_error_ratios},
    CommandEntry{"figure", add_figure},       CommandEntry{"ladder", add_ladder},
    CommandEntry{"report", add_report},       CommandEntry{"sweep", add_sweep},
    CommandEntry{"merge", add_merge},         CommandEntry{"landscape", add_landscape},
    CommandEntry{"equations", add_equations}, CommandEntry{"new", add_new},
    CommandEntry{"check", add_check},         CommandEntry{"export", add_export},
};

}  // namespace

std::set<std::string> option_names(const Invocation& call) {
  CommandLine app{"", "popgrad"};
  std::set<std::string> names;
  for (const CommandEntry& entry : entries) {
    if (entry.name == std::string_view("landscape") && !has_landscapes(call.theories)) continue;
    entry.add(app, call);
  }
  for (const auto& command : app.subcommands()) {
    for (const std::string& name : command->long_names()) {
      if (command->find_option("--" + name)) names.insert(name);  // not where a model may have it
    }
  }
  return names;
}

namespace {

// Those that a program with these theories has; only the first word's, if it names one that needs no others.
std::vector<CommandEntry> commands_of(const Invocation& call, bool only_named) {
  std::vector<CommandEntry> offered;
  for (const CommandEntry& entry : entries) {
    if (entry.name == std::string_view("landscape") && !has_landscapes(call.theories)) continue;
    const bool describes_all = entry.name == std::string_view("list");
    if (only_named && !call.words.empty() && call.words[0] == entry.name && !describes_all) {
      return {entry};
    }
    offered.push_back(entry);
  }
  return offered;
}

int carry_out(const Invocation& call, const std::vector<CommandEntry>& offered) {
  CommandLine app{"popgrad checks theorems about how transformers train", "popgrad"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.column_width(34);
  app.footer(exit_status_text());
  app.example("verify " + example_statements(call.theories));
  std::map<std::string, Action> actions;
  for (const CommandEntry& entry : offered) actions[entry.name] = entry.add(app, call);
  for (const auto& command : app.subcommands()) add_memory_option(*command);
  app.add_answer("--man", "print the manual page (roff)", [&app] { return manual_page(app); });
  app.add_answer("--completions", "print completions for bash",
                 [&app, &call] { return bash_completions(app, call.theories); });
  try {
    app.parse(call.words);
  } catch (const Enquiry& enquiry) {
    return app.answer(enquiry);
  } catch (const UsageError&) {
    if (offered.size() > 1) throw;
    return carry_out(call, commands_of(call, false));  // it names the command that has the option
  }
  if (host().own_process) bound_memory();
  return actions.at(app.chosen())();
}

}  // namespace

int carry_out(const Invocation& call) {
  const Host& around = call.host != nullptr ? *call.host : host();
  const Bound<Host> bound(around);
  const Bound<GivenFiles> files(around.files);
  check_words(call.words);
  begin_reading();
  // An interruption is of one command.
  const struct Withdrawal {
    ~Withdrawal() { withdraw_interruption(); }
  } withdrawal;
  set_memory_limit({});
  const TheoriesOfWords chosen(call);
  try {
    return carry_out(chosen.call(), commands_of(chosen.call(), true));
  } catch (const learning::EntryError& error) {  // of a rung that is made when it runs
    throw chosen.placed(error);
  } catch (const UsageError& error) {
    const bool named = !call.words.empty() && std::ranges::any_of(entries, [&](const auto& entry) {
      return call.words[0] == entry.name;
    });
    // InputError writes control characters that were typed on one line.
    throw UsageError(InputError(fmt::format("popgrad: {}; see 'popgrad {}--help'", error.what(),
                                            named ? call.words[0] + " " : ""))
                         .what());
  }
}

namespace {

// Whether the command divides its work among the processes of an mpirun.
bool is_shared(const Invocation& call) {
  return !call.words.empty() && (call.words[0] == "sweep" || call.words[0] == "run");
}

// A process other than the first: it computes what that one gives out, and the first says what there is
// to say.
int help(const Invocation& call) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  if (!is_shared(call) || !nowhere) return success;
  Host silent = host();
  silent.output = silent.errors = nowhere.get();
  Invocation quiet = call;
  quiet.host = &silent;
  try {
    static_cast<void>(carry_out(quiet));
  } catch (const std::exception&) {
    // Where the first fails in the same way, it asks for no cell.
    const std::exception_ptr failure = std::current_exception();
    serve([&](std::size_t, const Report&) -> std::optional<std::string> {
      std::rethrow_exception(failure);
    });
  }
  return success;
}

// Carries the command out, and says in one line what prevents it.
int status_of_call(const Invocation& call) {
  try {
    return carry_out(call);
  } catch (const UsageError& error) {
    fmt::print(standard_error(), "{}\n", error.what());
    return bad_input;
  } catch (const std::invalid_argument& error) {
    fmt::print(standard_error(), "{}\n", words_of(error));
    return bad_input;
  } catch (const Stopped&) {
    fmt::print(standard_error(), "popgrad: interrupted before there was anything to keep\n");
  } catch (const std::bad_alloc&) {
    fmt::print(standard_error(),
               "popgrad: this needs more memory than is allowed, and {}: lower the sizes\n",
               memory_allowed());
    return bad_input;
  } catch (const std::exception& error) {
    // fmt::print throws where standard output cannot be written, which `run` says.
    const bool of_output = std::ferror(standard_output()) != 0;
    if (!of_output) fmt::print(standard_error(), "popgrad: {}\n", words_of(error));
  }
  return numerical_failure;
}

}  // namespace

int run(const Invocation& call) {
  const Bound<Host> bound(call.host != nullptr ? *call.host : host());
  // A reader that closes the pipe ends us quietly, as it does any filter.
  std::signal(SIGPIPE, SIG_DFL);
  watch_for_signals();
  const Processes processes;
  if (process_rank() > 0) return help(call);
  if (process_count() > 1 && !is_shared(call)) {
    fmt::print(standard_error(),
               "popgrad: one of {} processes works; only 'run' and 'sweep' are shared\n",
               process_count());
  }
  const int status = status_of_call(call);
  const bool flushed = std::fflush(standard_output()) == 0;
  if (flushed && std::ferror(standard_output()) == 0) return status;
  fmt::print(
      standard_error(),
      "popgrad: standard output cannot be written, what it got is incomplete: give it a place "
      "with free space\n");
  return combined(status, numerical_failure);
}

}  // namespace popgrad::cli
