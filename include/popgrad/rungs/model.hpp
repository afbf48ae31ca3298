#pragma once
/// What a model offers to the commands: its rungs, parameters and observables by name.
///
/// A model with one law of motion need not be written: popgrad/rungs/law_model.hpp makes it from the law.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {

struct Examination;

enum class RungKind {
  flow,
  descent,
  random,
  closed_form,
  moments,  ///< of a random rung: takes its steps, draws nothing
};

struct RungInfo {
  std::string name;
  RungKind kind = RungKind::flow;
  std::string summary;      ///< one line: the law of motion and what it assumes
  std::string cost;         ///< per step, and memory
  std::string column_note;  ///< said beside the names of its columns in `list`; or empty
  std::string default_end;  ///< `--t1` (flows) or `--steps` (descent, random) when not given
  std::string default_step = "0.1";  ///< `--eta` of descent and random rungs when not given
  long default_batch = 32;           ///< `--batch` of random rungs when not given
};

/// Takes steps: SGD, its moments and descent.
inline bool walks(const RungInfo& info) {
  return info.kind == RungKind::random || info.kind == RungKind::descent ||
         info.kind == RungKind::moments;
}
/// Has a batch.
inline bool samples(const RungInfo& info) {
  return info.kind == RungKind::random || info.kind == RungKind::moments;
}

/// Two neighbouring rungs, and the assumption that leads from the one to the other.
struct LadderStep {
  std::string finer, coarser;
  std::string assumption;  ///< one line
  std::string end;         ///< --t1 that shows it, when not given
  /// The instance that shows it, when none is given; empty: the usual one.
  Record parameters;
  /// The coarser rung is for instances of this form alone.
  bool special = false;
};

class Model {
 public:
  virtual ~Model() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string paper() const = 0;
  [[nodiscard]] virtual std::vector<RungInfo> rungs() const = 0;
  [[nodiscard]] virtual std::vector<ParameterInfo> parameters() const { return {}; }

  /// From training to the closed form, in order.
  [[nodiscard]] virtual std::vector<LadderStep> ladder() const { return {}; }

  /// What to look for along the trajectories of any rung that has the observable.
  [[nodiscard]] virtual std::vector<Regime> regimes() const { return {}; }

  /// The rung at these parameters. Throws InputError.
  [[nodiscard]] virtual AnyRung<double> rung(std::string_view name, const Parameters& p,
                                             std::uint64_t seed) const = 0;
  /// The same in many digits; InputError if the rung has no such form.
  [[nodiscard]] virtual AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                                     std::uint64_t seed) const;
  /// Which hypotheses of the theory these parameters meet, and which of its conclusions the
  /// trajectory of a rung shows; nothing where a model has no such audit.
  [[nodiscard]] virtual std::shared_ptr<const Examination> audit(
      std::string_view /*rung*/, const Parameters& /*p*/, std::uint64_t /*seed*/,
      const AnyRung<double>& /*rung_made*/, const Trajectory<double>& /*run*/) const {
    return nullptr;
  }
  /// The rung over symbols, at sizes small enough to read; its `initial` is the symbolic state.
  /// InputError if the rung has no such form.
  [[nodiscard]] virtual AnyRung<Expression> symbolic_rung(std::string_view name,
                                                          const Parameters& p) const;
};

/// Throws InputError with the nearest name.
RungInfo find_rung(const Model& model, std::string_view name);

}  // namespace popgrad
