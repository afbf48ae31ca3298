// Texts that the program prints, against the list of turns to avoid in words.txt.

#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "places.hpp"

namespace words_test {
namespace {

namespace fs = std::filesystem;

struct Turn {
  std::regex words;
  std::vector<std::string> allowed;  // phrases
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<Turn> turns() {
  std::vector<Turn> all;
  std::ifstream in(fs::path(places::sources()) / "tests/words.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream parts(line);
    std::string part;
    std::getline(parts, part, '|');
    Turn turn{std::regex("\\b" + trimmed(part) + "\\b"), {}};
    while (std::getline(parts, part, '|')) turn.allowed.push_back(trimmed(part));
    all.push_back(std::move(turn));
  }
  return all;
}

// The literals of a source in C++ or Python, neighbours as one; comments have none.
std::vector<std::string> literals(const std::string& source, bool python = false) {
  std::vector<std::string> all;
  bool neighbours = false;  // nothing but space and comments since the last literal
  for (std::size_t at = 0; at < source.size();) {
    const auto skip_to = [&](const std::string& mark) {
      const std::size_t end = source.find(mark, at);
      at = end == std::string::npos ? source.size() : end + mark.size();
    };
    const auto take = [&](std::size_t begin, std::size_t end) {
      if (!neighbours) all.emplace_back();
      all.back() += source.substr(begin, end - begin);
      neighbours = true;
    };
    if (python ? source[at] == '#' : source.compare(at, 2, "//") == 0) {
      skip_to("\n");
    } else if (python && source.compare(at, 3, R"(""")") == 0) {
      const std::size_t begin = at += 3;
      skip_to(R"(""")");
      take(begin, at - 3);
    } else if (!python && source.compare(at, 2, "/*") == 0) {
      skip_to("*/");
    } else if (source.compare(at, 3, "R\"(") == 0) {
      const std::size_t begin = at + 3;
      skip_to(")\"");
      take(begin, at - 2);
    } else if (source[at] == '"' || (python && source[at] == '\'')) {
      const char quote = source[at];
      const std::size_t begin = ++at;
      while (at < source.size() && source[at] != quote) at += source[at] == '\\' ? 2 : 1;
      take(begin, at++);
    } else if (source[at] == '\'' &&
               (at == 0 || std::isalnum(source[at - 1]) == 0)) {  // not 10'000
      at += source[at + 1] == '\\' ? 4 : 3;
      neighbours = false;
    } else {
      neighbours = neighbours && std::isspace(static_cast<unsigned char>(source[at])) != 0;
      ++at;
    }
  }
  return all;
}

// The text around each turn in a literal.
std::vector<std::string> found_in(std::string literal, const std::vector<Turn>& avoided) {
  std::vector<std::string> found;
  for (const Turn& turn : avoided) {
    std::string left = literal;
    for (const std::string& phrase : turn.allowed) {
      for (std::size_t at = 0; (at = left.find(phrase)) != std::string::npos;) {
        left.erase(at, phrase.size());
      }
    }
    for (std::sregex_iterator at(left.begin(), left.end(), turn.words), end; at != end; ++at) {
      const auto place = static_cast<std::size_t>(at->position());
      if (place > 0 && left[place - 1] == '-') continue;  // of a name, as topic.either-alone
      found.push_back(left.substr(place < 40 ? 0 : place - 40, 100));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("words: literals are found, and turns in them", "[structure]") {
  const std::vector<std::string> all = literals(
      "f(\"a \\\" \"  // \"no\"\n  \"b\", 'x', R\"(c\nd)\"); /* \"no\" */ char q = '\"'; n = 1'0; "
      "\"e\"");
  CHECK(all == std::vector<std::string>{"a \\\" b", "c\nd", "e"});
  CHECK(literals("f('a \\' \"', \"b\")  # it's \"no\"\n\"\"\"c 'd'\n\"e \"\"\"", true) ==
        std::vector<std::string>{"a \\' \"", "b", "c 'd'\n\"e "});
  const std::vector<Turn> avoided = turns();
  CHECK(found_in("columns that tell runs apart", avoided).size() == 1);
  CHECK(found_in("too close to tell apart, so many of them", avoided).size() == 1);
  CHECK(found_in("standalone and known, topic.either-alone", avoided).empty());
}

TEST_CASE("words: no text of the program has a turn to avoid", "[structure]") {
  const std::vector<Turn> avoided = turns();
  REQUIRE(avoided.size() > 10);
  for (const char* folder : {"include", "src", "theorems"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(places::sources()) / folder)) {
      const std::string suffix = entry.path().extension().string();
      const bool python = suffix == ".py";
      if (suffix != ".hpp" && suffix != ".cpp" && !python) continue;
      if (entry.path().parent_path().filename() == "tests") continue;
      std::ifstream in(entry.path());
      const std::string source{std::istreambuf_iterator<char>(in), {}};
      for (const std::string& literal : literals(source, python)) {
        for (const std::string& found : found_in(literal, avoided)) {
          FAIL_CHECK(entry.path().filename().string() << ": " << found);
        }
      }
    }
  }
}

}  // namespace words_test
