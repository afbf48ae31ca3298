// The rooms of the core and the folders of theories: which includes which, and which names what.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "places.hpp"
#include "popgrad/evidence/theories.hpp"
#include "presenting/catalogue.hpp"

namespace rooms_test {
namespace {

namespace fs = std::filesystem;

// A room includes from itself and from those before it.
constexpr std::array<std::string_view, 18> rooms{
    "base",     "scalars",  "formulas",     "expectations", "statistics", "rungs",
    "solving",  "walks",    "fluctuations", "learning",     "runs",       "judging",
    "evidence", "theorems", "io",           "theory_files", "presenting", "commands"};

std::size_t floor_of(std::string_view room) {
  return static_cast<std::size_t>(std::find(rooms.begin(), rooms.end(), room) - rooms.begin());
}

struct Source {
  std::string name;                   // from the root of the project
  std::vector<std::string> included;  // the same, of the project's own
};

// An include is looked for where the compiler does: include, src, the root.
std::string place_of(const std::string& included) {
  for (const char* folder : {"include/", "src/", ""}) {
    if (fs::exists(fs::path(places::sources()) / (folder + included))) return folder + included;
  }
  return {};
}

std::vector<Source> sources() {
  static const std::regex include("#include \"([^\"]+)\".*");
  std::vector<Source> all;
  for (const char* folder : {"include", "src", "theorems"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(places::sources()) / folder)) {
      const std::string suffix = entry.path().extension().string();
      if (suffix != ".hpp" && suffix != ".cpp") continue;
      Source source{fs::relative(entry.path(), places::sources()).string(), {}};
      std::ifstream in(entry.path());
      std::smatch found;
      for (std::string line; std::getline(in, line);) {
        if (!std::regex_match(line, found, include)) continue;
        if (std::string place = place_of(found[1]); !place.empty())
          source.included.push_back(std::move(place));
      }
      all.push_back(std::move(source));
    }
  }
  return all;
}

// The parts of a path before its file.
std::vector<std::string> folders(const std::string& name) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(name).parent_path()) parts.push_back(part.string());
  return parts;
}

// include/popgrad/walks/walk.hpp and src/walks/walk.cpp are in the room walks.
std::string room_of(const std::string& name) {
  const std::vector<std::string> parts = folders(name);
  if (parts.front() == "theorems") return "theorems";
  const std::size_t depth = parts.front() == "include" ? 2 : 1;
  return parts.size() > depth ? parts[depth] : std::string();
}

TEST_CASE("a room includes only from itself and from rooms before it", "[structure]") {
  for (const Source& source : sources()) {
    const std::string room = room_of(source.name);
    // The Python module sees everything, and nothing sees it; what is precompiled is of no room.
    if (room == "python" || room.empty()) continue;
    INFO(source.name << " is in no room of the list");
    REQUIRE(floor_of(room) < rooms.size());
    if (folders(source.name).back() == "tests") continue;
    for (const std::string& included : source.included) {
      const std::string other = room_of(included);
      if (other.empty()) continue;
      INFO(source.name << " includes " << included);
      CHECK(floor_of(other) <= floor_of(room));
    }
  }
}

TEST_CASE("public headers include public headers", "[structure]") {
  for (const Source& source : sources()) {
    if (!source.name.starts_with("include/")) continue;
    for (const std::string& included : source.included) {
      INFO(source.name << " includes " << included);
      CHECK(included.starts_with("include/"));
    }
  }
}

TEST_CASE("a theory includes nothing of another", "[structure]") {
  for (const Source& source : sources()) {
    const std::vector<std::string> own = folders(source.name);
    if (own.front() != "theorems" || own.size() < 2) continue;
    for (const std::string& included : source.included) {
      const std::vector<std::string> other = folders(included);
      if (other.front() != "theorems" || other.size() < 2) continue;
      INFO(source.name << " includes " << included);
      CHECK(other[1] == own[1]);
    }
  }
}

// Functions without arguments that return TYPE in the sources of theorems/*/FOLDER.
std::size_t functions_of(const std::string& folder, const std::string& type) {
  std::size_t found = 0;
  const std::regex definition("\n" + type + R"( \w+\(\) \{)");
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(places::sources()) / "theorems")) {
    if (entry.path().extension() != ".cpp") continue;
    if (entry.path().parent_path().filename() != folder) continue;
    std::ifstream in(entry.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    found += static_cast<std::size_t>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), definition), {}));
  }
  return found;
}

// CMake finds them by a line of their text when it configures.
TEST_CASE("every source of a statement or figure is registered", "[structure][figure]") {
  using namespace popgrad;
  CHECK(statements(theories()).size() == functions_of("checks", "Statement"));
  CHECK(figures(theories()).size() == functions_of("figures", "FigureMaker"));
}

// What theories name: folders, models, statements, figures, landscapes, rungs and parameters.
struct TheoryWords {
  std::set<std::string>
      marked;  // of two letters or more, not all of them small: no words of English
  std::set<std::string> plain_parameters, plain_rungs;
};

