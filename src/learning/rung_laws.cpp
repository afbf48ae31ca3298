#include "learning/rung_laws.hpp"

#include <fmt/format.h>

#include <utility>

#include "expectations/closure.hpp"
#include "formulas/gradient.hpp"
#include "formulas/rebuild.hpp"
#include "formulas/simplify.hpp"

namespace popgrad::learning {

using formulas::substituted;

RungLaws::RungLaws(const SampleLoss& loss, const Parameters& given)
    : name_(loss.name), arrays_(loss, given) {
  if (!loss.loss.empty()) expected_.emplace(arrays_, loss);
}

const RungLaw& RungLaws::training() {
  if (training_) return *training_;
  RungLaw law{.names = {}, .states = arrays_.state_variables(), .values = {}, .sampled_at = {}};
  if (expected_->has_error()) law.sampled_at = law.states;
  for (const Array& state : law.states) {
    law.names.push_back(state.node().text);
    if (expected_->has_error())
      law.values.push_back(arrays_.graph->variable("field of " + law.names.back(), state.shape()));
  }
  if (!expected_->has_error()) law.values = arrays_.directions(expected_->slopes);
  training_ = std::move(law);
  return *training_;
}

RungLaw RungLaws::finer(const OwnArrays& own, bool steps) {
  RungLaw law = own.finer ? this->own(*own.finer) : training();
  if (steps && own.of_loss) {
    const Array eta = arrays_.graph->variable(step_size_name, {});
    for (std::size_t k = 0; k < law.values.size(); ++k)
      law.values[k] = law.states[k] + eta * law.values[k];
  }
  return law;
}

RungLaw RungLaws::own(std::size_t place) {
  const OwnArrays& own = arrays_.own[place];
  RungLaw law{.names = own.names, .states = own.states, .values = own.step, .sampled_at = {}};
  if (!own.flow.empty()) {
    law.values = own.flow;
    if (own.time) {
      law.values = substituted(own.flow, {time()}, {*own.time});
      for (Array& value : law.values) value = *own.time_slope * value;
    }
  } else if (!own.has_law()) {
    const RungLaw of = finer(own, false);
    const std::vector<Array> along = formulas::derivative_along(own.map, of.states, of.values);
    if (own.lift.empty()) {
      expectations::Closure closure =
          expectations::closed_in(formulas::simplified(along), of.states, own.map, own.states);
      if (!of.sampled_at.empty()) closure.why = "the field is sampled or by quadrature";
      if (!closure.why.empty()) {
        reject_entry(
            name_, "rung " + own.name,
            fmt::format("leaves its law out, and the derivative of its map does not close: {}",
                        closure.why));
      }
      law.values = std::move(closure.formulas);
    } else {
      law.values = substituted(along, of.states, own.lift);
      law.sampled_at = substituted(of.sampled_at, of.states, own.lift);
    }
  }
  return law;
}

}  // namespace popgrad::learning
