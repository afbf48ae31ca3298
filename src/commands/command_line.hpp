#pragma once
/// The parser of the command line: commands, their options, help and errors.
///
/// CLI11 is behind it, only in command_line.cpp: its headers take longer to compile than a command
/// does.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/rungs/parameters.hpp"

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

// What an option takes. No option for a number can be added without such a declaration, which the
// parser, --config, --over, the help and 'list --options' read. Targets that are not optional are set to
// the default.

/// Kept as text where the target is one, so that it is exact for every scalar.
struct Number {
  Range range;
  std::string standard = {};            ///< default; empty: none, or one that the help describes
  std::string unit = {};                ///< empty: a pure number
  std::vector<std::string> words = {};  ///< taken in place of a number
  bool finer_with_digits = false;       ///< --digits above 16 takes less than `range.low`
};
/// `1e4` is one. Both ends have to fit the target.
struct Whole {
  Range range;
  std::string standard = {};
  std::string unit = {};
};
/// Two numbers, LOW,HIGH or X,Y.
struct Pair {
  Range range;
};
struct Choice {
  std::vector<std::string> choices;
  std::string standard = {};
};

/// Every seed is 64 bits.
inline constexpr Range any_seed{0, 0x1p64, false, true};
inline constexpr Range any_jobs = within(0, 1024);
/// Of seconds.
inline constexpr Range any_budget = within(1e-3, 1e9);

/// An option as declared, for the help and for other programs.
struct OptionText {
  std::string names;  ///< "-o,--output", or that of a positional
  std::string value;  ///< "TEXT"; empty: a flag
  std::string help;
  bool positional = false;
  bool required = false;
  bool repeatable = false;
  /// kind: number, count, numbers, pair, choice, switch, text, list (texts by commas), or what
  /// `Option::kind` says; rungs: kinds of rungs that read it.
  ParameterInfo declared;
};
struct CommandText {
  std::string name, help, example, footer;
  std::vector<OptionText>
      options;                    ///< as in the help: the first ones first, none that it leaves out
  bool takes_parameters = false;  ///< those of a model too
};
struct ProgramText {
  std::string help, footer;
  std::vector<CommandText> commands;
};

/// What a command keeps of an option.
struct DeclaredOption {
  ParameterInfo info;
  bool finer_with_digits = false;
};

/// An option, flag or positional of a command; a handle, valid as long as the command is.
class Option {
 public:
  Option(CLI::Option* option, DeclaredOption* declared) : option_(option), declared_(declared) {}

  Option required();
  Option excludes(const std::string& name);
  /// Whether values may follow without the name of the option before each.
  Option allow_extra_args(bool allowed);
  /// The heading of the help under which it stands.
  Option group(const std::string& name);
  /// "input file", "output file", "folder": what its text means.
  Option kind(const std::string& what);
  /// Kinds of rungs that read it, parted by spaces.
  Option read_by(const std::string& kinds);

  [[nodiscard]] const ParameterInfo& declared() const { return declared_->info; }
  /// What is wrong with a value, "must be > 0"; nothing if it is taken.
  [[nodiscard]] std::optional<std::string> refusal_of(const std::string& value) const;

  /// How many values were given.
  std::size_t count() const;
  /// What was given, as std::string, int or std::int64_t. Throws UsageError.
  template <class T>
  T as() const;
  bool repeatable() const;
  /// As if given on the command line, where `refusal_of` has nothing against it; taken by `take_added`.
  void add(const std::string& value);
  void take_added();

 private:
  CLI::Option* option_;
  DeclaredOption* declared_;  // in the command
};

