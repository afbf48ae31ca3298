#include "commands/theory_word.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "commands/host.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "theory_files/theory_file.hpp"

namespace popgrad::cli {
namespace theory_word_cpp {
namespace {

// Commands that take a model.
constexpr std::array<std::string_view, 8> of_models{"list",  "run",       "compare",   "ladder",
                                                    "sweep", "landscape", "equations", "export"};
// Commands that take statements.
constexpr std::array<std::string_view, 6> of_statements{"verify", "falsify",  "frontier",
                                                        "report", "instance", "error-ratios"};
// Commands that read a file by themselves.
constexpr std::array<std::string_view, 2> of_files{"new", "check"};

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The word that names a file; empty: none does.
std::string file_among(const std::vector<std::string>& words) {
  for (std::size_t k = 1; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (word.starts_with('-') || words[k - 1] == "--config") continue;
    if (word.ends_with(".toml")) return word;
    if (word.ends_with(".py") && !words[k - 1].starts_with('-')) {
      throw InputError(fmt::format(
          "popgrad {}: {}: no Python is run; write the theory as a .toml, 'popgrad new FILE.toml' "
          "begins one",
          words[0], word));
    }
  }
  return {};
}

// Parameters and sizes become options of these names, and coordinates of landscapes too.
void refuse_names_of_options(const Theory& theory, const Invocation& call) {
  const std::set<std::string> taken = option_names(call);
  const auto refuse = [&](const std::string& name) {
    if (!taken.contains(name)) return;
    throw InputError(
        fmt::format("{}: {} is an option of popgrad; give it another name", theory.file, name));
  };
  for (const ParameterInfo& info : theory.model->parameters()) refuse(info.name);
  for (const LossLandscape& landscape : theory.landscapes) {
    for (const LandscapeCoordinate& coordinate : landscape.coordinates) refuse(coordinate.name);
  }
}

// Of a command that takes statements: those that are named, or all.
void name_statements(const Theory& theory, const std::string& file,
                     std::vector<std::string>& words) {
  if (theory.statements.empty())
    throw InputError(
        fmt::format("popgrad {}: {}: has no section [statement.NAME]", words[0], file));
  const std::string own = theory.model->name() + ".";
  const bool named = std::any_of(words.begin(), words.end(),
                                 [&](const std::string& word) { return word.starts_with(own); });
  const auto place = std::find(words.begin(), words.end(), file);
  if (named) {
    words.erase(place);
  } else {
    *place = own + "*";
  }
}

void report_unread(const theory_files::TheoryFile& file, const std::vector<std::string>& words) {
  if (file.unread.empty() || contains(words, "-q") || contains(words, "--quiet")) return;
  fmt::print(standard_error(), "popgrad: {}: of a later version and not read: {}\n", file.file,
             fmt::join(file.unread, ", "));
}

}  // namespace
}  // namespace theory_word_cpp

TheoriesOfWords::TheoriesOfWords(const Invocation& call) : call_(call) {
  using namespace theory_word_cpp;
  if (call.words.empty() || contains(of_files, call.words[0])) return;
  const std::string file = file_among(call.words);
  if (file.empty()) return;
  if (!contains(of_models, call.words[0]) && !contains(of_statements, call.words[0])) {
    throw InputError(fmt::format("popgrad {}: {}: takes no theory file; {}, {} do", call.words[0],
                                 file, fmt::join(of_models, ", "), fmt::join(of_statements, ", ")));
  }
  theory_files::TheoryFile& read =
      file_.emplace(theory_files::parse_theory_file(read_file(file), file));
  const bool takes_statements = contains(of_statements, call.words[0]);
  own_.push_back(theory_files::theory_of(read, takes_statements || call.words[0] == "list"));
  refuse_names_of_options(own_.front(), call);
  report_unread(read, call.words);
  call_.theories = own_;
  if (takes_statements) {
    name_statements(own_.front(), file, call_.words);
    call_.file = file;
  }
  if (call.words[0] == "landscape" && own_.front().landscapes.empty())
    throw InputError(fmt::format("popgrad landscape: {}: has no section [landscape.NAME]", file));
}

InputError TheoriesOfWords::placed(const InputError& error) const {
  return file_ ? theory_files::located(*file_, error) : error;
}

}  // namespace popgrad::cli
