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
///                       {{"rate", "1", "per unit of time, >= 0", 0}, {"start", "1", "x(0)"}});
///
/// Its rungs are `flow`, `gd` and, where the law has `sample_rhs`, `sgd`; the ladder is between them.
/// Flows run in double and in many digits; `equations` has symbols for parameters and state. A law
/// that is stiff needs `cast` as well, which gives exact Jacobians.

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {

/// A number that a law reads.
struct LawParameter {
  std::string name;                                         ///< flag `--name`, key in files
  std::string usual;                                        ///< the default, as text
  std::string meaning;                                      ///< with its unit and what is allowed
  double least = -std::numeric_limits<double>::infinity();  ///< the lowest value allowed
};

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

/// What a model of one law knows without the type of the law.
class LawModel : public Model {
 public:
  LawModel(LawDescription description, std::vector<LawParameter> parameters);
  [[nodiscard]] std::string name() const final { return description_.name; }
  [[nodiscard]] std::string paper() const final { return description_.paper; }
  [[nodiscard]] std::vector<RungInfo> rungs() const final;
  [[nodiscard]] std::vector<ParameterInfo> parameters() const final;
  [[nodiscard]] std::vector<LadderStep> ladder() const final;
  [[nodiscard]] std::vector<Regime> regimes() const final { return description_.regimes; }

 protected:
  /// Whether the law has `sample_rhs`.
  [[nodiscard]] virtual bool random() const = 0;
  /// Throws InputError with the nearest name.
  void check_rung(std::string_view name) const;
  /// The parameters in the order declared, checked. T: double or Real.
  template <class T>
  [[nodiscard]] std::vector<T> values(const Parameters& p) const;
  /// A symbol for each parameter.
  [[nodiscard]] std::vector<Expression> symbols() const;

 private:
  LawDescription description_;
  std::vector<LawParameter> parameters_;
};

/// The model of the laws that `Make` makes, for every scalar T, of a std::vector<T> of parameters.
template <class Make>
class ModelOfLaw final : public LawModel {
 public:
  using LawModel::LawModel;

  [[nodiscard]] AnyRung<double> rung(std::string_view name, const Parameters& p,
                                     std::uint64_t /*seed*/) const override {
    check_rung(name);
    AnyRung<double> rung = forget_type(Make{}(values<double>(p)));
    if (name != "sgd") rung.sample_rhs = nullptr;
    return rung;
  }
  [[nodiscard]] AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                             std::uint64_t seed) const override {
    if (name != "flow") return Model::rung_in_digits(name, p, seed);
    return forget_type(Make{}(values<Real>(p)));
  }
  [[nodiscard]] AnyRung<Expression> symbolic_rung(std::string_view name,
                                                  const Parameters& /*p*/) const override {
    check_rung(name);
    AnyRung<Expression> rung = forget_type(Make{}(symbols()));
    for (Index i = 0; i < rung.dimension; ++i) {
      rung.initial[i] = GiNaC::symbol(rung.state_names[static_cast<std::size_t>(i)]);
    }
    return rung;
  }

 private:
  [[nodiscard]] bool random() const override {
    return Walk<decltype(Make{}(std::vector<double>()))>;
  }
};

/// The model; `parameters` one a member of the law.
template <template <Transcendental> class Law, std::size_t count>
std::shared_ptr<const Model> model_of_law(LawDescription description,
                                          const LawParameter (&parameters)[count]) {
  const auto make = []<class T>(const std::vector<T>& values) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) { return Law<T>{values[i]...}; }
    (std::make_index_sequence<count>{});
  };
  return std::make_shared<ModelOfLaw<std::remove_const_t<decltype(make)>>>(
      std::move(description), std::vector<LawParameter>(parameters, parameters + count));
}

}  // namespace popgrad
