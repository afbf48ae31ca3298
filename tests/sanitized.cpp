#include "sanitized.hpp"

namespace build {

bool sanitized() {
#ifdef POPGRAD_SANITIZED
  return true;
#else
  return false;
#endif
}

}  // namespace build
