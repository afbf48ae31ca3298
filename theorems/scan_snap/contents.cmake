# The statements (checks/NAME.cpp) in the order of the paper; those not listed follow.
set(statements
  gradient
  long_sequence
  decoder_recursion
  decoder_closed_form
  decoder_regimes
  decoder_solution
  class_noise
  draws_until_norm
  overlap_bounds
  backprop_gradient
  fates
  fates_assumption2
  fates_symmetric
  growth
  winner_take_all
  late_growth
  phase_transition
  growth_steps
  rate_dependence
  learning_rates
  residual_gradient
  residual_backprop
  residual_fates
  position_bias
  assumptions)

# The figures (figures/NAME.cpp) in the order of `popgrad list`; those not listed follow.
set(figures
  attention_pattern
  learning_rates
  growth_factor
  growth_exponent
  decoder
  class_counts
  phase_transition
  growth_steps
  rung_distances
  frontiers
  assumption2_map
  residual
  text_attention)

# The loops (rungs/NAME.cpp) that training and integration spend their time in.
set(loops
  kernels
  population_flow)

# The checks (checks/NAME.cpp) that compute for long by themselves.
set(optimised
  assumption2_classes
  attention_formula
  backprop_identity
  class_counts
  fates_assumption2
  gradient
  long_sequence
  overlap_bounds
  residual_backprop
  residual_classes
  residual_fates
  residual_flow
  residual_gradient
  residual_measurements
  winner_take_all)
