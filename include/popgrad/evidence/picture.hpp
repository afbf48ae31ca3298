#pragma once
/// What a figure shows of its tables: panels with axes, curves and guides, drawn by gnuplot.

#include <string>
#include <utility>
#include <vector>

namespace popgrad {

struct Axis {
  std::string label = {};  ///< empty: the axis has no numbers either (that of the panel below has)
  std::string range = {};  ///< "low:high", "low:*"; empty: that of the data
  bool logarithmic = false;
  std::string tics = {};  ///< as of gnuplot's `set xtics`: "500", "(1, 4, 16)"; empty: automatic
  std::string format =
      {};  ///< of the numbers; empty: 10^n on a logarithmic axis without tics, else %g
  std::string own_range = {};  ///< in place of `range` where the user gives parameters of their own
  double label_offset = 0.4;   ///< of the label of y, in letters: less for wider numbers
};

/// One curve of a panel. Values are formulas of gnuplot in which [name] is the column of that name;
/// a name by itself is that column. "{name}" is a column of text.
class Curve {
 public:
  Curve(std::string style, std::vector<std::string> values);

  /// The rows: those of the block with this label; of all the table without.
  [[nodiscard]] Curve of(std::string block) const { return with(&Curve::block_, std::move(block)); }
  /// The table: NAME-part.csv. Without: NAME.csv.
  [[nodiscard]] Curve in(std::string part) const { return with(&Curve::part_, std::move(part)); }
  /// As of gnuplot: "4" is every fourth row, "4::2" from the third on.
  [[nodiscard]] Curve every(std::string rows) const {
    return with(&Curve::every_, std::move(rows));
  }
  /// In the legend. "=formula" is computed by gnuplot.
  [[nodiscard]] Curve titled(std::string text) const {
    return with(&Curve::title_, std::move(text));
  }
  /// 1 blue, 2 red, 3 green, 4 pink, 5 orange, 6 sky, 7 black.
  [[nodiscard]] Curve colour(int line_type) const;
  /// A colour of plots/style.gp: "grey", "black".
  [[nodiscard]] Curve coloured(const std::string& name) const;
  [[nodiscard]] Curve dashed(int type = 2) const;  ///< 2 dashed, 3 dotted
  [[nodiscard]] Curve wide(double width) const;    ///< of the line; 1.2 is the usual one
  /// Of points: 5 square, 6 circle, 7 disc, 9 triangle, 13 diamond.
  [[nodiscard]] Curve mark(int type, double size) const;
  /// Further attributes, as of gnuplot.
  [[nodiscard]] Curve looking(const std::string& attributes) const {
    return with(&Curve::look_, look_ + " " + attributes);
  }

 private:
  friend class PictureScript;
  [[nodiscard]] Curve with(std::string Curve::*member, std::string value) const {
    Curve made = *this;
    made.*member = std::move(value);
    return made;
  }
  std::string style_;
  std::vector<std::string> values_;
  std::string block_, part_, title_, colour_, look_, every_;
};

namespace plot {

Curve line(std::string x, std::string y);
Curve points(std::string x, std::string y);
Curve line_with_points(std::string x, std::string y);
Curve error_bars(std::string x, std::string y, std::string low, std::string high);
Curve line_with_error_bars(std::string x, std::string y, std::string low, std::string high);
/// Between low and high.
Curve band(std::string x, std::string low, std::string high);
Curve image(std::string x, std::string y, std::string value);
/// A text, a formula of gnuplot, at a place.
Curve texts(std::string x, std::string y, std::string text);
/// A formula of x, such as "0.01*x**2".
Curve formula(std::string formula);
/// Nothing but an entry of the legend.
Curve legend_line(std::string title);
Curve legend_points(std::string title);

}  // namespace plot

/// A grey line across a panel at a number or formula, and a text at it.
struct Guide {
  std::string x = {}, y = {};  ///< one of them
  std::string text = {};
  double text_at = 0.97;  ///< share of the panel along the guide
  bool after = false;     ///< the text stands to the right of the guide, or below; else left, above
};

/// Of images. The range of a diverging scale is that of the data, with white at 0.
struct Colours {
  std::string range = {};
  bool diverging = false;
  std::string palette =
      {};  ///< as of gnuplot's `set palette`; empty: white to blue, or red to blue
  std::string label = {}, tics = {};
  bool bar = true;
};

struct Panel {
  std::string title = {};  ///< "=formula" is computed by gnuplot
  Axis x = {}, y = {};
  /// Place of the legend, as of gnuplot: "top left"; "above" all panels; empty: none.
  std::string key = {};
  std::vector<Curve> curves;
  std::vector<Guide> guides = {};
  Colours colours = {};
  /// Settings of gnuplot that nothing above makes, one a line; they end with the panel.
  std::vector<std::pair<std::string, std::string>> settings = {};

  /// The curve of each block, in the colours 1, 2, ...; without a title it is not in the legend.
  void add_each(const Curve& curve, const std::vector<std::string>& blocks,
                const std::vector<std::string>& titles = {});
};

/// What blocks are labelled for a list of numbers.
template <class Numbers, class Label>
std::vector<std::string> labels_of(const Numbers& numbers, const Label& label) {
  std::vector<std::string> labels;
  for (const auto& number : numbers) labels.push_back(label(number));
  return labels;
}

/// A number that formulas use by name: a column of the first row of a block.
struct PictureValue {
  std::string name, part, block, column;
};

/// Panels from left to right, then down.
struct Picture {
  double height = 0;  ///< inches; the width is that of a column, 3.4
  int columns = 1;
  double left = 0.16, right = 0.97;  ///< of the panels, shares of the width
  double between = 0.1;              ///< columns, share of the width
  int legend_rows = 0;               ///< of a legend above all panels
  std::vector<PictureValue> values = {};
  std::vector<Panel> panels = {};
};

struct FigureFile;

/// The text of the gnuplot script that draws `picture` of the tables of the figure `name`. Throws
/// Failure naming the table, block or column that is not there.
std::string picture_script(const Picture& picture, const std::string& name,
                           const std::vector<FigureFile>& files);

}  // namespace popgrad
