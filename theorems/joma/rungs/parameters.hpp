#pragma once
/// Parameters of JoMA, each declared once.

#include "popgrad/rungs/declared_parameter.hpp"

namespace popgrad::joma::parameter {

inline constexpr ChoiceParameter attention{.name = "attention",
                                           .meaning = "how attention weights depend on logits",
                                           .choices = "exp softmax linear",
                                           .special = {{{"with several layers", "softmax"}}}};
inline constexpr NumberParameter temperature{.name = "temperature",
                                             .meaning = "T in exp(z/T) (logits)",
                                             .standard = "1",
                                             .range = above(0),
                                             .usual_fault = true};
inline constexpr NumberParameter label_noise{
    .name = "label_noise",
    .meaning = "probability that the label of a sample is replaced by one drawn uniformly",
    .standard = "0",
    .range = within(0, 1),
    .usual_fault = true};
inline constexpr NumberParameter tau{.name = "tau",
                                     .meaning = "2 temperature^2, with mu or delta",
                                     .standard = "2",
                                     .special = {{{"without mu and delta", "3"}}},
                                     .range = above(0)};
inline constexpr ChoiceParameter phi{
    .name = "phi",
    .meaning =
        "activation of the hidden units; with one layer, all but linear add a fixed random "
        "output layer",
    .choices = "linear relu gelu tanh",
    .special = {{{"with several layers", "relu"}}}};
inline constexpr SwitchParameter residual{
    .name = "residual", .meaning = "add the query embedding to f", .standard = true};
inline constexpr SwitchParameter normalise{.name = "normalise",
                                           .meaning = "divide f by its l2 norm"};
inline constexpr ChoiceParameter law{
    .name = "law",
    .meaning = "token law when X is not given: the authors' two laws, M_C = 20, 20 classes",
    .choices = "gaussian uniform"};
inline constexpr CountParameter units{.name = "units",
                                      .meaning = "hidden units K, when W0 is not given",
                                      .otherwise = "classes",
                                      .low = 1,
                                      .high = 100'000};
inline constexpr NumberParameter scale{.name = "scale",
                                       .meaning = "standard deviation of W0 when it is not given",
                                       .standard = "0.01"};
inline constexpr CountParameter length{.name = "length",
                                       .meaning = "tokens drawn a sample; 0: x is the law itself",
                                       .high = 100'000'000,
                                       .limit = "0"};
inline constexpr CountParameter embedding_dimension{
    .name = "embedding-dimension",
    .meaning = "i.i.d. unit embeddings of this dimension; 0: orthonormal",
    .high = 1'000'000};
inline constexpr ListParameter X{
    .name = "X", .meaning = "token laws, M_C rows, a column a class, columns sum to 1"};
inline constexpr ListParameter class_law{.name = "class_law",
                                         .meaning = "probabilities of the classes of X",
                                         .kind = "vector",
                                         .otherwise = "uniform"};
inline constexpr ListParameter W0{
    .name = "W0",
    .meaning = "initial weights, at least M_C + 1 rows (tokens, query), a column a unit",
    .otherwise = "drawn"};
inline constexpr ListParameter decoder{
    .name = "decoder",
    .meaning = "fixed output layer, a row a class, a column a hidden unit",
    .otherwise = "drawn, or none for linear phi with a unit a class"};
inline constexpr ListParameter z0{.name = "z0",
                                  .meaning = "initial attention logits, one a token",
                                  .kind = "vector",
                                  .otherwise = "0 with mu or delta, else drawn with deviation 0.01",
                                  .flag = true};
inline constexpr ListParameter mu{
    .name = "mu", .meaning = "fixed points (nonlinear phi), a list a unit", .flag = true};
inline constexpr ListParameter delta{
    .name = "delta", .meaning = "expected gradients (linear phi), a list a unit", .flag = true};
inline constexpr ListParameter v0{.name = "v0",
                                  .meaning = "initial v: one number, or the shape of mu or delta",
                                  .otherwise = "0, or 0.05 without mu and delta",
                                  .flag = true};

// ---- several layers ----------------------------------------------------------------------------

inline constexpr CountParameter layers{
    .name = "layers", .meaning = "layers of attention and MLP", .standard = 2, .low = 1, .high = 3};
inline constexpr CountParameter d{.name = "d",
                                  .meaning = "dimension of the trained embeddings",
                                  .standard = 16,
                                  .low = 1,
                                  .high = 4096};
inline constexpr CountParameter width{.name = "width",
                                      .meaning = "hidden units of a layer",
                                      .otherwise = "4 d",
                                      .low = 1,
                                      .high = 100'000};
inline constexpr SwitchParameter layer_norm{
    .name = "layer-norm",
    .meaning = "LayerNorm with gain and shift after attention and after the MLP"};
inline constexpr SwitchParameter train_attention{
    .name = "train-attention",
    .meaning = "false: uniform attention throughout, W_K and W_Q stay",
    .standard = true};
inline constexpr ChoiceParameter hierarchy{
    .name = "hierarchy",
    .meaning =
        "sets: the authors' latents, random sets of the level below; tree: that of Theorem 5",
    .choices = "sets tree"};
inline constexpr CountParameter M{.name = "M",
                                  .meaning = "tokens, with the padding (sets, inputs)",
                                  .standard = 20,
                                  .low = 2,
                                  .high = 100'000};
inline constexpr CountParameter L{.name = "L",
                                  .meaning = "length of the sequences, padded in front (sets)",
                                  .standard = 20,
                                  .low = 1,
                                  .high = 10'000};
inline constexpr ListParameter latents{
    .name = "latents",
    .meaning = "latents of every level from the tokens up, the classes last (sets)",
    .kind = "vector",
    .otherwise = "20,10",
    .flag = true};
inline constexpr ListParameter children{
    .name = "children",
    .meaning = "size of the sets that the latents of every level are (sets)",
    .kind = "vector",
    .otherwise = "3,3",
    .flag = true};
inline constexpr CountParameter depth{.name = "depth",
                                      .meaning = "layers of the tree, with 2^depth leaves (tree)",
                                      .standard = 3,
                                      .low = 2,
                                      .high = 4};
inline constexpr NumberParameter rho{.name = "rho",
                                     .meaning = "correlation across an edge (tree)",
                                     .standard = "0.8",
                                     .range = within(-1, 1)};
inline constexpr ListParameter polarity{
    .name = "polarity",
    .meaning = "rho_0c of every class: E[2y - 1 | c] = -rho_0c in layer 1 (tree)",
    .kind = "vector",
    .otherwise = "0.8,-0.8",
    .flag = true};
inline constexpr ListParameter inputs{
    .name = "inputs",
    .meaning =
        "in place of a hierarchy: sequences of tokens, a row a class, 0 is padding in front"};
inline constexpr ListParameter state{
    .name = "state", .meaning = "components of the state at first, by name", .kind = "components"};

// ---- what the rungs read -----------------------------------------------------------------------

inline std::vector<ParameterInfo> of_one_layer() {
  return parameter_table(attention, temperature, phi, residual, normalise, units, scale,
                         embedding_dimension, X, class_law, W0, decoder, z0);
}
inline std::vector<ParameterInfo> of_training() {
  return of_one_layer() + parameter_table(law, label_noise);
}
inline std::vector<ParameterInfo> of_target() {
  return of_one_layer() + parameter_table(tau, mu, delta, v0);
}
inline std::vector<ParameterInfo> of_several_layers() {
  return parameter_table(attention, phi, layers, d, width, layer_norm, train_attention, hierarchy,
                         M, L, latents, children, depth, rho, polarity, inputs, state);
}

}  // namespace popgrad::joma::parameter
