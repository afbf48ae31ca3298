#pragma once
/// Names of variables as LaTeX.

#include <string>
#include <string_view>

namespace popgrad {

/// `lambda_0` as \lambda_{0}, `W1_2` as W_{1,2}, words upright. The name has letters, digits and underscores.
std::string latex_name(std::string_view name);

}  // namespace popgrad
