#include "popgrad/theories.hpp"

#include <vector>

namespace popgrad {

Theories theories() {
  static const std::vector<Theory> all{
      joma::theory(),
      scan_snap::theory(),
      scb::theory(),
      topic::theory(),
  };
  return all;
}

const Model& find_model(std::string_view name) { return find_model(theories(), name); }

}  // namespace popgrad
