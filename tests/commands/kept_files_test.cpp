/// Files that a command goes on from, altered at random: what it makes of them is the result of the whole
/// command, or it refuses them.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands/in_process.hpp"
#include "interrupted_sweep.hpp"
#include "io/atomic_file.hpp"
#include "io/locked_file.hpp"
#include "io/made_with.hpp"

namespace kept_files_test {

using namespace popgrad;

namespace {

namespace fs = std::filesystem;
using namespace in_process;

using Contents = std::map<std::string, std::string>;

Contents contents_of(const fs::path& folder) {
  Contents all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    all[entry.path().string()] = read_own_file(entry.path());
  }
  return all;
}

void restore(const fs::path& folder, const Contents& all) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
  for (const auto& [name, text] : all) write(name, text);
}

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return random() % n; }

std::string without_field(const std::string& text, Random& random) {
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || document.empty()) return text.substr(0, text.size() / 2);
  // Deeper at random, then one field or item less.
  Json* at = &document;
  while (true) {
    auto item = at->begin();
    std::advance(item, static_cast<std::ptrdiff_t>(below(random, at->size())));
    const bool deeper = item->is_structured() && !item->empty() && below(random, 2) == 0;
    if (!deeper) {
      at->erase(item);
      return document.dump();
    }
    at = &*item;
  }
}

// The text with one alteration, `what` says which.
std::string altered(const std::string& text, Random& random, std::string& what) {
  const auto lines_of = [](const std::string& whole) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find('\n', begin), whole.size() - 1);
      lines.push_back(whole.substr(begin, end + 1 - begin));
      begin = end + 1;
    }
    return lines;
  };
  const std::vector<std::string> lines = lines_of(text);
  const auto joined = [](const std::vector<std::string>& all) {
    return fmt::format("{}", fmt::join(all, ""));
  };
  std::vector<std::string> changed = lines;
  const std::size_t line = below(random, lines.size());
  const auto place = static_cast<std::ptrdiff_t>(line);
  const std::size_t byte = below(random, text.size());
  std::string other = text;
  switch (below(random, 10)) {
    case 0:
      what = "a bit";
      other[byte] = static_cast<char>(other[byte] ^ (1 << below(random, 7)));
      return other;
    case 1:
      what = "a byte less";
      return other.erase(byte, 1);
    case 2:
      what = "a byte more";
      return other.insert(byte, 1, text[below(random, text.size())]);
    case 3:
      what = "cut off";
      return other.substr(0, byte);
    case 4:
      what = "a line less";
      changed.erase(changed.begin() + place);
      return joined(changed);
    case 5:
      what = "a line twice";
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size())),
                     lines[line]);
      return joined(changed);
    case 6:
      what = "two lines exchanged";
      std::swap(changed[line], changed[below(random, lines.size())]);
      return joined(changed);
    case 7: {
      what = "a digit";
      const std::size_t digit = text.find_first_of("0123456789", byte);
      if (digit != std::string::npos) other[digit] = other[digit] == '7' ? '3' : '7';
      return other;
    }
    case 8:
      what = "CRLF";
      for (std::string& one : changed) {
        if (one.ends_with('\n')) one.insert(one.size() - 1, "\r");
      }
      return joined(changed);
    default:
      what = "a field less";
      return without_field(text, random);
  }
}

// Alters one of the files in the folder at a time. `result` is what the command then has to have made, of
// what is compared.
void check_alterations(const fs::path& folder, const Words& words, std::uint64_t seed, int draws,
                       const std::function<std::string()>& result) {
  const Contents kept = contents_of(folder);
  REQUIRE(call(words).status == cli::success);
  const std::string whole = result();
  restore(folder, kept);
  Random random(seed);
  std::vector<std::string> names;
  for (const auto& [name, text] : kept) {
    if (!text.empty()) names.push_back(name);
  }
  int refused = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const std::string name = names[below(random, names.size())];
    std::string what;
    const std::string other = altered(kept.at(name), random, what);
    write(name, other);
    const Answer answer = call(words);
    CAPTURE(words, draw, name, what, answer.status, answer.error);
    if (answer.status == cli::success) {
      CHECK(result() == whole);
    } else {
      CHECK(answer.status == cli::bad_input);
      CHECK(answer.error.find('\n') == std::string::npos);
      ++refused;
    }
    restore(folder, kept);
  }
  CHECK(refused > draws / 3);
}

constexpr const char* law = R"({"mu": [1, 2, 3], "v0": 0.1, "tau": 2})";

}  // namespace

TEST_CASE("kept files: an altered sweep is refused or made as the whole", "[cli]") {
  const Folder folder;
  const std::string table = folder.file("s.csv");
  write(folder.file("law.json"), law);
  write(folder.file("c.toml"), "save-at = \"0.5,1\"\n");
  const Words words{"sweep",      "joma", "reduced", "--instance", folder.file("law.json"),
                    "--t1",       "0.5",  "--over",  "tau=1,2,4",  "--over",
                    "v0=0.1,0.2", "-q",   "-o",      table};
  REQUIRE(call(words).status == cli::success);
  const auto result = [&] { return read_own_file(table); };
  check_alterations(folder.path, words, 1, 40, result);
  command_line::leave_interrupted(table, {4, 0, 2});
  check_alterations(folder.path, words, 2, 60, result);
}

