#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/instance_file.hpp"
#include "commands/interrupt.hpp"
#include "commands/landscape_points.hpp"
#include "commands/landscape_slice.hpp"
#include "commands/options.hpp"
#include "commands/progress.hpp"
#include "commands/surface.hpp"
#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "io/json_document.hpp"
#include "io/run_record.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/landscape.hpp"
#include "presenting/certificate.hpp"
#include "presenting/drawing.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::cli {
namespace {

/// The landscape that is named; the first that there is, if none is.
struct Offered {
  const Theory* theory = nullptr;
  const LossLandscape* landscape = nullptr;
};

struct LandscapeOptions {
  std::shared_ptr<CommonOptions> common;
  Offered offered;
  std::string name;
  std::vector<std::string> points;
  std::array<std::string, 2> ranges;
  std::string tolerance = "1e-9";
  int grid = 0;
  bool no_certificate = false, critical = false;
  std::string path;  ///< rung whose training is traced
  SliceOptions slice;
};

Rational number(const std::string& option, const std::string& text) {
  try {
    return from_text<Rational>(text);
  } catch (const std::invalid_argument&) {
    reject(popgrad_landscape, option, text,
           "must be a decimal or p/q, 0 or of a size from 1e-50 to 1e50");
  }
}

std::pair<std::string, std::string> pair_of(const std::string& option, const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos) {
    reject(popgrad_landscape, option, text, "must be two numbers, e.g. 2,1/2");
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

LandscapeBox box_of(const LandscapeOptions& o, const LandscapeLoss& made) {
  LandscapeBox box = made.box;
  const LossLandscape& landscape = *o.offered.landscape;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string option = "--" + landscape.coordinates[i].name;
    const std::string& text = o.ranges[i];
    if (text.empty()) continue;
    const auto [first, second] = pair_of(option, text);
    box.low[i] = number(option, first);
    box.high[i] = number(option, second);
    if (!(box.low[i] < box.high[i])) {
      reject(
          popgrad_landscape, option, text,
          fmt::format("must be LOW,HIGH with {} {} LOW < HIGH: {}", short_text(landscape.range.low),
                      landscape.range.without_low ? "<" : "<=", landscape.meaning));
    }
  }
  return box;
}

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::vector<double> spread(const Rational& low, const Rational& high, int count) {
  return equally_spaced(to_double(low), to_double(high), static_cast<std::size_t>(count));
}

// The loss above its minimum, in a window around the minimisers unless a range is given.
void draw_landscape(const LandscapeOptions& o, const LandscapeLoss& made, const LandscapeBox& box,
                    const LandscapeCertificate* c, const Invocation& call,
                    const std::vector<LandscapeNearest>& path = {}) {
  constexpr int usual_points = 121, most_points = 501;
  const auto points =
      static_cast<std::size_t>(o.grid > 0 ? std::min(o.grid, most_points) : usual_points);
  constexpr double beyond = 1.6;  // of the minimisers, the length of the window
  const LossLandscape& landscape = *o.offered.landscape;
  Surface surface;
  std::array<double, 2> ends{to_double(box.high[0]), to_double(box.high[1])};
  double least = INFINITY;
  if (c != nullptr) {
    least = to_double(c->upper);
    const double g = to_double(c->minimisers.high[0]);
    if (c->line && *c->line > 0) {
      surface.least = {{g, 0}, {0, g / to_double(*c->line)}};
    } else {
      surface.least = {{to_double(c->point[0]), to_double(c->point[1])}};
    }
    for (const auto& [x, y] : surface.least) {
      const std::array<double, 2> point{x, y};
      for (std::size_t i = 0; i < 2; ++i) {
        if (!o.ranges[i].empty() || !(point[i] > 0)) continue;
        ends[i] =
            std::min(ends[i], std::max(landscape.coordinates[i].least_shown, beyond * point[i]));
      }
    }
  }
  surface.x = equally_spaced(to_double(box.low[0]), ends[0], points);
  surface.y = equally_spaced(to_double(box.low[1]), ends[1], points);
  surface.values = made.grid(surface.x, surface.y, o.common->jobs);
  throw_if_stopped();
  const auto [low, high] = std::minmax_element(surface.values.begin(), surface.values.end());
  surface.logarithmic = c != nullptr;
  surface.floor = 1e-5 * (*high - *low);
  if (c != nullptr) {
    for (double& value : surface.values) value -= least;
  }
  const std::string& model = o.offered.theory->model->name();
  surface.name = "landscape-" + model;
  surface.title = model + ": " + made.title;
  surface.caption = made.caption;
  if (c != nullptr) surface.caption += fmt::format("; minimum {:.9g}, certified", least);
  surface.x_label = landscape.coordinates[0].symbol;
  surface.y_label = landscape.coordinates[1].symbol;
  for (const LandscapeNearest& at : path) surface.path.emplace_back(at.x, at.y);
  surface.path_label = o.path;
  surface.value_label = c != nullptr ? "loss above the minimum" : "loss";
  draw_surface(surface, *o.common, command_line(call));
}

void print_minimum(const LandscapeOptions& o, const LandscapeLoss& made,
                   const LandscapeCertificate& c) {
  const std::string& x = o.offered.landscape->coordinates[0].name;
  const std::string& y = o.offered.landscape->coordinates[1].name;
  const auto range = [](const LandscapeBox& box, std::size_t i) {
    return fmt::format("[{:.8g}, {:.8g}]", to_double(box.low[i]), to_double(box.high[i]));
  };
  fmt::print(standard_output(), "minimum      {:.12g}, certified within [{:.12g}, {:.12g}]\n",
             to_double(c.upper), to_double(c.lower), to_double(c.upper));
  fmt::print(standard_output(), "of the box   {0} in {1}, {2} in {3} (--{0}, --{2})\n", x,
             range(c.box, 0), y, range(c.box, 1));
  if (c.line) {
    fmt::print(standard_output(), "minimisers   the line {} + {} {} = g, g in {}\n", x,
               to_text(*c.line), y, range(c.minimisers, 0));
  } else {
    fmt::print(standard_output(), "minimisers   {} in {}, {} in {}\n", x, range(c.minimisers, 0), y,
               range(c.minimisers, 1));
  }
  fmt::print(standard_output(), "best point   {} = {:.12g}, {} = {:.12g}\n", x,
             to_double(c.point[0]), y, to_double(c.point[1]));
  if (c.point[0] == c.box.high[0] || c.point[1] == c.box.high[1]) {
    fmt::print(standard_output(),
               "edge         it lies on the edge of the box; look further with --{} LOW,HIGH\n",
               c.point[0] == c.box.high[0] ? x : y);
  }
  const LandscapeCurvature at = made.curvature(c.point[0], c.point[1]);
  fmt::print(standard_output(), "gradient     ({:.3g}, {:.3g}); Hessian ({:.6g}, {:.6g}; {:.6g})\n",
             to_double(at.gradient[0]), to_double(at.gradient[1]), to_double(at.hessian(0, 0)),
             to_double(at.hessian(0, 1)), to_double(at.hessian(1, 1)));
  fmt::print(standard_output(), "inertia      {} positive, {} zero, {} negative (exact)\n",
             at.positive, at.zero, at.negative);
  fmt::print(standard_output(), "boxes        {} examined, {} in the certificate\n", c.boxes,
             c.leaves.size());
}

Json points_json(const LandscapeOptions& o, const LandscapeLoss& made) {
  const LossLandscape& landscape = *o.offered.landscape;
  Json points = Json::array();
  for (const std::string& text : o.points) {
    const auto [first, second] = pair_of("--at", text);
    const std::array<Rational, 2> point{number("--at", first), number("--at", second)};
    const std::optional<Rational> value = made.value(point[0], point[1]);
    if (!value) reject(popgrad_landscape, "--at", text, landscape.undefined);
    // Exact where the point was given as fractions.
    const bool exact = text.find('/') != std::string::npos;
    const auto json = [exact](const Rational& x) {
      return exact ? Json(to_text(x)) : Json(to_double(x));
    };
    points.push_back({{landscape.coordinates[0].name, json(point[0])},
                      {landscape.coordinates[1].name, json(point[1])},
                      {"value", json(*value)}});
  }
  return points;
}

int look(const LandscapeOptions& o, const Parameters& p, const Invocation& call) {
  const CommonOptions& common = *o.common;
  const LossLandscape& landscape = *o.offered.landscape;
  const std::string& x_name = landscape.coordinates[0].name;
  const std::string& y_name = landscape.coordinates[1].name;
  LandscapeLoss made = landscape.at(p);
  if (made.caption.empty()) made.caption = caption_of(p.values(), {}, common.seed);
  const LandscapeBox box = box_of(o, made);
  if (!made.certify && o.points.empty() && o.grid == 0 && common.plot.empty()) {
    reject(popgrad_landscape, "model", common.model,
           "has no certified minimum; give --at, --grid or --plot");
  }
  const std::string suffix = std::filesystem::path(common.output).extension().string();
  const bool json = suffix == ".json" || (common.output == "-" && o.grid == 0);
  if (!common.output.empty() && common.output != "-") {
    if (suffix != ".json" && suffix != ".csv") {
      reject(popgrad_landscape, "--output", common.output, "must end in .json or .csv, or be -");
    }
    check_writable(common.output);
  }
  Json result = json_document("landscape/1");
  result["command"] = command_line(call);
  for (const auto& [name, value] : made.instance.entries()) result[name] = to_json(value);
  std::vector<double> xs;
  std::vector<double> ys;
  std::vector<double> values;
  if (o.grid > 0) {
    // A value, and what a file is made from: as text three numbers of some 18 characters, as JSON
    // the tree of its points first.
    const double bytes_of_point = json ? 8 + 450 : common.output.empty() ? 8 : 8 + 54;
    require_memory(static_cast<double>(o.grid) * o.grid * bytes_of_point,
                   fmt::format("{0} x {0} points of the grid", o.grid),
                   json ? "lower --grid, or name a file FILE.csv" : "lower --grid");
    xs = spread(box.low[0], box.high[0], o.grid);
    ys = spread(box.low[1], box.high[1], o.grid);
    values = made.grid(xs, ys, common.jobs);
    ys.resize(values.size() / xs.size());
  }
  const auto rows_asked = static_cast<std::size_t>(o.grid);
  result["minimum"] = nullptr;
  result["certificate"] = nullptr;
  const Json points = points_json(o, made);
  const auto certify = [&] {
    const Rational tolerance = number("--tolerance", o.tolerance);
    if (ys.size() < rows_asked) throw Stopped{};
    const LandscapeCertificate c = made.certify(box, tolerance);
    result["minimum"] = {{x_name, to_double(c.point[0])},
                         {y_name, to_double(c.point[1])},
                         {"value", to_double(c.upper)}};
    Json& certificate = result["certificate"] = certificate_json(landscape, c);
    for (const auto& [name, value] : made.certified.entries()) certificate[name] = to_json(value);
    if (common.output != "-") print_minimum(o, made, c);
    if (!common.plot.empty()) draw_landscape(o, made, box, &c, call);
  };
  bool stopped = ys.size() < rows_asked;
  try {
    if (!o.no_certificate && made.certify) {
      certify();
    } else if (!stopped && !common.plot.empty()) {
      draw_landscape(o, made, box, nullptr, call);
    }
  } catch (const Stopped&) {
    stopped = true;
  }
  if (common.output != "-") {
    for (const Json& point : points) {
      const auto text = [](const Json& x) {
        return x.is_string() ? x.get<std::string>() : to_text(x.get<double>());
      };
      fmt::print(standard_output(), "L({}, {}) = {}\n", text(point[x_name]), text(point[y_name]),
                 text(point["value"]));
    }
  }
  result["points"] = points;
  if (Results* const results = call.results) {
    results->document = result.dump();
    results->xs = xs;
    results->ys = ys;
    results->values = values;
    results->title = fmt::format("{}, {}", o.offered.theory->model->name(), made.form);
  }
  const auto status = [&](std::size_t rows_kept) -> int {
    if (!stopped) return success;
    const bool certified = !result["certificate"].is_null();
    const std::string rows =
        rows_asked > 0 ? fmt::format("{} of {} rows of the grid, ", rows_kept, rows_asked) : "";
    fmt::print(
        standard_error(),
        "popgrad: interrupted; kept: {}{} points of --at, {}; the same command begins anew\n", rows,
        points.size(), certified ? "the certificate" : "no certificate");
    return numerical_failure;
  };
  if (common.output.empty()) return status(0);
  std::string text = json ? "" : fmt::format("{},{},value\n", x_name, y_name);
  Progress bar("writing the grid", common.quiet);
  std::size_t rows_kept = 0;
  for (; rows_kept < ys.size(); ++rows_kept) {
    bar.update(static_cast<double>(rows_kept) / static_cast<double>(ys.size()));
    if (!stopped && interrupted()) {
      stopped = true;
      break;
    }
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const double value = values[rows_kept * xs.size() + i];
      if (json) {
        result["points"].push_back({{x_name, xs[i]}, {y_name, ys[rows_kept]}, {"value", value}});
      } else {
        fmt::format_to(std::back_inserter(text), "{:.17g},{:.17g},{:.17g}\n", xs[i], ys[rows_kept],
                       value);
      }
    }
  }
  if (json) {
    text = result.dump(1) + "\n";
  } else {
    for (const Json& point : points) {
      for (const std::string& name : {x_name, y_name, std::string("value")}) {
        const Json& x = point[name];
        const double number =
            x.is_string() ? to_double(from_text<Rational>(x.get<std::string>())) : x.get<double>();
        fmt::format_to(std::back_inserter(text), "{}{}", to_text(number),
                       name == "value" ? "\n" : ",");
      }
    }
  }
  if (common.output == "-") {
    std::fwrite(text.data(), 1, text.size(), standard_output());
  } else {
    write_atomically(common.output, text);
  }
  return status(rows_kept);
}

