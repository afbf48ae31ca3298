#include "commands/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "commands/host.hpp"
#include "io/atomic_file.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_panels = 12;
constexpr std::size_t caption_width = 80;
constexpr std::size_t longest_value = 20;

// Broken into lines at blanks.
std::string wrapped_caption(const std::string& text) {
  std::string lines;
  std::size_t width = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::size_t length = end - begin;
    if (width > 0) lines += width + 1 + length > caption_width ? "\n" : " ";
    width = width > 0 && width + 1 + length <= caption_width ? width + 1 + length : length;
    lines.append(text, begin, length);
    begin = end + 1;
  }
  return lines;
}

bool negative(const std::vector<PanelCurve>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const PanelCurve& curve) {
    return std::any_of(curve.value.begin(), curve.value.end(), [](double x) { return x < 0; });
  });
}

// Rounding alone would fill the axis.
std::string range_of(const std::vector<PanelCurve>& curves) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double low = infinity, high = -infinity;
  for (const PanelCurve& curve : curves) {
    for (const std::vector<double>* part : {&curve.value, &curve.low, &curve.high}) {
      for (const double x : *part) {
        if (!std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
      }
    }
  }
  constexpr double flat = 1e-9;
  const double size = std::max(std::fabs(low), std::fabs(high));
  if (high - low > flat * size) return "-";
  const double half = size > 0 ? size / 2 : 1.0;
  return fmt::format("{:.6g}:{:.6g}", low - half, high + half);
}

bool has_values(const std::vector<PanelCurve>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const PanelCurve& curve) {
    return std::any_of(curve.value.begin(), curve.value.end(),
                       [](double x) { return std::isfinite(x); });
  });
}

