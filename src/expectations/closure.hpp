#pragma once
/// Formulas of states as formulas of what a map makes of these.
///
/// A monomial such as sum_a J_ia J_ka B_ma B_na is taken apart into entries of maps that are one monomial each, Q_ik =
/// sum_a J_ia J_ka; functions of what closes close.

#include <string>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::expectations {

struct Closure {
  std::vector<formulas::Array> formulas;
  std::string why;  ///< they do not close; empty: they do
};

/// Formulas of `states` in terms of `coarse`, variables of the shapes of `map`.
Closure closed_in(const std::vector<formulas::Array>& formulas,
                  const std::vector<formulas::Array>& states,
                  const std::vector<formulas::Array>& map,
                  const std::vector<formulas::Array>& coarse);

}  // namespace popgrad::expectations
