/// Every number that a user gives, from the declarations: options, parameters, --config and --over.

#include "commands/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands/commands.hpp"
#include "commands/host.hpp"
#include "commands/shell.hpp"
#include "io/config_file.hpp"
#include "places.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "sanitized.hpp"
#include "scalars/number_text.hpp"

namespace declarations_test {

using namespace popgrad;
using namespace std::string_literals;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using Words = std::vector<std::string>;

// Whatever is read before it is read; then the parser refuses this.
const std::string last_word = "--no-such-option";

// What the parser says of the words, without carrying the command out. Empty: it takes them.
std::string refusal_of(Words words) {
  words.push_back(last_word);
  try {
    cli::carry_out({words, theories(), "popgrad"});
  } catch (const InputError& error) {
    return error.what();
  } catch (const cli::UsageError& error) {
    const std::string text = error.what();
    return text.find(last_word) == std::string::npos ? text : "";
  }
  return "was carried out";
}

// Of the right form as far as it goes: for each positional one word.
Words beginning(const Json& command, const std::string& model, const std::string& rung) {
  Words words{command.at("name")};
  for (const Json& option : command.at("options")) {
    if (!option.at("positional").get<bool>() || !option.at("required").get<bool>()) continue;
    const std::string name = option.at("names").at(0);
    words.push_back(name == "model" ? model : name == "second" || name == "rung" ? rung : "x");
  }
  return words;
}

std::string text_of_end(const Json& end) {
  return end.is_number_float() ? fmt::format("{:.17g}", end.get<double>()) : end.dump();
}

// A text just beyond the end, or the end itself if it is excluded.
std::string beyond(const Json& declared, bool low) {
  const Json& end = declared.at(low ? "least" : "most");
  if (declared.at(low ? "least_excluded" : "most_excluded").get<bool>()) return text_of_end(end);
  if (declared.at("type") == "count") {
    if (low) return std::to_string(end.get<std::int64_t>() - 1);
    if (end.get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max()) {
      return "18446744073709551616";
    }
    return std::to_string(end.get<std::uint64_t>() + 1);
  }
  const double towards = low ? -infinite : infinite;
  return fmt::format("{:.17g}", std::nextafter(end.get<double>(), towards));
}

std::string within(const Json& declared, bool low) {
  const Json& end = declared.at(low ? "least" : "most");
  if (!declared.at(low ? "least_excluded" : "most_excluded").get<bool>()) return text_of_end(end);
  const double towards = low ? infinite : -infinite;
  return fmt::format("{:.17g}", std::nextafter(end.get<double>(), towards));
}

bool takes_numbers(const Json& declared) { return !declared.at("least").is_null(); }

// A value of the declared form with this number in it.
std::string with_number(const Json& declared, const std::string& number) {
  const std::string type = declared.at("type");
  if (type == "pair") return within(declared, true) + "," + number;
  if (type == "matrix") return number + "," + number + ";" + number + "," + within(declared, true);
  return number;
}

Words bad_numbers(const Json& declared) {
  Words bad{"nan", "inf",  "-inf", "1e400", "-1e400", "",    "1e+-5",
            "1e",  "0x10", "1..2", "1 2",   "x",      "1/0", "--1"};
  bad.push_back(beyond(declared, true));
  bad.push_back(beyond(declared, false));
  if (declared.at("type") == "count") bad.insert(bad.end(), {"2.5", "1/2", "1e-3"});
  for (const Json& word : declared.at("choices")) std::erase(bad, word.get<std::string>());
  return bad;
}

Json declarations() {
  const command_line::Answer answer = command_line::run_popgrad("list --options");
  REQUIRE(answer.status == 0);
  return Json::parse(answer.out);
}

// How the option with its value is refused, and is not.
void check_number(const Words& begin, const std::string& name, const Json& declared) {
  for (const std::string& number : bad_numbers(declared)) {
    // Its end depends on --digits, which the parser does not know; the case below asks for it.
    const bool of_digits = name == "--rtol" || name == "--atol";
    if (of_digits && number == beyond(declared, true)) continue;
    const std::string value = with_number(declared, number);
    Words words = begin;
    words.push_back(name + "=" + value);
    const std::string refused = refusal_of(words);
    INFO(words.front() << " " << name << "='" << value << "': " << refused);
    const bool named = refused.find(name) != std::string::npos;
    const bool has_range = number.empty() || refused.find("must be") != std::string::npos;
    const bool clear = named && has_range && refused.find('\n') == std::string::npos;
    CHECK(clear);
    CHECK(refused.size() < 200);
  }
  for (const bool low : {true, false}) {
    Words words = begin;
    words.push_back(name + "=" + with_number(declared, within(declared, low)));
    INFO(words.back());
    CHECK(refusal_of(words).empty());
  }
}

// The command is not reached: the last option is refused when the configuration has been taken.
std::string refusal_of_config(const std::string& text) {
  cli::Host host;
  host.files.texts["c.toml"] = text;
  try {
    cli::carry_out({{"run", "joma", "reduced", "--config", "c.toml", "-o", "x.nothing"},
                    theories(),
                    "popgrad",
                    &host});
  } catch (const InputError& error) {
    const std::string refused = error.what();
    return refused.find("x.nothing") == std::string::npos ? refused : "";
  }
  return "was carried out";
}

// What the line of the help after "Example: popgrad " has; nothing without one.
std::string example_in(const std::string& help) {
  static const std::regex line("\nExample: popgrad ([^\n]+)\n");
  std::smatch found;
  return std::regex_search(help, found, line) ? found[1].str() : "";
}

std::string help_of(const Json& command) {
  const command_line::Answer answer =
      command_line::run_popgrad(command.at("name").get<std::string>() + " --help");
  REQUIRE(answer.status == 0);
  return answer.out;
}

// One reader takes them all, so the sanitizers, under which a command line takes a tenth of a second, see a third.
bool is_checked(int number) { return !build::sanitized() || number % 3 == 0; }

}  // namespace

