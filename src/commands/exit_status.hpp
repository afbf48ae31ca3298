#pragma once
/// What the program says to scripts. Each number and its meaning is written here once: --help, the
/// manual page and the table of the README are held to it.

#include <span>
#include <string>

namespace popgrad::cli {

enum ExitStatus : int {
  success = 0,
  violation = 1,
  bad_input = 2,
  undecided = 3,
  numerical_failure = 4,
  not_applicable = 5,
};

struct StatusMeaning {
  ExitStatus status;
  const char* meaning;
};
/// All of them, ascending.
std::span<const StatusMeaning> exit_statuses();

/// Of a command that did two things: the first of 2, 1, 4, 3, 5 among them; 0 if neither is.
int combined(int one, int other);

/// Of --help and the manual page.
inline constexpr const char* where_to_read_on =
    "What is kept where, and how to go on: README.md, 'When something goes wrong'.";

/// The statuses as lines for --help.
std::string exit_status_text();

}  // namespace popgrad::cli
