#include "commands/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <sstream>

#include "commands/instance_file.hpp"
#include "commands/panels.hpp"
#include "io/config_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/scalars/rational.hpp"
#include "presenting/catalogue.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::cli {
namespace {

// Below, double does not resolve a step; above, the error of a step is as large as the step.
constexpr Range relative_tolerances = within(1e-15, 0.01);
constexpr double most_steps = 1e12;
constexpr std::array<const char*, 3> optimisers{"plain", "momentum", "adam"};  // of Optimiser::Rule
constexpr const char* taking_steps = "descent random moments";

// `1,2;3,4` as rows of a matrix, `1,2` as a list, `1` as a number; texts stay texts.
Value list_from_flag(const std::string& text) {
  const auto split = [](const std::string& all, char mark) {
    std::vector<std::string> parts;
    std::stringstream in(all);
    for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
    return parts;
  };
  const std::vector<std::string> rows = split(text, ';');
  if (rows.size() <= 1) {
    const std::vector<std::string> numbers = split(text, ',');
    return numbers.size() <= 1 ? Value(text) : Value(numbers);
  }
  Value matrix;
  for (const std::string& row : rows) matrix.push_back(split(row, ','));
  return matrix;
}

// Options have been read within their ranges; the words among them have a meaning for some rungs only.
template <class T>
T positive(const std::string& option, const std::string& text) {
  T value(0);
  try {
    value = from_text<T>(text);
  } catch (const std::invalid_argument&) {
    reject("popgrad", option, text, "is not a finite number; it must be " + rule_of(above(0)));
  }
  if (!(value > T(0))) reject("popgrad", option, text, "must be > 0");
  return value;
}

// As fine as the digits allow, which the declaration leaves open.
void check_tolerance(const CommonOptions& options, const char* name, const std::string& text,
                     double least) {
  if (text.empty()) return;
  if (options.digits <= 16) {
    if (from_text<double>(text) >= least) return;
    reject(
        "popgrad", name, text,
        fmt::format("must be >= {} in double; give --digits above 16 for less", short_text(least)));
  }
  const std::string finest = fmt::format("1e-{}", options.digits - 1);
  if (least == least_positive || !(from_text<Rational>(text) < from_text<Rational>(finest))) return;
  reject("popgrad", name, text,
         fmt::format("must be >= {} with --digits {}", finest, options.digits));
}

// What the file says of options that the command line does not give.
void take_config(Command& command, const std::string& file) {
  std::vector<std::string> names = command.long_names();
  // About the command line itself.
  for (const char* name : {"help", "config", "resume"}) std::erase(names, name);
  for (const ConfigEntry& entry : parse_config(read_file(file), file)) {
    const std::string where = fmt::format("{}: line {}", file, entry.line);
    std::optional<Option> option = command.find_option("--" + entry.key);
    if (!option || std::find(names.begin(), names.end(), entry.key) == names.end()) {
      reject(where, "key", entry.key, "is not an option" + suggestion(entry.key, names));
    }
    if (option->count() > 0) continue;  // the command line has the last word
    const ParameterInfo& declared = option->declared();
    if (!declared.name.empty() && declared.name != entry.key) {
      reject(where, "key", entry.key,
             fmt::format("is no key; give {} = true or false", declared.name));
    }
    const bool is_switch = declared.kind == "switch";
    if (is_switch != (entry.kind == ConfigEntry::Kind::truth)) {
      reject(where, entry.key, entry.value,
             is_switch ? "must be true or false" : "must be a number or a text");
    }
    // Each part of a list is a value of its own for what can be given again and again on the command line.
    const bool pairs = declared.kind == "pair" && entry.value.find(',') != entry.value.rfind(',');
    const bool again = option->repeatable() && (pairs || declared.kind == "text");
    for (const std::string& value :
         again && !entry.parts.empty() ? entry.parts : std::vector<std::string>{entry.value}) {
      if (const auto why = option->refusal_of(value)) {
        reject(where, entry.key, value.empty() ? "''" : value, *why);
      }
      option->add(value);
    }
    option->take_added();
  }
}

}  // namespace

void append_flags(std::vector<ParameterInfo>& to, const std::vector<ParameterInfo>& parameters) {
  std::ranges::copy_if(parameters, std::back_inserter(to), &ParameterInfo::flag);
}

