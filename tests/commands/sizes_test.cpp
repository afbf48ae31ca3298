/// Absurd sizes of every option that memory grows with: refused with the amount, before it is taken.

#include <fmt/format.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands/commands.hpp"
#include "commands/shell.hpp"
#include "io/given_files.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/evidence/theories.hpp"
#include "sanitized.hpp"

namespace sizes_test {

using namespace popgrad;

namespace {

double most_memory_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

struct Sized {
  std::vector<std::string> words;
  std::string option;
  double low, high;  ///< beyond what the limit allows
};

}  // namespace

TEST_CASE("cli: absurd sizes are refused before memory is taken", "[cli][memory]") {
  const std::vector<Sized> all{
      {{"run", "joma", "reduced"}, "--save", 1e7, 2e9},
      {{"run", "joma", "reduced", "--digits", "50"}, "--save", 1e7, 2e9},
      {{"run", "joma", "reduced", "--states"}, "--save", 1e7, 2e9},
      {{"run", "joma", "gd", "--steps", "100000000000"}, "--save", 1e7, 2e9},
      {{"run", "joma", "sgd", "--steps", "1000"}, "--runs", 1e5, 1e7},
      {{"run", "joma", "sgd", "--length", "50", "--steps", "3"}, "--batch", 1e6, 1e8},
      {{"run", "joma", "gd", "--steps", "3"}, "--units", 1e7, 1e9},
      {{"run", "scb", "sgd", "--steps", "3"}, "--batch", 1e6, 1e8},
      {{"run", "scb", "reduced", "--T", "1000000000"}, "--Q", 1e7, 1e9},
      {{"run", "scan-snap", "flow", "--preset", "syn-medium"}, "--n_last", 1e6, 1e8},
      {{"compare", "joma", "sgd", "flow", "--steps", "1000"}, "--runs", 1e5, 1e7},
      {{"landscape", "topic", "-o", "sizes-test.csv"}, "--grid", 2e3, 2e4},
      {{"landscape", "topic", "-o", "-"}, "--grid", 2e3, 2e4},
  };
  std::mt19937_64 draws(20261126);
  std::uniform_real_distribution<double> share(0, 1);
  const double before = most_memory_so_far();
  for (const Sized& sized : all) {
    for (int k = 0; k < 3; ++k) {
      const double size = std::floor(sized.low * std::pow(sized.high / sized.low, share(draws)));
      std::vector<std::string> words = sized.words;
      for (const std::string& word :
           {sized.option, std::to_string(static_cast<long long>(size)), std::string("--memory"),
            std::string("50MB"), std::string("-q")}) {
        words.push_back(word);
      }
      std::string line;
      for (const std::string& word : words) line += word + " ";
      INFO(line);
      try {
        static_cast<void>(cli::carry_out({words, theories(), "popgrad"}));
        FAIL("was not refused");
      } catch (const InputError& error) {
        CHECK_THAT(error.what(), Catch::Contains(sized.option));
      }
    }
  }
  set_memory_limit({});
  // The address sanitizer holds back what was freed.
  CHECK(most_memory_so_far() - before < (build::sanitized() ? 300e6 : 100e6));
}

TEST_CASE("cli: memory that nobody declared is refused by the limit as well", "[cli][memory]") {
  if (!build::sanitized()) {  // which ends the program where an allocation fails
    // The weights of a large vocabulary.
    const command_line::Answer answer = command_line::run_popgrad(
        "run topic gd --T 1000 --tau 1 --v 9 --steps 1 --memory 200MB -q -o -");
    CHECK(answer.status == 2);
    CHECK_THAT(answer.out, Catch::Contains("--memory"));
  }
  CHECK(command_line::run_popgrad("list --memory 4GBs").status == 2);
}

TEST_CASE("tables take the memory of their text and of the columns that are asked for",
          "[cli][memory]") {
  if (build::sanitized()) return;
  constexpr std::size_t rows = 4000, names = 1000;
  std::string header = "step", row = "0";
  for (std::size_t k = 1; k < names; ++k) {
    header += fmt::format(",c{}", k);
    row += ",0";
  }
  std::string text = header + "\n";
  for (std::size_t k = 0; k < rows; ++k) text += row + "\n";
  const double before = most_memory_so_far();
  Table table = parse_csv(std::move(text), "wide.csv");
  CHECK(table.numbers({0, names - 1})[1].size() == rows);
  // Each row has keys of its own.
  std::string objects;
  for (std::size_t k = 0; k < rows; ++k)
    objects += fmt::format("{{\"step\": {0}, \"at/{0}\": 1}}\n", k);
  const command_line::Folder folder;
  Table sparse = read_table(folder.file("sparse.jsonl", objects));
  CHECK(sparse.names.size() == rows + 1);
  CHECK(sparse.numbers({0})[0].back() == rows - 1);
  CHECK(most_memory_so_far() - before < 20e6);  // all fields of either: more than 30e6

  // A packed file says how much it holds.
  std::string packed("\x1F\x8B", 2);
  packed += std::string(4'000'000, '\0') + std::string("\0\0\0\xE0", 4);
  const command_line::Answer refused = command_line::run_popgrad(
      "compare joma sgd --memory 1GB --clock 1 --with " + folder.file("large.csv.gz", packed));
  CHECK(refused.status == 2);
  CHECK_THAT(refused.out, Catch::Contains("large.csv.gz need 3.76 GB"));
}

TEST_CASE("readers are linear in the number of names", "[cli][memory]") {
  // Minutes where each name is looked for among all.
  constexpr int names = 300'000;
  std::string object = "{";
  std::string header;
  for (int k = 0; k < names; ++k) {
    object += (k > 0 ? ", \"name_" : "\"name_") + std::to_string(k) + "\": 1";
    header += (k > 0 ? ",name_" : "name_") + std::to_string(k);
  }
  object += "}";
  const command_line::Folder folder;
  std::string zeros = "0";
  for (int k = 1; k < names; ++k) zeros += ",0";
  CHECK(parse_csv(header + "\n" + zeros + "\n", "names.csv").names.size() == names);
  const command_line::Answer refused =
      command_line::run_popgrad("run joma reduced --instance " + folder.file("names.json", object));
  CHECK(refused.status == 2);
  CHECK_THAT(refused.out, Catch::Contains("more than 10000 keys"));
}

}  // namespace sizes_test
