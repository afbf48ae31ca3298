#pragma once
/// Parameters of JoMA, each declared once.

#include "popgrad/declared_parameter.hpp"

namespace popgrad::joma::parameter {

inline constexpr std::string_view training = "sgd gd flow";
inline constexpr std::string_view with_target = "stationary reduced attended closed-form";

inline constexpr ChoiceParameter attention{.name = "attention",
                                           .meaning = "how attention weights depend on logits",
                                           .choices = "exp softmax linear"};
inline constexpr NumberParameter temperature{
    .name = "temperature", .meaning = "T in exp(z/T) (logits)", .standard = "1", .range = above(0)};
inline constexpr NumberParameter tau{.name = "tau",
                                     .meaning = "2 temperature^2, with mu or delta",
                                     .standard = "2",
                                     .special = {{{"without mu and delta", "3"}}},
                                     .range = above(0),
                                     .rungs = with_target};
inline constexpr ChoiceParameter phi{
    .name = "phi",
    .meaning = "activation of the hidden units; all but linear add a fixed random output layer",
    .choices = "linear relu gelu tanh"};
inline constexpr SwitchParameter residual{
    .name = "residual", .meaning = "add the query embedding to f", .standard = true};
inline constexpr SwitchParameter normalise{.name = "normalise",
                                           .meaning = "divide f by its l2 norm"};
inline constexpr ChoiceParameter law{
    .name = "law",
    .meaning = "token law when X is not given: the authors' two laws, M_C = 20, 20 classes",
    .choices = "gaussian uniform",
    .rungs = training};
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
                                       .rungs = "sgd"};
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
inline constexpr ListParameter mu{.name = "mu",
                                  .meaning = "fixed points (nonlinear phi), a list a unit",
                                  .rungs = with_target,
                                  .flag = true};
inline constexpr ListParameter delta{.name = "delta",
                                     .meaning = "expected gradients (linear phi), a list a unit",
                                     .rungs = with_target,
                                     .flag = true};
inline constexpr ListParameter v0{.name = "v0",
                                  .meaning = "initial v: one number, or the shape of mu or delta",
                                  .otherwise = "0, or 0.05 without mu and delta",
                                  .rungs = with_target,
                                  .flag = true};

}  // namespace popgrad::joma::parameter