void add_parameter_flags(Command& command, const std::vector<ParameterInfo>& parameters,
                         const std::string& group, const std::shared_ptr<TypedParameters>& typed) {
  for (const ParameterInfo& info : parameters) {
    if (!info.flag) continue;
    const std::string& name = info.name;
    Option option =
        info.kind == "switch"
            ? command.add_switch(info, [typed, name](bool on) { typed->switches[name] = on; })
            : command.add_parameter(
                  info, [typed, name](const std::string& text) { typed->flags[name] = text; });
    option.group(group);
  }
}

Parameters typed_parameters(const TypedParameters& typed, const std::string& model,
                            const std::vector<ParameterInfo>& known) {
  Parameters parameters =
      typed.instance.empty() ? Parameters(model) : read_instance(model, typed.instance).parameters;
  for (const auto& [name, text] : typed.flags) {
    for (const ParameterInfo& info : known) {
      if (info.name != name) continue;
      const bool is_list = info.kind == "vector" || info.kind == "matrix";
      parameters.set(name, is_list ? list_from_flag(text) : Value(text));
    }
  }
  for (const auto& [name, on] : typed.switches) parameters.set(name, on);
  for (const ParameterInfo& info : known) {
    if (info.kind == "text" && parameters.has(info.name)) {
      note_file(parameters.text(info.name, ""));
    }
  }
  return parameters;
}

