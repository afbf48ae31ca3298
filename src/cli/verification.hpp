#pragma once
/// Examining statements: what `verify` and `report` share.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "report/verdict_table.hpp"

namespace popgrad::cli {

struct VerificationOptions {
  std::vector<std::string> patterns;
  std::string data;
  std::uint64_t seed = 1;
  int jobs = 0;
  bool full = false, quiet = false;
};

/// The statements, --data, --seed, --jobs, --full, --quiet.
void add_verification_options(Command& command, VerificationOptions& options);

/// Examines the statements one after the other with a progress bar; after a Ctrl-C those that are
/// done. Throws InputError if the data cannot be read.
Verification verification_of(const VerificationOptions& options,
                             const std::vector<const Statement*>& chosen,
                             const std::string& command);

/// Exit status: the worst of the verdicts.
int status_of(const Verification& verification);

}  // namespace popgrad::cli
