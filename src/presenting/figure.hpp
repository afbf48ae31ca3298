#pragma once
/// Figures: data, script and picture from one command.

#include <filesystem>
#include <string_view>
#include <vector>

#include "popgrad/evidence/theory.hpp"

namespace popgrad {

/// What a figure may be given of its model, with the figure's own defaults. Throws InputError if no
/// theory has the figure.
std::vector<ParameterInfo> figure_parameters(Theories theories, std::string_view name);

/// The model that a figure is of. Throws InputError if no theory has the figure.
const Model& figure_model(Theories theories, std::string_view name);

/// Writes NAME.csv, NAME.gp, NAME.svg, NAME.png and NAME.pdf into the folder and returns their
/// paths. Throws InputError if no theory has the figure, its data are missing, or a parameter is not
/// one that it reads; std::runtime_error if gnuplot fails.
std::vector<std::filesystem::path> make_figure(Theories theories, const FigureRequest& request);

}  // namespace popgrad