TEST_CASE("kept files: altered shards are refused or merged as the whole", "[cli]") {
  const Folder folder;
  const std::string table = folder.file("s.csv");
  write(folder.file("law.json"), law);
  Words words{"sweep", "joma", "reduced", "--instance", folder.file("law.json"),
              "--t1",  "0.5",  "--over",  "tau=1,2,4",  "-q",
              "-o",    table,  "--shard"};
  for (const char* shard : {"1/2", "2/2"}) {
    words.emplace_back(shard);
    REQUIRE(call(words).status == cli::success);
    words.pop_back();
  }
  fs::remove(folder.file("law.json"));  // which merge does not read
  check_alterations(folder.path, {"merge", "-q", table}, 3, 40,
                    [&] { return read_own_file(table); });
}

TEST_CASE("kept files: a shard made with another instance is refused", "[cli]") {
  const Folder folder;
  const std::string table = folder.file("s.csv");
  for (const char* shard : {"1/2", "2/2"}) {
    write(folder.file("law.json"), fmt::format(R"({{"mu": [1, {}]}})", shard[0]));
    REQUIRE(call({"sweep", "joma", "reduced", "--instance", folder.file("law.json"), "--t1", "0.5",
                  "--over", "tau=1,2", "-q", "-o", table, "--shard", shard})
                .status == cli::success);
  }
  const Answer merged = call({"merge", table});
  CHECK(merged.status == cli::bad_input);
  CHECK_THAT(merged.error, Catch::Contains("two contents of " + folder.file("law.json")));
}

TEST_CASE("kept files: an altered checkpoint is refused, or goes on to the whole run", "[cli]") {
  for (const Words& rung :
       {Words{"gd", "--steps", "2000", "--save", "9"},
        Words{"sgd", "--steps", "2000", "--save", "5", "--runs", "2", "--jobs", "1"},
        Words{"reduced", "--t1", "9", "--save", "9"}}) {
    const Folder folder;
    const std::string file = folder.file("r.csv");
    const bool given = rung[0] == "reduced";
    Words words{"run", "joma"};
    words.insert(words.end(), rung.begin(), rung.end());
    words.insert(words.end(), {"-q", "-o", file});
    if (given) {
      write(folder.file("law.json"), law);
      words.insert(words.end(), {"--instance", folder.file("law.json")});
    }
    CAPTURE(words);
    REQUIRE(call(words, given ? 0 : 3).status == cli::numerical_failure);
    fs::remove(file);
    check_alterations(folder.path, {"run", "--resume", file + ".checkpoint.json", "-q"}, 4, 25,
                      [&] { return read_own_file(file); });
  }
}

TEST_CASE("kept files: an altered search is refused, or goes on to the same points", "[cli]") {
  const Folder folder;
  const std::string file = folder.file("f.json");
  const auto words = [&](const char* points) {
    return Words{"falsify", "joma.stable-rank", "--evaluations", points, "--jobs", "1", "-q", "-o",
                 file};
  };
  REQUIRE(call(words("3")).status == cli::success);
  check_alterations(folder.path, words("4"), 5, 40, [&] {
    return Json::parse(read_own_file(file)).at("searches").at(0).at("trials").dump();
  });
}

TEST_CASE("kept files: another version of popgrad is refused, or stated as a maker", "[cli]") {
  const Folder folder;
  const auto made_by_another = [](const std::string& file, const std::string& field) {
    Json document = Json::parse(read_own_file(file));
    Json& version = document.at(field);
    version = version.is_array() ? Json({"0.1.0"}) : Json("0.1.0");
    write(file, document.dump());
  };
  const auto check = [&](Words words, const std::string& file, const std::string& field) {
    made_by_another(file, field);
    const Answer refused = call(words);
    CAPTURE(words);
    CHECK(refused.status == cli::bad_input);
    CHECK_THAT(refused.error,
               Catch::Contains("was made by popgrad 0.1.0") && Catch::Contains("--same-results"));
    words.emplace_back("--same-results");
    CHECK(call(words).status == cli::success);
  };
  const auto names_both = [](const std::string& text) {
    return text.find("0.1.0") != std::string::npos &&
           text.find(program_version()) != std::string::npos;
  };
  const std::string table = folder.file("s.csv");
  const Words sweep{"sweep", "joma", "reduced", "--over", "tau=1,2",
                    "--t1",  "0.5",  "-q",      "-o",     table};
  REQUIRE(call(sweep).status == cli::success);
  const std::string whole = read_own_file(table);
  command_line::leave_interrupted(table, {1});
  check(sweep, table + ".sweep.json", "versions");
  CHECK(read_own_file(table) == whole);
  CHECK(names_both(read_own_file(table + ".sweep.json")));

  Words shard = sweep;
  shard.insert(shard.end(), {"--shard", ""});
  for (const char* which : {"1/2", "2/2"}) {
    shard.back() = which;
    REQUIRE(call(shard).status == cli::success);
  }
  made_by_another(folder.file("s.1-of-2.csv.sweep.json"), "versions");
  fs::remove(table);
  Words merge{"merge", "-q", table};
  CHECK_THAT(call(merge).error, Catch::Contains("has shards made by popgrad 0.1.0 and by"));
  merge.emplace_back("--same-results");
  REQUIRE(call(merge).status == cli::success);
  CHECK(names_both(read_own_file(table + ".sweep.json")));

  const std::string run = folder.file("r.json");
  REQUIRE(call({"run", "joma", "gd", "--steps", "2000", "-q", "-o", run}, 3).status ==
          cli::numerical_failure);
  check({"run", "--resume", run + ".checkpoint.json"}, run + ".checkpoint.json", "versions");
  CHECK(names_both(Json::parse(read_own_file(run)).at("version").get<std::string>()));

  const std::string search = folder.file("f.json");
  const Words falsify{"falsify", "joma.stable-rank", "--evaluations", "2", "-q", "-o", search};
  REQUIRE(call(falsify).status == cli::success);
  check(falsify, search, "version");
  CHECK(names_both(Json::parse(read_own_file(search)).at("version").get<std::string>()));
}

