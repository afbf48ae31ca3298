/// theorems/README.md: its table of statements is the one that `verify --markdown` makes.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "places.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/evidence/theory.hpp"
#include "presenting/verdict_table.hpp"

namespace survey_markdown_test {

using namespace popgrad;

namespace {

// The cells of a row of a Markdown table; "\|" is a bar inside a cell.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 2; i < row.size(); ++i) {
    if (row[i] == '|' && row[i - 1] != '\\') {
      cells.push_back(cell.substr(0, cell.size() - 1));
      cell.clear();
      ++i;
    } else if (row[i] != '\\' || i + 1 == row.size() || row[i + 1] != '|') {
      cell += row[i];
    }
  }
  return cells;
}

// "1.00 `name`", or only the name where no instance was judged.
std::string name_in(const std::string& cell) {
  const std::size_t begin = cell.find('`') + 1;
  return cell.substr(begin, cell.size() - 1 - begin);
}

template <class Declared>
bool is_one_of(const std::vector<Declared>& all, const std::string& name) {
  return std::ranges::any_of(all, [&](const Declared& each) { return each.name == name; });
}

// The rows of the table that begins with `head`, by their first cells.
std::map<std::string, std::vector<std::string>> rows_of(const std::string& page,
                                                        const std::string& head) {
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream in(page);
  std::string line;
  while (std::getline(in, line) && line != head) {
  }
  std::getline(in, line);  // |---|
  while (std::getline(in, line) && line.rfind("| ", 0) == 0) {
    const std::vector<std::string> cells = cells_of(line);
    rows[cells.front()] = cells;
  }
  return rows;
}

}  // namespace

TEST_CASE("theorems/README.md: claims, false versions and rivals are those of the statements",
          "[readme]") {
  Verification all;
  for (const Statement* s : statements(theories())) {
    all.findings.emplace_back().statement = s;
    all.surveys.emplace_back();
  }
  const std::string made = survey_markdown(all);
  const std::string head = made.substr(0, made.find('\n'));
  const auto of_program = rows_of(made, head);
  const auto of_page =
      rows_of(command_line::content(places::sources() + "/theorems/README.md"), head);
  CHECK(of_page.size() == of_program.size());
  enum Column {
    id,
    claim,
    clauses,
    instances,
    holds,
    violated,
    undecided,
    outside,
    false_version,
    rival,
    control
  };
  for (const Finding& finding : all.findings) {
    const Statement& s = *finding.statement;
    CAPTURE(s.id);
    const std::string name = '`' + s.id + '`';
    REQUIRE(of_page.count(name) == 1);
    const std::vector<std::string>& row = of_page.at(name);
    const std::vector<std::string>& same = of_program.at(name);
    REQUIRE(row.size() == same.size());
    for (const Column text : {claim, clauses}) CHECK(row[text] == same[text]);
    CHECK(name_in(row[false_version]) == s.false_version);
    CHECK(s.rivals.empty() == (row[rival] == "none"));
    CHECK((s.rivals.empty() || is_one_of(s.rivals, name_in(row[rival]))));
    CHECK(is_one_of(s.controls, name_in(row[control])));
    const auto number = [&](Column column) { return std::stod(row[column]); };
    CHECK(number(instances) ==
          number(holds) + number(violated) + number(undecided) + number(outside));
    CHECK(number(violated) == 0);
    if (s.needs_data) continue;
    // What makes a statement finished (theorems/README.md, Controls); one instance of a few is by chance.
    CHECK(2 * number(outside) <= number(instances));
    const double judged = number(instances) - number(outside);
    for (const Column power : {false_version, control}) {
      CHECK((1 - number(power)) * judged <= std::max(1.0, 0.05 * judged) + 0.005 * judged);
    }
  }
}

}  // namespace survey_markdown_test
