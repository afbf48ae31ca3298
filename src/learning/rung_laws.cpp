#include "learning/rung_laws.hpp"

#include <fmt/format.h>

#include <utility>

#include "expectations/closure.hpp"
#include "formulas/blocks.hpp"
#include "formulas/gradient.hpp"
#include "formulas/rebuild.hpp"
#include "formulas/simplify.hpp"

namespace popgrad::learning {

using formulas::substituted;

std::vector<Array> directions_of(const std::vector<Array>& variables) {
  std::vector<Array> directions;
  for (const Array& v : variables)
    directions.push_back(v.graph->variable("direction of " + v.node().text, v.shape()));
  return directions;
}

RungLaws::RungLaws(const SampleLoss& loss, const Parameters& given, std::uint64_t seed)
    : name_(loss.name), arrays_(loss, given, {}, seed) {
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

RungLaws::MeanStep RungLaws::mean_step(const OwnArrays& own) {
  const RungLaw& of = training();
  const std::string entry = "rung " + own.name;
  if (!of.sampled_at.empty())
    reject_entry(name_, entry, "leaves its law out, and the field is sampled or by quadrature");
  const std::vector<Array> directions = directions_of(of.states);
  const auto along = [&](const std::vector<Array>& formulas) {
    return formulas::derivative_along(formulas, of.states, directions);
  };
  const std::vector<Array> first = along(own.map), second = along(first);
  for (std::size_t k = 0; k < second.size(); ++k) {
    for (const Array& state : of.states) {
      if (reads(second[k], state)) {
        reject_entry(name_, entry,
                     fmt::format("leaves its law out, but the map of {} is of degree 3 or more in "
                                 "the states; its mean after a step of sgd is derived up to 2",
                                 own.names[k]));
      }
    }
  }
  MeanStep made{.slope = formulas::substituted(first, directions, of.values),
                .of_one = {},
                .of_mean = formulas::substituted(second, directions, of.values)};
  const std::vector<Array> of_sample = arrays_.directions(
      formulas::gradient(formulas::by_blocks(arrays_.loss), arrays_.state_variables()));
  for (const Array& square : formulas::substituted(second, directions, of_sample)) {
    const std::vector<Draw> read = arrays_.draws_of({square});
    const OverNormals found = over_normals(square, read);
    if (!found.mean || found.fewer) {
      reject_entry(name_, entry,
                   fmt::format("leaves its law out, and the square of a step of sgd has no exact "
                               "expectation: {}",
                               found.way));
    }
    made.of_one.push_back(expected(*found.mean, finite_draws(read).draws));
  }
  return made;
}

std::vector<Array> RungLaws::after(const std::vector<Array>& map, const MeanStep& step) {
  const Array eta = arrays_.graph->variable(step_size_name, {}),
              batch = arrays_.graph->variable(batch_name, {});
  std::vector<Array> next;
  for (std::size_t k = 0; k < map.size(); ++k) {
    const Array square = step.of_one[k] / batch + (1 - 1 / batch) * step.of_mean[k];
    next.push_back(map[k] + eta * step.slope[k] + eta * eta / 2 * square);
  }
  return next;
}

std::vector<Array> RungLaws::mapped_step(const OwnArrays& own) {
  if (own.of_sgd) return after(own.map, mean_step(own));
  const RungLaw of = finer(own, true);
  return substituted(own.map, of.states, of.values);
}

std::vector<Array> RungLaws::closed(const OwnArrays& own, const std::vector<Array>& formulas,
                                    const std::vector<Array>& states) {
  expectations::Closure closure =
      expectations::closed_in(formulas::simplified(formulas), states, own.map, own.states);
  if (!closure.why.empty()) {
    reject_entry(name_, "rung " + own.name,
                 fmt::format("leaves its law out, and the {} of its map does not close: {}",
                             own.of_steps ? "step" : "derivative", closure.why));
  }
  return std::move(closure.formulas);
}

namespace rung_laws_cpp {
namespace {

Array flat(const std::vector<Array>& arrays) {
  std::vector<Array> parts;
  for (const Array& a : arrays)
    parts.push_back(formulas::reshape(a, Shape{{.extent = formulas::entries(a.shape())}}));
  return formulas::concatenate(parts, 0);
}

// (DL' DL)^-1 DL' F: the nearest to the field F that a lift L can follow. Cost: a derivative of L for each entry of `states`.
std::vector<Array> least_squares(const std::vector<Array>& lift, const std::vector<Array>& states,
                                 const std::vector<Array>& field) {
  formulas::Graph& graph = *states.front().graph;
  std::vector<Array> rows;  // of DL'
  for (const Array& moved : states) {
    const formulas::Dimension count{.extent = formulas::entries(moved.shape())};
    for (Index entry = 0; entry < count.extent; ++entry) {
      std::vector<Array> directions;
      for (const Array& state : states) {
        directions.push_back(
            state == moved
                ? formulas::reshape(formulas::one_hot(graph.constant(entry), count), state.shape())
                : broadcast(graph.constant(0), state.shape()));
      }
      const Array row = flat(formulas::derivative_along(lift, states, directions));
      rows.push_back(formulas::reshape(row, Shape{{}, row.shape()[0]}));
    }
  }
  const Array slopes = formulas::concatenate(rows, 0);
  const Array all = formulas::solve(formulas::matmul(slopes, formulas::transpose(slopes)),
                                    formulas::matmul(slopes, flat(field)));
  std::vector<Array> law;
  Index first = 0;
  for (const Array& state : states) {
    const Index count = formulas::entries(state.shape());
    law.push_back(formulas::reshape(
        formulas::slice(all, {{.start = first, .step = 1, .count = {.extent = count}}}),
        state.shape()));
    first += count;
  }
  return law;
}

}  // namespace
}  // namespace rung_laws_cpp

RungLaw RungLaws::own(std::size_t place) {
  const OwnArrays& own = arrays_.own[place];
  RungLaw law{.names = own.names, .states = own.states, .values = own.step, .sampled_at = {}};
  if (!own.flow.empty()) {
    law.values = own.flow;
    if (own.time) {
      law.values = substituted(own.flow, {time()}, {*own.time});
      for (Array& value : law.values) value = *own.time_slope * value;
    }
  } else if (!own.has_law() && own.of_sgd) {
    const MeanStep step = mean_step(own);
    const std::vector<Array> states = arrays_.state_variables();
    law.values = after(own.states, {.slope = closed(own, step.slope, states),
                                    .of_one = closed(own, step.of_one, states),
                                    .of_mean = closed(own, step.of_mean, states)});
  } else if (!own.has_law() && own.map.empty()) {
    const RungLaw of = finer(own, false);
    law.values = rung_laws_cpp::least_squares(own.lift, own.states,
                                              substituted(of.values, of.states, own.lift));
    law.sampled_at = substituted(of.sampled_at, of.states, own.lift);
  } else if (!own.has_law()) {
    const RungLaw of = finer(own, own.of_steps);
    const std::vector<Array> along =
        own.of_steps ? substituted(own.map, of.states, of.values)
                     : formulas::derivative_along(own.map, of.states, of.values);
    if (own.lift.empty()) {
      if (!of.sampled_at.empty()) {
        reject_entry(name_, "rung " + own.name,
                     "leaves its law out, and the field is sampled or by quadrature");
      }
      law.values = closed(own, along, of.states);
    } else {
      law.values = substituted(along, of.states, own.lift);
      law.sampled_at = substituted(of.sampled_at, of.states, own.lift);
    }
  }
  return law;
}

}  // namespace popgrad::learning
