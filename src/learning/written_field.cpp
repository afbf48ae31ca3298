#include "learning/written_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "formulas/print.hpp"
#include "formulas/rebuild.hpp"
#include "formulas/simplify.hpp"
#include "learning/rung_laws.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace written_field_cpp {
namespace {

using namespace learning;
using formulas::Array;

const std::vector<Array>& field_of(const RungLaw& law, const std::string& name) {
  if (!law.sampled_at.empty())
    reject_entry(name, "loss",
                 "is sampled or by quadrature, so its field has no formula of its own");
  return law.values;
}

// Of a rung of its own; its states are those of other names where these are taken.
std::vector<Array> law_of(RungLaws& laws, const std::string& name, std::size_t place,
                          Motion motion) {
  LossArrays& arrays = laws.arrays();
  const OwnArrays& own = arrays.own[place];
  std::vector<Array> law = motion == Motion::value ? own.closed : field_of(laws.own(place), name);
  std::vector<Array> from = own.states, to;
  for (std::size_t k = 0; k < own.states.size(); ++k)
    to.push_back(arrays.graph->variable(own.names[k], own.states[k].shape()));
  for (std::size_t k = 0; k < own.start_variables.size() && motion == Motion::value; ++k) {
    from.push_back(own.start_variables[k]);
    to.push_back(arrays.graph->variable(own.names[k] + "_at_0", own.states[k].shape()));
  }
  if (motion == Motion::value && own.time)
    law = formulas::substituted(law, {arrays.graph->variable(time_name, {})}, {*own.time});
  return formulas::substituted(law, from, to);
}

}  // namespace
}  // namespace written_field_cpp

learning::WrittenLaw learning::written_law(const SampleLoss& loss, const std::string& rung,
                                           const Parameters& given) {
  using namespace written_field_cpp;
  RungLaws laws(loss, given);
  const LossArrays& arrays = laws.arrays();
  WrittenLaw made;
  std::vector<Array> law;
  const auto own = std::find_if(arrays.own.begin(), arrays.own.end(), [&](const OwnArrays& o) {
    return o.name == rung || (!o.closed.empty() && o.name + closed_ending == rung);
  });
  if (own != arrays.own.end()) {
    made.states = own->names;
    made.motion = own->steps()                         ? Motion::next
                  : own->name != rung || !own->flows() ? Motion::value
                                                       : Motion::rate;
    law = law_of(laws, loss.name, static_cast<std::size_t>(own - arrays.own.begin()), made.motion);
  } else if (rung == "flow" || rung == "gd") {
    for (const StateArray& s : arrays.states) made.states.push_back(s.variable.node().text);
    law = field_of(laws.training(), loss.name);
  } else {
    throw InputError(
        fmt::format("{} {}: has no field of its own to print; give flow", loss.name, rung));
  }
  // What an author has written stays as it is.
  if (own == arrays.own.end() || !own->has_law()) {
    std::vector<Array> symmetric;
    for (const learning::Requirement& r : arrays.requirements) {
      // Positive definite, which is a rule for symmetric matrices.
      if (!r.comparison) symmetric.push_back(r.parameter);
    }
    law = formulas::simplified(law, symmetric);
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

std::vector<std::string> field_in_numpy(const SampleLoss& loss, const Parameters& given,
                                        const std::string& rung) {
  const learning::WrittenLaw law = learning::written_law(loss, rung, given);
  std::vector<std::string> lines;
  for (const auto* some : {&law.parts, &law.results}) {
    for (const formulas::Written& line : *some)
      lines.push_back(line.name + " = " + formulas::syntax::to_numpy(line.tree));
  }
  return lines;
}

}  // namespace popgrad
