#pragma once
/// Examining statements: what `verify` and `report` share.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "report/verdict_table.hpp"

namespace popgrad::cli {

struct VerificationOptions {
  std::vector<std::string> patterns;
  std::string data, instance;
  std::vector<std::string> knobs;  ///< NAME=VALUE
  std::size_t seeds = 0;           ///< instances of a survey; 0: the default instance alone
  double seconds = 600;            ///< of a survey, a statement
  std::uint64_t seed = 1;
  int jobs = 0;
  bool full = false, quiet = false;
};

/// The statements, --data, --seed, --jobs, --full, --quiet.
void add_verification_options(Command& command, VerificationOptions& options);
/// --instance, --set.
void add_instance_options(Command& command, VerificationOptions& options);
/// --seeds, --seconds.
void add_survey_options(Command& command, VerificationOptions& options);

/// Examines the statements one after the other with a progress bar; after a Ctrl-C those that are
/// done. Throws InputError if the data or the instance cannot be read, or a knob is not one.
Verification verification_of(const VerificationOptions& options,
                             const std::vector<const Statement*>& chosen, const Invocation& call);

/// Exit status: the worst of the verdicts.
int status_of(const Verification& verification);

}  // namespace popgrad::cli