TEST_CASE("declarations: every number of every command is taken within its range only", "[cli]") {
  const Json all = declarations();
  std::set<std::string> seen;
  int numbers = 0;
  for (const Json& command : all.at("commands")) {
    for (const Json& option : command.at("options")) {
      const std::string name = option.at("names").back();
      const std::string help = option.at("meaning");
      if (!takes_numbers(option)) continue;
      // The same declaration in several commands is the same object of the program.
      if (!seen.insert(option.dump()).second) continue;
      ++numbers;
      if (!is_checked(numbers)) continue;
      check_number(beginning(command, "topic", "flow"), name, option);
    }
  }
  CHECK(numbers > 25);
}

TEST_CASE("declarations: every number of every model is taken within its range only", "[cli]") {
  const Json all = declarations();
  int numbers = 0;
  for (const Json& model : all.at("models")) {
    for (const Json& parameter : model.at("parameters")) {
      if (!takes_numbers(parameter) || !parameter.at("on_command_line").get<bool>()) continue;
      if (!is_checked(++numbers)) continue;
      const std::string name = parameter.at("name");
      const Words begin{"run", model.at("name"), model.at("rungs").at(0).at("name")};
      check_number(begin, "--" + name, parameter);
    }
  }
}

TEST_CASE("declarations: a help begins with an example and the options that matter", "[cli]") {
  std::string page = command_line::run_popgrad("--man").out;
  std::erase(page, '\\');
  const Json all = declarations();
  for (const Json& command : all.at("commands")) {
    const std::string name = command.at("name");
    const std::string help = help_of(command);
    const std::string example = example_in(help);
    INFO(name << ": " << example);
    CHECK_THAT(page, Catch::Contains("\n.B popgrad " + example + "\n"));
    Words words;
    std::istringstream in(example);
    for (std::string word; in >> word;) {
      std::erase(word, '\'');
      // Read before the words are parsed, as it declares parameters.
      if (word == "law.toml") word = places::sources() + "/theorems/files/regression.toml";
      words.push_back(word);
    }
    REQUIRE(words.size() > 1);
    CHECK(words.front() == name);
    CHECK(refusal_of(words).empty());
    const std::size_t main = help.find("\nMain options:\n"),
                      others = help.find("\nOther options:\n");
    CHECK((main == std::string::npos) == (others == std::string::npos));
    if (main == std::string::npos) continue;
    const std::string first = help.substr(main + 1, others - main - 1);
    // Help of an option may go on in a second line, further in.
    std::size_t options = 0;
    for (std::size_t at = 0; (at = first.find("\n  -", at)) != std::string::npos; ++at) ++options;
    CHECK(options == 5);
    // The manual has the same order.
    const std::string option =
        first.substr(first.find("--"), first.find(' ', first.find("--")) - first.find("--"));
    const std::size_t section = page.find("\n.SS " + name);
    CHECK(page.find(option, section) < page.find("-h,--help", section));
  }
}

