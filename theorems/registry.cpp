#include "theorems/joma/statements.hpp"
#include "theorems/scan_snap/statements.hpp"
#include "theorems/scb/statements.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad {

const std::vector<Statement>& statements() {
  using namespace theorems;
  static const std::vector<Statement> all{
      joma::invariant_linear(),
      joma::invariant_exp(),
      joma::invariant_softmax(),
      joma::linear_growth(),
      joma::nonlinear_uniform(),
      joma::salient_first(),
      joma::entropy_bounce(),
      joma::stable_rank(),
      joma::tree_cooccurrence(),
      joma::tree_learning(),
      joma::clock_change(),
      joma::attended_target(),
      joma::ode_limit(),
      joma::measured_bounce(),
      scan_snap::gradient(),
      scan_snap::long_sequence(),
      scan_snap::decoder_recursion(),
      scan_snap::decoder_closed_form(),
      scan_snap::decoder_solution(),
      scan_snap::backprop_gradient(),
      scan_snap::fates(),
      scan_snap::fates_symmetric(),
      scan_snap::growth(),
      scan_snap::phase_transition(),
      scan_snap::learning_rates(),
      scan_snap::assumptions(),
      scb::gradient(),
      scb::reduction(),
      scb::linearisation(),
      scb::fixed_points(),
      scb::convergence(),
      scb::two_stages(),
      scb::transfer(),
      scb::branch(),
      scb::l1_needed(),
      scb::hyperbola(),
      scb::softmax_link(),
      scb::lumping(),
      scb::ode_limit(),
      topic::masked_frequencies(),
      topic::embedding(),
      topic::value(),
      topic::attention_block(),
      topic::attention_diagonal(),
      topic::attention_limit(),
      topic::two_stage(),
      topic::stage2_optimum(),
      topic::same_topic_attention(),
      topic::ode_limit(),
  };
  return all;
}

const std::vector<Erratum>& errata() {
  using namespace theorems;
  static const std::vector<Erratum> all{
      joma::summed_condition(),
      joma::logits_too_large(),
      joma::target_at_rest(),
      joma::clock_of_figure(),
      joma::sets_for_tree(),
      scan_snap::phase_transition_constant(),
      scan_snap::classes_of_query(),
      scan_snap::cross_scale_sign(),
      scan_snap::inverse_sign(),
      scan_snap::attention_clock(),
      scan_snap::late_backprop_regime(),
      scan_snap::fates_on_flow(),
      scan_snap::centred_sum(),
      scan_snap::growth_figure(),
      scb::square_of_jacobian(),
  };
  return all;
}

}  // namespace popgrad
