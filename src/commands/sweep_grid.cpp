#include "commands/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::cli {
namespace {

constexpr std::size_t most_cells = 1'000'000;

// Options of the walk or the solve that can be axes as well.
constexpr std::array<const char*, 5> option_axes{"eta", "t1", "batch", "steps", "seed"};

std::vector<std::string> split(const std::string& whole, char mark) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = whole.find(mark, begin);
    parts.push_back(whole.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

// Texts of the values, as short as is distinct: a cell is computed with the text in its row.
std::vector<std::string> texts_of(const std::vector<double>& values, bool whole) {
  std::vector<std::string> texts;
  for (int digits = 6; digits <= 17; ++digits) {
    texts.clear();
    for (const double value : values) {
      texts.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits));
    }
    if (std::adjacent_find(texts.begin(), texts.end()) == texts.end()) break;
  }
  return texts;
}

// LOW:HIGH:COUNT
std::vector<std::string> spread(const std::string& text, const std::vector<std::string>& range,
                                bool whole) {
  std::array<double, 3> numbers{};
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto why = k < 2 ? refusal_of_number(range[k], above(0))
                           : refusal_of_whole(range[k], within(2, 10'000));
    if (why) reject(popgrad_sweep, "--over", text, fmt::format("has {}, which {}", range[k], *why));
    numbers[k] = from_text<double>(range[k]);
  }
  const auto [low, high, count] = numbers;
  if (!(low < high)) reject(popgrad_sweep, "--over", text, "needs LOW < HIGH");
  std::vector<double> values;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const double value = low * std::pow(high / low, i / (count - 1));
    values.push_back(i == 0 ? low : i + 1 == static_cast<int>(count) ? high : value);
  }
  std::vector<std::string> texts = texts_of(values, whole);
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice != texts.end()) {
    reject(popgrad_sweep, "--over", text,
           fmt::format("has the value {} twice; give a smaller COUNT or a wider range", *twice));
  }
  return texts;
}

// NAME=v,v,... or NAME=LOW:HIGH:COUNT, spread evenly in the logarithm; every value is one that the option
// NAME takes.
Axis axis_of(const std::string& text, const Command& command, const Model& model) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    reject(popgrad_sweep, "--over", text, "must be NAME=v,v,... or NAME=LOW:HIGH:COUNT");
  }
  Axis axis{text.substr(0, equals), {}};
  std::vector<std::string> names(option_axes.begin(), option_axes.end());
  for (const ParameterInfo& parameter : model.parameters()) {
    if (parameter.flag) names.push_back(parameter.name);
  }
  const std::optional<Option> option = command.find_option("--" + axis.name);
  if (!option || std::find(names.begin(), names.end(), axis.name) == names.end()) {
    reject(popgrad_sweep, "--over", axis.name, "is not a parameter" + suggestion(axis.name, names));
  }
  const std::string& kind = option->declared().kind;
  const std::vector<std::string> range = split(text.substr(equals + 1), ':');
  const bool spreads = range.size() == 3 && (kind == "number" || kind == "count" ||
                                             kind == "vector" || kind == "matrix");
  axis.values =
      spreads ? spread(text, range, kind == "count") : split(text.substr(equals + 1), ',');
  for (const std::string& value : axis.values) {
    if (const auto why = option->refusal_of(value)) {
      reject(popgrad_sweep, "--over", text.substr(0, 60),
             fmt::format("has {}, which {}", value.empty() ? "''" : value, *why));
    }
  }
  return axis;
}

bool set_option(CommonOptions& o, const std::string& name, const std::string& value) {
  if (name == "eta") {
    o.step_size = value;
  } else if (name == "t1") {
    o.end = value;
  } else if (name == "batch") {
    o.batch = std::stoll(whole_digits(value).value());
  } else if (name == "steps") {
    o.steps = std::stoll(whole_digits(value).value());
  } else if (name == "seed") {
    o.seed = std::stoull(whole_digits(value).value());
  } else {
    return false;
  }
  return true;
}

}  // namespace

SweepGrid::SweepGrid(const std::vector<std::string>& axes, const Command& command,
                     const Model& model) {
  if (axes.empty()) throw InputError("popgrad sweep: --over is missing; e.g. --over tau=2,4,8");
  for (const std::string& text : axes) {
    axes_.push_back(axis_of(text, command, model));
    cells_ *= axes_.back().values.size();
    if (cells_ > most_cells) {
      reject(popgrad_sweep, "--over", text, fmt::format("makes more than {} cells", most_cells));
    }
    for (std::size_t i = 0; i + 1 < axes_.size(); ++i) {
      if (axes_[i].name == axes_.back().name)
        reject(popgrad_sweep, "--over", text, "names an axis twice");
    }
  }
}

std::vector<std::string> SweepGrid::values_of(std::size_t cell) const {
  std::vector<std::string> values(axes_.size());
  for (std::size_t k = axes_.size(); k-- > 0;) {
    values[k] = axes_[k].values[cell % axes_[k].values.size()];
    cell /= axes_[k].values.size();
  }
  return values;
}

CommonOptions SweepGrid::options_of(std::size_t cell, const CommonOptions& common) const {
  CommonOptions own = common;
  const std::vector<std::string> values = values_of(cell);
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    if (!set_option(own, axes_[k].name, values[k])) own.flags[axes_[k].name] = values[k];
  }
  return own;
}

}  // namespace popgrad::cli
