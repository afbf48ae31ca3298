#pragma once
/// Parameters of the topic model, each declared once.

#include "popgrad/rungs/declared_parameter.hpp"

namespace popgrad::topic::parameter {

/// Laws in the limit of many topics go beyond what matrices do.
inline constexpr CountParameter T{
    .name = "T", .meaning = "topics", .standard = 10, .low = 2, .high = 1'000'000'000'000};
inline constexpr CountParameter tau{
    .name = "tau", .meaning = "topics of a document, < T", .standard = 4, .low = 1};
inline constexpr CountParameter v{
    .name = "v", .meaning = "words of a topic", .standard = 10, .low = 1};
inline constexpr NumberParameter p_m{.name = "p_m",
                                     .meaning = "probability that a position is selected",
                                     .standard = "0.15",
                                     .range = above_up_to(0, 1)};
inline constexpr NumberParameter p_c{.name = "p_c",
                                     .meaning = "probability that a selected one keeps its word",
                                     .standard = "0.1",
                                     .range = within(0, 1)};
inline constexpr NumberParameter p_r{.name = "p_r",
                                     .meaning = "probability that it becomes a random word",
                                     .standard = "0.1",
                                     .range = within(0, 1)};
inline constexpr NumberParameter lambda{
    .name = "lambda",
    .meaning = "weight of |W_V|^2 in the loss; optimum, landscape: W_V is the penalised one",
    .standard = "0",
    .range = at_least(0)};
inline constexpr ChoiceParameter loss{
    .name = "loss", .meaning = "loss", .choices = "squared cross-entropy"};
inline constexpr CountParameter d_a{
    .name = "d_a", .meaning = "rows of W_K and W_Q", .standard = 100, .low = 1, .high = 100'000};
inline constexpr NumberParameter temperature{
    .name = "temperature",
    .meaning = "of attention: its logits are those of the matrices over it",
    .standard = "1",
    .range = above(0),
    .usual_fault = true};
inline constexpr CountParameter d_e{
    .name = "d_e", .meaning = "width of trained embeddings; 0: one-hot", .high = 100'000};
inline constexpr NumberParameter sigma{
    .name = "sigma",
    .meaning =
        "deviation of the entries of W_K, W_Q, W_E at first, and of W_V with --value normal; "
        "symmetric: K = Q = sigma^2 d_a I",
    .standard = "0.01",
    .range = at_least(0)};
inline constexpr ChoiceParameter value{
    .name = "value",
    .meaning = "W_V at first; identity and normal for whole matrices only",
    .choices = "zero identity normal block diagonal",
    .special = {{{"for optimum", "block"}}}};
inline constexpr ListParameter W_K{
    .name = "W_K",
    .meaning = "W_K at first, d_a rows, columns by [MASK] and the T v words (or by d_e)",
    .otherwise = "drawn"};
inline constexpr ListParameter W_Q{
    .name = "W_Q",
    .meaning = "W_Q at first, d_a rows, columns by [MASK] and the T v words (or by d_e)",
    .otherwise = "drawn"};
inline constexpr ListParameter W_V{
    .name = "W_V",
    .meaning = "W_V at first, square, by [MASK] and the T v words (or by d_e)",
    .otherwise = "as --value"};
inline constexpr ListParameter W_E{
    .name = "W_E",
    .meaning = "W_E at first, d_e rows, columns by [MASK] and the T v words",
    .otherwise = "drawn"};
inline constexpr ListParameter state{
    .name = "state", .meaning = "components of the state at first, by name", .kind = "components"};
inline constexpr TextParameter train{.name = "train",
                                     .meaning = "matrices that are trained, e.g. KQ",
                                     .otherwise = "VKQ, E with --d_e"};
inline constexpr NumberParameter switch_time{.name = "switch",
                                             .meaning = "time at which stage 2 begins",
                                             .otherwise = "10 relaxation times of W_V",
                                             .range = above(0)};
inline constexpr CountParameter N{.name = "N",
                                  .meaning = "tokens of a sampled document",
                                  .standard = 128,
                                  .low = 1,
                                  .high = 10'000'000};
inline constexpr NumberParameter label_noise{
    .name = "label_noise",
    .meaning = "probability that the word to be predicted is replaced by one drawn uniformly",
    .standard = "0",
    .range = within(0, 1),
    .usual_fault = true};
inline constexpr CountParameter longer{
    .name = "longer",
    .meaning = "further tokens that a sampled document may have, uniformly",
    .standard = 0,
    .high = 10'000'000};
inline constexpr ChoiceParameter documents{
    .name = "documents",
    .meaning = "topics of a sampled document: exactly tau, or shares of a Dirichlet law",
    .choices = "uniform lda"};
inline constexpr NumberParameter concentration{
    .name = "concentration",
    .meaning = "of --documents lda: each parameter of the Dirichlet law",
    .standard = "0.1",
    .range = above(0)};
inline constexpr TextParameter corpus{
    .name = "corpus", .meaning = "file of documents to sample from: a line of words each"};

// ---- what the rungs read -----------------------------------------------------------------------

inline std::vector<ParameterInfo> of_every_rung() {
  return parameter_table(T, tau, v, p_m, p_c, p_r, value);
}
inline std::vector<ParameterInfo> of_whole_matrices() {
  return of_every_rung() +
         parameter_table(lambda, loss, d_a, temperature, d_e, sigma, W_K, W_Q, W_V, W_E, train);
}

}  // namespace popgrad::topic::parameter
