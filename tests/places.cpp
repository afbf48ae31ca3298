#include "places.hpp"

namespace places {

std::string sources() { return POPGRAD_SOURCE_DIR; }

std::string popgrad() { return POPGRAD_BINARY; }

}  // namespace places
