#pragma once
/// Figures: data, script and picture from one command.

#include <filesystem>
#include <vector>

#include "popgrad/theory.hpp"

namespace popgrad {

/// Writes NAME.csv, NAME.gp, NAME.svg, NAME.png and NAME.pdf into the folder and returns their
/// paths. Throws InputError if no theory has the figure or its data are missing, std::runtime_error
/// if gnuplot fails.
std::vector<std::filesystem::path> make_figure(Theories theories, const FigureRequest& request);

}  // namespace popgrad
