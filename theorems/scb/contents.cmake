# The statements (checks/NAME.cpp) in the order of the paper; those not listed follow.
set(statements
  gradient
  reduction
  starts
  perturbed_start
  linearisation
  fixed_points
  convergence
  two_stages
  transfer
  transfer_growth
  transfer_range
  scratch_range
  branch
  l1_needed
  small_batch
  vocabulary
  hyperbola
  softmax_link
  softmax_patterns
  softmax_stage
  softmax_scratch
  lumping
  ode_limit)

# The figures (figures/NAME.cpp) in the order of `popgrad list`; those not listed follow.
set(figures
  training
  longer_training
  heat_maps
  phase_portrait
  critical_batch
  transfer_batch
  stage_samples
  starts
  starts_order
  context_size
  vocabulary
  success_grid
  softmax_patterns
  sample_complexity
  softmax_stage)

# The loops (rungs/NAME.cpp) that training and integration spend their time in.
set(loops
  column_kernels
  lumped_descent
  noisy_descent
  population_flow
  sequence_sgd
  three_part_descent)

# The checks (checks/NAME.cpp) that compute for long by themselves.
set(optimised
  linearisation
  lumping
  ode_limit
  perturbed_start
  reduction
  residual_runs
  sampled_runs
  softmax_patterns
  softmax_scratch
  softmax_stage)