TEST_CASE("kept files: nothing else is given with --resume", "[cli]") {
  const Folder folder;
  const std::string run = folder.file("r.csv");
  REQUIRE(call({"run", "joma", "gd", "--steps", "2000", "-q", "-o", run}, 3).status ==
          cli::numerical_failure);
  const Words resume{"run", "--resume", run + ".checkpoint.json"};
  for (const Words& more : {Words{"--steps", "5"},
                            {"--seed", "2"},
                            {"--no-events"},
                            {"joma"},
                            {"joma", "sgd"},
                            {"--eta", "0.1"},
                            {"--save-at", "1,2"},
                            {"--states"},
                            {"--config", run},
                            {"--jobs", "1"}}) {
    Words words = resume;
    words.insert(words.end(), more.begin(), more.end());
    const Answer answer = call(words);
    CAPTURE(words, answer.error);
    CHECK(answer.status == cli::bad_input);
    CHECK_THAT(answer.error, Catch::Contains("cannot be given with --resume"));
  }
  CHECK(call({"run", "joma", "gd", "--same-results"}).status == cli::bad_input);
}

// The folder of the process is that of the test, and given back.
TEST_CASE("kept files: interrupted runs without a name have files of their own", "[cli]") {
  struct Here {
    fs::path before = fs::current_path();
    explicit Here(const fs::path& folder) { fs::current_path(folder); }
    ~Here() { fs::current_path(before); }
  };
  const Words words{"run", "joma", "gd", "--steps", "2000", "--save", "2", "-q"};
  const Folder folder;
  {
    const Here here(folder.path);
    for (int k = 0; k < 3; ++k) REQUIRE(call(words, 3).status == cli::numerical_failure);
    // Interrupted again, it is saved in the file that it went on from.
    const Words again{"run", "--resume", "popgrad-joma-gd-2.checkpoint.json", "-q"};
    REQUIRE(call(again, 1).status == cli::numerical_failure);
  }
  CHECK(contents_of(folder.path).size() == 3);
  // In a folder that nobody may write to, with those of temporary files.
  const char* const usual = std::getenv("TMPDIR");
  const std::string kept = usual == nullptr ? "" : usual;
  const Folder temporary;
  REQUIRE(::setenv("TMPDIR", temporary.path.c_str(), 1) == 0);
  {
    const Here here("/proc");
    CHECK(call(words, 3).status == cli::numerical_failure);
  }
  usual == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  CHECK(fs::exists(temporary.path / "popgrad-joma-gd.checkpoint.json"));
}

TEST_CASE("kept files: one process at a time goes on from a file", "[cli]") {
  const Folder folder;
  for (const auto& [words, lock] :
       {std::pair{Words{"falsify", "joma.stable-rank", "--evaluations", "2", "-q", "-o",
                        folder.file("f.json")},
                  "f.json.lock"},
        std::pair{Words{"sweep", "joma", "reduced", "--over", "tau=1", "--t1", "0.5", "-q", "-o",
                        folder.file("s.csv")},
                  "s.csv.journal"}}) {
    CAPTURE(words);
    {
      const LockedFile other("test", folder.file(lock), words.back());
      const Answer answer = call(words);
      CHECK(answer.status == cli::bad_input);
      CHECK_THAT(answer.error, Catch::Contains("is being made by another process"));
    }
    // One that a killed process left does not hold.
    write(folder.file(lock), "");
    CHECK(call(words).status == cli::success);
    CHECK_FALSE(fs::exists(folder.file(lock)));
  }
}

}  // namespace kept_files_test
