#pragma once
#include <memory>

#include "popgrad/rungs/model.hpp"

namespace popgrad::scan_snap {

std::unique_ptr<Model> make_model();

}  // namespace popgrad::scan_snap
