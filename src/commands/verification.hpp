#pragma once
/// Examining statements: what `verify` and `report` share.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "commands/instance_file.hpp"
#include "presenting/report_part.hpp"
#include "presenting/verdict_table.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {

struct VerificationOptions {
  std::vector<std::string> patterns;
  std::string data, instance;
  std::vector<std::string> knobs;  ///< NAME=VALUE
  std::size_t seeds = 0;           ///< instances of a survey; 0: only the default instance
  double seconds = 600;            ///< of a survey, a statement
  std::uint64_t seed = 1;
  std::function<bool()> has_seed = [] { return false; };  ///< whether --seed was given
  int jobs = 0;
  bool full = false, quiet = false;
};

/// The statements, --data, --seed, --jobs, --full, --quiet.
void add_verification_options(Command& command, VerificationOptions& options, Theories theories);
/// --instance, --set.
void add_instance_options(Command& command, VerificationOptions& options);
/// --seeds, --seconds.
void add_survey_options(Command& command, VerificationOptions& options);

/// Values of knobs from NAME=VALUE. Throws InputError, in the name of `command`, for a text of another
/// form, a name that is not a knob of every statement chosen, and a value out of its range.
std::map<std::string, double, std::less<>> chosen_knobs(
    const std::string& command, const std::vector<std::string>& texts,
    const std::vector<const Statement*>& statements);

/// The files of --data.
std::vector<std::string> data_files_of(const VerificationOptions& options);

/// Examines the statements of one verification, each by itself. The statements chosen share one
/// budget of false alarms.
class Examiner {
 public:
  /// Throws InputError if the data cannot be read, or the instance by none of the statements or not by
  /// one that is named by its id, or if a knob is not one.
  Examiner(const VerificationOptions& options, const std::vector<const Statement*>& chosen,
           Theories theories);
  // The setting refers to the instance.
  Examiner(const Examiner&) = delete;
  Examiner& operator=(const Examiner&) = delete;

  [[nodiscard]] const Setting& setting() const { return setting_; }
  /// Of the whole verification.
  [[nodiscard]] double false_alarm() const;
  /// Of a statement that cannot read the instance: not applicable, with the reason as `failure`.
  [[nodiscard]] Finding finding(const Statement& statement) const;
  /// On drawn instances; `report` gets the share that is done and returns whether to stop.
  [[nodiscard]] Survey survey_of(const Statement& statement, const Report& report) const;

 private:
  Setting setting_;
  std::optional<InstanceFile> instance_;
  std::map<const Statement*, std::string> unread_;  ///< why a statement cannot read the instance
  std::map<std::string, double, std::less<>> of_file_;  ///< knobs of the statement of instance_
  std::size_t instances_;
  double seconds_;
};

/// Examines the statements one after the other with a progress bar; interrupted, those that are
/// done. Throws as `Examiner` does.
Verification verification_of(const VerificationOptions& options,
                             const std::vector<const Statement*>& chosen, const Invocation& call);

/// Exit status of the verdicts. A statement that holds but has a control that was not refuted counts
/// as violated, unless it was surveyed, where that is its power. One that does not apply counts where a
/// pattern is its id, or where a pattern matches no other.
int status_of(const std::vector<Judged>& all, const std::vector<std::string>& patterns,
              bool surveyed);
int status_of(const Verification& verification, const std::vector<std::string>& patterns);

}  // namespace popgrad::cli
