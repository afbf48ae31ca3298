#pragma once
/// Measures of a theory file's statements, each number with its error parts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "learning/loss_arrays.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theory_files/statement_text.hpp"

namespace popgrad::theory_files {

/// A theory at given parameters. Its model is made when it is first needed; not for several threads.
class Instance {
 public:
  Instance(SampleLoss loss, Parameters given, std::uint64_t seed)
      : loss(std::move(loss)), given(std::move(given)), seed(seed) {}

  SampleLoss loss;
  Parameters given;
  std::uint64_t seed;

  [[nodiscard]] const Model& model() const;

 private:
  mutable std::shared_ptr<const Model> model_;
};

/// Formulas of the states of a rung, of finer ones through its lift, of parameters and of `t`. Not for several threads.
template <class T>
class StateFormulas {
 public:
  /// Throws InputError for a formula that reads what the rung does not give.
  StateFormulas(const Instance& instance, const std::string& rung,
                const std::vector<learning::AskedFormula>& asked);
  ~StateFormulas();
  StateFormulas(StateFormulas&&) noexcept;
  StateFormulas& operator=(StateFormulas&&) noexcept;

  /// Whether the formula at this place has a type (AskedFormula::may_fail).
  [[nodiscard]] bool has(std::size_t k) const;
  /// Of the formula at this place.
  [[nodiscard]] const formulas::Shape& shape(std::size_t k) const;
  /// Whether any of them reads a state.
  [[nodiscard]] bool reads_states() const;
  /// Entries of all, one formula after the other; the state may be empty where none reads it. Not a number where
  /// one is not defined.
  [[nodiscard]] Vector<T> at(const Vector<T>& state, const T& t);
  /// Of the same entries the differences to fewer nodes of quadrature; empty where there is no quadrature.
  [[nodiscard]] Vector<T> gaps_at(const Vector<T>& state, const T& t);

 private:
  void run_at(const Vector<T>& state, const T& t);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Numbers of a measure or a formula: all entries at one time, then those at the next.
struct Measured {
  std::vector<double> times{0};      ///< of `along`; 0 for the others
  std::vector<std::string> entries;  ///< names: "", of an array "[0, 1]"
  std::vector<Quantity> numbers;
  /// Of every number: "`[0, 1]` at `t = 3`"; empty of a single one.
  [[nodiscard]] std::vector<std::string> places() const;
};

/// Formulas at the start of a rung, at some times. Values from 50 digits; parts: rounding, by which double differs, and
/// next order, by which fewer nodes of quadrature differ.
/// Those without a type are empty (AskedFormula::may_fail).
std::vector<Measured> at_start(const Instance& instance, const std::string& rung,
                               const std::vector<learning::AskedFormula>& asked,
                               const std::vector<double>& times = {0});

/// What a measure `residual` names, as in residual_subjects: "rung.pair" of `pair`, "rung.pair.closed" of `pair.closed`,
/// "invariant.balance" of `balance`. Throws InputError with the nearest.
std::string residual_subject(const SampleLoss& loss, const MeasureText& measure);

/// `times`: of an `along` that names none. Throws InputError for a measure that the rung has not, and Failure where
/// nothing can be measured: no rest, no event, a sampled field. Parts: solver, rounding; of a limit next order, what
/// is left of the way by the rate at which the field falls, for which it takes an evaluation for each component; next
/// order of a formula by quadrature, its difference to fewer nodes; of a residual sampling. Cost: five solves, of a residual two; steps are taken in 50 digits.
Measured measured(const Instance& instance, const MeasureText& measure,
                  const std::vector<double>& times = {});

}  // namespace popgrad::theory_files