/// A subcommand. The targets of its options have to outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App* app);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Without a target, for what is only asked by `Option::as`.
  Option add_option(const std::string& names, const std::string& help);
  Option add_option(const std::string& names, std::string& target, const std::string& help);
  Option add_option(const std::string& names, std::filesystem::path& target,
                    const std::string& help);
  /// A text each time that it is given.
  Option add_option(const std::string& names, std::vector<std::string>& target,
                    const std::string& help);
  /// Texts by commas.
  Option add_list(const std::string& names, std::vector<std::string>& target,
                  const std::string& help);
  Option add_option(const std::string& names, std::string& target, const Choice& choice,
                    const std::string& help);
  Option add_option(const std::string& names, double& target, const Number& number,
                    const std::string& help);
  Option add_option(const std::string& names, std::string& target, const Number& number,
                    const std::string& help);
  /// Numbers by commas.
  Option add_option(const std::string& names, std::vector<std::string>& target,
                    const Number& number, const std::string& help);
  Option add_option(const std::string& names, std::string& target, const Pair& pair,
                    const std::string& help);
  /// A pair each time that it is given.
  Option add_option(const std::string& names, std::vector<std::string>& target, const Pair& pair,
                    const std::string& help);
  Option add_option(const std::string& names, int& target, const Whole& whole,
                    const std::string& help);
  Option add_option(const std::string& names, std::uint64_t& target, const Whole& whole,
                    const std::string& help);
  Option add_option(const std::string& names, std::optional<std::int64_t>& target,
                    const Whole& whole, const std::string& help);
  Option add_flag(const std::string& names, bool& target, const std::string& help);
  /// A parameter of a model, as --NAME VALUE. `take` gets a value that the declaration allows.
  Option add_parameter(const ParameterInfo& declared,
                       const std::function<void(const std::string&)>& take);
  /// A switch of a model, as --NAME and --no-NAME.
  Option add_switch(const ParameterInfo& declared, const std::function<void(bool)>& take);
  /// Options that words before or after them decide on, such as those of the model that is named. The
  /// parser takes all that are `possible`; then `add` adds those that there are, and they take what was
  /// given. In the help they stand where this was called.
  void add_dependent(const std::vector<ParameterInfo>& possible, std::function<void(Command&)> add);

  /// The text under the help.
  void footer(const std::string& text);
  /// Words after the program's name that do something useful, for the head of the help; and the options
  /// that the help shows first, by one of their names.
  void introduce(const std::string& example, const std::vector<std::string>& first_options = {});

  std::string name() const;
  /// Whether it is among the words parsed.
  bool parsed() const;
  /// Throws std::runtime_error if there is none.
  Option get_option(const std::string& name) const;
  std::optional<Option> find_option(const std::string& name) const;
  /// Long names of all options, without dashes.
  std::vector<std::string> long_names() const;
  /// That parameters of a model are options too, where it is named among the words.
  void takes_parameters() { takes_parameters_ = true; }
  CommandText describe() const;
  /// Adds the dependent options; without `take` only for the help. Throws UsageError for one that was given
  /// and is not among them.
  void add_dependents(bool take);

 private:
  struct Dependents {
    std::size_t place = 0;
    std::vector<CLI::Option*> possible;
    std::function<void(Command&)> add;
  };
  struct Kept {
    std::unique_ptr<DeclaredOption> declared;
    std::size_t place = 0;  // in the help
  };
  Option declare(CLI::Option* option, DeclaredOption declared);
  std::size_t place_of(const CLI::Option* option) const;
  std::ptrdiff_t place_in_help(const CLI::Option& option) const;
  void give(const std::string& name, const std::vector<std::string>& values);

  CLI::App* app_;
  std::string example_;
  std::vector<const CLI::Option*> first_options_;
  bool takes_parameters_ = false;
  std::vector<Dependents> dependents_;
  std::size_t next_place_ = 1;
  std::map<const CLI::Option*, Kept> declared_;
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
  /// Words after the program's name: for the head of the help, and for the error where no command is
  /// given.
  void example(const std::string& words);
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
  void add_dependents(bool take);

  std::unique_ptr<CLI::App> app_;
  std::string example_;
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace popgrad::cli
