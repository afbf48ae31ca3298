#include "popgrad/evidence/theories.hpp"

#include "theorems/scb/checks/errata.hpp"
#include "theorems/scb/contents.hpp"
#include "theorems/scb/rungs/model.hpp"

namespace popgrad::scb {

Theory theory() {
  namespace here = scb::checks;
  return {.model = make_model(),
          .statements = here::statements(),
          .errata = {here::square_of_jacobian()},
          .figures = figures::all()};
}

}  // namespace popgrad::scb
