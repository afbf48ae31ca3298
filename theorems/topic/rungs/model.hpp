#pragma once

#include <memory>

#include "popgrad/rungs/model.hpp"

namespace popgrad::topic {

std::unique_ptr<Model> make_model();

}  // namespace popgrad::topic
