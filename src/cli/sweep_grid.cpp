#include "cli/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/error.hpp"

namespace popgrad::cli {
namespace {

constexpr const char* where = "popgrad sweep";
constexpr std::size_t most_cells = 1'000'000;

// NAME=v,v,... or NAME=LOW:HIGH:COUNT, spread evenly in the logarithm.
Axis axis_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    reject(where, "--over", text, "must be NAME=v,v,... or NAME=LOW:HIGH:COUNT");
  }
  Axis axis{text.substr(0, equals), {}};
  const auto split = [](const std::string& whole, char mark) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = whole.find(mark, begin);
      parts.push_back(whole.substr(begin, end - begin));
      if (end == std::string::npos) return parts;
      begin = end + 1;
    }
  };
  const auto number = [&](const std::string& part) {
    try {
      return from_text<double>(part);
    } catch (const std::invalid_argument&) {
      reject(where, "--over", text, fmt::format("'{}' is not a number", part));
    }
  };
  const std::vector<std::string> range = split(text.substr(equals + 1), ':');
  if (range.size() == 3) {
    const double low = number(range[0]);
    const double high = number(range[1]);
    const double count = number(range[2]);
    if (!(low > 0 && low < high) || !(count >= 2 && count <= 10'000) ||
        count != std::floor(count)) {
      reject(where, "--over", text, "needs 0 < LOW < HIGH and COUNT from 2 to 10000");
    }
    for (int i = 0; i < static_cast<int>(count); ++i) {
      const double value = low * std::pow(high / low, i / (count - 1));
      axis.values.push_back(fmt::format("{:.6g}", i == 0                             ? low
                                                  : i + 1 == static_cast<int>(count) ? high
                                                                                     : value));
    }
    return axis;
  }
  axis.values = split(text.substr(equals + 1), ',');
  return axis;
}

// Options of the walk or the solve that can be axes as well.
bool set_option(CommonOptions& o, const std::string& name, const std::string& value) {
  if (name == "eta") {
    o.step_size = value;
  } else if (name == "t1") {
    o.end = value;
  } else if (name == "batch" || name == "steps" || name == "seed") {
    double number = -1;
    try {
      number = std::round(from_text<double>(value));
    } catch (const std::invalid_argument&) {
      reject(where, "--over " + name, value, "is not a number");
    }
    // Whole numbers up to here are exact.
    if (!(number >= 0 && number <= 1e15)) {
      reject(where, "--over " + name, value, "must be a whole number from 0 to 1e15");
    }
    if (name == "batch") o.batch = static_cast<std::int64_t>(number);
    if (name == "steps") o.steps = static_cast<std::int64_t>(number);
    if (name == "seed") o.seed = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

}  // namespace

SweepGrid::SweepGrid(const std::vector<std::string>& axes, const Model& model) {
  if (axes.empty()) throw InputError("popgrad sweep: --over is missing; e.g. --over tau=2,4,8");
  for (const std::string& text : axes) {
    axes_.push_back(axis_of(text));
    cells_ *= axes_.back().values.size();
    if (cells_ > most_cells) {
      reject(where, "--over", text, fmt::format("makes more than {} cells", most_cells));
    }
    for (std::size_t i = 0; i + 1 < axes_.size(); ++i) {
      if (axes_[i].name == axes_.back().name) reject(where, "--over", text, "names an axis twice");
    }
  }
  std::vector<std::string> names{"eta", "t1", "batch", "steps", "seed"};
  for (const ParameterInfo& parameter : model.parameters()) names.push_back(parameter.name);
  for (const Axis& axis : axes_) {
    if (std::find(names.begin(), names.end(), axis.name) == names.end()) {
      reject(where, "--over", axis.name, "is not a parameter" + suggestion(axis.name, names));
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
