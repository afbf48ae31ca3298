#pragma once
/// Training written down as the law of one sample and its loss, in NumPy's notation; the rungs follow.
///
///   model_of_loss({.name = "logistic",
///                  .sizes = {{"points", 6}, {"classes", 3}, {"d", 2}},
///                  .parameters = {{.name = "X", .value = rows, .shape = "points, d"},
///                                 {.name = "teacher", .value = "eye(classes, d)"}},
///                  .draws = {{"i", "index(points)"}, {"y", "categorical(softmax(teacher @ X[i]))"}},
///                  .states = {{.name = "W", .shape = "classes, d"}},
///                  .loss = {{"loss", "-log_softmax(W @ X[i])[y]"}}})
///
/// The field is minus the expected gradient of the loss of one sample, or its `move`, times the rates of the states. Laws of
/// draws, each call of which is a new variable:
///   bernoulli(p, *shape)  categorical(p, *shape)  index(n, *shape)  normal(*shape, var= | cov=)  uniform(*shape)
/// in which cov is that of the last axis; starts and fixed arrays also call orthogonal(m, n), a uniformly drawn matrix with
/// orthonormal rows or columns. The first three are summed over all their values and the expectation over normal draws is a formula,
/// exactly on rationals, wherever a summand of the loss is a polynomial in its normal draws and reads no uniform ones;
/// other summands need `samples`. So are expectations in observables. The cost of a rung lists which summand is had how. Arguments of laws may depend on other draws, not on the states.
/// Slopes of sign, comparisons, argmax and stop_gradient are 0, so the expected gradient of a loss with these in
/// the states need not be the gradient of the expected loss; `no_gradient` reports it.
///
/// Entries refer to each other by name in any order. Indices count from 0.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/rungs/model.hpp"

namespace popgrad {

/// A whole number that shapes are made of; a parameter of the model.
struct LossSize {
  std::string name;
  long value = 1;
  std::string meaning = {};
  Range range = at_least(1);
};

struct LossParameter {
  std::string name;
  Value value = "0";       ///< a formula, a number, or lists of numbers, row after row
  std::string shape = {};  ///< such as "d, n"; empty: that of the value
  std::string meaning = {};
  Range range = {};  ///< of every entry
  /// Of the whole: "positive_definite", or comparisons joined by "and" that hold for all entries, such as "a < b";
  /// "< 1/n" is of the parameter itself.
  std::string require = {};
};

struct NamedFormula {
  std::string name, formula;
};

struct LossState {
  std::string name;
  /// May call laws, which are drawn once by the seed. Empty: 0, or of a rung with a map what the map makes of the start
  /// of the finer rung.
  std::string start = {};
  std::string shape = {};  ///< empty: that of the start
  /// Of parameters and `t`, which at step k of gd and sgd is eta * k; with `t` there is no rung moments.
  std::string rate = "1";
  /// What takes the place of the gradient: linear in grad(NAME), the gradients by states, and of parameters. Empty: its own.
  std::string move = {};
};

/// Draws with other laws than those of the samples, by their names, for expectations in observables.
struct LossLaw {
  std::string name;
  std::vector<NamedFormula> draws;
};

struct LossObservable {
  std::string name;
  /// Of states, parameters and `t`; expected(...), or expected(..., law='NAME'), of what draws are in.
  std::string formula;
  std::string meaning = {};
  std::string range = "any number";
};

/// A law of motion of its own, such as a reduction, and how it stands to a finer rung. One of `flow`, `step` and
/// `closed` is given, an entry for each state, or `flow` and `closed`: then there is a rung NAME_closed, too. With `map` and
/// `lift` none need be: the flow is derived; with `map` only where its derivative is a formula of it (entries of the map
/// that are single monomials, such as J @ B.T and J @ J.T, of an exact field). Not there: laws left out with `lift` only,
/// and of steps.
/// Formulas may read sizes, parameters, constants, fixed and `t`; left sides and what else they read:
///
///   map     states here            states of the finer rung
///   lift    states of the finer    states here
///   flow    states here            states here: derivatives
///   step    states here            states here: next values, all at the old ones
///   closed  states here            `start(v)`, the start of state v
struct LossRung {
  std::string name;
  /// The finer rung: `flow`, `gd`, `sgd`, a rung of its own; empty: none, the law stands by itself.
  std::string of = "flow";
  /// Those without an entry here have the shape of their map, and the map of the finer start as their start.
  std::vector<LossState> states = {};
  std::vector<NamedFormula> map = {}, lift = {}, flow = {}, step = {}, closed = {};
  /// Time of this rung as an increasing formula of that of the finer, `t`; empty: the same.
  std::string time = {};
  /// A comparison of states here, where it stands for the finer rung; the start has to be inside. Empty: anywhere.
  std::string domain = {};
  std::string assumes = {};  ///< one line, for the ladder
  /// Its residual (residual.hpp) is to be small, not 0: it is measured along the flow.
  bool approximate = false;
  std::string meaning = {};