TEST_CASE("declarations: every option of a choice says what there is", "[cli]") {
  const Json all = declarations();
  for (const Json& command : all.at("commands")) {
    for (const Json& option : command.at("options")) {
      if (option.at("type") != "choice") continue;
      Words words = beginning(command, "topic", "flow");
      words.push_back(option.at("names").back().get<std::string>() + "=nothing");
      INFO(words.back());
      for (const Json& choice : option.at("choices")) {
        CHECK_THAT(refusal_of(words), Catch::Contains(choice.get<std::string>()));
      }
    }
  }
}

TEST_CASE("declarations: one reader takes numbers, drawn by changes of one character", "[scalar]") {
  std::mt19937_64 draws(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(draws() % n); };
  const std::regex decimal(R"([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)");
  const std::regex quotient(
      R"([+-]?[0-9]+\.?([eE][+-]?0+)?/[+]?[0-9]*[1-9][0-9]*\.?([eE][+-]?0+)?)");
  const std::regex whole(R"([+-]?[0-9]+)");
  const std::string marks = "+-.eE/x, 0\t";
  for (int k = 0; k < 4000; ++k) {
    const Words starts{"1", "12.5", "1e5", "-2e-3", "1/3", "0.1e+2", "100"};
    std::string text = starts[below(starts.size())];
    for (std::size_t changes = 1 + below(2); changes > 0; --changes) {
      const std::size_t at = below(text.size() + 1);
      const char mark = marks[below(marks.size())];
      if (below(2) == 0 && at < text.size()) {
        text[at] = mark;
      } else {
        text.insert(at, 1, mark);
      }
    }
    INFO("'" << text << "'");
    const bool finite = std::fabs(std::strtod(text.c_str(), nullptr)) <= 1e300;
    const bool expected =
        (std::regex_match(text, decimal) && finite) || std::regex_match(text, quotient);
    CHECK(!refusal_of_number(text, Range{.low = -1e300, .high = 1e300}).has_value() == expected);
    if (std::regex_match(text, whole)) {
      REQUIRE(whole_digits(text).has_value());
      CHECK(std::stoll(*whole_digits(text)) == std::stoll(text));
    } else if (const auto digits = whole_digits(text); digits && finite) {
      CHECK(std::stod(*digits) == from_text<double>(text));
    }
  }
  CHECK(whole_digits("1e3") == "1000");
  CHECK(whole_digits("12.50e1") == "125");
  CHECK(whole_digits("-1e2") == "-100");
  CHECK_FALSE(whole_digits("12.5").has_value());
  CHECK_FALSE(whole_digits("1e-1").has_value());
  CHECK_FALSE(whole_digits("4/2").has_value());
}

