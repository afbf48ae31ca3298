#include "learning/own_rung.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "formulas/gradient.hpp"
#include "learning/rung_laws.hpp"
#include "learning/time_jumps.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::learning {
namespace own_rung_cpp {
namespace {

template <class T>
void write(formulas::Evaluator<T>& evaluator, const std::vector<Array>& variables,
           const Vector<T>& x) {
  const T* from = x.data();
  for (const Array& variable : variables) from = set_variable(evaluator, variable, from);
}

Index entries_of(const std::vector<Array>& arrays) {
  Index total = 0;
  for (const Array& a : arrays) total += formulas::entries(a.shape());
  return total;
}

// Of starts that are given twice.
constexpr double start_tolerance = 1e-9;

template <class T>
bool agree(const Vector<T>& a, const Vector<T>& b) {
  for (Index i = 0; i < a.size(); ++i) {
    const double size = std::max(1.0, std::abs(to_double(a[i])));
    if (!(std::abs(to_double(T(a[i] - b[i]))) <= start_tolerance * size)) return false;
  }
  return true;
}

// Formulas of the state and the time, whose places are looked up once.
template <class T>
class OfState {
 public:
  OfState(formulas::Evaluator<T> evaluator, const std::vector<Array>& states)
      : evaluator_(std::move(evaluator)), time_(evaluator_.variable(time_name)) {
    Index first = 0;
    for (const Array& state : states) {
      const std::span<T> to = evaluator_.variable(state.node().text);
      if (!to.empty()) states_.push_back({first, to});
      first += formulas::entries(state.shape());
    }
  }
  void run(const Vector<T>& z, const T& t) {
    for (const Place& place : states_)
      std::copy_n(z.data() + place.first, place.to.size(), place.to.begin());
    if (!time_.empty()) time_[0] = t;
    evaluator_.run();
  }
  [[nodiscard]] const formulas::Evaluator<T>& values() const { return evaluator_; }

 private:
  struct Place {
    Index first;
    std::span<T> to;
  };
  formulas::Evaluator<T> evaluator_;
  std::span<T> time_;
  std::vector<Place> states_;
};

// A law that is left out, which all copies of a rung share: deriving it may take seconds.
struct Derived {
  Derived(const LossInstance& instance, std::size_t place)
      : laws(instance.written, instance.given, instance.seed), law(laws.own(place)) {
    if (!law.sampled_at.empty()) {
      reject_entry(instance.written.name, "rung " + laws.arrays().own[place].name,
                   "leaves its law out, and the field is sampled or by quadrature");
    }
  }
  RungLaws laws;
  RungLaw law;
  std::mutex graph;  ///< held while evaluators are made
};

template <class T>
class OwnRung {
 public:
  using Scalar = T;
  OwnRung(std::shared_ptr<const LossInstance> instance, std::size_t place,
          std::shared_ptr<Derived> derived = nullptr)
      : instance_(std::move(instance)),
        place_(place),
        parts_(std::make_unique<Parts>(*this, std::move(derived))) {}
  OwnRung(const OwnRung& other) : OwnRung(other.instance_, other.place_, other.derived()) {}
  OwnRung(OwnRung&&) noexcept = default;
  OwnRung& operator=(const OwnRung&) = delete;
  OwnRung& operator=(OwnRung&&) noexcept = default;
  ~OwnRung() = default;

  [[nodiscard]] Index dimension() const { return entries_of(parts_->own.states); }
  [[nodiscard]] Vector<T> initial() const { return parts_->start; }
  [[nodiscard]] std::vector<std::string> state_names() const {
    return entry_names(parts_->own.names, parts_->own.states);
  }
  [[nodiscard]] std::vector<std::string> columns() const { return parts_->columns; }

