#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>

#include "cli/host.hpp"
#include "popgrad/error.hpp"

namespace popgrad::cli {
namespace {

// `10000` for `1e4`; what is no whole number is told as such. strtoull takes -1 for the largest
// number, and what is too large as well.
template <class Whole>
CLI::Option* whole_number(CLI::Option* option) {
  const auto spelled_out = [](std::string& text) -> std::string {
    Whole value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end) return {};
    double number = 0;
    const auto [last, failure] = std::from_chars(text.data(), end, number);
    // Beyond 2^53 a double does not tell neighbouring integers apart.
    constexpr double most = 9007199254740992.0;
    const bool fits =
        number >= std::max(-most, static_cast<double>(std::numeric_limits<Whole>::lowest())) &&
        number <= std::min(most, static_cast<double>(std::numeric_limits<Whole>::max()));
    if (failure == std::errc() && last == end && fits && std::trunc(number) == number) {
      text = std::to_string(static_cast<Whole>(number));
      return {};
    }
    return fmt::format("{} must be a whole number from {} to {}, such as 100 or 1e4", text,
                       std::numeric_limits<Whole>::lowest(), std::numeric_limits<Whole>::max());
  };
  return option->transform(CLI::Validator(spelled_out, ""));
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// The command that the words name; nullptr if none.
CLI::App* command_in(CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (CLI::App* command : app.get_subcommands({})) {
      if (command->get_name() == word) return command;
    }
  }
  return nullptr;
}

// `--flag true` as `--flag=true`, which CLI11 takes. It takes the word that follows `--option=` for its
// value, hence the refusal.
std::vector<std::string> with_values(CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* const command = command_in(app, words);
  std::vector<std::string> made;
  for (const std::string& word : words) {
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw UsageError(fmt::format("{} needs a value behind it", word));
    }
    const CLI::Option* before = nullptr;
    if (command != nullptr && !made.empty() && made.back().starts_with("--")) {
      before = command->get_option_no_throw(made.back());
    }
    if (before != nullptr && is_flag(*before) && (word == "true" || word == "false")) {
      made.back() += "=" + word;
    } else {
      made.push_back(word);
    }
  }
  return made;
}

std::string display_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : option.get_name();
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What is wrong with the words that were left over.
std::string unexpected(const CLI::App& command, const std::vector<std::string>& words,
                       const std::string& word) {
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{} is no option of '{}'{}", name, command.get_name(),
                       suggestion(name, names_of_options(command)));
  }
  std::string message = fmt::format("'{}' is one word too many for '{}'", word, command.get_name());
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.begin() || at == words.end()) return message;
  const CLI::Option* before = command.get_option_no_throw(*std::prev(at));
  if (before != nullptr && is_flag(*before)) {
    message += fmt::format("; {} takes no value but true or false", *std::prev(at));
  }
  return message;
}

// What an option lacks, has too often, or cannot take. CLI11's exceptions have texts only, which begin
// or end with the option's name.
std::string wrong_value(const CLI::App& command, const std::string& text) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool meant = text.starts_with(name + ":") || text.starts_with(name + " ") ||
                       text.find(": " + name + " =") != std::string::npos;
    if (!meant) continue;
    if (option->count() == 0)
      return fmt::format("{} needs a value: {}", name, option->get_description());
    const std::string& given = option->results().back();
    if (is_flag(*option)) return fmt::format("{} {} must be true or false", name, given);
    if (option->count() > 1 && option->get_items_expected_max() == 1) {
      return fmt::format("{} is given {} times; give it once", name, option->count());
    }
    return fmt::format("{} {} is not a value that it takes: {}", name, given,
                       option->get_description());
  }
  return "the words cannot be read";
}

// In words of ours: CLI11's own texts name types and counts, not what to do.
std::string in_our_words(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& words) {
  // Of validators of this file, which say what is allowed.
  const std::string text = error.what();
  const bool of_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  if (of_value && text.find("must be") != std::string::npos) return text;
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  if (parsed.empty()) {
    for (const std::string& word : words) {
      if (word.starts_with("-")) {
        return unexpected(app, words, word);
      }
      return fmt::format("'{}' is not a command{}", word, suggestion(word, names_of_commands(app)));
    }
    return "no command is given, such as verify 'joma.*'";
  }
  const CLI::App& command = *parsed.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> left = app.remaining(true);
    return unexpected(command, words, left.empty() ? std::string() : left.front());
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_required() && option->count() == 0) {
        return fmt::format("{} is missing for '{}': {}", display_name(*option), command.get_name(),
                           option->get_description());
      }
    }
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const CLI::Option* other : option->get_excludes()) {
      if (option->count() > 0 && other->count() > 0) {
        return fmt::format("{} and {} exclude each other; leave one of them out",
                           option->get_name(), other->get_name());
      }
    }
  }
  return wrong_value(command, text);
}

}  // namespace

Option Option::required() { return Option(option_->required()); }

Option Option::delimiter(char mark) { return Option(option_->delimiter(mark)); }

Option Option::excludes(const std::string& name) { return Option(option_->excludes(name)); }

Option Option::allow_extra_args(bool allowed) { return Option(option_->allow_extra_args(allowed)); }

Option Option::group(const std::string& name) { return Option(option_->group(name)); }

