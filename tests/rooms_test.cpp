// The rooms of the core and the folders of theories: which includes which.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "places.hpp"

namespace rooms_test {
namespace {

namespace fs = std::filesystem;

// A room includes from itself and from those before it.
constexpr std::array<std::string_view, 13> rooms{
    "base",    "scalars",  "statistics", "rungs", "solving",    "walks",   "fluctuations",
    "judging", "evidence", "theorems",   "io",    "presenting", "commands"};

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

}  // namespace
}  // namespace rooms_test