TEST_CASE("declarations: messages write ends as people do", "[scalar]") {
  CHECK(short_text(1e9) == "1e9");
  CHECK(short_text(1e-9) == "1e-9");
  CHECK(short_text(1e100) == "1e100");
  CHECK(short_text(20'000) == "20000");
  CHECK(short_text(1'234'567) == "1234567");
  CHECK(short_text(0.001) == "0.001");
  CHECK(refusal_of_whole("-1", cli::any_seed) ==
        "must be a whole number from 0 to 18446744073709551615");
  CHECK(refusal_of_number("1e-400", above(0)) == "must be >= 1e-100 and <= 1e100");
  CHECK(refusal_of_number("-1e-400", {}) == "is too small; give 0, or 1e-100 in size");
}

TEST_CASE("declarations: a tolerance is as fine as the digits allow", "[cli]") {
  using command_line::run_popgrad;
  const command_line::Answer fine = run_popgrad("run joma reduced --save 2 --rtol 1e-16");
  CHECK(fine.status == 2);
  CHECK_THAT(fine.out, Catch::Contains("--rtol 1e-16 must be >= 1e-15 in double; give --digits"));
  const std::string digits =
      "run joma reduced --t1 1e-3 --save 2 --no-events -q --digits 30 --rtol ";
  CHECK(run_popgrad(digits + "1e-20").status == 0);
  CHECK_THAT(run_popgrad(digits + "1e-40").out,
             Catch::Contains("must be >= 1e-29 with --digits 30"));
  CHECK(run_popgrad("ladder joma --rtol 1e-16").status == 2);
  const command_line::Answer small = run_popgrad("run joma reduced --save 2 --atol 1e-101");
  CHECK(small.status == 2);
  CHECK_THAT(small.out, Catch::Contains("--atol 1e-101 must be >= 1e-100 in double"));
}

TEST_CASE("declarations: --config reads values as the command line does", "[cli]") {
  const Json all = declarations();
  const Json& run = all.at("commands").at(1);
  REQUIRE(run.at("name") == "run");
  for (const Json& option : run.at("options")) {
    if (!takes_numbers(option)) continue;
    const std::string key = option.at("names").back().get<std::string>().substr(2);
    for (const std::string& number : bad_numbers(option)) {
      if (number == beyond(option, true)) continue;  // said by the command for tolerances
      const std::string refused =
          refusal_of_config("# of a run\n" + key + " = \"" + with_number(option, number) + "\"\n");
      INFO(key << " = " << number << ": " << refused);
      CHECK_THAT(refused, Catch::StartsWith("c.toml: line 2: " + key + " "));
    }
    CHECK_THAT(refusal_of_config(key + " = nan\n"), Catch::StartsWith("c.toml: line 1: " + key));
    CHECK_THAT(refusal_of_config(key + " = true\n"), Catch::StartsWith("c.toml: line 1: " + key));
  }
  CHECK(refusal_of_config("t1 = 10\nmu = [1, 2]\nstates = true\n").empty());
}

TEST_CASE("declarations: what --config does not know is refused with its line", "[cli]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\nt1\n", "line 2: is not TOML"},
      {"t1 =\n", "line 1: is not TOML"},
      {"t1 = 1\nt1 = 2\n", "line 2: is not TOML"},
      {"t1 = 0x\n", "is not TOML"},
      {"t1 = 1\n\0x = 2\n"s, "line 2: is not TOML"},
      {"t1 = 1\n[joma]\ntau = 2\n", "line 2: joma is a section"},
      {"t1 = 1\njoma.tau = 2\n", "line 2: joma is a section"},
      {"[[joma]]\ntau = 2\n", "line 1: joma is a section"},
      {"tau = {a = 1}\n", "line 1: tau is a section"},
      {"resume = \"x\"\n", "line 1: key resume is not an option"},
      {"config = \"x\"\n", "line 1: key config is not an option"},
      {"help = true\n", "line 1: key help is not an option"},
      {"model = \"joma\"\n", "key model is not an option"},
      {"t1 = 1979-05-27\n", "t1 must be a number, a text"},
      {"sav = 3\n", "did you mean 'save'?"},
      {"states = 1\n", "states 1 must be true or false"},
      {"no-residual = true\n", "give residual = true or false"},
      {"t1 = 1\n\xC3\xA9 = 1\n", "line 2: is not TOML"},
      {"t1 = 1 \xEF\xBB\x95\n", "line 1: is not TOML"},
      {"tau = []\n", "tau '' is not a finite number"},
      {"mu = [[[1]]]\n", "mu must be a number, a text"},
      {"mu = [1, true]\n", "has true, which is not a finite number"},
      {"t1 = " + std::string(5000, '[') + "\n", "is not TOML"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text.substr(0, 60));
    const std::string refused = refusal_of_config(text);
    CHECK_THAT(refused, Catch::StartsWith("c.toml: line ") && Catch::Contains(expected));
    CHECK(refused.find('\n') == std::string::npos);
  }
  const std::vector<ConfigEntry> read = parse_config(
      "\xEF\xBB\xBFinstance = \"d\xC3\xA9j\xC3\xA0 100 %41 \\u00e9.json\" # \xC3\xA9\n", "c.toml");
  REQUIRE(read.size() == 1);
  CHECK(read.front().value == "d\xC3\xA9j\xC3\xA0 100 %41 \xC3\xA9.json");
  // Changes of some bytes are read, or refused in one line.
  std::mt19937_64 draws(2);
  const std::string start = "# run\nt1 = 10\nmu = [1, 2.5e-3]\nstates = true\nphi = \"relu\"\n";
  const std::string marks = "=[]{}\"'#.,\n\\\0\xC3\x01 tn1e-"s;
  for (int k = 0; k < 3000; ++k) {
    std::string text = start;
    for (std::size_t changes = 1 + draws() % 4; changes > 0; --changes) {
      const std::size_t at = draws() % text.size();
      const std::size_t length = draws() % 3;
      text.replace(at, length, draws() % 3, marks[draws() % marks.size()]);
    }
    std::string refused;
    try {
      static_cast<void>(parse_config(text, "c.toml"));
    } catch (const InputError& error) {
      refused = error.what();
    }
    const bool one_line = refused.empty() || (refused.starts_with("c.toml: line ") &&
                                              refused.find('\n') == std::string::npos);
    INFO(text << "\n" << refused);
    CHECK(one_line);
  }
  // Digits stay as they are written.
  const std::vector<ConfigEntry> entries = parse_config(
      "\"ü\" = 0.10000000000000000000000001\nb = [1_000.50, 1e-3]\nc = [[1, 2.0], [3, 4]]\n"
      "a = \"1/3\" # ü\n",
      "c.toml");
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].value == "0.10000000000000000000000001");
  CHECK(entries[1].value == "1000.50,1e-3");
  CHECK(entries[2].value == "1,2.0;3,4");
  CHECK(entries[3].value == "1/3");
  CHECK(entries[3].line == 4);
}

