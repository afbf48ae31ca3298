// The comment at the head of every statement's file against what the file registers.

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "places.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/theories.hpp"

namespace statement_header_test {

using namespace popgrad;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t widest = 100;
// Where the text of a slot begins in its line: "// Hypotheses H1".
constexpr std::size_t margin = 14;

// In their order; only a prediction may be missing.
constexpr std::array<std::string_view, 9> slot_names{"Theorem",   "Status",     "Source",
                                                     "Statement", "Hypotheses", "Prediction",
                                                     "Check",     "Controls",   "Uses"};

struct Header {
  std::map<std::string, std::string> slots;  // continuation lines joined by spaces
  std::vector<std::string> faults;

  // Empty if the slot is missing, which is a fault.
  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = slots.find(name);
    return found == slots.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::string all_faults() const {
    std::string all;
    for (const std::string& fault : faults) all += fault + "\n";
    return all;
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Position of `name` as a whole word at or after `from`; npos if it does not occur.
std::size_t find_word(std::string_view line, std::string_view name, std::size_t from) {
  for (std::size_t at = line.find(name, from); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !is_letter(line[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end >= line.size() || !is_letter(line[end]))) return at;
  }
  return std::string_view::npos;
}

// Does the line open the slot: its name right after "// ", padded to the margin, then text?
bool opens(std::string_view line, std::string_view name) {
  std::string begin = "// " + std::string(name);
  begin.resize(margin, ' ');
  return line.size() > margin && line.substr(0, margin) == begin && line[margin] != ' ';
}

// A name of a slot inside a line is what reflow leaves of a line break. "Theorem 4" is how sources
// are cited, so that name counts only where blanks follow it as they do in a slot.
void look_for_swallowed(std::string_view line, std::size_t from, Header& header) {
  for (const std::string_view name : slot_names) {
    const std::size_t at = find_word(line, name, from);
    if (at == std::string_view::npos) continue;
    const std::string_view behind = line.substr(at + name.size());
    if (name == "Theorem" && !behind.empty() && behind.substr(0, 2) != "  ") continue;
    header.faults.push_back("slot " + std::string(name) +
                            " is swallowed by the line: " + std::string(line));
  }
}

// The comment that `source` begins with, up to its first empty line or "//".
Header parse_header(const std::string& source) {
  Header header;
  std::vector<std::string> order;
  for (const std::string& line : lines_of(source)) {
    if (line == "//" || !line.starts_with("//")) break;
    if (line.size() > widest) header.faults.push_back("line too long: " + line);
    std::string opened;
    for (const std::string_view name : slot_names) {
      if (opens(line, name)) opened = std::string(name);
    }
    look_for_swallowed(line, opened.empty() ? 2 : margin, header);
    if (!opened.empty()) {
      if (header.slots.contains(opened)) header.faults.push_back("slot " + opened + " twice");
      header.slots[opened] = line.substr(margin);
      order.push_back(opened);
      continue;
    }
    const std::size_t text = line.find_first_not_of(' ', 2);
    if (order.empty() || text == std::string::npos || text < margin) {
      header.faults.push_back("neither a slot nor the continuation of one: " + line);
      continue;
    }
    header.slots[order.back()] += " " + line.substr(text);
  }
  std::vector<std::string> expected;
  for (const std::string_view view : slot_names) {
    const std::string name(view);
    if (header.slots.contains(name)) {
      expected.push_back(name);
    } else if (name != "Prediction") {
      header.faults.push_back("slot " + name + " is missing");
    }
  }
  if (order != expected) header.faults.emplace_back("slots are not in their order");
  return header;
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ';');) {
    const std::size_t begin = item.find_first_not_of(' ');
    items.push_back(begin == std::string::npos ? std::string() : item.substr(begin));
  }
  return items;
}

// Items "H1 ...; H2 ..." in order; 0 where a label is not the next one.
std::size_t hypotheses_in(const std::string& text) {
  const std::vector<std::string> items = items_of(text);
  for (std::size_t k = 0; k < items.size(); ++k) {
    const std::string label = "H" + std::to_string(k + 1) + " ";
    if (!items[k].starts_with(label) || items[k].size() == label.size()) return 0;
  }
  return items.size();
}

// The number of the first arXiv paper in the text; empty if there is none.
std::string arxiv_number(const std::string& text) {
  constexpr std::string_view archive = "arXiv ";
  const std::size_t at = text.find(archive);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + archive.size();
  const std::size_t end = text.find_first_not_of("0123456789.", begin);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The files of theorems/*/checks that register a statement or begin with the header of one.
std::vector<std::pair<std::string, Header>> headers_of_statements() {
  std::vector<std::pair<std::string, Header>> found;
  const fs::path theorems = fs::path(places::sources()) / "theorems";
  for (const fs::directory_entry& folder : fs::directory_iterator(theorems)) {
    if (!folder.is_directory()) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path() / "checks")) {
      if (file.path().extension() != ".cpp") continue;
      const std::string source = content_of(file.path());
      const bool registers = source.find(".id = \"") != std::string::npos;
      if (!registers && !source.starts_with("// Theorem ")) continue;
      if (source.find(".theorem = R") != std::string::npos) continue;  // its text is data
      found.emplace_back(file.path().filename().string(), parse_header(source));
    }
  }
  return found;
}

const std::string good_header =
    "// Theorem    model.statement\n"
    "// Status     proved in source (Theorem 4)\n"
    "// Source     Author, arXiv 2310.00535, Theorem 4\n"
    "// Statement  with w = v^2\n"
    "//              w' = 2 v v'\n"
    "// Hypotheses H1 v > 0; H2 v is\n"
    "//            smooth\n"
    "// Prediction no fitted constant\n"
    "// Check      the derivative\n"
    "// Controls   a factor 3; a sign\n"
    "// Uses       rung flow\n"
    "\n"
    "#include <cmath>\n";

// The header with the slot joined to the line before, as reflow did, the blanks behind its name
// kept or not.
std::string with_swallowed(std::string_view name, bool keep_blanks) {
  std::string swallowed = "// A statement\n";
  for (const std::string& line : lines_of(good_header)) {
    if (opens(line, name)) {
      swallowed.back() = ' ';
      swallowed += keep_blanks ? line.substr(3) : std::string(name) + " " + line.substr(margin);
    } else {
      swallowed += line;
    }
    swallowed += '\n';
  }
  // The line that was put in front is there for the first slot alone.
  return name == "Theorem" ? swallowed : swallowed.substr(swallowed.find('\n') + 1);
}

}  // namespace

TEST_CASE("every statement has one file, whose header says what is registered", "[statement]") {
  const std::vector<std::pair<std::string, Header>> headers = headers_of_statements();
  std::map<std::string, std::vector<const Header*>> by_id;
  for (const auto& [file, header] : headers) {
    CAPTURE(file, header.all_faults());
    CHECK(header.faults.empty());
    by_id[header.text("Theorem")].push_back(&header);
  }
  for (const Statement* each : statements(theories())) {
    const Statement& s = *each;
    if (!s.theorem.empty()) continue;
    CAPTURE(s.id);
    REQUIRE(by_id[s.id].size() == 1);
    const Header& header = *by_id[s.id].front();
    CAPTURE(s.status, header.text("Status"));
    CHECK(header.text("Status").starts_with(s.status));
    CAPTURE(s.paper, header.text("Source"));
    CHECK_FALSE(arxiv_number(s.paper).empty());
    CHECK(arxiv_number(header.text("Source")) == arxiv_number(s.paper));
    CAPTURE(header.text("Hypotheses"));
    CHECK(hypotheses_in(header.text("Hypotheses")) == s.hypotheses.size());
    CAPTURE(header.text("Controls"));
    const std::vector<std::string> controls = items_of(header.text("Controls"));
    CHECK(controls.size() == s.controls.size());
    for (const std::string& control : controls) CHECK_FALSE(control.empty());
  }
}

TEST_CASE("a header is read slot by slot", "[statement]") {
  const Header header = parse_header(good_header);
  CAPTURE(header.all_faults());
  CHECK(header.faults.empty());
  CHECK(header.slots.size() == slot_names.size());
  CHECK(header.text("Statement") == "with w = v^2 w' = 2 v v'");
  CHECK(hypotheses_in(header.text("Hypotheses")) == 2);
  CHECK(items_of(header.text("Controls")).size() == 2);
  CHECK(arxiv_number(header.text("Source")) == "2310.00535");
  CHECK(hypotheses_in("H1 a; H3 b") == 0);
  CHECK(hypotheses_in("none") == 0);
}

TEST_CASE("a header that breaks its layout is rejected, with the reason", "[statement]") {
  const auto faults_with = [](const std::string& old_line, const std::string& new_lines) {
    std::string source = good_header;
    const std::size_t at = source.find(old_line);
    REQUIRE(at != std::string::npos);
    return parse_header(source.replace(at, old_line.size(), new_lines)).all_faults();
  };
  const std::string uses = "// Uses       rung flow\n";
  const std::string status = "// Status     proved in source (Theorem 4)\n";
  CHECK(faults_with(uses, uses).empty());
  CHECK_THAT(faults_with(uses, ""), Catch::Contains("slot Uses is missing"));
  CHECK_THAT(faults_with(uses, "// Uses\n"), Catch::Contains("slot Uses is missing"));
  CHECK_THAT(faults_with(uses, "// Uses       " + std::string(widest, 'x') + "\n"),
             Catch::Contains("line too long"));
  CHECK_THAT(faults_with(uses, uses + "// and flow\n"), Catch::Contains("neither a slot"));
  CHECK_THAT(faults_with(uses, uses + status), Catch::Contains("slot Status twice"));
  CHECK_THAT(faults_with("// Theorem    model.statement\n" + status,
                         status + "// Theorem    model.statement\n"),
             Catch::Contains("not in their order"));
}

TEST_CASE("a slot that the line before has swallowed is named", "[statement]") {
  for (const std::string_view name : slot_names) {
    for (const bool keep_blanks : {true, false}) {
      const std::string source = with_swallowed(name, keep_blanks);
      CAPTURE(name, source);
      const Header header = parse_header(source);
      bool named = false;
      for (const std::string& fault : header.faults) {
        named = named || fault.starts_with("slot " + std::string(name) + " is ");
      }
      CHECK(named);
    }
  }
}

}  // namespace statement_header_test