double number_at(const std::vector<double>& numbers, std::size_t k) {
  return k < numbers.size() ? numbers[k] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

PanelCurve with_band(const std::vector<double>& value, const std::vector<double>& half) {
  PanelCurve made{value, {}, {}};
  for (std::size_t k = 0; k < value.size(); ++k) {
    made.low.push_back(value[k] - half[k]);
    made.high.push_back(value[k] + half[k]);
  }
  return made;
}

PanelCurve curve_of(const Band& band) {
  return band.runs > 1 ? with_band(band.mean, band.deviation) : PanelCurve{band.mean, {}, {}};
}

std::string panel_title(const std::string& column) {
  const std::string greek = "alpha_";
  if (column.starts_with(greek)) return "α_{" + column.substr(greek.size()) + "}";
  std::string title;
  for (const char c : column)
    title += c == '_' || c == ' ' ? std::string("\u00a0") : std::string(1, c);
  return title;
}

std::string caption_of(const Record& parameters, const Record& settings, std::uint64_t seed) {
  std::string text;
  for (const Record* part : {&parameters, &settings}) {
    std::vector<std::string> list;
    for (const auto& [name, value] : part->entries()) {
      std::string shown = json_text(value);
      std::erase(shown, '"');
      list.push_back(shown.size() > longest_value ? fmt::format("{} given", name)
                                                  : fmt::format("{} = {}", name, shown));
    }
    if (!list.empty()) text += fmt::format("{}; ", fmt::join(list, ", "));
  }
  return fmt::format("{}seed {}", text, seed);
}

void check_plot(const std::string& plot) {
  if (plot.empty()) return;
  const std::string suffix = fs::path(plot).extension().string();
  std::error_code failure;
  if (suffix.empty() || fs::is_directory(plot, failure)) {
    check_folder(plot, "--plot");
    return;
  }
  if (suffix != ".svg" && suffix != ".png" && suffix != ".pdf") {
    reject("popgrad", "--plot", plot, "must end in .svg, .png or .pdf, or be a folder");
  }
  check_writable(plot, "--plot");
}

Drawing captioned_drawing(const std::string& name, const std::string& script,
                          const std::string& title, const std::string& caption) {
  const std::string text = wrapped_caption(title + "; " + caption);
  Drawing drawing;
  drawing.name = name;
  drawing.script = script;
  drawing.title = title;
  drawing.variables = {
      {"caption", text},
      {"caption_lines", std::to_string(1 + std::count(text.begin(), text.end(), '\n'))}};
  return drawing;
}

void draw_and_tell(Drawing drawing, const std::string& plot) {
  const fs::path path(plot);
  if (path.extension().empty() || fs::is_directory(path)) {
    drawing.folder = path;
  } else {
    drawing.folder = path.parent_path();
    drawing.picture = path;
  }
  for (const fs::path& made : draw(drawing))
    fmt::print(standard_error(), "popgrad: {}\n", made.string());
}

void draw_panels(const Panels& all, const std::string& plot, const std::string& command,
                 std::uint64_t seed) {
  Panels panels = all;
  for (std::size_t c = panels.observables.size(); c-- > 0;) {
    if (has_values(panels.curves[c])) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    panels.observables.erase(panels.observables.begin() + at);
    panels.curves.erase(panels.curves.begin() + at);
  }
  if (panels.observables.empty()) {
    fmt::print(standard_error(), "popgrad: there is nothing to draw: no observable has a value\n");
    return;
  }
  const std::size_t count = std::min(panels.observables.size(), most_panels);
  if (count < panels.observables.size()) {
    fmt::print(standard_error(), "popgrad: the first {} of {} observables are drawn\n", count,
               panels.observables.size());
  }
  std::vector<std::string> titles, floors, ranges, sides, tics;
  for (std::size_t c = 0; c < count; ++c) {
    titles.push_back(panel_title(panels.observables[c]));
    ranges.push_back(range_of(panels.curves[c]));
    // Distances, entropies and losses have no band below 0.
    floors.emplace_back(negative(panels.curves[c]) ? "-" : "0");
  }
  for (const std::string& side : panels.sides) sides.push_back(panel_title(side));
  constexpr std::size_t most_tics = 6;
  if (panels.points && panels.x.size() <= most_tics) {
    for (const double x : panels.x) tics.push_back(fmt::format("{:.4g}", x));
  }
  FigureTable csv;
  for (std::size_t k = 0; k < panels.x.size(); ++k) {
    std::vector<Cell> row{{"x", panels.x[k]}};
    for (std::size_t c = 0; c < count; ++c) {
      for (std::size_t s = 0; s < panels.sides.size(); ++s) {
        const std::string name = fmt::format("{}_{}", panels.observables[c], panels.sides[s]);
        const PanelCurve& curve = panels.curves[c][s];
        row.emplace_back(name, number_at(curve.value, k));
        row.emplace_back(name + "_low", number_at(curve.low, k));
        row.emplace_back(name + "_high", number_at(curve.high, k));
      }
    }
    csv.add(row);
  }
  Drawing drawing = captioned_drawing(panels.name, "panels", panels.title, panels.caption);
  const std::vector<std::pair<std::string, std::string>> variables{
      {"panels", fmt::format("{}", fmt::join(titles, " "))},
      {"sides", fmt::format("{}", fmt::join(sides, " "))},
      {"floors", fmt::format("{}", fmt::join(floors, " "))},
      {"ranges", fmt::format("{}", fmt::join(ranges, " "))},
      {"x_tics", fmt::format("{}", fmt::join(tics, ", "))},
      {"x_label", panels.x_label},
      {"x_logarithmic", panels.x_logarithmic ? "1" : "0"},
      {"marks", panels.points ? "1" : "0"}};
  drawing.variables.insert(drawing.variables.end(), variables.begin(), variables.end());
  drawing.files = {{drawing.name + ".csv", csv.text()}};
  drawing.command = command;
  drawing.seed = seed;
  draw_and_tell(std::move(drawing), plot);
}

}  // namespace popgrad::cli
