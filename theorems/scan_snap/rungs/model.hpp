#pragma once
#include <memory>

#include "popgrad/rungs/model.hpp"

namespace popgrad::scan_snap {

std::shared_ptr<const Model> make_model();

}  // namespace popgrad::scan_snap
