#pragma once
/// Statements of theory files against built-in ones.

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "commands/shell.hpp"
#include "places.hpp"

namespace file_against_statements {

/// Of `verify`: a record a statement.
inline std::vector<popgrad::Json> verified(const std::string& words) {
  const command_line::Folder folder;
  const std::string to = folder.file("verdicts.json");
  const command_line::Answer answer =
      command_line::run_popgrad("verify " + words + " -q --json " + to);
  INFO(answer.out);
  REQUIRE(answer.status == 0);
  return popgrad::Json::parse(command_line::content(to)).at("statements");
}

/// Those of a file, by its path from the top folder of the sources, hold as the built-in ones do that claim the same
/// (pairs of a name in the file and a built-in id), and all controls of both are refuted. Others of the file hold, too.
inline void require_same_verdicts(
    const std::string& path, const std::vector<std::pair<std::string, std::string>>& statements) {
  using popgrad::Json;
  const std::string file = (std::filesystem::path(places::sources()) / path).string();
  const std::vector<Json> own = verified(file);
  std::string ids;
  for (const auto& [name, id] : statements) ids += id + " ";
  const std::vector<Json> built_in = verified(ids);
  const auto sound = [](const std::vector<Json>& all, const std::string& ending) {
    INFO(ending);
    for (const Json& statement : all) {
      if (!statement.at("id").get<std::string>().ends_with("." + ending)) continue;
      CHECK(statement.at("verdict") == "holds");
      CHECK_FALSE(statement.at("controls").empty());
      for (const Json& control : statement.at("controls")) {
        INFO(control.at("name"));
        CHECK(control.at("verdict") == "violated");
      }
      return true;
    }
    return false;
  };
  for (const auto& [name, id] : statements) {
    CHECK(sound(own, name));
    CHECK(sound(built_in, id.substr(id.find('.') + 1)));
  }
}

}  // namespace file_against_statements
