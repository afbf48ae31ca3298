#pragma once
#include <memory>

#include "popgrad/rungs/model.hpp"

namespace popgrad::scb {

std::shared_ptr<const Model> make_model();

}  // namespace popgrad::scb