  void rhs(const Vector<T>& z, Vector<T>& dz, const T& t) const {
    Parts& p = *parts_;
    if (p.flow) {
      const auto [time, slope] = times(t);
      p.flow->run(z, time);
      read_outputs(p.flow->values(), p.own.states.size(), dz);
      if (p.time) {
        for (Index i = 0; i < dz.size(); ++i) dz[i] = slope * dz[i];
      }
    } else if (p.along) {
      lift(z);
      p.finer_slope = p.lifted;
      p.finer->field.value(p.lifted, p.finer_slope, t);
      const std::vector<Array> finer = p.arrays.finer_states(p.own);
      write(*p.along, finer, p.lifted);
      write(*p.along, p.directions, p.finer_slope);
      p.along->run();
      read_outputs(*p.along, p.own.states.size(), dz);
    } else {
      dz = z;
      next(dz, default_step(), instance_->written.batch);
      for (Index i = 0; i < dz.size(); ++i) dz[i] = (dz[i] - z[i]) / default_step();
    }
  }
  [[nodiscard]] std::vector<T> jumps(const T& start, const T& end) const
      requires(!std::same_as<T, Dual<double>>) {
    Parts& p = *parts_;
    if (p.along) {
      return p.finer->field.jumps ? p.finer->field.jumps(start, end) : std::vector<T>{};
    }
    return p.jumps ? p.jumps->between(start, end) : std::vector<T>{};
  }
  void observe(const Vector<T>& z, const T& t, std::span<T> row) const {
    Parts& p = *parts_;
    std::size_t column = 0;
    if (p.lift) {
      lift(z);
      p.finer_row.resize(p.finer->observables.columns.size());
      p.finer->observables.read(p.lifted, t, p.finer_row);
      for (const std::size_t k : p.shown) row[column++] = p.finer_row[k];
    } else if (p.observables) {
      p.observables->run(z, t);
      for (std::size_t k = 0; k < p.own.observables.size(); ++k) {
        for (const T& number : p.observables->values().output(k)) row[column++] = number;
      }
    }
    if (p.coarser) {
      p.coarser->run(z, t);
      for (std::size_t k = 0; k < p.own.coarser.size(); ++k) {
        for (const T& number : p.coarser->values().output(k)) row[column++] = number;
      }
    }
    for (const T& number : z) row[column++] = number;
  }
  void next(Vector<T>& z, const T& eta, Index batch) const {
    formulas::Evaluator<T>& step = *parts_->step;
    write(step, parts_->own.states, z);
    if (const std::span<T> to = step.variable(step_size_name); !to.empty()) to[0] = eta;
    if (const std::span<T> to = step.variable(batch_name); !to.empty())
      to[0] = T(static_cast<double>(batch));
    step.run();
    read_outputs(step, parts_->own.states.size(), z);
  }
  [[nodiscard]] Vector<T> state_at(const T& t) const {
    formulas::Evaluator<T>& closed = *parts_->closed;
    write(closed, parts_->own.start_variables, parts_->start);
    if (const std::span<T> to = closed.variable(time_name); !to.empty()) to[0] = times(t).first;
    closed.run();
    Vector<T> z(dimension());
    read_outputs(closed, parts_->own.states.size(), z);
    return z;
  }
  [[nodiscard]] const std::shared_ptr<Derived>& derived() const { return parts_->derived; }
  [[nodiscard]] bool steps() const { return parts_->step.has_value(); }
  [[nodiscard]] bool flows() const { return parts_->flow || parts_->along; }
  template <class U>
  requires std::same_as<U, Dual<double>> && std::same_as<T, double>  // of Jacobians
  [[nodiscard]] OwnRung<U> cast() const { return OwnRung<U>(instance_, place_, derived()); }

