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
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

template std::string Option::as() const;
template int Option::as() const;
template std::int64_t Option::as() const;

void Option::give(const std::string& value) {
  option_->add_result(value);
  try {
    option_->run_callback();
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
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
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // in the order it wants
  } catch (const CLI::CallForVersion& asked) {
    throw Enquiry(asked.what());
  } catch (const CLI::Success&) {
    throw Enquiry();
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
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
