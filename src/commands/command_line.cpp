#include "commands/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>

#include "commands/host.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::cli {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

// A long value is recognised by its beginning.
std::string shown(const std::string& value) {
  constexpr std::size_t most = 40;
  if (value.empty()) return "''";
  return value.size() <= most ? value : value.substr(0, most) + "...";
}

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(mark, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of every part; what is wrong with the first that is no number.
std::optional<std::string> refusal_of_parts(const std::vector<std::string>& parts,
                                            const Range& range) {
  for (const std::string& part : parts) {
    if (const auto why = refusal_of_number(part, range)) {
      return parts.size() == 1 ? *why : fmt::format("has {}, which {}", shown(part), *why);
    }
  }
  return std::nullopt;
}

std::optional<std::string> refusal(const std::string& value, const DeclaredOption& option) {
  ParameterInfo declared = option.info;
  const std::string& kind = declared.kind;
  if (contains(declared.choices, value)) return std::nullopt;
  // What is below the end is for the command to refuse, which knows the digits.
  if (option.finer_with_digits) declared.range = {0, declared.range.high, true, false};
  if (kind == "count") return refusal_of_whole(value, declared.range);
  if (kind == "number") return refusal_of_number(value, declared.range);
  if (kind == "numbers") return refusal_of_parts(split(value, ','), declared.range);
  if (kind == "pair") {
    const std::vector<std::string> parts = split(value, ',');
    if (parts.size() != 2) return "must be two numbers, as in 2,1/2";
    return refusal_of_parts(parts, declared.range);
  }
  if (kind == "vector" || kind == "matrix") {
    std::string flat = value;
    std::replace(flat.begin(), flat.end(), ';', ',');
    return refusal_of_parts(split(flat, ','), declared.range);
  }
  if (kind == "choice") {
    return fmt::format("must be {}{}", joined(declared.choices),
                       suggestion(value, declared.choices));
  }
  if (kind == "switch") {
    if (contains({"true", "false", "1", "0"}, value)) return std::nullopt;
    return "must be true or false";
  }
  if ((kind == "list" || kind == "input files") && contains(split(value, ','), ""))
    return "has an empty part";
  if (value.empty()) return "must not be empty";
  return std::nullopt;
}

std::string longest_name(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() ? option.get_name() : "--" + names.front();
}

std::string help_of(const ParameterInfo& declared) {
  std::string help = declared.help;
  if (declared.kind == "choice") help += ": " + joined(declared.choices);
  if (!declared.default_value.empty()) {
    help += fmt::format(" (default {})", declared.default_value);
  }
  return help;
}

// What options say after their meaning; parameters of models have it in theirs.
std::string with_range(const ParameterInfo& declared) {
  std::string text = declared.help;
  if (!declared.unit.empty()) text += ", " + declared.unit;
  const std::string rule = rule_of(declared.range);
  if (!rule.empty()) text += ", " + rule;
  return text;
}

ParameterInfo text_info(const char* kind, const std::string& help) {
  ParameterInfo info;
  info.kind = kind;
  info.help = help;
  return info;
}

using Place = std::function<std::size_t(const CLI::Option*)>;

// The help of a command: an example under its usage, some options before the others, and these in the
// order of their places.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter(const CLI::FormatterBase& like, std::string example,
                std::vector<const CLI::Option*> first_options, Place place)
      : example_(std::move(example)),
        first_options_(std::move(first_options)),
        place_(std::move(place)) {
    column_width(like.get_column_width());
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return CLI::Formatter::make_usage(app, std::move(name)) + "Example: popgrad " + example_ + "\n";
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::ranges::stable_sort(options, {}, place_);
    if (is_positional || group != "Options" || first_options_.empty()) {
      return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
    }
    std::erase_if(options, [&](const CLI::Option* option) {
      return std::ranges::find(first_options_, option) != first_options_.end();
    });
    return CLI::Formatter::make_group("Main options", false, first_options_) +
           CLI::Formatter::make_group("Other options", false, std::move(options));
  }

 private:
  std::string example_;
  std::vector<const CLI::Option*> first_options_;
  Place place_;
};

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

