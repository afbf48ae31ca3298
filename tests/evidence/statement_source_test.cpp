// Rules that the sources of the statements keep (theorems/README.md).

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "places.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/theories.hpp"

namespace statement_source_test {

using namespace popgrad;

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The text between the parenthesis at `open` and its partner.
std::string inside_parentheses(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == '}') --depth;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

// Numbers that no computation gives: fractions, powers of ten, whole numbers beyond ten. Small whole
// numbers are the coefficients of an expansion.
std::vector<std::string> bare_numbers(const std::string& text) {
  static const std::regex number(R"((^|[^\w.])((\d+\.\d*|\.\d+)(e-?\d+)?|\d+e-?\d+|\d{2,}))");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at) {
    if (std::stod((*at)[2].str()) != std::floor(std::stod((*at)[2].str())) ||
        std::stod((*at)[2].str()) > 10) {
      found.push_back((*at)[2].str());
    }
  }
  return found;
}

// Every bare number in a part of an error bound or in a scale.
std::vector<std::string> bare_bounds(const std::string& source) {
  std::vector<std::string> found;
  static const std::regex bound(
      R"(ErrorPart::(solver|rounding|rounding_moved|next_order|sampling|between_points|enclosure)(\()|\.scale = (\{)|\.in_units_of(\())");
  for (std::sregex_iterator at(source.begin(), source.end(), bound), end; at != end; ++at) {
    const auto open = static_cast<std::size_t>(at->position() + at->length() - 1);
    for (const std::string& number : bare_numbers(inside_parentheses(source, open))) {
      found.push_back(at->str() + " ... " + number);
    }
  }
  return found;
}

bool is_check(const fs::path& file) { return file.parent_path().filename() == "checks"; }

}  // namespace

TEST_CASE("bare numbers in bounds are found", "[statement]") {
  CHECK(bare_bounds("x.add(ErrorPart::next_order(2 * term / 3));").empty());
  CHECK(bare_bounds("x.add(ErrorPart::next_order(term[11] + f(k0_12)));").size() == 1);
  CHECK(bare_bounds("x.add(ErrorPart::next_order(std::max(1e-3, term)));").size() == 1);
  CHECK(bare_bounds("x.add(ErrorPart::solver(a, a + 0.5));").size() == 1);
  CHECK(bare_bounds(".scale = {5.5},").size() == 1);
  CHECK(bare_bounds(".scale = {1.0},").empty());
  CHECK(bare_bounds("equal(\"x\", x, 1).in_units_of(5.5)").size() == 1);
  CHECK(bare_bounds("const double tolerance = 1e-12;").empty());
}

TEST_CASE("no bound of a statement has a bare number in it", "[statement]") {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(places::sources() + "/theorems")) {
    if (entry.path().extension() != ".cpp" || !is_check(entry.path())) continue;
    ++files;
    const std::vector<std::string> found = bare_bounds(read(entry.path()));
    CAPTURE(entry.path(), found);
    CHECK(found.empty());
  }
  CHECK(files > statements(theories()).size());
}

TEST_CASE("no statement asks which control is examined", "[statement]") {
  // A claim and its controls are judged on one measurement; only their predictions differ.
  static const std::regex asks(R"((\bvariant|\bcontrol(\.name)?)\s*[!=]=|only_what_varies)");
  CHECK(std::regex_search(std::string("if (variant == \"few\")"), asks));
  CHECK(std::regex_search(std::string("control.name != \"\""), asks));
  for (const auto& entry : fs::recursive_directory_iterator(places::sources() + "/theorems")) {
    if (!entry.is_regular_file() || !is_check(entry.path())) continue;
    CAPTURE(entry.path());
    CHECK_FALSE(std::regex_search(read(entry.path()), asks));
  }
}

TEST_CASE("no evidence of a theorem has a bound that was chosen", "[statement]") {
  // All is judged by Examination::judge, also of errata.
  static const std::regex made_by_hand(R"(\b(bounded|at_least)\(|evidence\.(push|emplace)_back)");
  CHECK(std::regex_search(std::string("it.evidence.push_back(x);"), made_by_hand));
  CHECK_FALSE(std::regex_search(std::string("const LargeLaw law = unbounded(x);"), made_by_hand));
  for (const auto& entry : fs::recursive_directory_iterator(places::sources() + "/theorems")) {
    if (entry.path().extension() != ".cpp" || !is_check(entry.path())) continue;
    CAPTURE(entry.path());
    CHECK_FALSE(std::regex_search(read(entry.path()), made_by_hand));
  }
}

TEST_CASE("samples on the page about statements are from statements", "[statement]") {
  const std::string sources = read(places::sources() + "/theorems/joma/checks/entropy_bounce.cpp") +
                              read(places::sources() + "/tests/package/deep_linear.cpp");
  const std::string page = read(places::sources() + "/theorems/README.md");
  static const std::regex sample(R"(```cpp\n((?:[^`]|`(?!``))+)```)");
  std::ptrdiff_t samples = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), sample), end; at != end; ++at) {
    CAPTURE((*at)[1].str());
    CHECK(sources.find((*at)[1].str()) != std::string::npos);
    ++samples;
  }
  CHECK(samples > 5);
}

}  // namespace statement_source_test