 private:
  struct Parts {
    Parts(const OwnRung& of, std::shared_ptr<Derived> known)
        : derived(std::move(known)),
          arrays(of.instance_->written, of.instance_->given, {}, of.instance_->seed),
          own(arrays.own[of.place_]),
          parameters(parameter_values<T>(arrays)) {
      const auto evaluator = [&](const std::vector<Array>& outputs) {
        return outputs.empty() ? std::optional<formulas::Evaluator<T>>()
                               : std::optional(prepared(outputs, arrays, parameters));
      };
      const auto of_state = [&](const std::vector<Array>& outputs) {
        return outputs.empty()
                   ? std::optional<OfState<T>>()
                   : std::optional<OfState<T>>(std::in_place, prepared(outputs, arrays, parameters),
                                               own.states);
      };
      flow = of_state(own.flow);
      step = evaluator(own.step);
      closed = evaluator(own.closed);
      lift = evaluator(own.lift);
      map = evaluator(own.map);
      if (own.time && own.has_law()) time = evaluator({*own.time, *own.time_slope});
      if (own.finer) {
        finer = own_rung<T>(of.instance_, *own.finer, false);
      } else if (own.of_loss) {
        finer = loss_rung<T>(of.instance_);
      }
      if (!own.has_law() && (own.lift.empty() || own.map.empty() || own.of_steps)) {
        if (!derived) derived = std::make_shared<Derived>(*of.instance_, of.place_);
        const std::lock_guard lock(derived->graph);
        formulas::Evaluator<T> law =
            prepared(derived->law.values, derived->laws.arrays(), parameters);
        if (own.of_steps) {
          step = std::move(law);
        } else {
          flow.emplace(std::move(law), own.states);
        }
      } else if (!own.has_law()) {
        const std::vector<Array> states = arrays.finer_states(own);
        directions = directions_of(states);
        along = evaluator(formulas::derivative_along(own.map, states, directions));
      }
      if constexpr (!std::same_as<T, Dual<double>>) {
        if (derived && !own.of_steps) {
          const std::lock_guard lock(derived->graph);
          jumps.emplace(derived->law.values, derived->laws.arrays(), parameters);
        } else {
          jumps.emplace(own.flow, arrays, parameters, time ? own.time : std::nullopt);
        }
      }
      const std::vector<std::string> names = entry_names(own.names, own.states);
      if (lift) {
        lifted.resize(entries_of(own.lift));
        for (std::size_t k = 0; k < finer->observables.columns.size(); ++k) {
          const std::string& column = finer->observables.columns[k];
          if (std::find(names.begin(), names.end(), column) != names.end()) continue;
          shown.push_back(k);
          columns.push_back(column);
        }
      } else {
        const ExpectedObservables expected(own.observables, arrays, of.instance_->written, nullptr);
        if (!expected.sampled.empty()) {
          reject_entry(of.instance_->written.name, "rung " + own.name,
                       "has expectations that are sampled; give it a lift");
        }
        observables = of_state(shown_arrays(expected.shown));
      }
      coarser = of_state(shown_arrays(own.coarser));
      columns.insert(columns.end(), names.begin(), names.end());
      set_start(of);
    }

    // With their names as columns.
    std::vector<Array> shown_arrays(const std::vector<ObservableArray>& all) {
      std::vector<Array> outputs;
      for (const ObservableArray& o : all) {
        outputs.push_back(o.array);
        for (std::string& name : entry_names(o.name, o.array.shape()))
          columns.push_back(std::move(name));
      }
      return outputs;
    }

