#include "popgrad/evidence/theories.hpp"

#include "theorems/topic/contents.hpp"
#include "theorems/topic/landscapes.hpp"
#include "theorems/topic/rungs/model.hpp"

namespace popgrad::topic {

Theory theory() {
  namespace here = topic::checks;
  return {.model = make_model(),
          .statements = here::statements(),
          .figures = figures::all(),
          .landscapes = landscapes()};
}

}  // namespace popgrad::topic
