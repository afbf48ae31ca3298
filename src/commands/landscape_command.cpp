#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/instance_file.hpp"
#include "commands/interrupt.hpp"
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
#include "presenting/certificate.hpp"
#include "scalars/number_text.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::cli {
namespace {

using namespace popgrad::topic;

struct LandscapeOptions {
  std::shared_ptr<CommonOptions> common;
  std::vector<std::string> points;
  std::string alphas, betas, tolerance = "1e-9";
  int grid = 0;
  bool no_certificate = false;
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

Matrix<Rational> matrix_from_file(const std::string& path, Index size) {
  const Parameters p = Parameters::parse("topic", read_file(path), path);
  if (!p.has("W_V")) {
    throw InputError(fmt::format("{}: has no \"W_V\"; give {{\"W_V\": [[...], ...]}}", path));
  }
  Matrix<Rational> value = p.matrix<Rational>("W_V");
  if (value.rows() != size || value.cols() != size) {
    reject(popgrad_landscape, "W_V", fmt::format("{} x {}", value.rows(), value.cols()),
           fmt::format("must be {0} x {0}: [MASK] and T v words", size));
  }
  return value;
}

struct Made {
  TopicLaw<Rational> law;
  std::string value;
  bool block = false;  // as opposed to a whole matrix
  BlockValue<Rational> numbers;
  Matrix<Rational> matrix;
  Landscape<Rational> landscape;
};

Made make(const Parameters& p) {
  Made made;
  made.law = topic_law<Rational>(p);
  made.value = p.text("value", "block");
  made.block = true;
  if (made.value == "block") {
    made.numbers = minimum_norm_value(made.law);
  } else if (made.value == "diagonal") {
    made.numbers = diagonal_value(made.law);
  } else if (made.value.starts_with("mixture:")) {
    made.numbers = mixture_value(made.law, number("--value mixture", made.value.substr(8)));
  } else if (std::filesystem::exists(made.value)) {
    made.block = false;
    constexpr Index most_words = 2000;
    if (made.law.vocabulary() > most_words) {
      reject(popgrad_landscape, "--T", std::to_string(made.law.topics),
             fmt::format("times --v {} is too large for a matrix from a file; at most {} words",
                         made.law.words, most_words));
    }
    made.matrix = matrix_from_file(made.value, made.law.vocabulary());
  } else {
    reject(popgrad_landscape, "--value", made.value,
           "must be block, diagonal, mixture:THETA or a JSON file with W_V; there is no such file");
  }
  made.landscape =
      made.block ? landscape(made.law, made.numbers) : landscape(made.law, made.matrix);
  return made;
}

Box<Rational> box_of(const LandscapeOptions& o, const Made& made) {
  const auto far = Rational(20) * Rational(static_cast<int>(made.law.active * made.law.words));
  const bool line = made.landscape.depends_on_sum_alone(made.law.words);
  Box<Rational> box{Rational(0), far, Rational(0), line ? far : Rational(20)};
  const auto range = [](const char* option, const std::string& text, Rational& low,
                        Rational& high) {
    if (text.empty()) return;
    const auto [first, second] = pair_of(option, text);
    low = number(option, first);
    high = number(option, second);
    if (!(low < high)) {
      reject(popgrad_landscape, option, text,
             "must be LOW,HIGH with 0 <= LOW < HIGH: weights are >= 0");
    }
  };
  range("--alpha", o.alphas, box.alpha_low, box.alpha_high);
  range("--beta", o.betas, box.beta_low, box.beta_high);
  return box;
}

std::vector<double> spread(const Rational& low, const Rational& high, int count) {
  return equally_spaced(to_double(low), to_double(high), static_cast<std::size_t>(count));
}

// The loss above its minimum, in a window around the minimisers unless --alpha or --beta say which.
void draw_landscape(const LandscapeOptions& o, const Made& made, const Box<Rational>& box,
                    const Certificate* c, const Invocation& call) {
  constexpr int points = 121;
  constexpr double beyond = 1.6;  // of the minimisers, the length of the window
  Surface surface;
  double high_alpha = to_double(box.alpha_high);
  double high_beta = to_double(box.beta_high);
  double least = INFINITY;
  if (c != nullptr) {
    least = to_double(c->upper);
    const double g = to_double(c->minimisers.alpha_high);
    const double v = static_cast<double>(made.law.words);
    if (c->on_line && made.law.words > 1) {
      surface.least = {{g, 0}, {0, g / (v - 1)}};
    } else {
      surface.least = {{to_double(c->alpha), to_double(c->beta)}};
    }
    for (const auto& [alpha, beta] : surface.least) {
      if (o.alphas.empty() && alpha > 0) high_alpha = std::min(high_alpha, beyond * alpha);
      if (o.betas.empty() && beta > 0)
        high_beta = std::min(high_beta, std::max(2.0, beyond * beta));
    }
  }
  const auto axis = [](double low, double high) {
    return equally_spaced(low, high, static_cast<std::size_t>(points));
  };
  surface.x = axis(to_double(box.alpha_low), high_alpha);
  surface.y = axis(to_double(box.beta_low), high_beta);
  surface.values = on_grid(made.landscape.cast<double>(), surface.x, surface.y, o.common->jobs);
  throw_if_stopped();
  const auto [low, high] = std::minmax_element(surface.values.begin(), surface.values.end());
  surface.logarithmic = c != nullptr;
  surface.floor = 1e-5 * (*high - *low);
  if (c != nullptr) {
    for (double& value : surface.values) value -= least;
  }
  surface.name = "landscape-topic";
  surface.title = fmt::format(
      "topic: loss over the weights of the own word (α) and of the other "
      "words of its topic (β), W_V {}",
      made.value);
  surface.caption =
      fmt::format("T = {}, tau = {}, v = {}, p_m = {}, p_c = {}, p_r = {}", made.law.topics,
                  made.law.active, made.law.words, to_text(made.law.masked),
                  to_text(made.law.correct), to_text(made.law.random));
  if (c != nullptr) surface.caption += fmt::format("; least loss {:.9g}, certified", least);
  surface.x_label = "α";
  surface.y_label = "β";
  surface.value_label = c != nullptr ? "loss above the least" : "loss";
  draw_surface(surface, *o.common, command_line(call));
}

void print_minimum(const Made& made, const Certificate& c) {
  const auto range = [](const Rational& low, const Rational& high) {
    return fmt::format("[{:.8g}, {:.8g}]", to_double(low), to_double(high));
  };
  fmt::print(standard_output(), "minimum      {:.12g}, certified within [{:.12g}, {:.12g}]\n",
             to_double(c.upper), to_double(c.lower), to_double(c.upper));
  fmt::print(standard_output(), "of the box   alpha in {}, beta in {} (--alpha, --beta)\n",
             range(c.box.alpha_low, c.box.alpha_high), range(c.box.beta_low, c.box.beta_high));
  if (c.on_line) {
    fmt::print(standard_output(), "minimisers   the line alpha + {} beta = g, g in {}\n",
               made.law.words - 1, range(c.minimisers.alpha_low, c.minimisers.alpha_high));
  } else {
    fmt::print(standard_output(), "minimisers   alpha in {}, beta in {}\n",
               range(c.minimisers.alpha_low, c.minimisers.alpha_high),
               range(c.minimisers.beta_low, c.minimisers.beta_high));
  }
  fmt::print(standard_output(), "best point   alpha = {:.12g}, beta = {:.12g}\n",
             to_double(c.alpha), to_double(c.beta));
  if (c.alpha == c.box.alpha_high || c.beta == c.box.beta_high) {
    fmt::print(standard_output(),
               "edge         it lies on the edge of the box; look further with {} LOW,HIGH\n",
               c.alpha == c.box.alpha_high ? "--alpha" : "--beta");
  }
  const Vector<Rational> gradient = made.landscape.gradient(c.alpha, c.beta);
  const Matrix<Rational> hessian = made.landscape.hessian(c.alpha, c.beta);
  const Inertia signs = inertia(hessian);
  fmt::print(standard_output(), "gradient     ({:.3g}, {:.3g}); Hessian ({:.6g}, {:.6g}; {:.6g})\n",
             to_double(gradient[0]), to_double(gradient[1]), to_double(hessian(0, 0)),
             to_double(hessian(0, 1)), to_double(hessian(1, 1)));
  fmt::print(standard_output(), "inertia      {} positive, {} zero, {} negative (exact)\n",
             signs.positive, signs.zero, signs.negative);
  fmt::print(standard_output(), "boxes        {} examined, {} in the certificate\n", c.boxes,
             c.leaves.size());
}

Json points_json(const LandscapeOptions& o, const Made& made) {
  Json points = Json::array();
  for (const std::string& text : o.points) {
    const auto [first, second] = pair_of("--at", text);
    const Rational alpha = number("--at", first);
    const Rational beta = number("--at", second);
    for (const auto& part : made.landscape.parts) {
      if (!(part.normaliser(alpha, beta) > 0)) {
        reject(popgrad_landscape, "--at", text,
               "makes all attention vanish or negative; weights are >= 0");
      }
    }
    const Rational value = made.landscape(alpha, beta);
    // Exact where the point was given as fractions.
    if (text.find('/') != std::string::npos) {
      points.push_back(
          {{"alpha", to_text(alpha)}, {"beta", to_text(beta)}, {"value", to_text(value)}});
    } else {
      points.push_back(
          {{"alpha", to_double(alpha)}, {"beta", to_double(beta)}, {"value", to_double(value)}});
    }
  }
  return points;
}

int look(const LandscapeOptions& o, const Parameters& p, const Invocation& call) {
  const CommonOptions& common = *o.common;
  const Made made = make(p);
  const Box<Rational> box = box_of(o, made);
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
  Json& parameters = result["parameters"];
  parameters = {{"T", made.law.topics},
                {"tau", made.law.active},
                {"v", made.law.words},
                {"p_m", to_text(made.law.masked)},
                {"p_c", to_text(made.law.correct)},
                {"p_r", to_text(made.law.random)}};
  result["value"] = made.value;
  std::vector<double> alphas;
  std::vector<double> betas;
  std::vector<double> values;
  if (o.grid > 0) {
    // A value, and what a file is made from: as text three numbers of some 18 characters, as JSON
    // the tree of its points first.
    const double bytes_of_point = json ? 8 + 450 : common.output.empty() ? 8 : 8 + 54;
    require_memory(static_cast<double>(o.grid) * o.grid * bytes_of_point,
                   fmt::format("{0} x {0} points of the grid", o.grid),
                   json ? "lower --grid, or name a file FILE.csv" : "lower --grid");
    alphas = spread(box.alpha_low, box.alpha_high, o.grid);
    betas = spread(box.beta_low, box.beta_high, o.grid);
    values = on_grid(made.landscape.cast<double>(), alphas, betas, common.jobs);
    betas.resize(values.size() / alphas.size());
  }
  const auto rows_asked = static_cast<std::size_t>(o.grid);
  result["minimum"] = nullptr;
  result["certificate"] = nullptr;
  const Json points = points_json(o, made);
  const auto certify = [&] {
    const Rational tolerance = number("--tolerance", o.tolerance);
    if (betas.size() < rows_asked) throw Stopped{};
    const Certificate c = certify_minimum(made.law, made.landscape, box, tolerance);
    result["minimum"] = {
        {"alpha", to_double(c.alpha)}, {"beta", to_double(c.beta)}, {"value", to_double(c.upper)}};
    result["certificate"] = certificate_json(c);
    if (made.block) {
      result["certificate"]["W_V"] = {{"w0", to_text(made.numbers.mask)},
                                      {"diagonal", to_text(made.numbers.diagonal)},
                                      {"same", to_text(made.numbers.same)},
                                      {"other", to_text(made.numbers.other)}};
    } else {
      Json rows = Json::array();
      for (Index i = 0; i < made.matrix.rows(); ++i) {
        Json row = Json::array();
        for (Index j = 0; j < made.matrix.cols(); ++j) row.push_back(to_text(made.matrix(i, j)));
        rows.push_back(std::move(row));
      }
      result["certificate"]["W_V"] = std::move(rows);
    }
    if (common.output != "-") print_minimum(made, c);
    if (!common.plot.empty()) draw_landscape(o, made, box, &c, call);
  };
  bool stopped = betas.size() < rows_asked;
  try {
    if (!o.no_certificate) {
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
      fmt::print(standard_output(), "L({}, {}) = {}\n", text(point["alpha"]), text(point["beta"]),
                 text(point["value"]));
    }
  }
  result["points"] = points;
  if (Results* const results = host().results) {
    results->document = result.dump();
    results->alphas = alphas;
    results->betas = betas;
    results->values = values;
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
  std::string text = json ? "" : "alpha,beta,value\n";
  Progress bar("writing the grid", common.quiet);
  std::size_t rows_kept = 0;
  for (; rows_kept < betas.size(); ++rows_kept) {
    bar.update(static_cast<double>(rows_kept) / static_cast<double>(betas.size()));
    if (!stopped && interrupted()) {
      stopped = true;
      break;
    }
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      const double value = values[rows_kept * alphas.size() + i];
      if (json) {
        result["points"].push_back(
            {{"alpha", alphas[i]}, {"beta", betas[rows_kept]}, {"value", value}});
      } else {
        fmt::format_to(std::back_inserter(text), "{:.17g},{:.17g},{:.17g}\n", alphas[i],
                       betas[rows_kept], value);
      }
    }
  }
  if (json) {
    text = result.dump(1) + "\n";
  } else {
    for (const Json& point : points) {
      for (const char* name : {"alpha", "beta", "value"}) {
        const Json& x = point[name];
        const double number =
            x.is_string() ? to_double(from_text<Rational>(x.get<std::string>())) : x.get<double>();
        fmt::format_to(std::back_inserter(text), "{}{}", to_text(number),
                       std::string_view(name) == "value" ? "\n" : ",");
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

}  // namespace

Action add_landscape(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<LandscapeOptions>();
  Command* command = app.add_subcommand(
      "landscape",
      "loss over the attention weights (alpha, beta): points, grid, certified minimum");
  command->add_option("model", "topic").required();
  o->common = add_common_options(
      *command, {{"topic"}, call.theories, call.program},
      {{"--runs", "--save", "--save-at", "--digits", "--states", "--no-events"},
       "has no meaning here: of a training --around looks at one end, in double"},
      "points, grid and certificate as .json, points and grid as .csv; - is standard output");
  command->remove_option("--value");
  ParameterInfo value;
  value.name = "value";
  value.kind = "text";
  value.default_value = "block";
  value.help = "W_V: block, diagonal, mixture:THETA, or a JSON file with W_V";
  command->add_parameter(value, [o](const std::string& text) { o->common->flags["value"] = text; });
  command
      ->add_option("--at", o->points, Pair{at_least(0)},
                   "evaluate at ALPHA,BETA; exact for p/q (repeatable)")
      .allow_extra_args(false);
  command->add_option("--grid", o->grid, Whole{within(2, 20'000)},
                      "values on a grid of n x n points, into -o FILE");
  command->add_option("--alpha", o->alphas, Pair{at_least(0)},
                      "range LOW,HIGH of alpha (default 0,20 tau v)");
  command->add_option("--beta", o->betas, Pair{at_least(0)},
                      "range of beta (default 0,20; 0,20 tau v where minimisers form a line)");
  command->add_option("--tolerance", o->tolerance, Number{within(1e-15, 1), "1e-9"},
                      "width of the certified minimum");
  command->add_flag("--no-certificate", o->no_certificate, "only points and grid");
  command->add_option("--around", o->slice.around,
                      "slice the loss of the whole model around what this rung ends at");
  command->add_option("--slice", o->slice.directions, Whole{within(1, 2), "1"},
                      "with --around: directions");
  command->add_option("--span", o->slice.span, Number{above_up_to(0, 1e6), "1"},
                      "of a slice, in lengths of the parameters");
  command->add_option("--points", o->slice.points, Whole{within(2, 2000), "41"},
                      "of a slice in each direction");
  command->footer(
      "The certificate in -o FILE.json can be checked on its own: python3 "
      "tests/check_certificate.py FILE.json");
  return [command, o, call]() -> int {
    const std::string name = command->get_option("model").as<std::string>();
    if (name != "topic") {
      reject(popgrad_landscape, "model", name, "has no landscape of two weights; give topic");
    }
    o->common->model = name;
    apply_config(*command, *o->common);
    const bool sliced = !o->slice.around.empty();
    if (!sliced) {
      refuse_options(*command, {"--slice", "--span", "--points"},
                     "belongs to --around RUNG; give that as well");
    }
    if (o->grid > 0 && o->common->output.empty() && host().results == nullptr) {
      reject(popgrad_landscape, "--grid", std::to_string(o->grid),
             "needs -o FILE.csv, FILE.json or -");
    }
    const Model& model = find_model(call.theories, "topic");
    if (sliced) {
      check_meaning(*command, find_rung(model, o->slice.around));
      refuse_options(*command, {"--at", "--grid", "--alpha", "--beta", "--tolerance"},
                     "is for the landscape of (alpha, beta); leave out --around");
      const Parameters p = gather_parameters(*o->common, model, o->slice.around);
      return slice_landscape(o->slice, *o->common, p, call);
    }
    refuse_options(*command,
                   {"--t1", "--steps", "--eta", "--optimiser", "--momentum", "--batch", "--method",
                    "--rtol", "--atol"},
                   "is for the training of --around RUNG; give that as well");
    // Of the model only what makes the law, and the value.
    Parameters p("topic");
    if (!o->common->instance.empty()) {
      p = read_instance("topic", o->common->instance).parameters;
    }
    for (const auto& [key, text] : o->common->flags) p.set(key, text);
    std::vector<ParameterInfo> known;
    for (const ParameterInfo& info : model.parameters()) {
      if (info.rungs.empty() || info.name == "value") {
        known.push_back(info);
        known.back().rungs.clear();
      }
    }
    p.check_names(known, "landscape");
    return look(*o, p, call);
  };
}

}  // namespace popgrad::cli
