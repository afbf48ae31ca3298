#pragma once
/// Choices of JoMA's parameters as what the formulas take.

#include "theorems/joma/rungs/activation.hpp"
#include "theorems/joma/rungs/attention.hpp"
#include "theorems/joma/rungs/parameters.hpp"

namespace popgrad::joma {

inline Attention attention_of(const Parameters& p, std::string_view when = {}) {
  const std::string name = read(p, parameter::attention, when);
  if (name == "exp") return Attention::exp;
  return name == "softmax" ? Attention::softmax : Attention::linear;
}

inline const char* name_of(Attention attention) {
  if (attention == Attention::exp) return "exp";
  return attention == Attention::softmax ? "softmax" : "linear";
}

inline Activation phi_of(const Parameters& p, std::string_view when = {}) {
  const std::string name = read(p, parameter::phi, when);
  if (name == "linear") return Activation::linear;
  if (name == "tanh") return Activation::tanh;
  return name == "relu" ? Activation::relu : Activation::gelu;
}

inline const char* name_of(Activation phi) {
  if (phi == Activation::linear) return "linear";
  if (phi == Activation::tanh) return "tanh";
  return phi == Activation::relu ? "relu" : "gelu";
}

}  // namespace popgrad::joma
