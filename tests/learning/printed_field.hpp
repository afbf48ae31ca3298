#pragma once
/// The field of a loss as it prints, evaluated again.

#include <algorithm>
#include <string>
#include <vector>

#include "formulas/elaborate.hpp"
#include "formulas/evaluator.hpp"
#include "learning/loss_arrays.hpp"
#include "popgrad/learning/sample_loss.hpp"

namespace popgrad::printed {

/// At a state, on any scalar of the evaluator.
template <class T>
Vector<T> field_at(const SampleLoss& loss, const Vector<T>& x) {
  using namespace formulas;
  const Parameters usual(loss.name);
  const learning::LossArrays arrays(loss, usual);
  Scope scope;
  for (const LossSize& size : loss.sizes)
    scope.emplace(size.name, arrays.graph->size(size.name, size.value));
  for (const learning::ParameterArray& p : arrays.parameters)
    scope.emplace(p.variable.node().text, p.variable);
  for (const Array& s : arrays.state_variables()) scope.emplace(s.node().text, s);
  std::vector<Array> fields(arrays.states.size());
  for (const std::string& line : field_in_numpy(loss)) {
    const std::size_t equals = line.find(" = ");
    const std::string name = line.substr(0, equals);
    const Array array = elaborate(syntax::parse(line.substr(equals + 3)), *arrays.graph, scope);
    scope.emplace(name, array);
    for (std::size_t k = 0; k < fields.size(); ++k) {
      if (name == "d_" + arrays.states[k].variable.node().text) fields[k] = array;
    }
  }
  Evaluator<T> evaluator(fields);
  const auto values = learning::parameter_values<T>(arrays);
  learning::set_parameters(evaluator, arrays, values);
  Index from = 0;
  for (const Array& s : arrays.state_variables()) {
    const auto to = evaluator.variable(s.node().text);
    if (!to.empty()) std::copy(x.data() + from, x.data() + from + std::ssize(to), to.begin());
    from += entries(s.shape());
  }
  evaluator.run();
  Vector<T> made(x.size());
  Index i = 0;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    for (const T& number : evaluator.output(k)) made[i++] = number;
  }
  return made;
}

}  // namespace popgrad::printed
