#pragma once
/// Pictures that commands draw of their own results: a panel an observable, a curve a side.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/model.hpp"
#include "presenting/drawing.hpp"

namespace popgrad::cli {

/// Empty where there is no value.
struct PanelCurve {
  std::vector<double> value;
  std::vector<double> low, high;  ///< of a band around it; both empty: none
};

/// Half the band on either side.
PanelCurve with_band(const std::vector<double>& value, const std::vector<double>& half);
/// The mean of runs, with a band of one standard deviation where there are several.
PanelCurve curve_of(const Band& band);

struct Panels {
  std::string name;     ///< of the files
  std::string title;    ///< what is seen
  std::string caption;  ///< the parameters
  std::string x_label;
  bool x_logarithmic = false;
  bool points = false;  ///< marks at the values, for few of them
  std::vector<double> x;
  std::vector<std::string> sides;        ///< names of the curves, the same in all panels
  std::vector<std::string> observables;  ///< titles of the panels
  /// [observable][side], as many numbers as x.
  std::vector<std::vector<PanelCurve>> curves;
};

/// Throws InputError where `--plot` names neither a folder nor a file .svg, .png or .pdf that can be
/// written.
void check_plot(const std::string& plot);

/// Parameters and settings as they were typed, where each run or rung has more of its own; without those
/// that are varied.
std::string caption_of_given(const CommonOptions& options, const Model& model,
                             const std::vector<std::string>& varied = {});

/// A drawing by plots/SCRIPT.gp with title and caption below, in lines that fit.
Drawing captioned_drawing(const std::string& name, const std::string& script,
                          const std::string& title, const std::string& caption);

/// Draws where `--plot` says: into a folder data, script and all pictures, into a file only that picture.
/// Prints the paths on standard error.
void draw_and_report(Drawing drawing, const std::string& plot);

/// Draws the first twelve observables that have a value and prints the paths made, on standard
/// error, with a line where there are more.
void draw_panels(const Panels& all, const std::string& plot, const std::string& command,
                 std::uint64_t seed);

/// Of an observable, as one word of a list: symbols as in print, blanks that do not break.
std::string panel_title(const std::string& column);

}  // namespace popgrad::cli