Offered offered_by(const Command& command, Theories theories) {
  const auto given = [&](const char* positional) {
    const Option option = command.get_option(positional);
    return option.count() > 0 ? option.as<std::string>() : std::string();
  };
  Offered found;
  const Theory* const named =
      has_model(theories, given("model")) ? &find_theory(theories, given("model")) : nullptr;
  for (const Theory& theory : theories) {
    if (theory.landscapes.empty()) continue;
    if (found.theory == nullptr || &theory == named) found.theory = &theory;
  }
  for (const LossLandscape& landscape : found.theory->landscapes) {
    if (found.landscape == nullptr || landscape.name == given("name")) {
      found.landscape = &landscape;
    }
  }
  return found;
}

// Names of the models that offer one, and of what these offer.
std::string models_with_landscapes(Theories theories) {
  std::vector<std::string> names;
  for (const Theory& theory : theories) {
    if (!theory.landscapes.empty()) names.push_back(theory.model->name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of_landscapes(Theories theories) {
  std::vector<std::string> lines;
  for (const Theory& theory : theories) {
    for (const LossLandscape& landscape : theory.landscapes) {
      lines.push_back(fmt::format("{}: loss over {}", landscape.name, landscape.summary));
    }
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

// Throws InputError if the words name another model or landscape than that whose options were read.
void check_landscape(const Command& command, const LandscapeOptions& o, const Invocation& call) {
  const std::string model = command.get_option("model").as<std::string>();
  const Theory& theory = *o.offered.theory;
  if (!has_model(Theories(&theory, 1), model)) {
    reject(popgrad_landscape, "model", model,
           fmt::format("has no landscape of two coordinates; give {}",
                       models_with_landscapes(call.theories)));
  }
  if (!o.name.empty() && o.name != o.offered.landscape->name) {
    std::vector<std::string> names;
    for (const LossLandscape& landscape : theory.landscapes) names.push_back(landscape.name);
    reject(popgrad_landscape, "name", o.name,
           fmt::format("is no landscape of {}{}; give {}", model, suggestion(o.name, names),
                       fmt::join(names, ", ")));
  }
}

// Those that make the law of the model, and those of the landscape, in place of the model's.
std::vector<ParameterInfo> parameters_read(const Offered& offered) {
  std::vector<ParameterInfo> own = offered.landscape->parameters;
  std::vector<ParameterInfo> known;
  for (const ParameterInfo& info : offered.theory->model->parameters()) {
    const auto instead = std::find_if(own.begin(), own.end(), [&](const ParameterInfo& other) {
      return other.name == info.name;
    });
    if (instead != own.end()) {
      known.push_back(*instead);
      own.erase(instead);
    } else if (info.rungs.empty()) {
      known.push_back(info);
    }
  }
  known.insert(known.end(), own.begin(), own.end());
  return known;
}

}  // namespace

bool has_landscapes(Theories theories) { return !models_with_landscapes(theories).empty(); }

namespace {

ParameterInfo named(const std::string& name) {
  ParameterInfo info;
  info.name = name;
  return info;
}

// Parameters of the model and of the landscape, and points.
void add_parameters(Command& command, const std::shared_ptr<LandscapeOptions>& o) {
  const LossLandscape& landscape = *o->offered.landscape;
  const Model& model = *o->offered.theory->model;
  std::vector<ParameterInfo> of_model = model.parameters();
  for (const ParameterInfo& own : landscape.parameters) {
    std::erase_if(of_model, [&](const ParameterInfo& other) { return other.name == own.name; });
  }
  add_parameter_flags(command, of_model, "Parameters of " + model.name(), o->common);
  for (const ParameterInfo& own : landscape.parameters) {
    command.add_parameter(
        own, [o, name = own.name](const std::string& text) { o->common->flags[name] = text; });
  }
  command
      .add_option("--at", o->points, Pair{landscape.range},
                  fmt::format("evaluate at {},{}; exact for p/q (repeatable)",
                              capitals(landscape.coordinates[0].name),
                              capitals(landscape.coordinates[1].name)))
      .allow_extra_args(false);
}

// Ranges of the coordinates, and what the help says of this landscape.
void add_ranges(Command& command, LandscapeOptions& o) {
  const LossLandscape& landscape = *o.offered.landscape;
  const auto& [x, y] = landscape.coordinates;
  command.add_option("--" + x.name, o.ranges[0], Pair{landscape.range},
                     fmt::format("range LOW,HIGH of {} (default {})", x.name, x.usual));
  command.add_option("--" + y.name, o.ranges[1], Pair{landscape.range},
                     fmt::format("range of {} (default {})", y.name, y.usual));
  command.introduce("landscape " + o.offered.theory->model->name() + " -o minimum.json",
                    {"--at", "--grid", "--around", "--output", "--plot"});
  if (!landscape.check.empty()) {
    command.footer("The certificate in -o FILE.json can be checked on its own: " + landscape.check);
  }
}

}  // namespace

Action add_landscape(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<LandscapeOptions>();
  std::vector<ParameterInfo> parameters{named("at")};
  std::vector<ParameterInfo> coordinates;
  std::vector<std::string> summaries;
  for (const Theory& theory : call.theories) {
    if (theory.landscapes.empty()) continue;
    append_flags(parameters, theory.model->parameters());
    for (const LossLandscape& landscape : theory.landscapes) {
      parameters.insert(parameters.end(), landscape.parameters.begin(), landscape.parameters.end());
      for (const LandscapeCoordinate& own : landscape.coordinates) {
        coordinates.push_back(named(own.name));
      }
      summaries.push_back(landscape.summary);
    }
  }
  Command* command =
      app.add_subcommand("landscape", fmt::format("loss over {}: points, grid, certified minimum",
                                                  fmt::join(summaries, ", or over ")));
  command->add_option("model", models_with_landscapes(call.theories)).required();
  command->add_option("name", o->name, names_of_landscapes(call.theories));
  using enum OptionGroup;
  o->common = add_option_groups(
      *command, call, {law, seed, clock, solver, jobs, output, quiet},
      "points, grid and certificate as .json, points and grid as .csv; - is standard output");
  command->add_dependent(parameters, [o, theories = call.theories](Command& own) {
    o->offered = offered_by(own, theories);
    add_parameters(own, o);
  });
  command->add_option("--grid", o->grid, Whole{within(2, 20'000)},
                      "values on a grid of n x n points, into -o FILE; of --plot up to 501");
  command->add_dependent(coordinates, [o](Command& own) { add_ranges(own, *o); });
  command->add_option("--tolerance", o->tolerance, Number{within(1e-15, 1), "1e-9"},
                      "width of the certified minimum");
  command->add_flag("--no-certificate", o->no_certificate, "only points and grid");
  command->add_flag(
      "--critical", o->critical,
      "where the derivatives vanish, with counts of the directions of the whole state");
  command->add_option(
      "--path", o->path,
      "points of the plane nearest to the training of this rung, for a theory file");
  command->add_option("--around", o->slice.around,
                      "slice the loss of the whole model around what this rung ends at");
  command->add_option("--slice", o->slice.directions, Whole{within(1, 2), "1"},
                      "with --around: directions");
  command->add_option("--span", o->slice.span, Number{above_up_to(0, 1e6), "1"},
                      "of a slice, in lengths of the parameters");
  command->add_option("--points", o->slice.points, Whole{within(2, 2000), "41"},
                      "of a slice in each direction");
  return [command, o, call]() -> int {
    check_landscape(*command, *o, call);
    const LossLandscape& chosen = *o->offered.landscape;
    const std::string& model_name = o->offered.theory->model->name();
    o->common->model = model_name;
    apply_config(*command, *o->common);
    const bool sliced = !o->slice.around.empty();
    if (!sliced) {
      refuse_options(*command, {"--slice", "--span", "--points"},
                     "belongs to --around RUNG; give that as well");
    }
    if (o->grid > 0 && o->common->output.empty() && o->common->plot.empty() &&
        call.results == nullptr) {
      reject(popgrad_landscape, "--grid", std::to_string(o->grid),
             "needs -o FILE.csv, FILE.json or -, or --plot FILE");
    }
    const Model& model = *o->offered.theory->model;
    if (sliced) {
      check_meaning(*command, find_rung(model, o->slice.around));
      refuse_options(*command,
                     {"--at", "--grid", "--" + chosen.coordinates[0].name,
                      "--" + chosen.coordinates[1].name, "--tolerance"},
                     fmt::format("is for the landscape of ({}, {}); leave out --around",
                                 chosen.coordinates[0].name, chosen.coordinates[1].name));
      const Parameters p = gather_parameters(*o->common, model, o->slice.around);
      return slice_landscape(o->slice, *o->common, chosen, p, call);
    }
    if (!o->path.empty() || o->critical) {
      refuse_options(*command, {"--at", "--grid", "--tolerance", "--no-certificate"},
                     "does not go with --critical or --path; leave these out");
    }
    if (o->critical)
      refuse_options(*command, {"--plot"}, "does not go with --critical; leave one out");
    if (!o->path.empty()) {
      refuse_options(*command, {"--critical"}, "does not go with --path; leave one out");
      check_meaning(*command, find_rung(model, o->path));
      const Parameters p = gather_parameters(*o->common, model, o->path);
      const LandscapeLoss made = chosen.at(p);
      return trace_path(o->path, *o->common, chosen, made, p, call,
                        [&](const std::vector<LandscapeNearest>& path) {
                          draw_landscape(*o, made, box_of(*o, made), nullptr, call, path);
                        });
    }
    refuse_options(*command,
                   {"--t1", "--steps", "--eta", "--optimiser", "--momentum", "--batch", "--method",
                    "--rtol", "--atol"},
                   "is for a training: give --around RUNG or --path RUNG as well");
    const std::vector<ParameterInfo> known = parameters_read(o->offered);
    Parameters p(model_name);
    if (!o->common->instance.empty()) {
      p = read_instance(model_name, o->common->instance).parameters;
    }
    for (const auto& [key, text] : o->common->flags) p.set(key, text);
    p.check_names(known, "landscape");
    for (const ParameterInfo& info : chosen.parameters) {
      if (info.kind == "text") note_file(p.text(info.name, ""));
    }
    if (o->critical) {
      const LandscapeLoss made = chosen.at(p);
      return list_critical_points(*o->common, chosen, made, box_of(*o, made), call);
    }
    return look(*o, p, call);
  };
}

}  // namespace popgrad::cli
