#include "popgrad/theories.hpp"

#include "report/scb/figures.hpp"
#include "scb/model.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::scb {

Theory theory() {
  namespace here = theorems::scb;
  return {.model = make_model(),
          .statements =
              {
                  here::gradient(),         here::reduction(),      here::starts(),
                  here::perturbed_start(),  here::linearisation(),  here::fixed_points(),
                  here::convergence(),      here::two_stages(),     here::transfer(),
                  here::transfer_growth(),  here::transfer_range(), here::scratch_range(),
                  here::branch(),           here::l1_needed(),      here::small_batch(),
                  here::vocabulary_size(),  here::hyperbola(),      here::softmax_link(),
                  here::softmax_patterns(), here::softmax_stage(),  here::softmax_scratch(),
                  here::lumping(),          here::ode_limit(),
              },
          .errata =
              {
                  here::square_of_jacobian(),
              },
          .figures = report::scb_figures()};
}

}  // namespace popgrad::scb
