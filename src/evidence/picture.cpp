#include "popgrad/evidence/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/figure.hpp"

namespace popgrad {
namespace {

// Inches that texts take.
constexpr double title_height = 0.17, label_height = 0.34, margin_height = 0.08, legend_row = 0.12;

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("''") : std::string(1, c);
  return made + "'";
}

// A text, or what gnuplot is to compute.
std::string text_or_formula(const std::string& text) {
  return text.starts_with('=') ? text.substr(1) : quoted(text);
}

std::vector<std::string> header_of(const std::string& csv) {
  std::istringstream line(csv.substr(0, csv.find('\n')));
  std::vector<std::string> names;
  for (std::string name; std::getline(line, name, ',');) names.push_back(name);
  return names;
}

std::string axis_format(const Axis& axis) {
  if (!axis.format.empty()) return axis.format;
  return axis.logarithmic && axis.tics.empty() ? "10^{%T}" : "%g";
}

}  // namespace

Curve::Curve(std::string style, std::vector<std::string> values)
    : style_(std::move(style)), values_(std::move(values)) {}

Curve Curve::colour(int line_type) const {
  return with(&Curve::colour_, fmt::format(" linetype {}", line_type));
}

Curve Curve::coloured(const std::string& name) const {
  // The type of a line names its width as well.
  const char* const what = style_ == "filledcurves" ? "fillcolor"
                           : style_ == "labels"     ? "textcolor"
                                                    : "linetype 7 linecolor";
  return with(&Curve::colour_, fmt::format(" {} rgb {}", what, name));
}

Curve Curve::dashed(int type) const { return looking(fmt::format("dashtype {}", type)); }

Curve Curve::wide(double width) const { return looking(fmt::format("linewidth {:g}", width)); }

Curve Curve::mark(int type, double size) const {
  return looking(fmt::format("pointtype {} pointsize {:g}", type, size));
}

namespace plot {

Curve line(std::string x, std::string y) { return {"lines", {std::move(x), std::move(y)}}; }

Curve points(std::string x, std::string y) { return {"points", {std::move(x), std::move(y)}}; }

Curve line_with_points(std::string x, std::string y) {
  return {"linespoints", {std::move(x), std::move(y)}};
}

Curve error_bars(std::string x, std::string y, std::string low, std::string high) {
  return {"yerrorbars", {std::move(x), std::move(y), std::move(low), std::move(high)}};
}

Curve line_with_error_bars(std::string x, std::string y, std::string low, std::string high) {
  return {"yerrorlines", {std::move(x), std::move(y), std::move(low), std::move(high)}};
}

Curve band(std::string x, std::string low, std::string high) {
  return {"filledcurves", {std::move(x), std::move(low), std::move(high)}};
}

Curve image(std::string x, std::string y, std::string value) {
  return {"image", {std::move(x), std::move(y), std::move(value)}};
}

Curve texts(std::string x, std::string y, std::string text) {
  return {"labels", {std::move(x), std::move(y), std::move(text)}};
}

Curve formula(std::string formula) { return {"lines", {std::move(formula)}}; }

Curve legend_line(std::string title) { return formula("NaN").titled(std::move(title)); }

Curve legend_points(std::string title) { return Curve("points", {"NaN"}).titled(std::move(title)); }

}  // namespace plot

void Panel::add_each(const Curve& curve, const std::vector<std::string>& blocks,
                     const std::vector<std::string>& titles) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    curves.push_back(curve.of(blocks[i])
                         .colour(static_cast<int>(i) + 1)
                         .titled(i < titles.size() ? titles[i] : std::string{}));
  }
}

class PictureScript {
 public:
  PictureScript(const Picture& picture, std::string name, const std::vector<FigureFile>& files)
      : picture_(picture), name_(std::move(name)), files_(files) {}

  std::string text() {
    for (const FigureFile& file : files_) {
      line("# {}: {}", file.name, fmt::join(header_of(file.content), ", "));
    }
    for (const PictureValue& value : picture_.values) {
      line("stats {}{} skip 1 every ::0::0 using {} nooutput", file(value.part),
           block(value.part, value.block), column(value.part, value.column));
      line("{} = STATS_max", value.name);
    }
    layout();
    for (std::size_t i = 0; i < picture_.panels.size(); ++i) {
      number_ = i + 1;
      add(picture_.panels[i]);
    }
    line("  if (kind ne 'none') {{ unset multiplot }}");
    line("  unset output");
    line("}}");
    return text_;
  }

 private:
  template <class... Parts>
  void line(fmt::format_string<Parts...> form, Parts&&... parts) {
    text_ += fmt::format(form, std::forward<Parts>(parts)...) + "\n";
  }

