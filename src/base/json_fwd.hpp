#pragma once
/// The name of the type of JSON values, for declarations; what uses one includes base/json.hpp.

#include <nlohmann/json_fwd.hpp>

namespace popgrad {

using Json = nlohmann::ordered_json;

}  // namespace popgrad
