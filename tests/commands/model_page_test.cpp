/// theorems/MODEL/README.md against the program: outputs, instances, names.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "commands/shell.hpp"
#include "places.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"

namespace model_page_test {

using namespace popgrad;
using command_line::content;
using command_line::Folder;

namespace {

constexpr const char* program = "./run ";

std::string page_of(const Model& model) {
  std::string folder = model.name();
  std::replace(folder.begin(), folder.end(), '-', '_');
  return content(places::sources() + "/theorems/" + folder + "/README.md");
}

/// A fenced block with the command that a comment above it names.
struct Block {
  std::string words;  // of the command, without ./run
  std::string text;
};

// <!-- KIND of: ./run WORDS -->, a fence with the language, text, a fence.
std::vector<Block> blocks(const std::string& page, const std::string& kind) {
  const std::string begins = "<!-- " + kind + " of: " + program;
  std::vector<Block> found;
  for (std::size_t at = page.find(begins); at != std::string::npos; at = page.find(begins, at)) {
    at += begins.size();
    const std::size_t end = page.find(" -->\n```", at);
    REQUIRE(end != std::string::npos);
    const std::size_t text = page.find('\n', end + 5) + 1;
    const std::size_t fence = page.find("```\n", text);
    REQUIRE(fence != std::string::npos);
    found.push_back({page.substr(at, end - at), page.substr(text, fence - text)});
    at = fence;
  }
  return found;
}

}  // namespace

TEST_CASE("page: what is printed on a model's page is what the command prints", "[page]") {
  for (const Theory& theory : theories()) {
    const std::string page = page_of(*theory.model);
    INFO(theory.model->name());
    const std::vector<Block> printed = blocks(page, "output");
    CHECK_FALSE(printed.empty());
    for (const Block& block : printed) {
      INFO(block.words);
      const command_line::Answer answer = command_line::run_popgrad(block.words);
      CHECK(answer.status == 0);
      CHECK(answer.out == block.text);
    }
  }
}

TEST_CASE("page: the instances on a model's page are accepted", "[page]") {
  for (const Theory& theory : theories()) {
    const std::string page = page_of(*theory.model);
    INFO(theory.model->name());
    const std::vector<Block> instances = blocks(page, "instance");
    CHECK_FALSE(instances.empty());
    for (const Block& block : instances) {
      const Folder folder;
      INFO(block.words);
      const command_line::Answer answer = command_line::run_popgrad(
          block.words + " --instance " + folder.file("instance.json", block.text));
      INFO(answer.out);
      CHECK(answer.status == 0);
    }
  }
}

}  // namespace model_page_test
