#include "popgrad/theories.hpp"

#include "joma/model.hpp"
#include "report/joma/figures.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::joma {

Theory theory() {
  namespace here = theorems::joma;
  return {.model = make_model(),
          .statements =
              {
                  here::invariant_linear(), here::invariant_exp(),     here::invariant_softmax(),
                  here::linear_growth(),    here::nonlinear_uniform(), here::salient_first(),
                  here::entropy_bounce(),   here::stable_rank(),       here::tree_cooccurrence(),
                  here::tree_learning(),    here::clock_change(),      here::attended_target(),
                  here::ode_limit(),        here::measured_bounce(),   here::latent_labels(),
                  here::latent_scores(),    here::frozen_layers(),     here::logits_ahead(),
                  here::level_order(),      here::tree_order(),        here::softmax_growth(),
              },
          .errata =
              {
                  here::summed_condition(),
                  here::logits_too_large(),
                  here::target_at_rest(),
                  here::clock_of_figure(),
                  here::sets_for_tree(),
              },
          .figures = report::joma_figures()};
}

}  // namespace popgrad::joma
