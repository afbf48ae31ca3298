#include "io/given_files.hpp"

namespace popgrad {

GivenFiles& given_files() {
  static GivenFiles files;
  return files;
}

}  // namespace popgrad
