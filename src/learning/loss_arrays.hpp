#pragma once
/// A SampleLoss at given sizes as arrays of one graph, checked.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/evaluator.hpp"
#include "formulas/graph.hpp"
#include "learning/laws.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad::learning {

/// Of a parameter, or of a draw of [fixed], which has numbers.
struct ParameterArray {
  Array variable;
  std::optional<Array> formula;        ///< where no numbers are given
  std::vector<std::string> numbers{};  ///< texts, row after row
  Range range{};
};

struct StateArray {
  Array variable, start, rate;
  std::optional<Array> move{};  ///< of `LossArrays::gradients`
};

struct ObservableArray {
  std::string name;
  Array array;
};

/// `variable` stands for the expectation of `formula`, which is sampled or by quadrature, in observables.
struct ExpectedCall {
  std::string entry;  ///< that has it
  Array variable, formula;
  std::optional<Array> by_quadrature{};  ///< this expectation
};

/// Of a parameter: positive definite where there is no comparison.
struct Requirement {
  std::string name, rule;
  Array parameter;
  std::optional<Array> comparison;
};

struct InvariantArray {
  std::string name;
  std::optional<std::size_t> own;  ///< place of its rung among those of their own; none: the flow
  Array array;                     ///< of the states of its rung
};

/// An entry as it is written, of any kind: "draw", "loss step".
struct NamedEntry {
  std::string kind, name;
  Array array;
};

/// A rung of its own (LossRung) at these sizes. Arrays of laws are empty where they are not written, else one a state.
struct OwnArrays {
  std::string name;
  bool of_loss = false;   ///< the finer rung is one of training
  bool of_steps = false;  ///< the finer rung steps
  bool of_sgd = false;
  std::optional<std::size_t> finer;  ///< place of the finer one among the rungs of their own
  std::vector<std::string> names;    ///< of the states, as written
  std::vector<Array> states;         ///< variables, of names that no other has
  std::vector<std::optional<Array>> starts;
  std::vector<Draw> start_draws;
  std::vector<Array> map;   ///< of the finer states
  std::vector<Array> lift;  ///< one a finer state
  std::vector<Array> flow, step, closed;
  std::vector<Array> start_variables;  ///< that `closed` reads, one a state
  std::optional<Array> time, time_slope, domain;
  std::vector<ObservableArray> observables;  ///< whose formulas read nothing that is not here
  std::vector<ObservableArray> coarser;      ///< maps of rungs that are coarser, as columns

  [[nodiscard]] bool has_law() const { return !flow.empty() || !step.empty() || !closed.empty(); }
  /// By a law that is given or derived.
  [[nodiscard]] bool steps() const { return !step.empty() || (!has_law() && of_steps); }
  [[nodiscard]] bool flows() const { return !flow.empty() || (!has_law() && !of_steps); }
};

/// A formula in addition to those of the text: of parameters, `t`, `eta`, observables, and the states of a rung or of finer ones.
struct AskedFormula {
  std::string entry;  ///< for messages
  std::string rung;   ///< of its own; another name: training
  std::string formula;
  bool draws = false;     ///< may call laws, which the seed draws as those of starts
  bool may_fail = false;  ///< no array where it is none, in place of an error
};

/// Graph and arrays; not for several threads.
struct LossArrays {
  /// `seed` draws what is fixed.
  LossArrays(const SampleLoss& written, const Parameters& given,
             const std::vector<AskedFormula>& asked = {}, std::uint64_t seed = 0);

  std::unique_ptr<formulas::Graph> graph = std::make_unique<formulas::Graph>();
  std::vector<ParameterArray> parameters;  ///< formulas after those that they read
  std::vector<Draw> draws;                 ///< after those that they depend on
  std::vector<Draw> start_draws;
  std::vector<StateArray> states;
  std::vector<Array>
      gradients;  ///< variables of directions, one a state; empty without moves and rates of `t`
  Array loss;     ///< of one sample; no array where the text has no loss
  std::vector<Array> expected;               ///< expectations of the loss that are written
  std::vector<ObservableArray> observables;  ///< then the maps of rungs of their own
  std::vector<ExpectedCall> expectations;    ///< of draws, in observables
  std::vector<Requirement> requirements;
  std::vector<OwnArrays> own;
  std::vector<InvariantArray> invariants;
  std::vector<NamedEntry> entries;          ///< of all kinds but sizes, in the order of the text
  std::vector<std::optional<Array>> asked;  ///< as asked for
  std::vector<Draw> asked_draws;

