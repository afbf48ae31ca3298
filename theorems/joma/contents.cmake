# The statements (checks/NAME.cpp) in the order of the paper; those not listed follow.
set(statements
  invariant_linear
  invariant_exp
  invariant_softmax
  linear_growth
  nonlinear_uniform
  salient_first
  entropy_bounce
  stable_rank
  tree_cooccurrence
  tree_learning
  clock_change
  attended_target
  ode_limit
  measured_bounce
  latent_labels
  latent_scores
  frozen_layers
  logits_ahead
  level_order
  tree_order
  softmax_growth)

# The figures (figures/NAME.cpp) in the order of `popgrad list`; those not listed follow.
set(figures
  invariant_correlation
  component_growth
  entropy
  salient_first
  audits
  measured
  eqn10
  bounce
  latents
  softmax_growth
  trained_rank
  model_size
  validation)

# The loops (rungs/NAME.cpp) that training and integration spend their time in.
set(loops
  full_batch_kernel
  network
  population_flow
  reduced_flow)

# The checks (checks/NAME.cpp) that compute for long by themselves.
set(optimised
  approach
  attended_training
  clock_change
  clocks
  entropy_bounce
  entropy_curve
  frozen_layers
  invariant_parts
  invariant_softmax
  latent_networks
  latent_scores
  layer_logits
  level_networks
  linear_growth
  logits_ahead
  nonlinear_uniform
  softmax_growth_parts
  stable_rank
  tree_cooccurrence
  tree_learning
  tree_order)