namespace {

void add_clock(Command& command, CommonOptions& o) {
  command.add_option("--t1", o.end,
                     Number{.range = above(0), .unit = "learning rate * steps", .words = {"inf"}},
                     "end time; moments also takes inf, the law at rest");
  command.add_option("--steps", o.steps, Whole{within(1, most_steps)}, "steps of gd and sgd")
      .read_by(taking_steps);
  command
      .add_option(
          "--eta", o.step_size, Number{above(0)},
          "learning rate of gd and sgd (default: the rung's, see 'popgrad list MODEL RUNG')")
      .read_by(taking_steps);
  command
      .add_option("--optimiser", o.optimiser,
                  Choice{{optimisers.begin(), optimisers.end()}, "plain"}, "steps of gd and sgd")
      .read_by(taking_steps);
  command
      .add_option("--momentum", o.momentum, Number{within_below(0, 1), "0.9"},
                  "of --optimiser momentum")
      .read_by(taking_steps);
  command
      .add_option("--batch", o.batch, Whole{within(1, 1e8)},
                  "samples a step of sgd (default: the rung's, see 'popgrad list MODEL RUNG')")
      .read_by("random moments");
}

void add_solver(Command& command, CommonOptions& o) {
  command
      .add_option("--method", o.method,
                  Choice{{"auto", "dopri5", "bulirsch-stoer", "rosenbrock4"}, "auto"},
                  "of integration")
      .read_by("flow");
  command
      .add_option("--rtol", o.relative_tolerance,
                  Number{.range = relative_tolerances, .finer_with_digits = true},
                  "relative tolerance a step (default 10^(5 - digits), so 1e-11 for double; 1e-6 "
                  "for texts)")
      .read_by("flow");
  command
      .add_option("--atol", o.absolute_tolerance,
                  Number{.range = above_up_to(0, 1), .finer_with_digits = true},
                  "absolute tolerance a step (default a hundredth of --rtol)")
      .read_by("flow");
}

void add_sampled(Command& command, CommonOptions& o) {
  command
      .add_flag(
          "--averaged", o.averaged,
          "batch_loss (in units of the loss) and batch_accuracy (a share) are means over the steps "
          "since the previous row, as most trainers log them; at step 0, of the first minibatch")
      .read_by("random");
  command
      .add_option(
          "--held-out", o.held_out, Whole{within(1, 1e8)},
          "the column loss is the mean loss, in its units, of this number of held-out draws, "
          "drawn once a run (default: the loss of the law)")
      .read_by("random");
  command
      .add_option(
          "--smoothed", o.smoothed, Number{within_below(0, 1), "0"},
          "loss, batch_loss and batch_accuracy are moving averages over rows, as TensorBoard "
          "shows them: the weight of what was before, 0.6 as TensorBoard begins")
      .read_by("random");
}

void add_group(OptionGroup group, Command& command, CommonOptions& o, const std::string& output) {
  switch (group) {
    case OptionGroup::law:
      command
          .add_option("--instance", o.instance, "data law as JSON (see 'popgrad list MODEL RUNG')")
          .kind("input file");
      command.add_option("--config", o.config, "TOML file with the same keys as these options")
          .kind("input file");
      break;
    case OptionGroup::seed:
      command.add_option("--seed", o.seed, Whole{any_seed, "1"}, "fixes every random draw");
      break;
    case OptionGroup::clock:
      add_clock(command, o);
      break;
    case OptionGroup::runs:
      command.add_option("--runs", o.runs, Whole{within(1, 1e7), "1"}, "ensemble of sgd")
          .read_by("random");
      break;
    case OptionGroup::save:
      command.add_option("--save", o.save, Whole{within(2, 1e7), "101"},
                         "equally spaced save points, both ends included");
      break;
    case OptionGroup::save_at:
      command.add_option("--save-at", o.save_at, Number{at_least(0)},
                         "save points t,t,... ascending");
      break;
    case OptionGroup::solver:
      add_solver(command, o);
      break;
    case OptionGroup::digits:
      command.add_option("--digits", o.digits, Whole{within(16, 10'000), "16"},
                         "decimal digits; 16 is double");
      break;
    case OptionGroup::jobs:
      command.add_option("--jobs", o.jobs, Whole{any_jobs, "0"},
                         "threads of an ensemble; results do not depend on it; 0: all cores");
      break;
    case OptionGroup::states:
      command.add_flag("--states", o.states, "write the state as well, not only observables");
      break;
    case OptionGroup::events:
      command.add_flag("--no-events", o.no_events,
                       "skip events and regimes, for which a flow is solved a second time with a "
                       "larger tolerance");
      break;
    case OptionGroup::sampled:
      add_sampled(command, o);
      break;
    case OptionGroup::output:
      command.add_option("-o,--output", o.output, output).kind("output file");
      command
          .add_option("--plot", o.plot,
                      "picture of the result: FILE.svg, FILE.png, FILE.pdf, or a folder for all "
                      "three, their data "
                      "and gnuplot script; the table is then written only with -o")
          .kind("output file");
      break;
    case OptionGroup::quiet:
      command.add_flag("-q,--quiet", o.quiet, "no notes and no progress on standard error");
      break;
  }
}

}  // namespace

std::shared_ptr<CommonOptions> add_option_groups(Command& command, const Invocation& call,
                                                 const std::vector<OptionGroup>& reads,
                                                 const std::string& output) {
  auto o = std::make_shared<CommonOptions>();
  o->theories = call.theories;
  command.takes_parameters();
  for (const OptionGroup group : reads) add_group(group, command, *o, output);
  return o;
}

std::shared_ptr<CommonOptions> add_common_options(Command& command, const Invocation& call,
                                                  const std::vector<OptionGroup>& reads,
                                                  const std::string& output) {
  const std::shared_ptr<CommonOptions> o = add_option_groups(command, call, reads, output);
  std::vector<ParameterInfo> possible;
  for (const Theory& theory : call.theories) append_flags(possible, theory.model->parameters());
  command.add_dependent(possible, [o](Command& own) {
    const Option named = own.get_option("model");
    const std::string name = named.count() > 0 ? named.as<std::string>() : "";
    if (!has_model(o->theories, name)) return;  // the command refuses it
    add_parameter_flags(own, find_model(o->theories, name).parameters(), "Parameters of " + name,
                        o);
  });
  return o;
}

void apply_config(Command& command, const CommonOptions& options) {
  if (!options.config.empty()) take_config(command, options.config);
  check_tolerance(options, "--rtol", options.relative_tolerance, relative_tolerances.low);
  check_tolerance(options, "--atol", options.absolute_tolerance, least_positive);
  check_plot(options.plot);
}

Parameters gather_parameters(const CommonOptions& options, const Model& model,
                             const std::vector<std::string>& rungs) {
  Parameters parameters = typed_parameters(options, model.name(), model.parameters());
  require_read(parameters, model, rungs);
  return parameters;
}

void add_memory_option(Command& command) {
  ParameterInfo declared;
  declared.name = "memory";
  declared.kind = "text";
  declared.help = "most memory that may be taken, such as 500MB or 4GB";
  declared.default_value = "80 % of what is free";
  command.add_parameter(declared,
                        [](const std::string& text) { set_memory_limit(bytes_from_text(text)); });
}

void add_same_results(Command& command, bool& target) {
  command.add_flag(
      "--same-results", target,
      "accept a file that another version of popgrad began; the result names both versions");
}

void refuse_options(const Command& command, const std::vector<std::string>& names,
                    const std::string& why) {
  for (const std::string& name : names) {
    if (command.get_option(name).count() == 0) continue;
    reject("popgrad " + command.name(), name, command.get_option(name).as<std::string>(), why);
  }
}

namespace {

// Why a rung does not read an option that rungs of another kind read.
std::string why_unread(const std::string& name, const RungInfo& rung) {
  if (name == "--method" || name == "--rtol" || name == "--atol") {
    return walks(rung) ? "it takes plain steps" : "nothing is integrated";
  }
  if (name == "--runs" && rung.kind == RungKind::moments) {
    return "it predicts all runs of sgd at once";
  }
  for (const char* of_samples : {"--runs", "--batch", "--batch-loss", "--batch-accuracy",
                                 "--averaged", "--held-out", "--smoothed"}) {
    if (name == of_samples) return "nothing in it is random";
  }
  return "its clock is continuous; use --t1";
}

}  // namespace

void check_meaning(const Command& command, const RungInfo& rung,
                   const std::vector<std::string>& axes) {
  const auto is_axis = [&](const std::string& name) {
    return std::find(axes.begin(), axes.end(), name.substr(2)) != axes.end();
  };
  const auto given = [&](const std::string& name) {
    const std::optional<Option> option = command.find_option(name);
    return (option && option->count() > 0) || is_axis(name);
  };
  const auto refuse = [&](const std::string& name, const std::string& why) {
    if (is_axis(name)) reject("popgrad " + command.name(), "--over", name.substr(2), why);
    reject("popgrad", name, command.get_option(name).as<std::string>(), why);
  };
  const std::string kind = name_of(rung.kind);
  for (const std::string& bare : command.long_names()) {
    const std::string name = "--" + bare;
    const std::optional<Option> option = command.find_option(name);
    if (!option || !given(name)) continue;
    const std::vector<std::string>& kinds = option->declared().rungs;
    const bool of_model = !option->declared().name.empty();
    if (of_model || kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end() ||
        (name == "--batch" && has_batch(rung))) {
      continue;
    }
    refuse(name,
           fmt::format("has no meaning for the rung '{}': {}", rung.name, why_unread(name, rung)));
  }
  if (given("--steps") && given("--t1")) {
    refuse("--t1", "and --steps exclude each other; t1 = eta * steps");
  }
  if (rung.kind == RungKind::moments &&
      command.get_option("--optimiser").as<std::string>() == "adam") {
    refuse("--optimiser",
           "is not predicted: the size of Adam's steps depends on the draws; give "
           "plain or momentum, or take an ensemble: the rung sgd with --runs 200");
  }
  if (given("--momentum") && command.get_option("--optimiser").as<std::string>() != "momentum") {
    refuse("--momentum", "belongs to --optimiser momentum; give that as well");
  }
  if (given("--save") && given("--save-at")) {
    refuse("--save", "and --save-at exclude each other");
  }
}

template <class T>
SolveRequest<T> solve_request(const CommonOptions& options, const RungInfo& rung,
                              const Parameters& parameters) {
  SolveRequest<T> request;
  const FlowDefaults defaults =
      flow_defaults(find_model(options.theories, parameters.model()), parameters);
  const std::string end = defaults.end.empty() ? rung.default_end : defaults.end;
  request.end = positive<T>("--t1", options.end.empty() ? end : options.end);
  if (!options.save_at.empty()) {
    for (const std::string& text : options.save_at) {
      T t(0);
      try {
        t = from_text<T>(text);
      } catch (const std::invalid_argument&) {
        reject("popgrad", "--save-at", text, "is not a finite number");
      }
      if (t < T(0) || (!request.save_at.empty() && !(request.save_at.back() < t))) {
        reject("popgrad", "--save-at", text, "must be >= 0 and larger than the one before it");
      }
      request.save_at.push_back(t);
    }
    if (options.end.empty()) {
      request.end = request.save_at.back();
    } else if (request.end < request.save_at.back()) {
      reject("popgrad", "--save-at", options.save_at.back(), "lies beyond --t1 " + options.end);
    }
  } else {
    const auto count = static_cast<std::size_t>(options.save.value_or(101));
    // Of many digits a number is a header and its limbs.
    const std::size_t number = std::is_same_v<T, double>
                                   ? sizeof(T)
                                   : sizeof(T) + static_cast<std::size_t>(options.digits) * 5 / 12;
    require_memory(static_cast<double>(count) * static_cast<double>(number) +
                       static_cast<double>(count) * bytes_of_row(1, 0, number),
                   fmt::format("{} save points", count), "lower --save");
    request.save_at = equally_spaced(T(0), request.end, count);
  }
  request.method = method_from_name(options.method);
  if (!std::is_same_v<T, double> && request.method == Method::rosenbrock4) {
    reject("popgrad", "--method", "rosenbrock4",
           "is of order 4 and needs --digits 16; use bulirsch-stoer for many digits");
  }
  const std::string standard =
      defaults.tolerance.empty() ? fmt::format("1e-{}", options.digits - 5) : defaults.tolerance;
  request.relative_tolerance = positive<T>(
      "--rtol", options.relative_tolerance.empty() ? standard : options.relative_tolerance);
  request.absolute_tolerance = options.absolute_tolerance.empty()
                                   ? T(request.relative_tolerance / T(100))
                                   : positive<T>("--atol", options.absolute_tolerance);
  request.keep_states = options.states;
  return request;
}

namespace {

Optimiser optimiser_of(const CommonOptions& options) {
  Optimiser optimiser;
  const auto found = std::find(optimisers.begin(), optimisers.end(), options.optimiser);
  optimiser.rule = static_cast<Optimiser::Rule>(found - optimisers.begin());
  optimiser.momentum = from_text<double>(options.momentum);
  return optimiser;
}

}  // namespace

WalkRequest walk_request(const CommonOptions& options, const RungInfo& rung) {
  WalkRequest request;
  const std::string step_size = options.step_size.empty() ? rung.default_step : options.step_size;
  request.step_size = positive<double>("--eta", step_size);
  request.optimiser = optimiser_of(options);
  const auto step_of = [&](const std::string& option, const std::string& text) {
    const double ratio = positive<double>(option, text) / request.step_size;
    const double nearest = std::round(ratio);
    // Times of a walk are multiples of eta; the text may carry rounding of its last digit.
    if (nearest < 1) {
      reject("popgrad", option, text, fmt::format("is less than one step of --eta {}", step_size));
    }
    if (std::fabs(ratio - nearest) > 1e-9 * nearest || nearest > most_steps) {
      reject("popgrad", option, text,
             fmt::format("must be --eta {} times a whole number up to {}", step_size,
                         short_text(most_steps)));
    }
    return static_cast<std::int64_t>(nearest);
  };
  std::int64_t steps = 0;
  if (!options.end.empty()) {
    steps = step_of("--t1", options.end);
  } else {
    steps = options.steps.value_or(std::stoll(rung.default_end));
  }
  request.steps = static_cast<std::uint64_t>(steps);
  request.runs = static_cast<std::uint32_t>(options.runs.value_or(1));
  // Before anything is made; how many columns there are is known later.
  const double rows = options.save_at.empty()
                          ? std::min(static_cast<double>(options.save.value_or(101)),
                                     static_cast<double>(steps) + 1)
                          : static_cast<double>(options.save_at.size());
  require_memory(request.runs * (bytes_of_run + rows * bytes_of_row(1, 0, sizeof(double))),
                 fmt::format("{} rows of {} runs", rows, request.runs), "lower --runs or --save");
  if (!options.save_at.empty()) {
    for (const std::string& text : options.save_at) {
      const bool start = text.find_first_not_of("0.") == std::string::npos;
      const auto step = static_cast<std::uint64_t>(start ? 0 : step_of("--save-at", text));
      if (step > request.steps ||
          (!request.save_steps.empty() && request.save_steps.back() >= step)) {
        reject("popgrad", "--save-at", text, "must ascend and stay within the steps taken");
      }
      request.save_steps.push_back(step);
    }
  } else {
    request.save_steps =
        evenly_spread_steps(request.steps, static_cast<std::size_t>(options.save.value_or(101)));
  }
  request.batch =
      has_batch(rung) ? static_cast<Index>(options.batch.value_or(rung.default_batch)) : 0;
  request.seed = options.seed;
  request.jobs = options.jobs;
  request.keep_states = options.states;
  request.sampled = {.averaged = options.averaged,
                     .held_out = static_cast<Index>(options.held_out.value_or(0)),
                     .smoothing = options.smoothed};
  return request;
}

template SolveRequest<double> solve_request(const CommonOptions&, const RungInfo&,
                                            const Parameters&);
template SolveRequest<Real> solve_request(const CommonOptions&, const RungInfo&, const Parameters&);

}  // namespace popgrad::cli
