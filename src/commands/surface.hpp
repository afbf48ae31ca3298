#pragma once
/// The picture of a function of two variables.

#include <string>
#include <utility>
#include <vector>

#include "commands/options.hpp"

namespace popgrad::cli {

struct Surface {
  std::vector<double> x, y, values;              ///< values[j * x.size() + i] at (x[i], y[j])
  std::vector<std::pair<double, double>> least;  ///< a point, or the ends of a line
  std::vector<std::pair<double, double>> path;   ///< a line over the colours
  std::string path_label;
  bool logarithmic = false;
  double floor = 0;  ///< of a logarithmic colour
  std::string name, title, caption, x_label, y_label, value_label;
};

/// Colours, where the function is least and the path, where --plot says.
void draw_surface(const Surface& surface, const CommonOptions& options, const std::string& command);

}  // namespace popgrad::cli