  /// Those of `states`, then others of its map and laws.
  [[nodiscard]] std::vector<std::string> state_names() const {
    std::vector<std::string> names;
    for (const LossState& s : states) names.push_back(s.name);
    for (const auto* written : {&map, &flow, &step, &closed}) {
      for (const NamedFormula& f : *written) {
        if (std::find(names.begin(), names.end(), f.name) == names.end()) names.push_back(f.name);
      }
    }
    return names;
  }
};

/// A formula of states that does not change along a rung, the author says: names and shapes are checked, not that.
struct LossInvariant {
  std::string name;
  std::string formula;
  std::string of = "flow";
};

/// That stand for a law where nothing exact does, if no number is given.
inline constexpr long usual_samples = 100'000;

struct SampleLoss {
  std::string name;   ///< of the model
  std::string paper;  ///< authors, title, arXiv id
  std::vector<LossSize> sizes = {};
  std::vector<LossParameter> parameters = {};
  std::vector<NamedFormula> constants = {};
  /// Constants that call laws, which are drawn once by the seed: the same for all rungs and runs.
  std::vector<NamedFormula> fixed = {};
  std::vector<NamedFormula> draws = {};
  std::vector<LossLaw> laws = {};
  std::vector<LossState> states = {};
  /// Steps, of which `loss` is the loss. Without these the model has only rungs of its own, the first `of` nothing.
  std::vector<NamedFormula> loss = {};
  /// The expectation of the loss as its author has it, by formulas of states and parameters: the field is that of the first.
  /// Empty: it is derived. Each is held to the law as a residual (residual.hpp).
  std::vector<NamedFormula> expected = {};
  std::vector<LossObservable> observables = {};
  std::vector<LossInvariant> invariants = {};
  std::vector<LossRung> rungs = {};
  /// Samples that stand for the law where the expectation of a summand is not exact; also where its finite draws have
  /// more values than there are samples. 0: none.
  long samples = 0;
  double end = 10;        ///< `--t1` when not given
  double step = 0.1;      ///< `--eta` of gd and sgd when not given
  long batch = 32;        ///< `--batch` of sgd when not given
  std::string file = {};  ///< that it is written in, which commands take for its name; empty: none
};

/// Rungs `sgd`, `moments`, `gd` and `flow`; observables `loss`, `loss_error` where samples or quadrature
/// are in its expectation, and those written. Throws InputError with the entry, line and column of a mistake, for probabilities that
/// do not sum to 1 to 1e-9, and for laws of more values than memory allows. Cost of a step of sgd: the operations of
/// the loss and its gradient for every sample of the batch; of an evaluation of the field: for all values of the
/// draws of each summand, or all samples.
std::shared_ptr<const Model> model_of_loss(SampleLoss loss);

/// The field of each state of a rung, training's (`flow`, `gd`) or one that flows of its own, after the parts that are
/// needed more than once, as lines of Python with NumPy. Throws InputError where it is sampled.
std::vector<std::string> field_in_numpy(const SampleLoss& loss, const Parameters& given = {},
                                        const std::string& rung = "flow");
/// Why the field need not be the gradient of the expected loss; empty where it is.
std::string no_gradient(const SampleLoss& loss, const Parameters& given = {});

}  // namespace popgrad
