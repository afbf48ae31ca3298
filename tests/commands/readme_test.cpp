/// README.md against the program. Each of its statements has a case of its own under the sanitizers.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "places.hpp"

namespace readme_test {

using namespace command_line;

namespace {

// Words of a line, without the marks of a table.
std::vector<std::string> words(std::string line) {
  for (char& c : line) {
    if (c == '|' || c == '`') c = ' ';
  }
  std::istringstream in(line);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// Word by word; what is off within a tenth of each other, as another processor may round another way.
void check_same(const std::vector<std::string>& printed, const std::vector<std::string>& row) {
  REQUIRE(printed.size() == row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool off = i + 1 < row.size() && row[i + 1].starts_with('(');
    if (off) {
      CHECK(std::atof(printed[i].c_str()) == Approx(std::atof(row[i].c_str())).epsilon(0.1));
    } else {
      CHECK(printed[i] == row[i]);
    }
  }
}

}  // namespace

TEST_CASE("README: its rows of verdicts are those of verify", "[readme][slow][unsanitized]") {
  std::istringstream readme(content(places::sources() + "/README.md"));
  std::vector<std::vector<std::string>> rows;
  std::string ids;
  for (std::string line; std::getline(readme, line);) {
    if (line.rfind("| `", 0) != 0 || line.find("| holds |") == std::string::npos) continue;
    rows.push_back(words(line));
    ids += " " + rows.back().front();
  }
  REQUIRE(rows.size() == 8);
  std::istringstream verified(run_popgrad("verify -q" + ids).out);
  std::string line;
  std::getline(verified, line);
  for (const std::vector<std::string>& row : rows) {
    REQUIRE(std::getline(verified, line));
    std::vector<std::string> printed = words(line);
    REQUIRE(!printed.empty());
    printed.pop_back();  // seconds
    check_same(printed, row);
  }
}

}  // namespace readme_test