bool is_marked(const std::string& word) {
  return word.size() > 1 && !std::all_of(word.begin(), word.end(),
                                         [](unsigned char c) { return std::islower(c) != 0; });
}

TheoryWords theory_words() {
  using namespace popgrad;
  TheoryWords words;
  const auto subject = [](const std::string& id) { return id.substr(id.find('.') + 1); };
  std::map<std::string, std::set<std::string>> parameters, rungs;  // with the models that have them
  for (const Theory& theory : theories()) {
    const std::string& model = theory.model->name();
    words.marked.insert(model);
    for (const Statement& s : theory.statements) {
      words.marked.insert(s.id);
      if (is_marked(subject(s.id))) words.marked.insert(subject(s.id));
    }
    for (const FigureMaker& maker : theory.figures) words.marked.insert(maker.info.name);
    for (const LossLandscape& landscape : theory.landscapes) words.marked.insert(landscape.name);
    for (const ParameterInfo& info : theory.model->parameters())
      parameters[info.name].insert(model);
    for (const RungInfo& info : theory.model->rungs()) rungs[info.name].insert(model);
  }
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(places::sources()) / "theorems")) {
    if (fs::exists(entry.path() / "theory.cpp")) {
      words.marked.insert(entry.path().filename().string());
    }
  }
  // What all theories have, and kinds of rungs, are words of the core.
  for (const RungKind kind : {RungKind::flow, RungKind::descent, RungKind::random,
                              RungKind::closed_form, RungKind::moments}) {
    rungs.erase(name_of(kind));
  }
  for (const auto& [name, models] : parameters) {
    if (models.size() == theories().size()) continue;
    (is_marked(name) ? words.marked : words.plain_parameters).insert(name);
  }
  for (const auto& [name, models] : rungs) {
    if (models.size() == theories().size()) continue;
    (is_marked(name) ? words.marked : words.plain_rungs).insert(name);
  }
  return words;
}

// Words of theories in a source of the core. A plain one, such as length, counts where a parameter
// of that name is read, or a rung compared with it.
std::vector<std::string> words_in(const std::string& text, const TheoryWords& words) {
  std::vector<std::string> found;
  const auto is_part = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (const std::string& word : words.marked) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) {
        found.push_back(word);
        break;
      }
    }
  }
  static const std::regex read(
      R"(\b(?:has|set|set_default|number|count|flag|text|choice|vector|matrix))"
      R"re((?:<\w+>)?\("(\w+)")re");
  static const std::regex compared(R"re([!=]= "(\w+)")re");
  const auto look = [&](const std::regex& use, const std::set<std::string>& plain) {
    for (std::sregex_iterator i(text.begin(), text.end(), use), end; i != end; ++i) {
      if (plain.contains((*i)[1])) found.push_back((*i)[1]);
    }
  };
  look(read, words.plain_parameters);
  look(compared, words.plain_rungs);
  return found;
}

TEST_CASE("no word of a theory stands in the core", "[structure]") {
  const TheoryWords words = theory_words();
  // Examples for users, with instances of theories, which the tests of the Python module run.
  const std::set<std::string> examples{"src/python/README.md", "src/python/notebooks"};
  std::size_t read = 0;
  for (const char* folder : {"include", "src", "cmake"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(places::sources()) / folder)) {
      const fs::path name = fs::relative(entry.path(), places::sources());
      if (!entry.is_regular_file() || name.extension() == ".pyc") continue;
      if (examples.contains(name.string()) || examples.contains(name.parent_path().string())) {
        continue;
      }
      ++read;
      std::ifstream in(entry.path());
      const std::string text(std::istreambuf_iterator<char>(in), {});
      for (const std::string& word : words_in(text, words)) {
        INFO(name.string() << " has the word '" << word << "' of a theory");
        CHECK(word.empty());
      }
    }
  }
  CHECK(read > 300);
}

TEST_CASE("words of theories are found, and parts of words are not", "[structure]") {
  using namespace popgrad;
  const TheoryWords words = theory_words();
  for (const Theory& theory : theories()) {
    const std::string& model = theory.model->name();
    CHECK(words_in("run '" + model + "'", words) == std::vector{model});
    CHECK_FALSE(words_in("// " + theory.statements.front().id, words).empty());
    CHECK(words_in("a" + model + " " + model + "s_", words).empty());
  }
  REQUIRE_FALSE(words.plain_parameters.empty());
  REQUIRE_FALSE(words.plain_rungs.empty());
  const std::string parameter = *words.plain_parameters.begin();
  const std::string rung = *words.plain_rungs.begin();
  CHECK(words_in("p.number<T>(\"" + parameter + "\", x)", words) == std::vector{parameter});
  CHECK(words_in("if (info.name == \"" + rung + "\")", words) == std::vector{rung});
  CHECK(words_in("the " + parameter + " of a " + rung + " \"" + parameter + "\"", words).empty());
}

}  // namespace
}  // namespace rooms_test
