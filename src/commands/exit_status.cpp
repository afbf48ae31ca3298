#include "commands/exit_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace popgrad::cli {
namespace {

constexpr std::array statuses{
    StatusMeaning{success, "all that was asked for is done, or holds"},
    StatusMeaning{violation, "a statement is violated, or a control is not refuted"},
    StatusMeaning{bad_input,
                  "bad usage or input: one line names parameter, value and what is allowed"},
    StatusMeaning{undecided, "something is inconclusive"},
    StatusMeaning{numerical_failure,
                  "a numerical failure, failed cells of a sweep, or an interruption; what was "
                  "computed is kept"},
    StatusMeaning{
        not_applicable,
        "a statement named by its id does not apply, or no statement that a glob matches applies"},
};

// The earlier counts more.
constexpr std::array order{bad_input, violation, numerical_failure, undecided, not_applicable};

}  // namespace

std::span<const StatusMeaning> exit_statuses() { return statuses; }

int combined(int one, int other) {
  for (const int status : order) {
    if (one == status || other == status) return status;
  }
  return success;
}

std::string exit_status_text() {
  std::string text = "Exit status (of several the first of 2, 1, 4, 3, 5):\n";
  for (const StatusMeaning& s : statuses) {
    text += fmt::format("  {}  {}\n", static_cast<int>(s.status), s.meaning);
  }
  return text + where_to_read_on;
}

}  // namespace popgrad::cli