  /// States of the rung that is finer than an own one.
  [[nodiscard]] std::vector<Array> finer_states(const OwnArrays& rung) const;
  /// The place among `own` of a rung, or of its closed form; nothing for one of training.
  [[nodiscard]] std::optional<std::size_t> own_place(std::string_view rung) const;
  /// Numbers of the state.
  [[nodiscard]] Index dimension() const;
  [[nodiscard]] std::vector<Array> state_variables() const;
  /// Does a rate depend on time?
  [[nodiscard]] bool has_timed_rates() const;
  /// Minus rates times moves of these gradients, one a state.
  [[nodiscard]] std::vector<Array> directions(const std::vector<Array>& slopes) const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// Those of the observables.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// Of all parameters, for evaluators that are prepared after these are written; none for rationals: parameters
  /// are 0 before, and rationals are not divided by that.
  template <class T>
  [[nodiscard]] std::vector<std::string> steady_names() const {
    return ScalarAbilities<T>::exact ? std::vector<std::string>{} : parameter_names();
  }
  [[nodiscard]] std::vector<std::string> parameter_names() const;

  /// Summands of the loss.
  [[nodiscard]] std::vector<Array> parts() const;
  /// Draws that any of these formulas reads, as read_draws has them.
  [[nodiscard]] std::vector<Draw> draws_of(const std::vector<Array>& formulas) const;
  /// As in no_gradient of sample_loss.hpp.
  [[nodiscard]] std::string no_gradient() const;
  /// Where the loss jumps with a state, or stops its gradient; empty where it does not.
  [[nodiscard]] std::string jumps() const;
};

/// Of the name of the closed form of a rung that flows, too.
inline constexpr const char* closed_ending = "_closed";
inline constexpr const char* time_name = "t";
inline constexpr const char* step_size_name = "eta";
inline constexpr const char* batch_name = "batch";

/// Summands of a formula.
std::vector<Array> summands(const Array& formula);

/// Throws InputError for a parameter that does not meet its requirement.
void require_parameters(const SampleLoss& written, const LossArrays& arrays,
                        const std::vector<std::vector<double>>& parameters);

/// Numbers of all parameters, in the order of `parameters`. Throws InputError for one outside its range.
template <class T>
std::vector<std::vector<T>> parameter_values(const LossArrays& arrays);

/// Writes those that the evaluator reads, and prepares it.
template <class T>
void set_parameters(formulas::Evaluator<T>& evaluator, const LossArrays& arrays,
                    const std::vector<std::vector<T>>& values);

/// Of these outputs, prepared with the numbers of the parameters.
template <class T>
formulas::Evaluator<T> prepared(const std::vector<Array>& outputs, const LossArrays& arrays,
                                const std::vector<std::vector<T>>& values) {
  formulas::Evaluator<T> evaluator(outputs, arrays.steady_names<T>());
  set_parameters(evaluator, arrays, values);
  return evaluator;
}

/// Entries of a formula of the parameters. Throws InputError where one is no finite number.
template <class T>
std::vector<T> evaluated(const Array& formula, const LossArrays& arrays,
                         const std::vector<std::vector<T>>& values) {
  formulas::Evaluator<T> evaluator = prepared({formula}, arrays, values);
  evaluator.run();
  evaluator.require_defined();
  return {evaluator.output(0).begin(), evaluator.output(0).end()};
}

/// "NAME: WHERE: REASON", for a mistake in an entry.
[[noreturn]] void reject_entry(const std::string& model, const std::string& entry,
                               const std::string& reason);

/// Names of the entries of arrays, one array after the other.
std::vector<std::string> entry_names(const std::vector<std::string>& names,
                                     const std::vector<Array>& arrays);
/// Names of the entries of an array: NAME, NAME_0, NAME_0_1.
std::vector<std::string> entry_names(const std::string& name, const Shape& shape);

}  // namespace popgrad::learning
