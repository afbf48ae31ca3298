// Statements of W_V under uniform attention written as data.

#include <catch2/catch.hpp>

#include "theory_files/file_against_statements.hpp"

namespace topic_value_file_test {
namespace {

TEST_CASE("topic: statements written as data hold as those in C++ do",
          "[topic][theory_files][cli]") {
  file_against_statements::require_same_verdicts(
      "theorems/topic/tests/value.toml",
      {{"least-norm", "topic.value"}, {"frequencies", "topic.masked-frequencies"}});
}

}  // namespace
}  // namespace topic_value_file_test
