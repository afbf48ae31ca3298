#include "learning/written_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "formulas/gradient.hpp"
#include "formulas/print.hpp"
#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace written_field_cpp {
namespace {

using namespace learning;
using formulas::Array;

// Minus the expected gradient, times the rates.
std::vector<Array> field_of(LossArrays& arrays, const SampleLoss& loss) {
  const ExpectedLoss expected(arrays, loss);
  if (expected.sampled)
    reject_entry(loss.name, "loss", "is sampled, so its field has no formula of its own");
  std::vector<Array> fields = formulas::gradient(expected.summed, arrays.state_variables());
  for (std::size_t k = 0; k < fields.size(); ++k) fields[k] = -(arrays.states[k].rate * fields[k]);
  return fields;
}

std::vector<Array> flow_of(LossArrays& arrays, const SampleLoss& loss, const OwnArrays& own) {
  if (!own.flow.empty()) {
    if (!own.time) return own.flow;
    std::vector<Array> made =
        formulas::replaced(own.flow, {arrays.graph->variable(time_name, {})}, {*own.time});
    for (Array& flow : made) flow = *own.time_slope * flow;
    return made;
  }
  const std::vector<Array> finer =
      own.finer ? flow_of(arrays, loss, arrays.own[*own.finer]) : field_of(arrays, loss);
  const std::vector<Array> states = arrays.finer_states(own);
  return formulas::replaced(formulas::derivative_along(own.map, states, finer), states, own.lift);
}

// Of a rung of its own; its states are those of other names where these are taken.
std::vector<Array> law_of(LossArrays& arrays, const SampleLoss& loss, const OwnArrays& own,
                          Motion motion) {
  std::vector<Array> law = motion == Motion::next    ? own.step
                           : motion == Motion::value ? own.closed
                                                     : flow_of(arrays, loss, own);
  std::vector<Array> from = own.states, to;
  for (std::size_t k = 0; k < own.states.size(); ++k)
    to.push_back(arrays.graph->variable(own.names[k], own.states[k].shape()));
  for (std::size_t k = 0; k < own.start_variables.size() && motion == Motion::value; ++k) {
    from.push_back(own.start_variables[k]);
    to.push_back(arrays.graph->variable(own.names[k] + "_at_0", own.states[k].shape()));
  }
  if (motion == Motion::value && own.time)
    law = formulas::replaced(law, {arrays.graph->variable(time_name, {})}, {*own.time});
  return formulas::replaced(law, from, to);
}

}  // namespace
}  // namespace written_field_cpp

learning::WrittenLaw learning::written_law(const SampleLoss& loss, const std::string& rung,
                                           const Parameters& given) {
  using namespace written_field_cpp;
  LossArrays arrays(loss, given);
  WrittenLaw made;
  std::vector<Array> law;
  const std::string_view closed = "_closed";
  const auto own = std::find_if(arrays.own.begin(), arrays.own.end(), [&](const OwnArrays& o) {
    return o.name == rung || (!o.closed.empty() && o.name + std::string(closed) == rung);
  });
  if (own != arrays.own.end()) {
    made.states = own->names;
    made.motion = !own->step.empty()                                           ? Motion::next
                  : own->name != rung || (own->flow.empty() && own->has_law()) ? Motion::value
                                                                               : Motion::rate;
    law = law_of(arrays, loss, *own, made.motion);
  } else if (rung == "flow" || rung == "gd") {
    for (const StateArray& s : arrays.states) made.states.push_back(s.variable.node().text);
    law = field_of(arrays, loss);
  } else {
    throw InputError(
        fmt::format("{} {}: has no field of its own to print; give flow", loss.name, rung));
  }
  law = formulas::in_numpy(law);
  const char* const prefix = made.motion == Motion::rate   ? "d_"
                             : made.motion == Motion::next ? "next_"
                                                           : "";
  std::vector<formulas::NamedArray> outputs;
  for (std::size_t k = 0; k < law.size(); ++k) outputs.push_back({prefix + made.states[k], law[k]});
  made.parts = formulas::written(outputs);
  const auto results = made.parts.end() - static_cast<std::ptrdiff_t>(law.size());
  made.results.assign(std::make_move_iterator(results), std::make_move_iterator(made.parts.end()));
  made.parts.erase(results, made.parts.end());
  return made;
}

std::vector<std::string> field_in_numpy(const SampleLoss& loss, const Parameters& given) {
  const learning::WrittenLaw law = learning::written_law(loss, "flow", given);
  std::vector<std::string> lines;
  for (const auto* some : {&law.parts, &law.results}) {
    for (const formulas::Written& line : *some)
      lines.push_back(line.name + " = " + formulas::syntax::to_numpy(line.tree));
  }
  return lines;
}

}  // namespace popgrad
