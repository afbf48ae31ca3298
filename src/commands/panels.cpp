#include "commands/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>

#include "commands/host.hpp"
#include "io/atomic_file.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "presenting/formula_signs.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_panels = 12;

bool negative(const std::vector<PanelCurve>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const PanelCurve& curve) {
    return std::any_of(curve.value.begin(), curve.value.end(), [](double x) { return x < 0; });
  });
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

Range range_of(const std::vector<PanelCurve>& curves) {
  Range found;
  for (const PanelCurve& curve : curves) {
    for (const std::vector<double>* part : {&curve.value, &curve.low, &curve.high}) {
      for (const double x : *part) found.include(x);
    }
  }
  // Rounding errors would fill the axis.
  constexpr double flat = 1e-9;
  const double size = std::max(std::fabs(found.low), std::fabs(found.high));
  if (found.high - found.low > flat * size) return found;
  const double half = size > 0 ? size / 2 : 1.0;
  return {found.low - half, found.high + half};
}

// What is subtracted from values that differ in late digits only, so that the axis has short numbers.
double base_of(const Range& range) {
  constexpr double close = 3e-4;
  const double span = range.high - range.low;
  if (span > close * std::max(std::fabs(range.low), std::fabs(range.high))) return 0;
  const double unit = std::pow(10, std::ceil(std::log10(span)));
  return unit * std::round(range.low / unit);
}

// Inches of a text of the size of numbers on axes.
double width_of(std::string_view text) {
  constexpr double letter = 0.06;
  return letter * static_cast<double>(text.size());
}

// Marks at the values of x, with as many numbers as have room.
std::string marks_at(const std::vector<double>& x, const Range& range, bool logarithmic,
                     double width) {
  const auto place = [&](double at) {
    return width * (logarithmic ? std::log(at / range.low) / std::log(range.high / range.low)
                                : (at - range.low) / (range.high - range.low));
  };
  std::vector<double> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> marks;
  double end = -std::numeric_limits<double>::infinity();
  for (const double at : sorted) {
    constexpr double between = 0.06;
    std::string text = fmt::format("{:.4g}", at);
    const double begin = place(at) - width_of(text) / 2;
    if (begin < end) {
      text.clear();
    } else {
      end = begin + width_of(text) + between;
    }
    // A mark that has no room for its number is a short one.
    marks.push_back(fmt::format("\"{}\" {:.17g} {}", text, at, text.empty() ? 1 : 0));
  }
  return fmt::format("{}", fmt::join(marks, ", "));
}

// Of a legend across the picture, in up to three columns.
std::size_t rows_of_legend(const std::vector<std::string>& entries) {
  constexpr double width = 3.2, sample = 0.25;
  double longest = 0;
  for (const std::string& entry : entries) longest = std::max(longest, width_of(entry));
  const std::size_t columns =
      std::clamp<std::size_t>(static_cast<std::size_t>(width / (longest + sample)), 1, 3);
  return (entries.size() + columns - 1) / columns;
}

// A name as in print: Greek letters and the index of a letter; otherwise with blanks for underscores.
std::string printed_name(std::string_view name) {
  const std::size_t end = std::min(name.find('_'), name.size());
  std::string letter(name.substr(0, end));
  bool symbol = letter.size() == 1;
  for (const auto& [word, sign] : formula::greek_letters) {
    if (word != letter) continue;
    letter = sign;
    symbol = true;
    break;
  }
  std::string rest;
  for (const char c : name.substr(std::min(end + 1, name.size()))) {
    rest += c == '_' ? std::string("\u00a0") : std::string(1, c);
  }
  if (rest.empty()) return letter;
  return symbol ? letter + "_{" + rest + "}" : letter + "\u00a0" + rest;
}

bool has_values(const std::vector<PanelCurve>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const PanelCurve& curve) {
    return std::any_of(curve.value.begin(), curve.value.end(),
                       [](double x) { return std::isfinite(x); });
  });
}

