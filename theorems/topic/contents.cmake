# The statements (checks/NAME.cpp) in the order of the paper; those not listed follow.
set(statements
  masked_frequencies
  embedding
  value
  attention_optimum
  attention_limit
  two_stage
  stage2_optimum
  same_topic_attention
  either_alone
  ode_limit)

# The figures (figures/NAME.cpp) in the order of `popgrad list`; those not listed follow.
set(figures
  block_patterns
  stages
  landscape
  optimum
  attention_by_kind
  either_alone
  attention_ends
  lda_training
  stage_order
  cooccurrence
  corpus_attention)

# The loops (rungs/NAME.cpp) that training and integration spend their time in.
set(loops
  documents
  landscape
  population_flow
  subset_expectation
  training)

# The checks (checks/NAME.cpp) that compute for long by themselves.
set(optimised
  document_moments
  finite_documents
  masked_frequencies
  ode_limit
  random_member
  two_stage)