    void set_start(const OwnRung& of) {
      const std::string& model = of.instance_->written.name;
      const std::string entry = "rung " + own.name;
      const Index count = entries_of(own.states);
      start = Vector<T>::Constant(count, T(0));
      if (map) {
        write(*map, arrays.finer_states(own), finer->initial);
        map->run();
        map->require_defined();
        read_outputs(*map, own.states.size(), start);
      }
      Index first = 0;
      for (std::size_t k = 0; k < own.states.size(); ++k) {
        const Index size = formulas::entries(own.states[k].shape());
        if (own.starts[k]) {
          const Vector<T> given = LossFlow<T>::drawn_start({*own.starts[k]}, own.start_draws,
                                                           arrays, parameters, of.instance_->seed);
          const Vector<T> mapped = start.segment(first, size);
          if (map && !agree(given, mapped)) {
            reject_entry(
                model, entry,
                fmt::format("begins {} elsewhere than its map of the finer start", own.names[k]));
          }
          start.segment(first, size) = given;
        }
        first += size;
      }
      if (own.domain) {
        formulas::Evaluator<T> domain = prepared({*own.domain}, arrays, parameters);
        write(domain, own.states, start);
        domain.run();
        for (const T& inside : domain.output(0)) {
          if (to_double(inside) == 0)
            reject_entry(model, entry, "begins outside its domain; give another start");
        }
      }
      if (!map || !lift) return;
      write(*lift, own.states, start);
      lift->run();
      read_outputs(*lift, own.lift.size(), lifted);
      write(*map, arrays.finer_states(own), lifted);
      map->run();
      Vector<T> back(count);
      read_outputs(*map, own.states.size(), back);
      if (!agree(start, back))
        reject_entry(model, entry, "has a map that is no inverse of its lift at the start");
    }
    std::shared_ptr<Derived>
        derived;  ///< null where the law is written, or lifts to that of the finer rung
    LossArrays arrays;
    const OwnArrays& own;
    std::vector<std::vector<T>> parameters;
    std::optional<AnyRung<T>> finer;
    std::optional<OfState<T>> flow, observables, coarser;
    std::optional<formulas::Evaluator<T>> step, closed, lift, map, time, along;
    std::optional<TimeJumps<T>> jumps;  ///< of the flow as it is written, or derived from the map
    std::vector<Array> directions;
    std::vector<std::string> columns;
    std::vector<std::size_t> shown;  // columns of the finer rung
    Vector<T> start, lifted, finer_slope;
    std::vector<T> finer_row;
  };

  void lift(const Vector<T>& z) const {
    write(*parts_->lift, parts_->own.states, z);
    parts_->lift->run();
    read_outputs(*parts_->lift, parts_->own.lift.size(), parts_->lifted);
  }
  [[nodiscard]] std::pair<T, T> times(const T& t) const {
    if (!parts_->time) return {t, T(1)};
    formulas::Evaluator<T>& time = *parts_->time;
    if (const std::span<T> to = time.variable(time_name); !to.empty()) to[0] = t;
    time.run();
    return {time.output(0)[0], time.output(1)[0]};
  }
  [[nodiscard]] T default_step() const { return T(instance_->written.step); }

  std::shared_ptr<const LossInstance> instance_;
  std::size_t place_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace
}  // namespace own_rung_cpp

namespace own_rung_cpp {
namespace {

template <class T>
AnyRung<T> any_rung(const std::shared_ptr<const LossInstance>& instance, std::size_t place,
                    bool closed, const std::shared_ptr<Derived>& derived) {
  const auto shared = std::make_shared<OwnRung<T>>(instance, place, derived);
  AnyRung<T> any = forget_type(OwnRung<T>(*shared));
  if (closed || (!shared->flows() && !shared->steps())) {
    any.field.value = nullptr;
    any.field.jacobian = nullptr;
    any.field.jumps = nullptr;
    any.field.state_at = [shared](const T& t) { return shared->state_at(t); };
  }
  if constexpr (std::same_as<T, double>) {
    if (shared->steps()) {
      any.draws.step = [shared](Vector<double>& x, double step, Stream& /*stream*/, Index batch) {
        shared->next(x, step, batch);
      };
    }
  }
  any.clone = [instance, place, closed, known = shared->derived()] {
    return any_rung<T>(instance, place, closed, known);
  };
  return any;
}

}  // namespace
}  // namespace own_rung_cpp

template <class T>
AnyRung<T> own_rung(const std::shared_ptr<const LossInstance>& instance, std::size_t place,
                    bool closed) {
  return own_rung_cpp::any_rung<T>(instance, place, closed, nullptr);
}

template AnyRung<double> own_rung(const std::shared_ptr<const LossInstance>&, std::size_t, bool);
template AnyRung<Real> own_rung(const std::shared_ptr<const LossInstance>&, std::size_t, bool);
template AnyRung<Dual<double>> own_rung(const std::shared_ptr<const LossInstance>&, std::size_t,
                                        bool);

}  // namespace popgrad::learning
