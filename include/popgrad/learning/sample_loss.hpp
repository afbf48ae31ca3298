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
/// The field is minus the expected gradient of the loss of one sample, times the rates of the states. Laws of
/// draws, each call of which is a new variable:
///   bernoulli(p, *shape)  categorical(p, *shape)  index(n, *shape)  normal(*shape, var=)  uniform(*shape)
/// of which the first three are summed over all their values and the expectation over normal draws is a formula,
/// exactly on rationals, wherever a summand of the loss is a polynomial in its normal draws and reads no uniform ones;
/// other summands need `samples`. The cost of a rung lists which summand is had how. Arguments of laws may depend on other draws, not on the states.
/// Slopes of sign, comparisons, argmax and stop_gradient are 0, so the expected gradient of a loss with these in
/// the states need not be the gradient of the expected loss; `no_gradient` reports it.
///
/// Entries refer to each other by name in any order. Indices count from 0. Not there: rates that depend on time,
/// normals with a covariance (write A @ normal(d)).

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
};

struct LossParameter {
  std::string name;
  Value value = "0";       ///< a formula, a number, or lists of numbers, row after row
  std::string shape = {};  ///< such as "d, n"; empty: that of the value
  std::string meaning = {};
  Range range = {};  ///< of every entry
};

struct NamedFormula {
  std::string name, formula;
};

struct LossState {
  std::string name;
  std::string start = "0";  ///< may call laws, which are drawn once by the seed
  std::string shape = {};   ///< empty: that of the start
  std::string rate = "1";   ///< of parameters
};

struct LossObservable {
  std::string name;
  std::string formula;  ///< of states, parameters and `t`; expected(...) of what draws are in
  std::string meaning = {};
  std::string range = "any number";
};

struct SampleLoss {
  std::string name;   ///< of the model
  std::string paper;  ///< authors, title, arXiv id
  std::vector<LossSize> sizes = {};
  std::vector<LossParameter> parameters = {};
  std::vector<NamedFormula> constants = {};
  std::vector<NamedFormula> draws;
  std::vector<LossState> states;
  std::vector<NamedFormula> loss;  ///< steps, of which `loss` is the loss
  std::vector<LossObservable> observables = {};
  /// Samples that stand for the law where the expectation of a summand is not exact; also where its finite draws have
  /// more values than there are samples. 0: none.
  long samples = 0;
  double end = 10;    ///< `--t1` when not given
  double step = 0.1;  ///< `--eta` of gd and sgd when not given
  long batch = 32;    ///< `--batch` of sgd when not given
};

/// Rungs `sgd`, `moments`, `gd` and `flow`; observables `loss`, with samples `loss_error`, its standard error by
/// these, and those written. Throws InputError with the entry, line and column of a mistake, for probabilities that
/// do not sum to 1 to 1e-9, and for laws of more values than memory allows. Cost of a step of sgd: the operations of
/// the loss and its gradient for every sample of the batch; of an evaluation of the field: for all values of the
/// draws of each summand, or all samples.
std::shared_ptr<const Model> model_of_loss(SampleLoss loss);

/// The field of each state, after the parts that are needed more than once, as lines of Python with NumPy. Throws
/// InputError where it is sampled.
std::vector<std::string> field_in_numpy(const SampleLoss& loss, const Parameters& given = {});

/// Why the field need not be the gradient of the expected loss; empty where it is.
std::string no_gradient(const SampleLoss& loss, const Parameters& given = {});

}  // namespace popgrad