// Whether all curves of a panel lie on one another, as far as one sees.
bool coincide(const std::vector<PanelCurve>& curves, const Range& range) {
  constexpr double seen = 0.005;  // of the height of a panel
  for (const PanelCurve& curve : curves) {
    for (std::size_t k = 0; k < curve.value.size(); ++k) {
      const double apart = std::fabs(curve.value[k] - curves.front().value[k]);
      if (!(apart <= seen * (range.high - range.low))) return false;
    }
  }
  return curves.size() > 1;
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

std::string panel_title(const std::string& text) {
  std::string title, name;
  const auto end_name = [&] {
    if (!name.empty()) title += printed_name(name);
    name.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      name += c;
      continue;
    }
    end_name();
    title += c == ' ' ? std::string("\u00a0") : std::string(1, c);
  }
  end_name();
  return title;
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

std::string caption_of_given(const CommonOptions& options, const Model& model,
                             const std::vector<std::string>& varied) {
  Record settings;
  const auto add = [&](const char* name, const auto& given) {
    if (given) settings[name] = *given;
  };
  const auto add_text = [&](const char* name, const std::string& given) {
    if (!given.empty()) settings[name] = given;
  };
  add_text("t1", options.end);
  add("steps", options.steps);
  add_text("eta", options.step_size);
  add("batch", options.batch);
  add("runs", options.runs);
  if (options.optimiser != CommonOptions{}.optimiser) settings["optimiser"] = options.optimiser;
  const Parameters typed = typed_parameters(options, model.name(), model.parameters());
  Record fixed;
  for (const auto& [name, value] : typed.values().entries()) {
    if (std::find(varied.begin(), varied.end(), name) == varied.end()) fixed[name] = value;
  }
  return caption_of(fixed, settings, options.seed);
}

Drawing captioned_drawing(const std::string& name, const std::string& script,
                          const std::string& title, const std::string& caption) {
  Drawing drawing;
  drawing.name = name;
  drawing.script = script;
  drawing.title = title;
  drawing.add_caption(caption.empty() ? title : title + "; " + caption);
  return drawing;
}

void draw_and_report(Drawing drawing, const std::string& plot) {
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
  std::vector<std::string> titles, floors, lows, highs, bases, sides, same;
  for (std::size_t c = 0; c < count; ++c) {
    const Range range = range_of(panels.curves[c]);
    const double base = base_of(range);
    std::string title = panel_title(panels.observables[c]);
    if (base != 0) title += fmt::format("\u00a0−\u00a0{:.15g}", base);
    titles.push_back(std::move(title));
    if (coincide(panels.curves[c], range)) same.push_back(panels.observables[c]);
    lows.push_back(fmt::format("{:.17g}", range.low));
    highs.push_back(fmt::format("{:.17g}", range.high));
    bases.push_back(fmt::format("{:.17g}", base));
    // Distances, entropies and losses have no band below 0.
    floors.emplace_back(negative(panels.curves[c]) ? "-" : "0");
  }
  for (const std::string& side : panels.sides) sides.push_back(panel_title(side));
  Range along;
  for (const double x : panels.x) along.include(x);
  if (panels.points && along.high > along.low) {  // room for the marks at the ends
    constexpr double room = 0.04;
    const double factor = std::pow(along.high / along.low, room);
    const double step = room * (along.high - along.low);
    along = panels.x_logarithmic ? Range{along.low / factor, along.high * factor}
                                 : Range{along.low - step, along.high + step};
  }
  constexpr std::size_t most_marks = 8;
  std::string marks;
  if (panels.points && panels.x.size() <= most_marks) {
    marks = marks_at(panels.x, along, panels.x_logarithmic, count > 1 ? 1.05 : 2.75);
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
  if (!same.empty())
    panels.caption += fmt::format("; curves coincide in {}", fmt::join(same, ", "));
  Drawing drawing = captioned_drawing(panels.name, "panels", panels.title, panels.caption);
  const std::vector<std::pair<std::string, std::string>> variables{
      {"panels", fmt::format("{}", fmt::join(titles, " "))},
      {"sides", fmt::format("{}", fmt::join(sides, " "))},
      {"floors", fmt::format("{}", fmt::join(floors, " "))},
      {"lows", fmt::format("{}", fmt::join(lows, " "))},
      {"highs", fmt::format("{}", fmt::join(highs, " "))},
      {"bases", fmt::format("{}", fmt::join(bases, " "))},
      {"rows_of_key", std::to_string(rows_of_legend(panels.sides))},
      {"x_low", fmt::format("{:.17g}", along.low)},
      {"x_high", fmt::format("{:.17g}", along.high)},
      {"x_marks", marks},
      {"x_label", panels.x_label},
      {"x_logarithmic", panels.x_logarithmic ? "1" : "0"},
      {"marks", panels.points ? "1" : "0"}};
  drawing.variables.insert(drawing.variables.end(), variables.begin(), variables.end());
  drawing.files = {{drawing.name + ".csv", csv.text()}};
  drawing.command = command;
  drawing.seed = seed;
  draw_and_report(std::move(drawing), plot);
}

}  // namespace popgrad::cli
