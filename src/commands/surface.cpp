#include "commands/surface.hpp"

#include <fmt/format.h>

#include "commands/panels.hpp"
#include "popgrad/evidence/figure.hpp"

namespace popgrad::cli {

void draw_surface(const Surface& surface, const CommonOptions& options,
                  const std::string& command) {
  FigureTable grid;
  for (std::size_t i = 0; i < surface.x.size(); ++i) {
    for (std::size_t j = 0; j < surface.y.size(); ++j) {
      grid.add("x", surface.x[i], "y", surface.y[j], "value",
               surface.values[j * surface.x.size() + i]);
    }
  }
  FigureTable least({"x", "y"});
  for (const auto& [x, y] : surface.least) least.add("x", x, "y", y);
  FigureTable path({"x", "y"});
  for (const auto& [x, y] : surface.path) path.add("x", x, "y", y);
  Drawing drawing = captioned_drawing(surface.name, "surface", surface.title, surface.caption);
  const std::vector<std::pair<std::string, std::string>> variables{
      {"x_label", surface.x_label},
      {"y_label", surface.y_label},
      {"value_label", surface.value_label},
      {"path_label", surface.path_label},
      {"logarithmic", surface.logarithmic ? "1" : "0"},
      {"least", fmt::format("{:.9g}", surface.floor)}};
  drawing.variables.insert(drawing.variables.end(), variables.begin(), variables.end());
  drawing.files = {{drawing.name + ".csv", grid.text()},
                   {drawing.name + "-minimum.csv", least.text()},
                   {drawing.name + "-path.csv", path.text()}};
  drawing.command = command;
  drawing.seed = options.seed;
  draw_and_report(std::move(drawing), options.plot);
}

}  // namespace popgrad::cli
