#pragma once
/// Options that several commands share, and the parameters of a model as flags.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::cli {

/// The options that commands share, in groups. A command declares those that it reads; its help has no
/// others, and its parser takes none.
enum class OptionGroup {
  law,  ///< --instance, --config
  seed,
  clock,  ///< --t1, --steps, --eta, --optimiser, --momentum, --batch
  runs,
  save,
  save_at,
  solver,  ///< --method, --rtol, --atol
  digits,
  jobs,
  states,
  events,   ///< --no-events
  sampled,  ///< --averaged, --held-out, --smoothed
  output,   ///< --output, --plot
  quiet,
};

/// Parameters of a model as typed: an instance file, and flags by name.
struct TypedParameters {
  std::string instance;
  std::map<std::string, std::string> flags;
  std::map<std::string, bool> switches;
};

/// Those that can be given as flags.
void append_flags(std::vector<ParameterInfo>& to, const std::vector<ParameterInfo>& parameters);

/// A flag for each parameter that can be given as one, under the heading `group`.
void add_parameter_flags(Command& command, const std::vector<ParameterInfo>& parameters,
                         const std::string& group, const std::shared_ptr<TypedParameters>& typed);

/// Instance file, then flags over it; names are not checked.
Parameters typed_parameters(const TypedParameters& typed, const std::string& model,
                            const std::vector<ParameterInfo>& known);

/// As typed; numbers stay text until the scalar is known.
struct CommonOptions : TypedParameters {
  Theories theories;  ///< that `model` is one of
  std::string model, config, output, method = "auto";
  std::string end, relative_tolerance, absolute_tolerance, step_size, optimiser = "plain";
  std::string momentum = "0.9";
  std::vector<std::string> save_at;
  std::optional<std::int64_t> steps, save, batch, runs, held_out;
  std::uint64_t seed = 1;
  int digits = 16;
  int jobs = 0;
  std::string plot;  ///< of the commands that draw
  bool states = false;
  bool no_events = false;
  bool quiet = false;
  bool averaged = false;
  double smoothed = 0;
};

/// Adds the groups that the command reads. `output` says what -o takes.
std::shared_ptr<CommonOptions> add_option_groups(Command& command, const Invocation& call,
                                                 const std::vector<OptionGroup>& reads,
                                                 const std::string& output);
/// The same, and the parameters of the model that the positional `model` names.
std::shared_ptr<CommonOptions> add_common_options(
    Command& command, const Invocation& call, const std::vector<OptionGroup>& reads,
    const std::string& output = ".csv, .json or .npz by suffix; - is CSV on standard output");

/// Fills what was not given on the command line from --config. Throws InputError, also for tolerances
/// that the digits do not reach.
void apply_config(Command& command, const CommonOptions& options);

/// Instance file, then config and flags over it; every name has to be read by one of the rungs.
Parameters gather_parameters(const CommonOptions& options, const Model& model,
                             const std::vector<std::string>& rungs);
inline Parameters gather_parameters(const CommonOptions& options, const Model& model,
                                    const std::string& rung) {
  return gather_parameters(options, model, std::vector<std::string>{rung});
}

/// Times asked for; the end and the tolerance, where they are not given, are those of the rung or of
/// a parameter that is given (ParameterInfo::flow_end, ParameterInfo::flow_tolerance). Throws InputError for `--t1 -1`, `--save 1`, unordered --save-at.
template <class T>
SolveRequest<T> solve_request(const CommonOptions& options, const RungInfo& rung,
                              const Parameters& parameters);

/// Steps asked for: --steps or --t1, --save or --save-at, --eta, --batch, --runs, --jobs.
WalkRequest walk_request(const CommonOptions& options, const RungInfo& rung);

/// --memory, which takes effect while the words are parsed.
void add_memory_option(Command& command);

/// --same-results, of commands that go on from what an earlier one kept.
void add_same_results(Command& command, bool& target);

/// Throws InputError if one of these options is given; `why` says what they would need.
void refuse_options(const Command& command, const std::vector<std::string>& names,
                    const std::string& why);

/// Throws InputError if an option given, or one that an axis of a sweep gives, has no meaning for this
/// kind of rung.
void check_meaning(const Command& command, const RungInfo& rung,
                   const std::vector<std::string>& axes = {});

}  // namespace popgrad::cli
