#include "popgrad/theories.hpp"

#include "report/scan_snap/figures.hpp"
#include "scan_snap/model.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::scan_snap {

Theory theory() {
  namespace here = theorems::scan_snap;
  return {.model = make_model(),
          .statements =
              {
                  here::gradient(),
                  here::long_sequence(),
                  here::decoder_recursion(),
                  here::decoder_closed_form(),
                  here::decoder_regimes(),
                  here::decoder_solution(),
                  here::class_noise(),
                  here::draws_until_norm(),
                  here::overlap_bounds(),
                  here::backprop_gradient(),
                  here::fates(),
                  here::fates_assumption2(),
                  here::fates_symmetric(),
                  here::growth(),
                  here::winner_take_all(),
                  here::late_growth(),
                  here::phase_transition(),
                  here::growth_steps(),
                  here::rate_dependence(),
                  here::learning_rates(),
                  here::residual_gradient(),
                  here::residual_backprop(),
                  here::residual_fates(),
                  here::position_bias(),
                  here::assumptions(),
              },
          .errata =
              {
                  here::phase_transition_constant(),
                  here::classes_of_query(),
                  here::cross_scale_sign(),
                  here::inverse_sign(),
                  here::attention_clock(),
                  here::late_backprop_regime(),
                  here::fates_on_flow(),
                  here::centred_sum(),
                  here::growth_figure(),
                  here::residual_sketch(),
              },
          .figures = report::scan_snap_figures()};
}

}  // namespace popgrad::scan_snap
