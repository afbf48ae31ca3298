#pragma once
/// A model as a table: a row a rung, with its parameters, its observables and what makes it.
///
/// A model with one law of motion need not be written: popgrad/rungs/law_model.hpp makes it from the law.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {

struct Examination;
struct Prediction;

enum class RungKind {
  flow,
  descent,
  random,
  closed_form,
  moments,  ///< of a random rung: the predicted law of its runs
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
  bool averages_batches =
      false;  ///< descent by the mean of random steps, which depends on `--batch`
};

/// Takes steps: SGD, its moments and descent.
inline bool walks(const RungInfo& info) {
  return info.kind == RungKind::random || info.kind == RungKind::descent ||
         info.kind == RungKind::moments;
}
/// Draws batches, or has the law of such runs.
inline bool samples(const RungInfo& info) {
  return info.kind == RungKind::random || info.kind == RungKind::moments;
}
inline bool has_batch(const RungInfo& info) { return samples(info) || info.averages_batches; }

/// Two neighbouring rungs, and the assumption that leads from the one to the other.
struct LadderStep {
  std::string finer, coarser;
  std::string assumption;  ///< one line
  std::string end;         ///< --t1 that shows it, when not given
  /// The instance that shows it, when none is given; empty: the usual one.
  Record parameters;
  /// The coarser rung exists only for instances of this form.
  bool special = false;
};

/// A rung of a model: a row of its table.
struct Rung {
  RungInfo info;
  std::vector<ParameterInfo> reads;         ///< its parameters
  std::vector<ObservableInfo> observables;  ///< of all its instances
  /// The rung at these parameters. Throws InputError.
  std::function<AnyRung<double>(const Parameters&, std::uint64_t seed)> make = {};
  /// Of `moments` in place of that: the law of the runs of `sgd` (popgrad/fluctuations/prediction.hpp). Throws
  /// InputError if the law of one draw is not known.
  std::function<std::shared_ptr<const Prediction>(const Parameters&, std::uint64_t seed)> predict =
      {};
  /// The same in many digits; empty: it has no such form.
  std::function<AnyRung<Real>(const Parameters&, std::uint64_t seed)> make_in_digits = {};
  /// The same over symbols, at sizes small enough to read; its `initial` is the symbolic state.
  std::function<AnyRung<Expression>(const Parameters&)> make_over_symbols = {};
  std::string why_no_symbols = "has no form over symbols";  ///< where it is empty

  /// The same with both makers from one template: make.operator()<T>(p, seed) for T = double, Real.
  template <class Make>
  [[nodiscard]] Rung made_by(const Make& maker) const {
    Rung rung = *this;
    rung.make = [maker](const Parameters& p, std::uint64_t seed) {
      return maker.template operator()<double>(p, seed);
    };
    rung.make_in_digits = [maker](const Parameters& p, std::uint64_t seed) {
      return maker.template operator()<Real>(p, seed);
    };
    return rung;
  }
};

/// What a model consists of, in the order of `popgrad list`.
struct ModelTable {
  std::string name;
  std::string paper;  ///< authors, title, arXiv id
  std::vector<Rung> rungs;
  std::string word = {};  ///< that commands take for it; empty: the name
  /// What the formulas of observables share, in paragraphs, indented lines being formulas; may be empty.
  std::string notation = {};
  std::vector<LadderStep> ladder = {};  ///< from training to the closed form
  /// What to look for along the trajectories of any rung that has the observable.
  std::vector<Regime> regimes = {};
  /// Which hypotheses of the theory these parameters meet, and which of its conclusions the trajectory of
  /// a rung shows; nothing, or empty, where a model has no such audit.
  std::function<std::shared_ptr<const Examination>(std::string_view rung, const Parameters&,
                                                   std::uint64_t seed, const AnyRung<double>& made,
                                                   const Trajectory<double>& run)>
      audit = {};
};

/// A table of rungs, asked by name.
class Model {
 public:
  /// Throws std::logic_error if two rungs have one name.
  explicit Model(ModelTable table);
  [[nodiscard]] const std::string& name() const { return table_.name; }
  [[nodiscard]] const std::string& word() const {
    return table_.word.empty() ? table_.name : table_.word;
  }
  [[nodiscard]] const std::string& paper() const { return table_.paper; }
  [[nodiscard]] const std::string& notation() const { return table_.notation; }
  [[nodiscard]] const std::vector<Rung>& table() const { return table_.rungs; }
  [[nodiscard]] std::vector<RungInfo> rungs() const;
  /// Those of the first rung, then what each further one reads in addition; with the rungs that read
  /// them, none named where all do.
  [[nodiscard]] const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<LadderStep>& ladder() const { return table_.ladder; }
  [[nodiscard]] const std::vector<Regime>& regimes() const { return table_.regimes; }

  /// The row of a name. Throws InputError with the nearest name.
  [[nodiscard]] const Rung& row(std::string_view name) const;
  /// What the row makes. Throws InputError, also where the rung has no such form or is predicted.
  [[nodiscard]] AnyRung<double> rung(std::string_view name, const Parameters& p,
                                     std::uint64_t seed) const;
  [[nodiscard]] AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                             std::uint64_t seed) const;
  [[nodiscard]] AnyRung<Expression> symbolic_rung(std::string_view name, const Parameters& p) const;
  [[nodiscard]] std::shared_ptr<const Examination> audit(std::string_view rung, const Parameters& p,
                                                         std::uint64_t seed,
                                                         const AnyRung<double>& made,
                                                         const Trajectory<double>& run) const;

 private:
  ModelTable table_;
  std::vector<ParameterInfo> parameters_;
};

/// Rungs of instances that can be trained, of the ladder that `rung` stands on: those of no special form
/// that a step leads to from it, one way or the other. Empty where it has no such step.
std::set<std::string> rungs_of_training(const Model& model, const std::string& rung);

/// Where a parameter that is given says how flows are then solved; empty: as the rung has it.
struct FlowDefaults {
  std::string end, tolerance;
};
FlowDefaults flow_defaults(const Model& model, const Parameters& parameters);

/// Throws InputError for a parameter that none of these rungs reads; the first is named.
void require_read(const Parameters& parameters, const Model& model,
                  const std::vector<std::string>& rungs);

/// Throws InputError with the nearest name.
inline const RungInfo& find_rung(const Model& model, std::string_view name) {
  return model.row(name).info;
}

}  // namespace popgrad