TEST_CASE("declarations: --over takes the values that the option takes", "[cli]") {
  const auto refused = [](const std::string& model, const std::string& rung,
                          const std::string& axis) -> std::string {
    try {
      cli::carry_out(
          {{"sweep", model, rung, "-q", "-o", "x.nothing", "--over", axis}, theories(), "popgrad"});
    } catch (const InputError& error) {
      const std::string text = error.what();
      return text.find("x.nothing") == std::string::npos ? text : "";
    }
    return "was carried out";
  };
  const Json all = declarations();
  for (const Json& option : all.at("commands").at(1).at("options")) {
    const std::string name = option.at("names").back().get<std::string>().substr(2);
    if (name != "eta" && name != "t1" && name != "steps" && name != "seed" && name != "batch")
      continue;
    for (const std::string& number : bad_numbers(option)) {
      if (number.empty()) continue;
      INFO(name << "=" << number);
      CHECK_THAT(
          refused("joma", "sgd", fmt::format("{}={},{}", name, within(option, true), number)),
          Catch::Contains("--over " + name + "="));
    }
    if (name == "seed" || name == "t1") continue;
    CHECK_THAT(refused("joma", "reduced", name + "=1,2"), Catch::Contains("has no meaning"));
  }
  CHECK_THAT(refused("joma", "gd", "steps=10.4,10.6"), Catch::Contains("has 10.4, which must be"));
  CHECK_THAT(refused("joma", "reduced", "tau=2,0"), Catch::Contains("has 0, which must be > 0"));
  CHECK_THAT(refused("joma", "reduced", "residual=true,maybe"), Catch::Contains("true or false"));
  CHECK_THAT(refused("joma", "reduced", "taau=1,2"), Catch::Contains("did you mean 'tau'"));
  CHECK_THAT(refused("joma", "gd", "steps=2:4:9"), Catch::Contains("the value 2 twice"));
  CHECK(refused("joma", "gd", "steps=1e1,20").empty());
  CHECK(refused("joma", "reduced", "tau=1:4:3").empty());
  // Every row has a name of its own.
  const command_line::Answer close =
      command_line::run_popgrad("sweep joma reduced --t1 1 -q --over tau=1:1.000001:5");
  CHECK(close.status == 0);
  std::set<std::string> labels;
  std::istringstream rows(close.out);
  for (std::string row; std::getline(rows, row);) labels.insert(row.substr(0, row.find(',')));
  CHECK(labels.size() == 6);  // the heading too
}

TEST_CASE("declarations: words without a value, twice or with one too many are refused", "[cli]") {
  const std::vector<std::pair<Words, std::string>> cases{
      {{"run", "joma", "reduced", "--t1=", "--save", "3"}, "--t1 needs a value after the ="},
      {{"run", "joma", "reduced", "--t1", "1", "--t1", "2"}, "--t1 is given 2 times"},
      {{"run", "joma", "reduced", "--states=maybe"}, "--states maybe is no value of a flag"},
      {{"run", "joma", "reduced", "--residual=2.5"}, "--residual 2.5 is no value of a flag"},
      {{"run", "joma", "reduced", "--instance", ""}, "--instance '' must not be empty"},
      {{"compare", "joma", "sgd", "--with", "a.csv,"}, "--with a.csv, has an empty part"},
  };
  for (const auto& [words, expected] : cases) {
    CHECK_THAT(refusal_of(words), Catch::Contains(expected));
  }
  const command_line::Answer last = command_line::run_popgrad("run joma reduced --save 3 --t1");
  CHECK(last.status == 2);
  CHECK_THAT(last.out, Catch::StartsWith("popgrad: --t1 needs a value"));
}

}  // namespace declarations_test
