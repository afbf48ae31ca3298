#include "commands/sweep_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "commands/panels.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

// Columns as numbers: NaN for words and for empty fields.
Table numbers_of(const std::string& csv) {
  Table table = parse_csv(csv, "sweep");
  table.load_all();
  for (const auto& fields : table.fields) {
    std::vector<double>& column = table.columns.emplace_back();
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string word((*fields)[row]);
      char* rest = nullptr;
      const double value = std::strtod(word.c_str(), &rest);
      column.push_back(word.empty() || *rest != '\0' ? NAN : value);
    }
  }
  return table;
}

// 0.5, 1, 2, 4, of one sign and in their order.
bool in_equal_ratios(const std::vector<double>& x) {
  constexpr double rounding = 1e-9;
  for (std::size_t k = 2; k < x.size(); ++k) {
    if (std::fabs(x[k] * x[k - 2] - x[k - 1] * x[k - 1]) > rounding * x[k - 1] * x[k - 1])
      return false;
  }
  return x.size() > 2 && x.front() != x[1];
}

}  // namespace

void check_drawable(const std::vector<Axis>& axes) {
  for (const std::string& value : axes.front().values) {
    try {
      static_cast<void>(from_text<double>(value));
    } catch (const std::invalid_argument&) {
      reject("popgrad sweep", "--over " + axes.front().name, value,
             "is not a number; with --plot the first axis is that of the picture");
    }
  }
}

void draw_sweep(const std::string& csv, const std::vector<Axis>& axes, const CommonOptions& options,
                const std::string& rung, const std::string& command) {
  const Table table = numbers_of(csv);
  const std::size_t along = axes.front().values.size();
  const std::size_t sides = table.rows() / along;
  Panels panels;
  panels.name = fmt::format("sweep-{}-{}", options.model, rung);
  const bool ensemble = options.runs.value_or(1) > 1;
  panels.title = fmt::format("{} {} at the end of a run{}", options.model, rung,
                             ensemble ? ", median and 5 to 95 % of runs, shares with 95 %" : "");
  std::vector<std::string> varied;
  for (const Axis& axis : axes) varied.push_back(axis.name);
  panels.caption = caption_of_given(options, find_model(options.theories, options.model), varied);
  panels.x_label = panel_title(axes.front().name);
  panels.points = true;
  for (std::size_t k = 0; k < along; ++k) panels.x.push_back(table.columns.front()[k * sides]);
  const auto [least, largest] = std::minmax_element(panels.x.begin(), panels.x.end());
  panels.x_logarithmic = *least > 0 && (*largest >= 16 * *least || in_equal_ratios(panels.x));
  for (std::size_t side = 0; side < sides; ++side) {
    std::string name;
    std::size_t rest = side;
    for (std::size_t a = axes.size(); a-- > 1;) {
      const std::vector<std::string>& values = axes[a].values;
      name = fmt::format("{}={}{}{}", axes[a].name, values[rest % values.size()],
                         name.empty() ? "" : " ", name);
      rest /= values.size();
    }
    panels.sides.push_back(name.empty() ? rung : name);
  }
  const auto values_of = [&](const std::string& name, std::size_t side) {
    const auto at = std::find(table.names.begin(), table.names.end(), name);
    std::vector<double> values;
    if (at == table.names.end()) return values;
    const auto& column = table.columns[static_cast<std::size_t>(at - table.names.begin())];
    for (std::size_t k = 0; k < along; ++k) values.push_back(column[k * sides + side]);
    return values;
  };
  const auto panel = [&](const std::string& title, const std::string& value, const std::string& low,
                         const std::string& high) {
    panels.observables.push_back(title);
    std::vector<PanelCurve> curves;
    for (std::size_t side = 0; side < sides; ++side) {
      curves.push_back({values_of(value, side), values_of(low, side), values_of(high, side)});
    }
    panels.curves.push_back(std::move(curves));
  };
  const auto has = [&](const char* name) {
    return std::find(table.names.begin(), table.names.end(), name) != table.names.end();
  };
  // With --success or --first, only what they ask for.
  const bool shares_only = has("success") || has("reached_share");
  for (std::size_t c = axes.size() + 2; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    if (name == "success" || name == "reached_share") {
      panel(name, name, name + "_low", name + "_high");
    } else if (shares_only && !name.starts_with("first_time")) {
      continue;
    } else if (name.ends_with("_median")) {
      const std::string of = name.substr(0, name.size() - 7);
      panel(of, name, of + "_q05", of + "_q95");
    } else if (!ensemble && name != "successes" && name != "reached") {
      panel(name, name, "", "");
    }
  }
  draw_panels(panels, options.plot, command, options.seed);
}

}  // namespace popgrad::cli
