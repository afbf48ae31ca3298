#pragma once
/// A model from one law of motion, without a class of its own: the law says how it moves, what it
/// shows and what its parameters are, and the rest follows.
///
///   template <Transcendental T> struct Decay {        // x' = -rate x, x(0) = start
///     using Scalar = T;
///     T rate, start;                                   // the parameters, in the order declared
///     ...                                              // the members of a Flow (popgrad/rungs/rung.hpp)
///   };
///   model_of_law<Decay>({.name = "decay", .paper = "...", .law = "x' = -rate x"},
///                       {{.name = "rate", .meaning = "decay per unit of time", .standard = "1",
///                         .range = at_least(0)},
///                        {.name = "start", .meaning = "x(0)", .standard = "1"}});
///
/// Its rungs are `flow`, `gd` and, where the law has `sample_rhs`, `sgd`; the ladder is between them.
/// Flows run in double and in many digits; `equations` has symbols for parameters and state. A law
/// that is stiff needs `cast` as well, which gives exact Jacobians.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {

struct LawDescription {
  std::string name;                         ///< of the model
  std::string paper;                        ///< authors, title, arXiv id
  std::string law;                          ///< one line: the equation and what it assumes
  std::string cost = "O(1) an evaluation";  ///< per step, and memory
  double end = 10;                          ///< `--t1` when not given
  double step = 0.1;                        ///< `--eta` of gd and sgd when not given
  long batch = 32;                          ///< `--batch` of sgd when not given
  std::vector<Regime> regimes = {};         ///< what to look for along trajectories
};

/// A law of motion with its type forgotten: what makes it of its parameters, for each scalar.
struct AnyLaw {
  std::function<AnyRung<double>(const std::vector<double>&)> in_double;
  std::function<AnyRung<Real>(const std::vector<Real>&)> in_digits;
  std::function<AnyRung<Expression>(const std::vector<Expression>&)> over_symbols;
};

/// The table of its model. `random`: the law has `sample_rhs`.
ModelTable table_of_law(const LawDescription& description,
                        const std::vector<NumberParameter>& parameters, const AnyLaw& law,
                        bool random);

/// The model; `parameters` one a member of the law, each with its default (`standard`).
template <template <Transcendental> class Law, std::size_t count>
std::shared_ptr<const Model> model_of_law(const LawDescription& description,
                                          const NumberParameter (&parameters)[count]) {
  const auto made = []<class T>(const std::vector<T>& values) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) { return Law<T>{values[i]...}; }
    (std::make_index_sequence<count>{});
  };
  const auto make = [made](const auto& values) { return forget_type(made(values)); };
  return std::make_shared<const Model>(table_of_law(description, {parameters, parameters + count},
                                                    {make, make, make},
                                                    Walk<decltype(made(std::vector<double>()))>));
}

}  // namespace popgrad
