#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/instance_file.hpp"
#include "cli/panels.hpp"
#include "io/atomic_file.hpp"
#include "io/config_file.hpp"
#include "popgrad/error.hpp"
#include "popgrad/memory.hpp"

namespace popgrad::cli {
namespace {

constexpr int most_digits = 10'000;

const Model* model_in(const Invocation& call) {
  for (const std::string& word : call.words) {
    for (const Theory& theory : call.theories) {
      if (theory.model->name() == word) return theory.model.get();
    }
  }
  return nullptr;
}

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

template <class T>
T positive(const std::string& option, const std::string& text) {
  T value(0);
  try {
    value = from_text<T>(text);
  } catch (const std::invalid_argument&) {
    reject("popgrad", option, text, "is not a finite number; give a decimal such as 0.5");
  }
  if (!(value > T(0))) reject("popgrad", option, text, "must be > 0");
  return value;
}

// What the file says of options that the command line does not give.
void take_config(Command& command, const std::string& file) {
  const std::vector<std::string> names = command.long_names();
  for (const ConfigEntry& entry : parse_config(read_file(file), file)) {
    const std::string where = entry.line > 0 ? fmt::format("{}: line {}", file, entry.line) : file;
    std::optional<Option> option = command.find_option("--" + entry.key);
    if (!option) {
      reject(where, "key", entry.key, "is not an option" + suggestion(entry.key, names));
    }
    if (option->count() > 0) continue;  // the command line has the last word
    try {
      option->give(entry.value);
    } catch (const UsageError&) {
      reject(where, entry.key, entry.value, "is not a value that this option takes");
    }
  }
}

}  // namespace

void add_parameter_flags(Command& command, const std::vector<ParameterInfo>& parameters,
                         const std::string& group, const std::shared_ptr<TypedParameters>& typed) {
  for (const ParameterInfo& info : parameters) {
    if (!info.flag) continue;
    std::string help = info.help;
    if (!info.choices.empty()) help += fmt::format(": {}", fmt::join(info.choices, ", "));
    if (!info.default_value.empty()) help += fmt::format(" (default {})", info.default_value);
    if (!info.rungs.empty()) help += fmt::format(" [{}]", fmt::join(info.rungs, ", "));
    if (info.kind == "switch") {
      command
          .add_flag_function(
              fmt::format("--{0},!--no-{0}", info.name),
              [typed, name = info.name](std::int64_t count) { typed->switches[name] = count > 0; },
              help)
          .group(group);
    } else {
      command
          .add_option_function(
              "--" + info.name,
              [typed, name = info.name](const std::string& v) { typed->flags[name] = v; }, help)
          .group(group);
    }
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
  return parameters;
}

std::shared_ptr<CommonOptions> add_common_options(Command& command, const Invocation& call,
                                                  UnreadOptions unread, const std::string& output) {
  auto o = std::make_shared<CommonOptions>();
  o->theories = call.theories;
  o->unread = std::move(unread);
  command.add_option("--instance", o->instance, "data law as JSON (see 'popgrad list')");
  command.add_option("--config", o->config, "TOML file with the same keys as these options");
  command.add_option("--seed", o->seed, "fixes every random draw (default 1)");
  command.add_option("--t1", o->end,
                     "end time, units of learning rate * steps, > 0 (moments: or inf)");
  command.add_option("--steps", o->steps, "steps of gd and sgd, >= 1");
  command.add_option(
      "--eta", o->step_size,
      "step of gd and sgd on the clock, > 0 (default: the rung's, see 'popgrad list')");
  command.add_option("--optimiser", o->optimiser,
                     "plain, momentum or adam: steps of gd and sgd (default plain)");
  command.add_option("--momentum", o->momentum, "of --optimiser momentum, in [0, 1) (default 0.9)");
  command.add_option("--batch", o->batch,
                     "samples a step of sgd, >= 1 (default: the rung's, see 'popgrad list')");
  command.add_option("--runs", o->runs, "ensemble of sgd, >= 1 (default 1)");
  command.add_option("--save", o->save,
                     "equally spaced save points, ends included, >= 2 (default 101)");
  command.add_option("--save-at", o->save_at, "save points t,t,... ascending").delimiter(',');
  command.add_option("--method", o->method,
                     "auto, dopri5, bulirsch-stoer or rosenbrock4 (default auto)");
  command.add_option("--rtol", o->relative_tolerance,
                     "relative tolerance a step, > 0 (default 10^(5 - digits), so 1e-11 for "
                     "double; 1e-6 for texts)");
  command.add_option("--atol", o->absolute_tolerance,
                     "absolute tolerance a step, > 0 (default a hundredth of --rtol)");
  command.add_option("--digits", o->digits, "16 (double), or 17 to 10000 decimal digits");
  command.add_option("--jobs", o->jobs,
                     "threads of an ensemble; results do not depend on it (0: all)");
  command.add_flag("--states", o->states, "write the state as well, not only observables");
  command.add_flag(
      "--no-events", o->no_events,
      "do not look for events and regimes, which take a second, looser solve of a flow");
  command.add_option("-o,--output", o->output, output);
  command.add_option("--plot", o->plot,
                     "picture of the result: FILE.svg, FILE.png, FILE.pdf, or a folder for all "
                     "three with data and gnuplot script; alone it leaves out the "
                     "table on standard output");
  command.add_flag("-q,--quiet", o->quiet, "no notes and no progress on standard error");
  // No heading: CLI11 leaves them out of the help, and still knows them.
  for (const std::string& name : o->unread.names) command.get_option(name).group("");
  if (const Model* model = model_in(call)) {
    add_parameter_flags(command, model->parameters(), "Parameters of " + model->name(), o);
  }
  return o;
}

void apply_config(Command& command, const CommonOptions& options) {
  if (!options.config.empty()) take_config(command, options.config);
  refuse_options(command, options.unread.names, options.unread.why);
  check_plot(options.plot);
}

Parameters gather_parameters(const CommonOptions& options, const Model& model,
                             const std::vector<std::string>& rungs) {
  std::vector<ParameterInfo> known = model.parameters();
  Parameters parameters = typed_parameters(options, model.name(), known);
  // What any of them reads, the first may be told of.
  for (ParameterInfo& info : known) {
    const bool read = std::any_of(rungs.begin(), rungs.end(), [&](const std::string& rung) {
      return std::find(info.rungs.begin(), info.rungs.end(), rung) != info.rungs.end();
    });
    if (read) info.rungs.clear();
  }
  parameters.check_names(known, rungs.front());
  return parameters;
}

void refuse_options(const Command& command, const std::vector<std::string>& names,
                    const std::string& why) {
  for (const std::string& name : names) {
    if (command.get_option(name).count() == 0) continue;
    reject("popgrad " + command.name(), name, command.get_option(name).as<std::string>(), why);
  }
}

void check_meaning(const Command& command, const RungInfo& rung) {
  const auto given = [&](const char* name) { return command.get_option(name).count() > 0; };
  const auto refuse = [&](const char* name, const std::string& why) {
    if (given(name)) {
      reject("popgrad", name, command.get_option(name).as<std::string>(),
             fmt::format("has no meaning for the rung '{}': {}", rung.name, why));
    }
  };
  const bool steps = walks(rung);
  if (steps) {
    for (const char* name : {"--method", "--rtol", "--atol"}) refuse(name, "it takes plain steps");
    if (given("--steps") && given("--t1")) {
      reject("popgrad", "--t1", command.get_option("--t1").as<std::string>(),
             "and --steps exclude each other; t1 = eta * steps");
    }
  } else {
    for (const char* name : {"--steps", "--eta", "--optimiser", "--momentum"})
      refuse(name, "its clock is continuous; use --t1");
  }
  if (rung.kind == RungKind::moments) {
    refuse("--runs", "it predicts all runs of sgd at once");
    if (command.get_option("--optimiser").as<std::string>() == "adam") {
      refuse("--optimiser",
             "the size of Adam's steps depends on the draws, and their law is not followed; give "
             "plain or momentum, or take an ensemble: the rung sgd with --runs 200");
    }
  } else if (rung.kind != RungKind::random) {
    for (const char* name : {"--runs", "--batch"}) refuse(name, "nothing in it is random");
  }
  if (rung.kind == RungKind::closed_form) {
    for (const char* name : {"--method", "--rtol", "--atol"}) refuse(name, "nothing is integrated");
  }
  if (given("--momentum") && command.get_option("--optimiser").as<std::string>() != "momentum") {
    reject("popgrad", "--momentum", command.get_option("--momentum").as<std::string>(),
           "belongs to --optimiser momentum; give that as well");
  }
  if (given("--save") && given("--save-at")) {
    reject("popgrad", "--save", command.get_option("--save").as<std::string>(),
           "and --save-at exclude each other");
  }
  const int digits =
      command.get_option("--digits").count() > 0 ? command.get_option("--digits").as<int>() : 16;
  if (digits < 16 || digits > most_digits) {
    reject("popgrad", "--digits", std::to_string(digits),
           fmt::format("must be 16 (double) or from 17 to {}", most_digits));
  }
  if (given("--save") && command.get_option("--save").as<std::int64_t>() < 2) {
    reject("popgrad", "--save", command.get_option("--save").as<std::string>(),
           "must be >= 2: both ends are save points");
  }
  if (given("--jobs") && command.get_option("--jobs").as<int>() < 0) {
    reject("popgrad", "--jobs", command.get_option("--jobs").as<std::string>(),
           "must be >= 0 (0: all cores)");
  }
}

template <class T>
SolveRequest<T> solve_request(const CommonOptions& options, const RungInfo& rung,
                              const Parameters& parameters) {
  SolveRequest<T> request;
  const bool from_text_file = parameters.has("corpus");
  const std::string end = from_text_file ? "50" : rung.default_end;
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
  std::string tolerance = fmt::format("1e-{}", options.digits - 5);
  if (from_text_file) tolerance = "1e-6";
  request.relative_tolerance = positive<T>(
      "--rtol", options.relative_tolerance.empty() ? tolerance : options.relative_tolerance);
  request.absolute_tolerance = options.absolute_tolerance.empty()
                                   ? T(request.relative_tolerance / T(100))
                                   : positive<T>("--atol", options.absolute_tolerance);
  request.keep_states = options.states;
  return request;
}

namespace {

Optimiser optimiser_of(const CommonOptions& options) {
  Optimiser optimiser;
  const std::vector<std::string> names{"plain", "momentum", "adam"};
  const auto found = std::find(names.begin(), names.end(), options.optimiser);
  if (found == names.end()) {
    reject("popgrad", "--optimiser", options.optimiser,
           "must be plain, momentum or adam" + suggestion(options.optimiser, names));
  }
  optimiser.rule = static_cast<Optimiser::Rule>(found - names.begin());
  try {
    optimiser.momentum = from_text<double>(options.momentum);
  } catch (const std::invalid_argument&) {
    optimiser.momentum = -1;
  }
  if (!(optimiser.momentum >= 0 && optimiser.momentum < 1)) {
    reject("popgrad", "--momentum", options.momentum, "must be >= 0 and < 1");
  }
  return optimiser;
}

}  // namespace

WalkRequest walk_request(const CommonOptions& options, const RungInfo& rung) {
  WalkRequest request;
  const std::string step_size = options.step_size.empty() ? rung.default_step : options.step_size;
  request.step_size = positive<double>("--eta", step_size);
  request.optimiser = optimiser_of(options);
  const auto whole = [](const char* option, std::optional<std::int64_t> given,
                        std::int64_t fallback, std::int64_t most) {
    const std::int64_t value = given.value_or(fallback);
    if (value < 1 || value > most) {
      reject("popgrad", option, std::to_string(value), fmt::format("must be from 1 to {}", most));
    }
    return value;
  };
  const auto step_of = [&](const std::string& option, const std::string& text) {
    const double ratio = positive<double>(option, text) / request.step_size;
    const double nearest = std::round(ratio);
    // Times of a walk are multiples of eta; the text may carry rounding of its last digit.
    if (std::fabs(ratio - nearest) > 1e-9 * std::max(1.0, nearest) || nearest > 1e15) {
      reject("popgrad", option, text, fmt::format("is not a multiple of --eta {}", step_size));
    }
    return static_cast<std::int64_t>(nearest);
  };
  std::int64_t steps = 0;
  if (!options.end.empty()) {
    steps = step_of("--t1", options.end);
  } else {
    steps = whole("--steps", options.steps, std::stoll(rung.default_end), 1'000'000'000'000);
  }
  request.steps = static_cast<std::uint64_t>(steps);
  request.runs = static_cast<std::uint32_t>(whole("--runs", options.runs, 1, 10'000'000));
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
      samples(rung)
          ? static_cast<Index>(whole("--batch", options.batch, rung.default_batch, 100'000'000))
          : 0;
  request.seed = options.seed;
  request.jobs = options.jobs;
  request.keep_states = options.states;
  return request;
}

template SolveRequest<double> solve_request(const CommonOptions&, const RungInfo&,
                                            const Parameters&);
template SolveRequest<Real> solve_request(const CommonOptions&, const RungInfo&, const Parameters&);

}  // namespace popgrad::cli
