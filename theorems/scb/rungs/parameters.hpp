#pragma once
/// Parameters of sparse contextual bigrams, each declared once.

#include "popgrad/rungs/declared_parameter.hpp"

namespace popgrad::scb::parameter {

inline constexpr CountParameter N{
    .name = "N", .meaning = "tokens of the vocabulary", .standard = 3, .low = 2, .high = 2000};
inline constexpr CountParameter T{
    .name = "T", .meaning = "positions of the context", .standard = 5000, .low = 2};
inline constexpr CountParameter Q{
    .name = "Q", .meaning = "positions that a token attends to, <= T", .standard = 2, .low = 1};
inline constexpr ChoiceParameter attention{.name = "attention",
                                           .meaning = "attention itself, or the softmax of logits",
                                           .choices = "linear softmax"};
inline constexpr NumberParameter eta_A{.name = "eta_A",
                                       .meaning = "learning rate of the attention over that of V",
                                       .standard = "1",
                                       .range = above(0),
                                       .usual_fault = true};
inline constexpr SwitchParameter project{.name = "project",
                                         .meaning = "project gradients onto the constraints",
                                         .standard = true,
                                         // A start has what is conserved to 1e-9; a state on the
                                         // way in single precision has it to 1e-7, and the
                                         // projection changes no observable of it.
                                         .off_midway = "sgd"};
inline constexpr NumberParameter label_noise{
    .name = "label_noise",
    .meaning = "probability that a label is replaced by one drawn uniformly",
    .standard = "0",
    .range = within(0, 1),
    .usual_fault = true};
inline constexpr NumberParameter temperature{
    .name = "temperature",
    .meaning = "of the attention logits; linear attention is divided by it",
    .standard = "1",
    .range = above(0),
    .usual_fault = true};
inline constexpr ChoiceParameter query_position{
    .name = "query_position",
    .meaning = "behind the context and free of it, as in the paper, or its last token",
    .choices = "free last",
    .usual_fault = true};
inline constexpr ChoiceParameter noise{
    .name = "noise",
    .meaning = "levels as they are, scaled with V and A as SGD's own, or measured",
    .choices = "constant multiplicative calibrated",
    .standard = "multiplicative"};
inline constexpr CountParameter pilot{
    .name = "pilot",
    .meaning = "sequences that --noise calibrated is measured from",
    .standard = 2000,
    .low = 2,
    .high = 1'000'000};
inline constexpr ChoiceParameter pilot_at{
    .name = "pilot_at",
    .meaning = "where they are drawn; at the start sigma_A is 0",
    .choices = "solution start"};
inline constexpr NumberParameter sigma_V{.name = "sigma_V",
                                         .meaning = "noise level of V",
                                         .otherwise = "of one sample at the solution",
                                         .range = at_least(0)};
inline constexpr NumberParameter sigma_A{.name = "sigma_A",
                                         .meaning = "noise level of attention",
                                         .otherwise = "of one sample at the solution",
                                         .range = at_least(0)};
inline constexpr ChoiceParameter algorithm{
    .name = "algorithm",
    .meaning =
        "plain steps; or boosting of V and A (transfer: only of A), threshold and l1, "
        "normalisation",
    .choices = "plain three-part transfer"};
inline constexpr NumberParameter boost_until{.name = "boost_until",
                                             .meaning = "alpha_A at which part 1 ends",
                                             .otherwise = "3/4 of where it settles",
                                             .range = above(0)};
inline constexpr CountParameter boost_steps{
    .name = "boost_steps", .meaning = "steps after which part 1 ends anyway; 0: no limit"};
inline constexpr NumberParameter threshold{.name = "tau",
                                           .meaning = "attention below it becomes 0 before part 2",
                                           .standard = "0.05",
                                           .range = at_least(0)};
inline constexpr NumberParameter l1_step{
    .name = "eta_2", .meaning = "step size of part 2", .standard = "0.002", .range = above(0)};
inline constexpr NumberParameter l1_weight{.name = "lambda",
                                           .meaning = "weight of the l1 norm in part 2",
                                           .standard = "0.004",
                                           .range = at_least(0)};
inline constexpr CountParameter l1_steps{
    .name = "l1_steps", .meaning = "steps of part 2, then normalise and rest; 0: to the end"};
inline constexpr ChoiceParameter start{.name = "start",
                                       .meaning = "V = mu 1', 11'/N, or from a correlated kernel",
                                       .choices = "stationary uniform transfer"};
inline constexpr NumberParameter theta{
    .name = "theta", .meaning = "size of a transfer start", .standard = "0.5", .range = above(0)};
inline constexpr NumberParameter correlation{.name = "correlation",
                                             .meaning = "of the transferred kernel with P",
                                             .standard = "0.5",
                                             .range = above_up_to(-1, 1)};
inline constexpr ListParameter P{
    .name = "P", .meaning = "kernel, N rows, column k the law of the token after k"};
inline constexpr ListParameter mu{
    .name = "mu", .meaning = "stationary law of P", .kind = "vector", .otherwise = "computed"};
inline constexpr ListParameter q{.name = "q", .meaning = "context laws, N rows of T probabilities"};
inline constexpr ListParameter q_positions{
    .name = "q_positions",
    .meaning = "in place of q, with q_weights and T: for every token the positions it attends to",
    .otherwise = "those of q"};
inline constexpr ListParameter q_weights{.name = "q_weights",
                                         .meaning = "probabilities of q_positions, a list a token",
                                         .otherwise = "those of q"};
inline constexpr ListParameter V{
    .name = "V", .meaning = "V at first, N x N, column k of token k", .otherwise = "as --start"};
inline constexpr ListParameter A{
    .name = "A",
    .meaning = "attention at first, T x N, column k holds a^k, or w^k for softmax",
    .otherwise = "1/T, or 0 for softmax"};
inline constexpr ListParameter state{
    .name = "state",
    .meaning = "components of the state at first, by name: alpha_V, alpha_A, w",
    .kind = "components"};

// ---- what the rungs read -----------------------------------------------------------------------

inline std::vector<ParameterInfo> of_every_rung() {
  return parameter_table(N, T, Q, start, P, mu, q, q_positions, q_weights, V, A);
}
/// A closed form begins at mu 1' and 1/T.
inline std::vector<ParameterInfo> of_integrated() {
  return of_every_rung() + parameter_table(theta, correlation);
}
inline std::vector<ParameterInfo> of_training() {
  return of_integrated() + parameter_table(attention, eta_A, project);
}
inline std::vector<ParameterInfo> of_steps() {
  return of_training() + parameter_table(algorithm, boost_until, boost_steps, threshold, l1_step,
                                         l1_weight, l1_steps);
}
inline std::vector<ParameterInfo> of_gaussian_steps() {
  return of_steps() + parameter_table(noise, pilot, pilot_at, sigma_V, sigma_A);
}

}  // namespace popgrad::scb::parameter
