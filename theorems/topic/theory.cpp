#include "popgrad/theories.hpp"

#include "report/topic/figures.hpp"
#include "theorems/topic/statements.hpp"
#include "topic/model.hpp"

namespace popgrad::topic {

Theory theory() {
  namespace here = theorems::topic;
  return {.model = make_model(),
          .statements =
              {
                  here::masked_frequencies(),
                  here::embedding(),
                  here::value(),
                  here::attention_block(),
                  here::attention_diagonal(),
                  here::attention_limit(),
                  here::two_stage(),
                  here::stage2_optimum(),
                  here::same_topic_attention(),
                  here::either_alone(),
                  here::ode_limit(),
              },
          .figures = report::topic_figures()};
}

}  // namespace popgrad::topic
