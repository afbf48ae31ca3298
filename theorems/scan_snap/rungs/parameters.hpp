#pragma once
/// Parameters of scan and snap, each declared once.

#include "popgrad/rungs/declared_parameter.hpp"

namespace popgrad::scan_snap::parameter {

inline constexpr ChoiceParameter preset{.name = "preset",
                                        .meaning = "data law when neither P nor a text is given",
                                        .choices = "syn-small syn-medium growth",
                                        .special = {{{"for closed-form", "growth"}}}};
inline constexpr CountParameter n_last{.name = "n_last",
                                       .meaning = "queries of syn-medium, two classes each",
                                       .standard = 10,
                                       .low = 1,
                                       .high = 1000};
inline constexpr NumberParameter eta_Y{.name = "eta_Y",
                                       .meaning = "learning rate of the decoder Y",
                                       .standard = "1",
                                       .special = {{{"for syn-medium", "2"}, {"for a text", "10"}}},
                                       .range = above(0)};
inline constexpr NumberParameter eta_Z{.name = "eta_Z",
                                       .meaning = "learning rate of the attention logits Z",
                                       .standard = "1",
                                       .special = {{{"for growth", "0.5"}}},
                                       .range = above(0),
                                       .usual_fault = true};
inline constexpr CountParameter T{.name = "T",
                                  .meaning = "tokens a sequence, query included",
                                  .standard = 128,
                                  .low = 2,
                                  .high = 100'000'000};
inline constexpr NumberParameter label_noise{
    .name = "label_noise",
    .meaning = "probability that the label of a sample is replaced by one drawn uniformly",
    .standard = "0",
    .range = within(0, 1),
    .usual_fault = true};
inline constexpr NumberParameter temperature{.name = "temperature",
                                             .meaning = "T in softmax(z/T) of the attention logits",
                                             .standard = "1",
                                             .range = above(0),
                                             .usual_fault = true};
inline constexpr ChoiceParameter start{
    .name = "start",
    .meaning = "Y = Z = 0, or uniform in +-1/sqrt(M) in rungs with Y",
    .choices = "zero uniform",
    .special = {{{"for syn-medium", "uniform"}}}};
inline constexpr ChoiceParameter reading{
    .name = "reading",
    .meaning = "weight of a class in z': 1/K, or 1 as Eqn 10 of the paper reads",
    .choices = "consistent paper"};
inline constexpr TextParameter watch{
    .name = "watch", .meaning = "class:token pairs whose f and chi become columns, as 0:12,1:3"};
inline constexpr SwitchParameter track_growth{
    .name = "track-growth",
    .meaning = "carry B_n along, at K^3 an evaluation",
    .otherwise = "up to 32 classes from Y = 0; not for sgd"};
inline constexpr TextParameter corpus{
    .name = "corpus",
    .meaning = "text, tokens parted by white space, that classes are counted in",
    // A minute or two for 1000 classes, whose shares are known to some per cent.
    .flow_end = "50",
    .flow_tolerance = "1e-6"};
inline constexpr CountParameter window{.name = "window",
                                       .meaning = "tokens before the last one that are its context",
                                       .standard = 10,
                                       .low = 1,
                                       .high = 1'000'000};
inline constexpr CountParameter min_count{.name = "min-count",
                                          .meaning = "how often a pair (last, next) must occur",
                                          .standard = 1,
                                          .low = 1};
inline constexpr CountParameter classes{.name = "classes",
                                        .meaning = "most frequent pairs that are kept",
                                        .standard = 1000,
                                        .low = 1,
                                        .high = 100'000};
inline constexpr ListParameter P{
    .name = "P", .meaning = "laws of the contextual tokens, K rows, a column a token"};
inline constexpr ListParameter P_tokens{
    .name = "P_tokens",
    .meaning = "in place of P, with P_weights: for every class the tokens that it has",
    .otherwise = "those of P"};
inline constexpr ListParameter P_weights{.name = "P_weights",
                                         .meaning = "probabilities of P_tokens, a list a class",
                                         .otherwise = "those of P"};
inline constexpr ListParameter psi{
    .name = "psi", .meaning = "query token of each class", .kind = "vector", .otherwise = "0"};
inline constexpr ListParameter next{.name = "next",
                                    .meaning = "next token of each class",
                                    .kind = "vector",
                                    .otherwise = "0, 1, ..."};
inline constexpr ListParameter class_law{.name = "class_law",
                                         .meaning = "probabilities of the classes",
                                         .kind = "vector",
                                         .otherwise = "uniform"};
inline constexpr CountParameter M{.name = "M",
                                  .meaning = "tokens of the vocabulary, if more than P has columns",
                                  .otherwise = "columns of P",
                                  .low = 2,
                                  .high = 100'000'000};
inline constexpr ListParameter Y{
    .name = "Y",
    .meaning = "decoder at first, M x M; rows of tokens that no class has do not matter",
    .otherwise = "as --start"};
inline constexpr ListParameter Z{.name = "Z",
                                 .meaning = "attention logits at first, M x M, row m of query m",
                                 .otherwise = "as --start"};
inline constexpr ListParameter state{
    .name = "state",
    .meaning = "other components of the state at first, by name: h, s_N_C, B_N",
    .kind = "components"};

// ---- what the rungs read -----------------------------------------------------------------------

inline std::vector<ParameterInfo> of_every_rung() {
  return parameter_table(preset, eta_Y, eta_Z, start, P, P_tokens, P_weights, psi, M);
}
inline std::vector<ParameterInfo> of_integrated() {
  return of_every_rung() + parameter_table(n_last, watch, track_growth, corpus, window, min_count,
                                           classes, class_law, Z, state);
}
inline std::vector<ParameterInfo> of_decoder() {
  return of_integrated() + parameter_table(next, Y);
}

}  // namespace popgrad::scan_snap::parameter
