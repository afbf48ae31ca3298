#include "popgrad/evidence/theories.hpp"

#include "theorems/scan_snap/checks/errata.hpp"
#include "theorems/scan_snap/contents.hpp"
#include "theorems/scan_snap/rungs/model.hpp"

namespace popgrad::scan_snap {

Theory theory() {
  namespace here = scan_snap::checks;
  return {.model = make_model(),
          .statements = here::statements(),
          .errata = {here::phase_transition_constant(), here::classes_of_query(),
                     here::cross_scale_sign(), here::inverse_sign(), here::attention_clock(),
                     here::late_backprop_regime(), here::fates_on_flow(), here::centred_sum(),
                     here::growth_figure(), here::residual_sketch()},
          .figures = figures::all()};
}

}  // namespace popgrad::scan_snap
