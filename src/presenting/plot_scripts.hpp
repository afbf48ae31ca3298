#pragma once
#include <string_view>

namespace popgrad {

/// The gnuplot script plots/NAME.gp, compiled in; empty if there is none of that name.
std::string_view plot_script(std::string_view name);

}  // namespace popgrad
