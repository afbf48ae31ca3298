#include "cli/host.hpp"

namespace popgrad::cli {

Host& host() {
  static Host around;
  return around;
}

}  // namespace popgrad::cli
