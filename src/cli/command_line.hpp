#pragma once
/// The parser of the command line: commands, their options, help and errors.
///
/// CLI11 is behind it, in command_line.cpp alone: its headers take longer to compile than a command
/// does.

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace popgrad::cli {

/// Words that the parser does not take. The message may have several lines.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The words ask for --help or --version; see `CommandLine::answer`.
class Enquiry : public std::exception {
 public:
  Enquiry() = default;
  explicit Enquiry(std::string version) : version_(std::move(version)) {}
  /// Empty if help is asked for.
  const std::string& version() const { return version_; }

 private:
  std::string version_;
};

/// What the help says, for other forms of it. Options that it leaves out are left out here.
struct OptionText {
  std::string names;  ///< "-o,--output", or that of a positional
  std::string value;  ///< "TEXT"; empty: a flag
  std::string help;
  bool positional = false;
};
struct CommandText {
  std::string name, help, footer;
  std::vector<OptionText> options;
};
struct ProgramText {
  std::string help, footer;
  std::vector<CommandText> commands;
};

/// An option, flag or positional of a command; a handle, valid as long as the command is.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  /// A word is split here into several values.
  Option delimiter(char mark);
  Option excludes(const std::string& name);
  /// Whether values may follow without the name of the option before each.
  Option allow_extra_args(bool allowed);
  /// The heading of the help under which it stands.
  Option group(const std::string& name);

  /// Both ends included.
  Option between(int low, int high);
  Option between(double low, double high);
  Option not_negative();
  Option positive();

  /// How many values were given.
  std::size_t count() const;
  /// What was given, as std::string, int or std::int64_t. Throws UsageError.
  template <class T>
  T as() const;
  /// As if given on the command line. Throws UsageError if the option does not take the value.
  void give(const std::string& value);

 private:
  CLI::Option* option_;
};

/// A subcommand. The targets of its options have to outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Without a target, for what is only asked by `Option::as`.
  Option add_option(const std::string& names, const std::string& help);
  Option add_option(const std::string& names, std::string& target, const std::string& help);
  Option add_option(const std::string& names, std::filesystem::path& target,
                    const std::string& help);
  Option add_option(const std::string& names, std::vector<std::string>& target,
                    const std::string& help);
  Option add_option(const std::string& names, int& target, const std::string& help);
  Option add_option(const std::string& names, std::uint64_t& target, const std::string& help);
  Option add_option(const std::string& names, std::optional<std::int64_t>& target,
                    const std::string& help);
  Option add_option(const std::string& names, double& target, const std::string& help);
  Option add_flag(const std::string& names, bool& target, const std::string& help);
  Option add_option_function(const std::string& names,
                             const std::function<void(const std::string&)>& take,
                             const std::string& help);
  /// `take` gets how often the flag was given; a negation (`!--no-x`) counts as -1.
  Option add_flag_function(const std::string& names, const std::function<void(std::int64_t)>& take,
                           const std::string& help);
  void remove_option(const std::string& name);

  /// The text under the help.
  void footer(const std::string& text);

  std::string name() const;
  /// Whether it is among the words parsed.
  bool parsed() const;
  /// Throws std::runtime_error if there is none.
  Option get_option(const std::string& name) const;
  std::optional<Option> find_option(const std::string& name) const;
  /// Long names of all options, without dashes.
  std::vector<std::string> long_names() const;

 private:
  CLI::App* app_;
};

/// The program: a choice of commands.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The command belongs to this object.
  Command* add_subcommand(const std::string& name, const std::string& help);
  void require_subcommand(int count);
  void set_version_flag(const std::string& name, const std::string& version);
  /// A flag that is answered with a text, which is printed in place of a command's output.
  void add_answer(const std::string& name, const std::string& help,
                  const std::function<std::string()>& text);
  ProgramText describe() const;
  /// The text under the help.
  void footer(const std::string& text);
  /// Of the names of options in the help.
  void column_width(std::size_t width);

  /// In the order in which they were added.
  const std::vector<std::unique_ptr<Command>>& subcommands() const { return commands_; }

  /// Fills the targets of the options. Throws UsageError or Enquiry.
  void parse(const std::vector<std::string>& words);
  /// The command that was parsed.
  std::string chosen() const;
  /// Prints the help or the version; the exit status.
  int answer(const Enquiry& enquiry) const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace popgrad::cli