Option Option::between(int low, int high) { return Option(option_->check(CLI::Range(low, high))); }

Option Option::between(double low, double high) {
  return Option(option_->check(CLI::Range(low, high)));
}

Option Option::not_negative() { return Option(option_->check(CLI::NonNegativeNumber)); }

Option Option::positive() { return Option(option_->check(CLI::PositiveNumber)); }

std::size_t Option::count() const { return option_->count(); }

template <class T>
T Option::as() const {
  try {
    return option_->as<T>();
  } catch (const CLI::ParseError&) {
    throw UsageError(fmt::format("{} {} is not a value that it takes: {}", option_->get_name(),
                                 option_->results().back(), option_->get_description()));
  }
}

template std::string Option::as() const;
template int Option::as() const;
template std::int64_t Option::as() const;

void Option::give(const std::string& value) {
  option_->add_result(value);
  try {
    option_->run_callback();
  } catch (const CLI::ParseError&) {
    throw UsageError(option_->get_name() + " does not take " + value);
  }
}

Option Command::add_option(const std::string& names, const std::string& help) {
  return Option(app_->add_option(names, help));
}

Option Command::add_option(const std::string& names, std::string& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option Command::add_option(const std::string& names, std::filesystem::path& target,
                           const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& target,
                           const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option Command::add_option(const std::string& names, int& target, const std::string& help) {
  return Option(whole_number<int>(app_->add_option(names, target, help)));
}

Option Command::add_option(const std::string& names, std::uint64_t& target,
                           const std::string& help) {
  return Option(whole_number<std::uint64_t>(app_->add_option(names, target, help)));
}

Option Command::add_option(const std::string& names, std::optional<std::int64_t>& target,
                           const std::string& help) {
  return Option(whole_number<std::int64_t>(app_->add_option(names, target, help)));
}

Option Command::add_option(const std::string& names, double& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option Command::add_flag(const std::string& names, bool& target, const std::string& help) {
  return Option(app_->add_flag(names, target, help));
}

Option Command::add_option_function(const std::string& names,
                                    const std::function<void(const std::string&)>& take,
                                    const std::string& help) {
  return Option(app_->add_option_function<std::string>(names, take, help));
}

Option Command::add_flag_function(const std::string& names,
                                  const std::function<void(std::int64_t)>& take,
                                  const std::string& help) {
  return Option(app_->add_flag_function(names, take, help));
}

void Command::remove_option(const std::string& name) {
  app_->remove_option(app_->get_option(name));
}

void Command::footer(const std::string& text) { app_->footer(text); }

std::string Command::name() const { return app_->get_name(); }

bool Command::parsed() const { return app_->parsed(); }

Option Command::get_option(const std::string& name) const { return Option(app_->get_option(name)); }

std::optional<Option> Command::find_option(const std::string& name) const {
  CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return std::nullopt;
  return Option(option);
}

std::vector<std::string> Command::long_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}

CommandLine::~CommandLine() = default;

Command* CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  commands_.push_back(std::make_unique<Command>(app_->add_subcommand(name, help)));
  return commands_.back().get();
}

void CommandLine::require_subcommand(int count) { app_->require_subcommand(count); }

void CommandLine::set_version_flag(const std::string& name, const std::string& version) {
  app_->set_version_flag(name, version);
}

void CommandLine::add_answer(const std::string& name, const std::string& help,
                             const std::function<std::string()>& text) {
  app_->add_flag_callback(
      name,
      [text] { throw CLI::CallForVersion(text(), static_cast<int>(CLI::ExitCodes::Success)); },
      help);
}

ProgramText CommandLine::describe() const {
  ProgramText program{app_->get_description(), app_->get_footer(), {}};
  for (const CLI::App* command : app_->get_subcommands({})) {
    CommandText text{command->get_name(), command->get_description(), command->get_footer(), {}};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      const bool flag = option->get_items_expected_max() == 0;
      text.options.push_back({option->get_name(option->get_positional(), true),
                              flag ? "" : option->get_type_name(), option->get_description(),
                              option->get_positional()});
    }
    program.commands.push_back(std::move(text));
  }
  return program;
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::column_width(std::size_t width) { app_->get_formatter()->column_width(width); }

void CommandLine::parse(const std::vector<std::string>& words) {
  try {
    const std::vector<std::string> whole = with_values(*app_, words);
    app_->parse(std::vector<std::string>(whole.rbegin(), whole.rend()));  // in the order it wants
  } catch (const CLI::CallForVersion& asked) {
    throw Enquiry(asked.what());
  } catch (const CLI::Success&) {
    throw Enquiry();
  } catch (const CLI::ParseError& error) {
    throw UsageError(in_our_words(*app_, error, words));
  }
}

std::string CommandLine::chosen() const { return app_->get_subcommands().front()->get_name(); }

int CommandLine::answer(const Enquiry& enquiry) const {
  std::ostringstream text;
  const int status =
      enquiry.version().empty()
          ? app_->exit(CLI::CallForHelp(), text, text)
          : app_->exit(CLI::CallForVersion(enquiry.version(), CLI::ExitCodes::Success), text, text);
  std::fputs(text.str().c_str(), standard_output());
  return status;
}

}  // namespace popgrad::cli
