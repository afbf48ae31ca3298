/// Results kept between runs.

#include "io/result_cache.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "commands/shell.hpp"
#include "io/fingerprint.hpp"

namespace result_cache_test {

using popgrad::fingerprint;
using popgrad::ResultCache;

namespace {

namespace fs = std::filesystem;

fs::path only_file(const fs::path& folder) {
  REQUIRE(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  return fs::directory_iterator(folder)->path();
}

}  // namespace

TEST_CASE("result cache: what was kept is found by its key alone", "[io]") {
  const command_line::Folder folder;
  const ResultCache cache(folder.path / "results");
  CHECK_FALSE(cache.find("seed 1"));
  REQUIRE(cache.keep("seed 1", "some\nlines\n"));
  CHECK(cache.find("seed 1") == "some\nlines\n");
  CHECK_FALSE(cache.find("seed 2"));
  REQUIRE(cache.keep("seed 1", ""));
  CHECK(cache.find("seed 1") == "");
}

TEST_CASE("result cache: a damaged file is as if it were not there", "[io]") {
  const command_line::Folder folder;
  const ResultCache cache(folder.path);
  REQUIRE(cache.keep("key", "content"));
  const fs::path file = only_file(folder.path);
  const std::string whole = command_line::content(file.string());
  const auto put = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    CHECK_FALSE(cache.find("key"));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    put(changed);
    CHECK_FALSE(cache.find("key"));
  }
  put(whole + "more");
  CHECK_FALSE(cache.find("key"));
  put(whole);
  CHECK(cache.find("key") == "content");
  // Under the name of another key, as if the names were alike by accident.
  REQUIRE(cache.keep("kez", "other"));
  fs::path other;
  for (const auto& entry : fs::directory_iterator(folder.path)) {
    if (entry.path() != file) other = entry.path();
  }
  put(command_line::content(other.string()));
  CHECK_FALSE(cache.find("key"));
}

TEST_CASE("result cache: without a folder, or one that cannot be written, nothing is kept",
          "[io]") {
  const ResultCache none;
  CHECK(none.keep("key", "content"));
  CHECK_FALSE(none.find("key"));
  const command_line::Folder folder;
  const ResultCache in_a_file(folder.file("file", "text"));
  CHECK_FALSE(in_a_file.keep("key", "content"));
  CHECK_FALSE(in_a_file.find("key"));
}

TEST_CASE("result cache: what was not used for long is removed", "[io]") {
  const command_line::Folder folder;
  REQUIRE(ResultCache(folder.path).keep("key", "content"));
  const fs::path file = only_file(folder.path);
  const auto days = [](int count) {
    return fs::file_time_type::clock::now() - std::chrono::hours(24 * count);
  };
  fs::last_write_time(file, days(29));
  CHECK(ResultCache(folder.path).find("key"));
  // Having been found it is used.
  CHECK(fs::last_write_time(file) > days(1));
  fs::last_write_time(file, days(31));
  CHECK_FALSE(ResultCache(folder.path).find("key"));
}

TEST_CASE("fingerprints differ, the program has an identity", "[io]") {
  CHECK(fingerprint("").size() == 32);
  CHECK(fingerprint("a") != fingerprint("b"));
  CHECK(fingerprint(std::string(1, '\0')) != fingerprint(""));
  CHECK(fingerprint("ab") != fingerprint("ba"));
  const std::string identity = popgrad::program_identity();
  CHECK_THAT(identity, Catch::StartsWith("program "));
  CHECK_THAT(identity, Catch::Contains("libginac"));
  CHECK(identity == popgrad::program_identity());
}

}  // namespace result_cache_test
