#include "popgrad/evidence/theories.hpp"

#include "theorems/joma/checks/errata.hpp"
#include "theorems/joma/contents.hpp"
#include "theorems/joma/rungs/model.hpp"

namespace popgrad::joma {

Theory theory() {
  namespace here = joma::checks;
  return {.model = make_model(),
          .statements = here::statements(),
          .errata = {here::summed_condition(), here::logits_too_large(), here::target_at_rest(),
                     here::clock_of_figure()},
          .figures = figures::all()};
}

}  // namespace popgrad::joma