// `--flag true` as `--flag=true`, which CLI11 takes.
std::vector<std::string> with_values(CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* const command = command_in(app, words);
  std::vector<std::string> made;
  for (const std::string& word : words) {
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

// The other commands that take an option of this name.
std::vector<std::string> commands_with(const CLI::App& command, const std::string& name) {
  std::vector<std::string> names;
  if (command.get_parent() == nullptr) return names;
  for (const CLI::App* other : command.get_parent()->get_subcommands({})) {
    if (other->get_option_no_throw(name) != nullptr) names.push_back(other->get_name());
  }
  return names;
}

// What is wrong with the words that were left over.
std::string unexpected(const CLI::App& command, const std::vector<std::string>& words,
                       const std::string& word) {
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    const std::vector<std::string> others = commands_with(command, name);
    if (!others.empty()) {
      return fmt::format("{} is no option of '{}', only of {}", name, command.get_name(),
                         joined(others));
    }
    // One letter is like any other.
    const bool has_letters = name.size() > 3;
    return fmt::format("{} is no option of '{}'{}", name, command.get_name(),
                       has_letters ? suggestion(name, names_of_options(command)) : "");
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

std::string given_too_often(const std::string& name, std::size_t times) {
  return fmt::format("{} is given {} times; give it once", name, times);
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
      return given_too_often(name, option->count());
    }
    return fmt::format("{} {} is not a value that it takes: {}", name, given,
                       option->get_description());
  }
  return "the words cannot be read";
}

// In words of ours: CLI11's own texts name types and counts, not what to do.
std::string in_our_words(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& words, const std::string& example) {
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
    return "no command is given" + (example.empty() ? "" : ", such as " + example);
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

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::excludes(const std::string& name) {
  option_->excludes(name);
  return *this;
}

Option Option::allow_extra_args(bool allowed) {
  option_->allow_extra_args(allowed);
  return *this;
}

Option Option::group(const std::string& name) {
  option_->group(name);
  return *this;
}

Option Option::kind(const std::string& what) {
  declared_->info.kind = what;
  return *this;
}

Option Option::read_by(const std::string& kinds) {
  declared_->info.rungs = split(kinds, ' ');
  return *this;
}

std::optional<std::string> Option::refusal_of(const std::string& value) const {
  return refusal(value, *declared_);
}

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

bool Option::repeatable() const { return option_->get_items_expected_max() > 1; }

void Option::add(const std::string& value) { option_->add_result(value); }

void Option::take_added() {
  try {
    option_->run_callback();
  } catch (const CLI::ParseError&) {
    throw UsageError(fmt::format("{} does not take {}", option_->get_name(),
                                 fmt::join(option_->results(), ", ")));
  }
}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Option Command::declare(CLI::Option* option, DeclaredOption declared) {
  Kept& own =
      declared_[option] = {std::make_unique<DeclaredOption>(std::move(declared)), next_place_++};
  DeclaredOption* const kept = own.declared.get();
  const std::string& kind = kept->info.kind;
  option->description(help_of(kept->info));
  const std::string where = "popgrad " + app_->get_name();
  if (option->get_items_expected_max() == 0) {
    const auto check = [option, where](const std::string& text) -> std::string {
      if (!contains({"true", "false", "1", "0", "-1"}, text)) {
        reject(where, longest_name(*option), shown(text),
               "is no value of a flag: give it without one, or with =true or =false");
      }
      return {};
    };
    option->check(CLI::Validator(check, ""));
    return {option, kept};
  }
  option->type_name(kind == "number" ? "NUMBER" : kind == "count" ? "INT" : "TEXT");
  const auto check = [option, kept, where](std::string& text) -> std::string {
    if (const auto why = refusal(text, *kept)) {
      reject(where, longest_name(*option), shown(text), *why);
    }
    if (kept->info.kind == "count") text = *whole_digits(text);
    return {};
  };
  option->transform(CLI::Validator(check, ""));
  return {option, kept};
}

Option Command::add_option(const std::string& names, const std::string& help) {
  return declare(app_->add_option(names, help), {text_info("text", help)});
}

Option Command::add_option(const std::string& names, std::string& target, const std::string& help) {
  return declare(app_->add_option(names, target), {text_info("text", help)});
}

Option Command::add_option(const std::string& names, std::filesystem::path& target,
                           const std::string& help) {
  return declare(app_->add_option(names, target), {text_info("output file", help)});
}

Option Command::add_option(const std::string& names, std::vector<std::string>& target,
                           const std::string& help) {
  return declare(app_->add_option(names, target), {text_info("text", help)});
}

namespace {

// Several words of numbers or texts by commas, as one list; a comma between backticks is one of a name. The parser's own
// splitting drops empty parts.
CLI::Option* add_split(CLI::App& app, const std::string& names, std::vector<std::string>& target) {
  return app.add_option_function<std::vector<std::string>>(
      names, [&target](const std::vector<std::string>& words) {
        target.clear();
        for (const std::string& word : words) {
          bool in_name = false;
          for (const std::string& part : split(word, ',')) {
            if (in_name) {
              target.back() += "," + part;
            } else {
              target.push_back(part);
            }
            if (std::count(part.begin(), part.end(), '`') % 2 != 0) in_name = !in_name;
          }
        }
      });
}

DeclaredOption declaration_of(const Number& number, const char* kind, const std::string& help) {
  ParameterInfo info = text_info(kind, help);
  info.default_value = number.standard;
  info.choices = number.words;
  info.range = number.range;
  info.unit = number.unit;
  info.help = with_range(info);
  return {std::move(info), number.finer_with_digits};
}

DeclaredOption declaration_of(const Pair& pair, const std::string& help) {
  return declaration_of(Number{pair.range}, "pair", help);
}

DeclaredOption declaration_of(const Whole& whole, const std::string& help) {
  return declaration_of(Number{whole.range, whole.standard, whole.unit}, "count", help);
}

}  // namespace

Option Command::add_list(const std::string& names, std::vector<std::string>& target,
                         const std::string& help) {
  return declare(add_split(*app_, names, target), {text_info("list", help)});
}

Option Command::add_option(const std::string& names, std::string& target, const Choice& choice,
                           const std::string& help) {
  ParameterInfo info = text_info("choice", help);
  info.default_value = choice.standard;
  info.choices = choice.choices;
  target = choice.standard;
  return declare(app_->add_option(names, target), {std::move(info)});
}

Option Command::add_option(const std::string& names, double& target, const Number& number,
                           const std::string& help) {
  // The reader of this program takes quotients as well.
  const auto take = [&target](const std::string& text) { target = from_text<double>(text); };
  if (!number.standard.empty()) take(number.standard);
  return declare(app_->add_option_function<std::string>(names, take),
                 declaration_of(number, "number", help));
}

Option Command::add_option(const std::string& names, std::string& target, const Number& number,
                           const std::string& help) {
  if (!number.standard.empty()) target = number.standard;
  return declare(app_->add_option(names, target), declaration_of(number, "number", help));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& target,
                           const Number& number, const std::string& help) {
  return declare(add_split(*app_, names, target), declaration_of(number, "numbers", help));
}

Option Command::add_option(const std::string& names, std::string& target, const Pair& pair,
                           const std::string& help) {
  return declare(app_->add_option(names, target), declaration_of(pair, help));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& target,
                           const Pair& pair, const std::string& help) {
  return declare(app_->add_option(names, target), declaration_of(pair, help));
}

Option Command::add_option(const std::string& names, int& target, const Whole& whole,
                           const std::string& help) {
  if (const auto digits = whole_digits(whole.standard)) target = std::stoi(*digits);
  return declare(app_->add_option(names, target), declaration_of(whole, help));
}

Option Command::add_option(const std::string& names, std::uint64_t& target, const Whole& whole,
                           const std::string& help) {
  if (const auto digits = whole_digits(whole.standard)) target = std::stoull(*digits);
  return declare(app_->add_option(names, target), declaration_of(whole, help));
}

Option Command::add_option(const std::string& names, std::optional<std::int64_t>& target,
                           const Whole& whole, const std::string& help) {
  return declare(app_->add_option(names, target), declaration_of(whole, help));
}

Option Command::add_flag(const std::string& names, bool& target, const std::string& help) {
  return declare(app_->add_flag(names, target), {text_info("switch", help)});
}

Option Command::add_parameter(const ParameterInfo& declared,
                              const std::function<void(const std::string&)>& take) {
  return declare(app_->add_option_function<std::string>("--" + declared.name, take), {declared});
}

Option Command::add_switch(const ParameterInfo& declared, const std::function<void(bool)>& take) {
  return declare(app_->add_flag_function(fmt::format("--{0},!--no-{0}", declared.name),
                                         [take](std::int64_t count) { take(count > 0); }),
                 {declared});
}

void Command::add_dependent(const std::vector<ParameterInfo>& possible,
                            std::function<void(Command&)> add) {
  Dependents own{next_place_, {}, std::move(add)};
  std::map<std::string, bool> switches;
  for (const ParameterInfo& info : possible) {
    const auto [at, added] = switches.emplace(info.name, info.kind == "switch");
    if (at->second != (info.kind == "switch")) {
      throw std::logic_error(fmt::format("--{} would be a switch and take a value", info.name));
    }
    if (!added) continue;
    const auto keep = [](const CLI::results_t&) { return true; };
    CLI::Option* const option = info.kind == "switch"
                                    ? app_->add_flag(fmt::format("--{0},!--no-{0}", info.name))
                                    : app_->add_option("--" + info.name, CLI::callback_t(keep));
    own.possible.push_back(option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
  next_place_ += 1000;  // between those before and those after
  dependents_.push_back(std::move(own));
}

void Command::add_dependents(bool take) {
  std::map<std::string, std::vector<std::string>> given;
  const std::vector<Dependents> all = std::exchange(dependents_, {});
  for (const Dependents& own : all) {
    for (CLI::Option* const option : own.possible) {
      if (option->count() > 0) given[longest_name(*option)] = option->results();
      app_->remove_option(option);
    }
  }
  for (const Dependents& own : all) {
    next_place_ = own.place;
    own.add(*this);
  }
  if (!take) return;
  for (const auto& [name, values] : given) give(name, values);
}

void Command::give(const std::string& name, const std::vector<std::string>& values) {
  CLI::Option* const option = app_->get_option_no_throw(name);
  if (option == nullptr) throw UsageError(unexpected(*app_, {}, name));
  if (values.size() > 1 && option->get_items_expected_max() == 1) {
    throw UsageError(given_too_often(name, values.size()));
  }
  for (const std::string& value : values) option->add_result(value);
  Option(option, declared_.at(option).declared.get()).take_added();
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::introduce(const std::string& example, const std::vector<std::string>& first_options) {
  example_ = example;
  first_options_.clear();
  for (const std::string& name : first_options) first_options_.push_back(app_->get_option(name));
  app_->formatter(
      std::make_shared<HelpFormatter>(*app_->get_formatter(), example_, first_options_,
                                      [this](const CLI::Option* o) { return place_of(o); }));
}

std::string Command::name() const { return app_->get_name(); }

bool Command::parsed() const { return app_->parsed(); }

Option Command::get_option(const std::string& name) const {
  const std::optional<Option> found = find_option(name);
  if (!found) throw std::logic_error(fmt::format("{} has no option {}", this->name(), name));
  return *found;
}

std::optional<Option> Command::find_option(const std::string& name) const {
  CLI::Option* const option = app_->get_option_no_throw(name);
  const auto declared = declared_.find(option);
  if (option == nullptr || declared == declared_.end()) return std::nullopt;
  return Option(option, declared->second.declared.get());
}

std::size_t Command::place_of(const CLI::Option* option) const {
  const auto found = declared_.find(option);
  return found == declared_.end() ? 0
                                  : found->second.place;  // the parser's own --help is the first
}

std::ptrdiff_t Command::place_in_help(const CLI::Option& option) const {
  if (option.get_positional()) return -1;
  return std::find(first_options_.begin(), first_options_.end(), &option) - first_options_.begin();
}

CommandText Command::describe() const {
  CommandText text{app_->get_name(), app_->get_description(), example_, app_->get_footer(), {},
                   takes_parameters_};
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app_->get_options()) {
    if (!option->get_group().empty()) options.push_back(option);
  }
  std::ranges::stable_sort(options, {}, [this](const CLI::Option* option) {
    return std::pair(place_in_help(*option), place_of(option));
  });
  for (const CLI::Option* option : options) {
    const auto declared = declared_.find(option);
    const bool flag = option->get_items_expected_max() == 0;
    OptionText own;
    own.names = option->get_name(option->get_positional(), true);
    own.value = flag ? "" : option->get_type_name();
    own.help = option->get_description();
    own.positional = option->get_positional();
    own.required = option->get_required();
    own.repeatable = option->get_items_expected_max() > 1;
    // The parser's own --help.
    own.declared = declared == declared_.end() ? text_info("switch", own.help)
                                               : declared->second.declared->info;
    text.options.push_back(std::move(own));
  }
  return text;
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
      [this, text] {
        add_dependents(false);
        throw CLI::CallForVersion(text(), static_cast<int>(CLI::ExitCodes::Success));
      },
      help);
}

ProgramText CommandLine::describe() const {
  ProgramText program{app_->get_description(), app_->get_footer(), {}};
  for (const auto& command : commands_) program.commands.push_back(command->describe());
  return program;
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::column_width(std::size_t width) { app_->get_formatter()->column_width(width); }

namespace {

// `--t1=` would take the next word as its value.
void refuse_empty_values(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
    throw UsageError(fmt::format("{} needs a value after the =", word.substr(0, word.size() - 1)));
  }
}

}  // namespace

void CommandLine::parse(const std::vector<std::string>& words) {
  refuse_empty_values(words);
  try {
    const std::vector<std::string> whole = with_values(*app_, words);
    app_->parse(std::vector<std::string>(whole.rbegin(), whole.rend()));  // in the order it wants
  } catch (const CLI::CallForVersion& asked) {
    throw Enquiry(asked.what());
  } catch (const CLI::Success&) {
    add_dependents(false);
    throw Enquiry();
  } catch (const CLI::ParseError& error) {
    add_dependents(true);
    throw UsageError(in_our_words(*app_, error, words, example_));
  }
  add_dependents(true);
}

void CommandLine::add_dependents(bool take) {
  // Those of the other commands first: what they might have had is then named by no error.
  for (const auto& command : commands_) {
    if (!command->parsed()) command->add_dependents(false);
  }
  for (const auto& command : commands_) {
    if (command->parsed()) command->add_dependents(take);
  }
}

void CommandLine::example(const std::string& words) {
  example_ = words;
  app_->formatter(std::make_shared<HelpFormatter>(
      *app_->get_formatter(), example_, std::vector<const CLI::Option*>(),
      [](const CLI::Option*) { return std::size_t{0}; }));
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