  [[nodiscard]] const FigureFile& found(const std::string& part) const {
    const std::string wanted = name_ + (part.empty() ? "" : "-" + part) + ".csv";
    const auto at = std::find_if(files_.begin(), files_.end(),
                                 [&](const FigureFile& one) { return one.name == wanted; });
    if (at == files_.end()) throw Failure(fmt::format("figure {}: {} is not made", name_, wanted));
    return *at;
  }

  static std::string file(const std::string& part) {
    return part.empty() ? "name.'.csv'" : fmt::format("name.'-{}.csv'", part);
  }

  // Where the rows of a block begin in its table.
  [[nodiscard]] std::size_t rows_of(const FigureFile& table, const std::string& label) const {
    const std::string line = "\n# " + label + "\n";
    const std::size_t at = table.content.find(line);
    if (at == std::string::npos) {
      throw Failure(fmt::format("figure {}: {} has no block '{}'", name_, table.name, label));
    }
    // gnuplot takes the first block whose label begins so.
    if (table.content.find("\n# " + label) < at) {
      throw Failure(fmt::format(
          "figure {}: {} has a block before '{}' that begins so; give one of them another label",
          name_, table.name, label));
    }
    return at + line.size();
  }

  [[nodiscard]] std::string block(const std::string& part, const std::string& label) const {
    if (label.empty()) return {};
    static_cast<void>(rows_of(found(part), label));  // refuses a label that is not there
    return fmt::format(" index {}", quoted(label));
  }

  // A block without rows has its label as the last line before the next or the end.
  [[nodiscard]] bool has_rows(const Curve& curve) const {
    if (curve.block_.empty()) return true;
    const FigureFile& table = found(curve.part_);
    const std::size_t begin = rows_of(table, curve.block_);
    return begin < table.content.size() && table.content[begin] != '\n';
  }

