#pragma once
#include <memory>

#include "popgrad/rungs/model.hpp"

namespace popgrad::joma {

std::unique_ptr<Model> make_model();

}  // namespace popgrad::joma