  [[nodiscard]] std::size_t number_of(const std::string& part, const std::string& name) const {
    const FigureFile& table = found(part);
    const std::vector<std::string> names = header_of(table.content);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      throw Failure(fmt::format("figure {}: {} has no column '{}', but {}", name_, table.name, name,
                                fmt::join(names, ", ")));
    }
    return static_cast<std::size_t>(at - names.begin()) + 1;
  }

  // The formula with column numbers in place of names.
  [[nodiscard]] std::string column(const std::string& part, const std::string& formula) const {
    if (formula.find_first_of("[{(") == std::string::npos) {
      return std::to_string(number_of(part, formula));
    }
    std::string made;
    for (std::size_t i = 0; i < formula.size(); ++i) {
      const char open = formula[i];
      // What stands in quotes is a text of gnuplot.
      if (open == '"' || open == '\'') {
        const std::size_t end = formula.find(open, i + 1);
        made += formula.substr(i, end - i + 1);
        i = end;
        continue;
      }
      if (open != '[' && open != '{') {
        made += open;
        continue;
      }
      const std::size_t end = formula.find(open == '[' ? ']' : '}', i);
      made += fmt::format("{}({})", open == '[' ? "column" : "strcol",
                          number_of(part, formula.substr(i + 1, end - i - 1)));
      i = end;
    }
    return "(" + made + ")";
  }

  [[nodiscard]] int rows() const {
    return (static_cast<int>(picture_.panels.size()) + picture_.columns - 1) / picture_.columns;
  }

  void layout() {
    bool title_first = false, titles = false, labels = false, label_last = false;
    const auto columns = static_cast<std::size_t>(picture_.columns);
    for (std::size_t i = 0; i < picture_.panels.size(); ++i) {
      const Panel& panel = picture_.panels[i];
      const bool below = i + columns < picture_.panels.size();
      (i < columns ? title_first : titles) |= !panel.title.empty();
      (below ? labels : label_last) |= !panel.x.label.empty();
    }
    const double between =
        (titles ? title_height : margin_height) + (labels ? label_height : margin_height / 2);
    const double below = (label_last ? label_height : 0) + margin_height / 2;
    const double above =
        (title_first ? title_height : margin_height) + legend_row * picture_.legend_rows;
    int legend_first = 0, legends = 0;  // rows of legends above the panels
    one_legend_ = std::ranges::count_if(picture_.panels, [&](const Panel& panel) {
                    return own_legend(panel) > 0;
                  }) == 1;
    for (std::size_t i = 0; i < picture_.panels.size(); ++i) {
      int& most = i < columns || one_legend_ ? legend_first : legends;
      most = std::max(most, own_legend(picture_.panels[i]));
    }
    panel_height_ = (picture_.height - below - above - (rows() - 1) * between) / rows();
    line("# With parameters of one's own: those below, and legends above their panels.");
    line("foot = given ? 0.05 + 0.1*int(caption_lines) : 0");
    line("head = {:.4g} + (given ? {:.4g} : 0)", above, legend_row * legend_first);
    line("between = {:.4g} + (given ? {:.4g} : 0)", between, legend_row * legends);
    line("height = {:g} + foot + (given ? {:.4g} : 0)", picture_.height,
         legend_row * (legend_first + (rows() - 1) * legends));
    line("do for [kind in (given ? 'none svg png pdf' : 'svg png pdf')] {{");
    line("  eval terminal(kind, height)");
    line("  eval labels");
    line("  set output kind eq 'none' ? '/dev/null' : name.'.'.kind");
    line("  if (kind ne 'none') {{");
    line(
        "    set multiplot layout {},{} margins {:g},{:g},({:.4g}+foot)/height,1-head/height "
        "spacing {:g},between/height",
        rows(), picture_.columns, picture_.left, picture_.right, below, picture_.between);
    line("  }}");
  }

  void add(const Axis& axis, char which) {
    if (axis.logarithmic) line("  set logscale {}", which);
    line("  set format {} {}", which,
         axis.label.empty() && which == 'x' ? "''" : quoted(axis_format(axis)));
    const bool fixed = axis.own_range.empty() && !axis.tics.empty();
    line("  set {}tics {}", which, axis.tics.empty() ? "autofreq" : axis.tics);
    if (!fixed) {
      line("  if (given) {{");
      line("    set {}tics autofreq", which);
      line("    if (kind ne 'none') {{ eval marks_of('{0}', {0}_low_{1}, {0}_high_{1}, {2}) }}",
           which, number_, axis.logarithmic ? 1 : 0);
      if (axis.label.empty() && which == 'x') line("    set format x ''");
      line("  }}");
    }
    line("  set autoscale {}", which);
    if (!axis.own_range.empty()) {
      line("  eval {}_range('{}', '{}')", which, axis.range, axis.own_range);
    } else if (!axis.range.empty()) {
      line("  set {}range [{}]", which, axis.range);
    }
    if (which == 'y') {
      line("  set ylabel {} offset {:g}+right,0", text_or_formula(axis.label), axis.label_offset);
    } else {
      line("  set xlabel {}", text_or_formula(axis.label));
    }
  }

  void add(const Colours& colours, const Panel& panel) {
    const Curve& shown = *std::find_if(panel.curves.begin(), panel.curves.end(),
                                       [](const Curve& one) { return one.style_ == "image"; });
    std::string palette = colours.palette;
    if (palette.empty()) {
      palette = colours.diverging ? "defined (-1 red, 0 '#ffffff', 1 blue)"
                                  : "defined (0 '#ffffff', 0.25 '#9ecae1', 0.6 '#2171b5', 1 "
                                    "'#08306b')";
    }
    line("  set palette {}", palette);
    line("  {} colorbox", colours.bar ? "set" : "unset");
    line("  set cblabel {} offset 0.5,0", quoted(colours.label));
    if (!colours.range.empty()) {
      line("  set cbrange [{}]", colours.range);
    } else if (colours.diverging) {
      line("  set autoscale xy");
      line("  stats {}{} skip 1 using {} nooutput", file(shown.part_),
           block(shown.part_, shown.block_), column(shown.part_, shown.values_.back()));
      line("  largest = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)");
      line("  set cbrange [-largest:largest]");
      if (colours.tics.empty()) {
        line(
            "  set cbtics (sprintf('%.2g', -largest) -largest, '0' 0, sprintf('%.2g', largest) "
            "largest) scale 0.3 offset -0.6,0");
        return;
      }
    } else {
      line("  set cbrange [*:*]");
    }
    line("  set cbtics {} scale 0.3", colours.tics.empty() ? "autofreq" : colours.tics);
  }

  void add(const Guide& guide, std::size_t number) {
    const bool upright = !guide.x.empty();
    const std::string& at = upright ? guide.x : guide.y;
    const auto place = [&](double along) {
      return upright ? fmt::format("first {}, graph {:g}", at, along)
                     : fmt::format("graph {:g}, first {}", along, at);
    };
    line("  set arrow {} from {} to {} nohead linecolor rgb grey linewidth 0.7 dashtype 3", number,
         place(0), place(1));
    if (guide.text.empty()) return;
    const std::string offset =
        upright ? guide.after ? "left offset 0.6,0" : "right offset -0.6,0"
                : fmt::format("right offset 0,{}0.5*line", guide.after ? "-" : "");
    line("  set label {} {} at {} {} textcolor rgb grey", number, text_or_formula(guide.text),
         place(guide.text_at), offset);
  }

  [[nodiscard]] std::string drawn(const Curve& curve) const {
    std::string made;
    const bool rows = has_rows(curve);
    if (curve.values_.size() == 1) {
      made = curve.values_.front();
    } else if (!rows) {
      made = "NaN";  // gnuplot would take the next block
    } else {
      made = file(curve.part_) + block(curve.part_, curve.block_) + " skip 1";
      if (!curve.every_.empty()) made += " every " + curve.every_;
      made += " using ";
      for (std::size_t i = 0; i < curve.values_.size(); ++i) {
        const std::string value = column(curve.part_, curve.values_[i]);
        made += i > 0 ? ":" : "";
        // A pixel that is left out would shift the others.
        const bool pixel = curve.style_ == "image" && i + 1 == curve.values_.size();
        made += pixel && value.front() != '('
                    ? fmt::format("(valid({0}) ? column({0}) : NaN)", value)
                    : value;
      }
    }
    made += " with " + (rows || curve.style_ != "image" ? curve.style_ : "points") + curve.colour_ +
            curve.look_;
    if (curve.style_ == "filledcurves") made += " fillstyle transparent solid 0.2 noborder";
    return made + (curve.title_.empty() ? " notitle" : " title " + text_or_formula(curve.title_));
  }

  void add(const Panel& panel) {
    line("");
    line("  unset logscale");
    line("  unset label");
    if (number_ == 1) {
      line(
          "  if (given) {{ set label 100 caption at screen 0.02, screen (foot-0.04)/height left "
          "noenhanced font ',5.5' }}");
    }
    line("  unset arrow");
    line("  set title {}", text_or_formula(panel.title));
    const bool images = std::any_of(panel.curves.begin(), panel.curves.end(),
                                    [](const Curve& one) { return one.style_ == "image"; });
    // Before the axes, whose ranges the search for the largest value undoes.
    if (images) add(panel.colours, panel);
    add(panel.x, 'x');
    add(panel.y, 'y');
    if (panel.key.empty()) {
      line("  unset key");
    } else if (panel.key == "above") {
      line(
          "  set key default at screen {:g}, screen 1-0.02/height center top horizontal maxcols 3 "
          "samplen 1.5 width -1 spacing 1.05*line",
          (picture_.left + picture_.right) / 2);
    } else {
      const bool to_left = panel.key.find("left") != std::string::npos;
      line("  set key default {}samplen 2 spacing 1.05*line {}", to_left ? "reverse Left " : "",
           panel.key);
      const double place =
          1 + (panel.title.empty() ? margin_height / 2 : title_height) / panel_height_;
      line(
          "  if (given) {{ set key default at {} reverse Left samplen 1.5 spacing 1.05*line "
          "vertical maxrows {} }}",
          one_legend_ ? fmt::format("screen {:g}, screen 1-0.02/height center top",
                                    (picture_.left + picture_.right) / 2)
                      : fmt::format("graph 0.5, graph {:.4g} center bottom", place),
          own_legend(panel));
    }
    for (std::size_t i = 0; i < panel.guides.size(); ++i) add(panel.guides[i], i + 1);
    for (const auto& [set, end] : panel.settings) line("  {}", set);
    std::string curves;
    for (const Curve& curve : panel.curves) {
      curves += (curves.empty() ? "  plot " : ", \\\n       ") + drawn(curve);
    }
    line("{}", curves);
    line(
        "  if (kind eq 'none') {{ x_low_{0} = GPVAL_X_MIN; x_high_{0} = GPVAL_X_MAX; y_low_{0} = "
        "GPVAL_Y_MIN; y_high_{0} = GPVAL_Y_MAX }}",
        number_);
    for (const auto& [set, end] : panel.settings) {
      if (!end.empty()) line("  {}", end);
    }
  }

  // Rows of the legend of a panel where it stands above it, in as many columns as its longest entry allows.
  [[nodiscard]] int own_legend(const Panel& panel) const {
    if (panel.key.empty() || panel.key == "above") return 0;
    int entries = 0;
    std::ptrdiff_t longest = 0;
    for (const Curve& curve : panel.curves) {
      if (curve.title_.empty()) continue;
      ++entries;
      // Letters, not bytes of UTF-8.
      longest = std::max(longest, std::ranges::count_if(curve.title_, [](char c) {
                           return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                         }));
    }
    constexpr double letter = 0.045, sample = 0.25, width = 3.4;
    const double room = (picture_.right - picture_.left) * width / picture_.columns;
    const auto columns = static_cast<int>(room / (letter * static_cast<double>(longest) + sample));
    const int most = std::clamp(columns, 1, std::max(entries, 1));
    return (entries + most - 1) / most;
  }

  const Picture& picture_;
  std::size_t number_ = 0;  // of the panel that is written
  double panel_height_ = 1;
  bool one_legend_ = false;  // which then stands above all panels
  std::string name_;
  const std::vector<FigureFile>& files_;
  std::string text_;
};

std::string picture_script(const Picture& picture, const std::string& name,
                           const std::vector<FigureFile>& files) {
  return PictureScript(picture, name, files).text();
}

}  // namespace popgrad
