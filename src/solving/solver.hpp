#pragma once
/// The loop around the steppers: save points, events, blow-up, changes of method, budgets.

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <boost/exception/exception.hpp>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "solving/algebra.hpp"
#include "solving/clock.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {

/// Dense Jacobians and LU factors beyond this size cost more than the small steps of dopri5 do at first.
inline constexpr Index largest_stiff_dimension = 400;
/// Beyond, a step with an LU of n^3 / 3 takes minutes.
inline constexpr Index largest_dense_dimension = 2000;
/// Steps after which a trial of rosenbrock4 is judged.
inline constexpr int steps_of_trial = 16;
/// Interior points of a step at which events are looked for. A pair of crossings between two of
/// them shows as a turn of the function towards 0, which is followed. Very large states have none
/// of them, nor rows of steps: to observe such a state costs as much as to evaluate its field.
/// Steppers whose steps are long beside what happens in them name points of their own.
inline constexpr int event_probes = 3;
inline constexpr Index largest_probed_dimension = 10'000;
/// Rows of the steps that are kept; beyond, every second one goes, so that even a solve of millions
/// of steps is observed some hundred thousand times.
inline constexpr std::size_t most_step_rows = std::size_t{1} << 14;

template <class T>
class Solver {
 public:
  Solver(const AnyRung<T>& rung, const SolveRequest<T>& request)
      : rung_(rung), request_(request), n_(rung.dimension) {
    field_.rhs = [this](const Vector<T>& x, Vector<T>& dx, const T& t) {
      // Of a large state a step can take minutes.
      if (stepping_ && omp_get_level() == 0 && stop_asked()) throw Stopped{};
      ++result_.outcome.evaluations;
      rung_.field.value(x, dx, before_jump(t));
    };
    // By reference: the function owns a copy of the rung.
    if (rung.field.jacobian) {
      field_.jacobian = [this](const Vector<T>& x, Matrix<T>& jacobian, const T& t) {
        rung_.field.jacobian(x, jacobian, before_jump(t));
      };
    }
    field_.in_double = request.field_in_double;
    result_.columns = rung.observables.columns;
    event_values_.resize(request.find_events ? rung.events.size() : 0, T(0));
    for (std::size_t k = 0; k < event_values_.size(); ++k) same_value_.push_back(first_like(k));
  }

  Trajectory<T> run(const Vector<T>& initial) {
    try {
      begin(initial);
      while (!finished_) go_on();
    } catch (const boost::exception&) {
      // What Odeint and the searches of Boost.Math throw, whose texts are not for users, is that a step or
      // a function has no finite value.
      if (!finished_) stop_here(Ending::not_a_number);
    }
    return std::move(result_);
  }

 private:
  void go_on() {
    if ((omp_get_level() == 0 && stop_asked())) {
      stop_here(Ending::interrupted);
      return;
    }
    if (steps_tried() >= request_.step_budget || is_hopeless()) {
      stop_here(Ending::budget_exhausted);
      return;
    }
    bool accepted = false;
    stepping_ = true;
    try {
      accepted = take_step();
    } catch (const Stopped&) {
      // The stepper is where its last step ended.
      stop_here(Ending::interrupted);
      return;
    }
    stepping_ = false;
    if (!accepted) return;
    record_step();
    if (!finished_) choose_method();
    if (!finished_) pass_jumps();
  }

  [[nodiscard]] std::size_t steps_tried() const {
    return result_.outcome.steps_taken + result_.outcome.steps_rejected;
  }
  // Whether the pace of the last steps, a thousandth of t or less in all, would use up a hundred budgets before
  // the end: where a field jumps towards its jump from both sides, the solution stays there, in steps as short
  // as the tolerance. Not in the arc clock, whose steps near a blow-up are short in t and few.
  bool is_hopeless() {
    constexpr std::size_t steps = 5'000;
    if (steps_tried() < paced_steps_ + steps) return false;
    const double budgets = static_cast<double>(request_.step_budget) / static_cast<double>(steps);
    const double advance = to_double(T(t_ - paced_t_));
    const double left = to_double(T(request_.end - t_));
    const double before = to_double(T(t_ - request_.start));
    paced_steps_ = steps_tried();
    paced_t_ = t_;
    return !in_arc_ && advance < 1e-3 * before && 100 * budgets * advance < left;
  }

  // --- one solution, whatever the clock ---
  [[nodiscard]] T time_of(const Vector<T>& y, const T& clock) const {
    return in_arc_ ? T(y[n_] * arc_unit_) : clock;
  }
  void split(const Vector<T>& y) {
    if (in_arc_) {
      x_now_ = y.head(n_);
    } else {
      x_now_ = y;
    }
  }
  // The state at time t inside the last step.
  void state_at(const T& t) {
    if (!in_arc_) {
      stepper_->at(t, x_now_);
      return;
    }
    const T s = arc_length_at(t);
    stepper_->at(s, y_now_);
    split(y_now_);
  }
  // Solves t(s) = t on the last step; t increases with s.
  T arc_length_at(const T& t) {
    T low = stepper_->t_old();
    T high = stepper_->t();
    const auto excess = [&](const T& s) {
      stepper_->at(s, y_now_);
      return T(y_now_[n_] * arc_unit_ - t);
    };
    const T at_low = stepper_->x_old()[n_] * arc_unit_ - t;
    const T at_high = stepper_->x()[n_] * arc_unit_ - t;
    if (!(at_low < T(0))) return low;
    if (!(at_high > T(0))) return high;
    return root(excess, low, high, at_low, at_high);
  }

  // A bracketed zero, to the spacing of numbers there (or 100 evaluations).
  template <class Function>
  T root(const Function& f, const T& a, const T& b, const T& fa, const T& fb) const {
    const T spacing = T(4) * machine_epsilon<T>();
    const auto close = [&](const T& low, const T& high) {
      using std::abs;
      return abs(high - low) <= spacing * std::max(T(abs(low)), T(abs(high)));
    };
    std::uintmax_t evaluations = 100;
    const auto bracket = boost::math::tools::toms748_solve(f, a, b, fa, fb, close, evaluations);
    return (bracket.first + bracket.second) / T(2);
  }

  // --- jumps of the field in time ---
  // Steps end at the next one, and have the field before it at their ends. Not in the arc clock, whose steps have
  // no end in t.
  [[nodiscard]] bool has_jump() const { return next_jump_ < jumps_.size(); }
  [[nodiscard]] const T& end_of_piece() const {
    return has_jump() ? jumps_[next_jump_] : request_.end;
  }
  [[nodiscard]] T before_jump(const T& t) const {
    if (in_arc_ || !has_jump()) return t;
    const T last = jumps_[next_jump_] * (T(1) - T(4) * machine_epsilon<T>());
    return last < t ? last : t;
  }
  void pass_jumps() {
    const std::size_t before = next_jump_;
    while (has_jump() && !(t_ < jumps_[next_jump_])) ++next_jump_;
    if (next_jump_ == before || in_arc_) return;
    const Vector<T> x = stepper_->x();  // a copy: the stepper that owns it is replaced
    start_method(method_, x, t_, T(0));
  }

  // --- start ---
  void begin(const Vector<T>& initial) {
    t_ = paced_t_ = request_.start;
    if (rung_.field.jumps) jumps_ = rung_.field.jumps(request_.start, request_.end);
    x_now_ = initial;
    next_save_ = 0;
    start_method(request_.method == Method::automatic ? first_method() : request_.method, initial,
                 t_, T(0));
    if (!all_finite(stepper_->slope()) || !all_finite(initial)) {
      last_good(initial, t_);
      finish(Ending::not_a_number);
      return;
    }
    while (next_save_ < request_.save_at.size() && !(t_ < request_.save_at[next_save_])) save(t_);
    if (observes_steps()) add_step_row(t_);
    for (std::size_t k = 0; k < event_values_.size(); ++k) {
      const T value = rung_.events[k].value(initial, t_);
      event_values_[k] = value == value ? value : T(0);
    }
    if (!(t_ < request_.end)) {
      last_good(initial, t_);
      finish(Ending::reached_end);
    }
  }

  [[nodiscard]] static Method first_method() {
    return std::is_same_v<T, double> ? Method::dopri5 : Method::bulirsch_stoer;
  }

  // `step` 0: guess one from the size of the state and of its slope.
  void start_method(Method method, const Vector<T>& y, const T& clock, T step) {
    method_ = method;
    const Field<T>& field = in_arc_ ? arc_field_ : field_;
    const T loosened(damping_ ? 1e6 : 1);
    const Tolerances<T> tolerances{T(loosened * request_.relative_tolerance),
                                   T(loosened * request_.absolute_tolerance)};
    if (method == Method::bulirsch_stoer) {
      stepper_ = make_bulirsch_stoer(field, tolerances);
    } else if (method == Method::dopri5) {
      stepper_ = make_dopri5(field, tolerances);
    } else {
      if constexpr (std::is_same_v<T, double>) {
        stepper_ = make_rosenbrock4(field, tolerances);
      }
    }
    if (!(step > T(0))) {
      Vector<T> slope(y.size());
      field.rhs(y, slope, clock);
      // A hundredth of the time in which the state would change by its own size (Hairer, Norsett,
      // Wanner, Solving ODEs I, II.4); the controller takes over from there.
      const T speed = norm_inf(slope);
      const T span = in_arc_ ? T(1) : T(request_.end - request_.start);
      step = span / T(100);
      const T scale = T(1) + norm_inf(y);
      if (speed > T(0) && speed * step > scale / T(100)) step = scale / speed / T(100);
    }
    if (probes_steps()) stepper_->keep_inside();
    stepper_->start(y, clock, step);
    speed_ = norm_inf(stepper_->slope());
    stiff_votes_ = 0;
    since_start_ = 0;
  }

  // At the end of the last step.
  void stop_here(Ending ending) {
    if (stepper_ && stepper_->x().size() > 0) {
      split(stepper_->x());
      last_good(x_now_, t_);
    }
    finish(ending);
  }

  // --- one step ---
  bool take_step() {
    const T largest = in_arc_ ? solving::infinity<T>() : T(end_of_piece() - stepper_->t());
    const T before = stepper_->t();
    bool accepted = stepper_->try_step(largest);
    if (accepted) {
      speed_old_ = speed_;
      speed_ = norm_inf(stepper_->slope());
    }
    if (accepted && !(speed_ < solving::infinity<T>() && all_finite(stepper_->x()))) {
      last_good(in_arc_ ? Vector<T>(stepper_->x_old().head(n_)) : stepper_->x_old(),
                time_of(stepper_->x_old(), stepper_->t_old()));
      finish(Ending::not_a_number);
      return false;
    }
    if (accepted) {
      ++result_.outcome.steps_taken;
      return true;
    }
    ++result_.outcome.steps_rejected;
    using std::abs;
    // The minimum step is relative to the spacing of numbers at the clock's reading.
    const T spacing = machine_epsilon<T>() * abs(before);
    if (!(stepper_->next_step() > spacing) || !(before + stepper_->next_step() > before)) {
      // Stability may ask of the others for steps below the spacing of numbers.
      if (can_change_to_rosenbrock4() && (!in_arc_ || falling_ > 0)) {
        damp_by_rosenbrock4();
        return false;
      }
      last_good(in_arc_ ? Vector<T>(stepper_->x().head(n_)) : stepper_->x(),
                time_of(stepper_->x(), before));
      finish(all_finite(stepper_->slope()) ? Ending::step_underflow : Ending::not_a_number);
    }
    return false;
  }

  void record_step() {
    t_ = time_of(stepper_->x(), stepper_->t());
    // The last step is cut to end there; rounding of t + h must not leave a remainder.
    using std::abs;
    const T spacing = T(4) * machine_epsilon<T>() * abs(end_of_piece());
    if (!in_arc_ && abs(t_ - end_of_piece()) <= spacing) {
      t_ = end_of_piece();
      stepper_->snap_time(t_);
    }
    if (past_end_) {
      look_past_end();
      return;
    }
    const T until = t_ < request_.end ? t_ : request_.end;
    const T clock_end = until < t_ ? arc_length_at(until) : stepper_->t();
    place_probes(clock_end);
    find_events();
    observe_step();
    while (next_save_ < request_.save_at.size() && !(until < request_.save_at[next_save_])) {
      const T at = request_.save_at[next_save_];
      if (at == t_) {
        split(stepper_->x());
      } else {
        state_at(at);
      }
      save(at);
    }
    if (!(t_ < request_.end)) {
      if (t_ == request_.end) {
        split(stepper_->x());
      } else {
        state_at(request_.end);
      }
      last_good(x_now_, request_.end);
      past_end_ = request_.find_blow_up && t_ + time_left() - request_.end < unresolved_time();
      if (!past_end_) {
        finish(Ending::reached_end);
      } else if (!in_arc_) {
        enter_arc();
      }
      return;
    }
    if (in_arc_) {
      if (blew_up()) return;
      if (stands()) {
        stop_here(Ending::step_underflow);
        return;
      }
    }
    // A small step takes as long as a look; one for many digits thousands of evaluations.
    const int between = std::is_same_v<T, double> && n_ <= 1000 ? 256 : 1;
    if (request_.on_progress && ++since_progress_ >= between) {
      since_progress_ = 0;
      if (request_.on_progress(to_double(t_))) stop_here(Ending::interrupted);
    }
  }

  // A blow-up so near to the end may as well lie before it: it is located, and what lies nearer to it than its
  // time is known is taken back.
  void look_past_end() {
    if (blew_up()) return;
    if (!(falling_ > 0) && !(unresolved_time() < t_ - request_.end)) return;
    blow_up_.reset();
    finish(Ending::reached_end);
  }

  void save(const T& at) {
    std::vector<T> row(rung_.observables.columns.size());
    rung_.observables.read(x_now_, at, row);
    result_.t.push_back(at);
    result_.rows.push_back(std::move(row));
    if (request_.keep_states) result_.states.push_back(x_now_);
    ++next_save_;
  }

  [[nodiscard]] bool observes_steps() const {
    return request_.observe_steps && n_ <= largest_probed_dimension;
  }

  void add_step_row(const T& t) {
    if (++seen_step_rows_ % step_row_stride_ != 0) return;
    std::vector<T> row(rung_.observables.columns.size(),
                       T(std::numeric_limits<double>::quiet_NaN()));
    if (rung_.observables.read_some && !request_.step_columns.empty()) {
      rung_.observables.read_some(x_now_, t, row, request_.step_columns);
    } else {
      rung_.observables.read(x_now_, t, row);
    }
    result_.step_t.push_back(t);
    result_.step_rows.push_back(std::move(row));
    if (result_.step_t.size() < most_step_rows) return;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < result_.step_t.size(); k += 2, ++kept) {
      result_.step_t[kept] = result_.step_t[k];
      std::swap(result_.step_rows[kept], result_.step_rows[k]);
    }
    result_.step_t.resize(kept);
    result_.step_rows.resize(kept);
    step_row_stride_ *= 2;
  }

  void observe_step() {
    if (!observes_steps() || blow_up_) return;
    for (std::size_t probe = 1; probe < clocks_.size(); ++probe) {
      const Vector<T>& y = at_probe(probe);
      split(y);
      add_step_row(time_of(y, clocks_[probe]));
    }
  }

  // --- events ---
  [[nodiscard]] bool probes_steps() const {
    return n_ <= largest_probed_dimension && (!event_values_.empty() || request_.observe_steps);
  }

  // The times that the last step is looked at, in its clock: its ends and the probes between.
  void place_probes(const T& clock_end) {
    const T begin = stepper_->t_old();
    clocks_.assign(1, begin);
    if (probes_steps()) {
      const std::span<const T> inside = stepper_->inside();
      for (const T& clock : inside) {
        if (clock < clock_end) clocks_.push_back(clock);
      }
      for (int probe = 1; inside.empty() && probe <= event_probes; ++probe) {
        clocks_.push_back(T(begin + (clock_end - begin) * T(probe) / T(event_probes + 1)));
      }
    }
    clocks_.push_back(clock_end);
    sketched_ = 0;
  }

  // The rate of change of one observable is the function of its minima as of its maxima.
  [[nodiscard]] std::size_t first_like(std::size_t which) const {
    const EventFinder<T>& finder = rung_.events[which];
    for (std::size_t k = 0; k < which; ++k) {
      const EventFinder<T>& other = rung_.events[k];
      if (finder.kind != EventKind::crossing && other.kind != EventKind::crossing &&
          finder.column == other.column) {
        return k;
      }
    }
    return which;
  }

  // Looks for sign changes between the ends of the last step and at points inside it, in the clock
  // of the step. A sketch is good enough to see that there is a zero; it is found on the solution, to the
  // accuracy of the method.
  void find_events() {
    if (event_values_.empty()) return;
    const std::size_t known = result_.events.size();
    probe_values_.resize(event_values_.size());
    largest_values_.resize(event_values_.size(), T(0));
    for (std::size_t k = 0; k < event_values_.size(); ++k) {
      probe_values_[k].assign(1, event_values_[k]);
    }
    for (std::size_t probe = 1; probe < clocks_.size(); ++probe) {
      const Vector<T>& y = at_probe(probe);
      split(y);
      const T t = time_of(y, clocks_[probe]);
      const Vector<T> x = x_now_;
      for (std::size_t k = 0; k < event_values_.size(); ++k) {
        const std::size_t same = same_value_[k];
        const T after = same < k ? probe_values_[same][probe] : rung_.events[k].value(x, t);
        probe_values_[k].push_back(after);
        if (after != after) continue;
        const T before = event_values_[k];
        if (after != T(0)) event_values_[k] = after;
        if (before == T(0) || after == T(0) || (before < T(0)) == (after < T(0))) continue;
        if (rung_.events[k].kind == EventKind::minimum && before > T(0)) continue;
        if (rung_.events[k].kind == EventKind::maximum && before < T(0)) continue;
        locate_event(rung_.events[k], {clocks_[probe - 1], before}, {clocks_[probe], after});
      }
    }
    if (clocks_.size() > 2) {
      for (std::size_t k = 0; k < probe_values_.size(); ++k) {
        using std::abs;
        T size(0);
        for (const T& value : probe_values_[k]) size = std::max(size, T(abs(value)));
        largest_values_[k] = std::max(largest_values_[k], size);
        // Near a steady state a rate is what the solve leaves of it, and turns at every probe.
        if (size < request_.relative_tolerance * largest_values_[k]) continue;
        find_pair(rung_.events[k], probe_values_[k]);
      }
    }
    // Those of earlier steps come before.
    std::stable_sort(result_.events.begin() + static_cast<std::ptrdiff_t>(known),
                     result_.events.end(),
                     [](const Event<T>& a, const Event<T>& b) { return a.t < b.t; });
  }

  /// A time inside the step, in its clock, and the function of an event there.
  struct Seen {
    T clock, value;
  };

  // The function of an event on the solution; at the end of the step that is the step's own.
  T value_at(const EventFinder<T>& finder, const T& clock) {
    if (clock == stepper_->t()) {
      split(stepper_->x());
      return finder.value(x_now_, time_of(stepper_->x(), clock));
    }
    stepper_->at(clock, y_now_);
    split(y_now_);
    return finder.value(x_now_, time_of(y_now_, clock));
  }

  // Where the function times `sign` is smallest.
  Seen turn(const EventFinder<T>& finder, const T& sign, const T& from, const T& to) {
    // Half the digits: a turn is flat.
    const auto lowest = boost::math::tools::brent_find_minima(
        [&](const T& clock) { return T(sign * value_at(finder, clock)); }, from, to,
        std::numeric_limits<double>::digits / 2);
    return {lowest.first, T(sign * lowest.second)};
  }

  // Two crossings between neighbouring probes leave the signs as they are, but the function turns
  // there: where the parabola through three probes comes near 0 or beyond it, we look at the turn.
  void find_pair(const EventFinder<T>& finder, const std::vector<T>& values) {
    for (std::size_t j = 0; j + 2 < clocks_.size(); ++j) {
      const T sign = values[j] > T(0) ? T(1) : T(-1);
      const T a = sign * values[j];
      const T b = sign * values[j + 1];
      const T c = sign * values[j + 2];
      if (!(a > T(0) && b > T(0) && c > T(0))) continue;
      // b + slope u + bend u^2 at u in [-before, 1], in units of the second spacing.
      const T unit = clocks_[j + 2] - clocks_[j + 1];
      const T before = (clocks_[j + 1] - clocks_[j]) / unit;
      const T bend = ((a - b) / before + (c - b)) / (T(1) + before);
      const T slope = c - b - bend;
      if (!(bend > T(0)) || !(-slope < T(2) * bend) || !(slope < T(2) * bend * before)) continue;
      const T lowest = b - slope * slope / (T(4) * bend);
      if (!(lowest < std::min({a, b, c}) / T(2))) continue;
      const Seen bottom = turn(finder, sign, clocks_[j], clocks_[j + 2]);
      if (!(sign * bottom.value < T(0))) continue;
      if (finder.kind != (sign > T(0) ? EventKind::minimum : EventKind::maximum)) {
        locate_event(finder, {clocks_[j], values[j]}, bottom);
      }
      if (finder.kind != (sign > T(0) ? EventKind::maximum : EventKind::minimum)) {
        locate_event(finder, bottom, {clocks_[j + 2], values[j + 2]});
      }
      return;
    }
  }

  // The solution at a probe of the last step, as far as signs and rows need it; sketched once for both.
  const Vector<T>& at_probe(std::size_t probe) {
    if (clocks_[probe] == stepper_->t()) return stepper_->x();
    if (sketches_.size() < clocks_.size()) sketches_.resize(clocks_.size());
    for (; sketched_ < probe; ++sketched_) {
      stepper_->sketch_at(clocks_[sketched_ + 1], sketches_[sketched_ + 1]);
    }
    return sketches_[probe];
  }

  // The zero between two times that a sketch has on different sides of it.
  void locate_event(const EventFinder<T>& finder, Seen left, Seen right) {
    const T sign = right.value > T(0) ? T(1) : T(-1);
    const auto before = [&](const Seen& seen) { return sign * seen.value < T(0); };
    const auto after = [&](const Seen& seen) { return sign * seen.value > T(0); };
    const auto on_solution = [&](const T& clock) { return Seen{clock, value_at(finder, clock)}; };
    const auto zero_between = [&](const Seen& a, const Seen& b) {
      return root([&](const T& clock) { return value_at(finder, clock); }, a.clock, b.clock,
                  a.value, b.value);
    };
    if constexpr (std::is_same_v<T, double>) {
      // Near a steady state a rate is what the solve leaves of it, and no search is worth its zeros.
      const auto k = static_cast<std::size_t>(&finder - rung_.events.data());
      const T size = std::max(std::fabs(left.value), std::fabs(right.value));
      if (size < request_.relative_tolerance * largest_values_[k]) {
        add_event(finder,
                  std::fabs(left.value) < std::fabs(right.value) ? left.clock : right.clock);
        return;
      }
    }
    const Seen sketched_left = left;
    const Seen sketched_right = right;
    T where = right.clock;
    bool known = false;
    if constexpr (!std::is_same_v<T, double>) {
      // The solution at a time of its own costs half a step in digits, so the sketch is believed until the
      // search ends at a side of the interval.
      where = zero_between(left, right);
      using std::abs;
      const T spacing = T(16) * machine_epsilon<T>() * std::max(T(abs(where)), T(abs(right.clock)));
      known = spacing < where - left.clock && spacing < right.clock - where;
    }
    if (!known) {
      left = on_solution(left.clock);
      right = on_solution(right.clock);
      // Where sketch and solution differ in a sign, the zero is in an interval beside.
      for (auto next = std::lower_bound(clocks_.begin(), clocks_.end(), left.clock);
           after(left) && next != clocks_.begin();) {
        right = left;
        left = on_solution(*--next);
      }
      for (auto next = std::upper_bound(clocks_.begin(), clocks_.end(), right.clock);
           before(right) && next != clocks_.end(); ++next) {
        left = right;
        right = on_solution(*next);
      }
      if (before(left) && after(right)) {
        where = zero_between(left, right);
      } else if (left.value == T(0) || right.value == T(0)) {
        where = left.value == T(0) ? left.clock : right.clock;
      } else if (!meets_zero(finder, sketched_left, sketched_right, where)) {
        return;
      }
    }
    add_event(finder, where);
  }

  void add_event(const EventFinder<T>& finder, const T& where) {
    stepper_->at(where, y_now_);
    split(y_now_);
    const T t = time_of(y_now_, where);
    // Two changes of sign in a sketch may be one of the solution; those of earlier steps come before.
    using std::abs;
    const T same = T(16) * machine_epsilon<T>() * abs(t);
    const T first_t = time_of(stepper_->x_old(), stepper_->t_old());
    for (auto other = result_.events.rbegin();
         other != result_.events.rend() && !(other->t < first_t - same); ++other) {
      if (other->name == finder.name && other->column == finder.column &&
          abs(other->t - t) <= same) {
        return;
      }
    }
    const T report = finder.report(x_now_, t);
    const T noise = std::max(tolerances(unresolved_tolerances, report),
                             moved_by(unresolved_tolerances, finder.report, t));
    // In a stiff phase a state that is off by one tolerance moves the zero farther than two solves are apart.
    const T value_moves = moved_by(1, finder.value, t);
    split(stepper_->x_old());
    const T first = finder.value(x_now_, first_t);
    const T last = value_at(finder, stepper_->t());
    const T slope = abs(T(last - first)) / T(time_of(stepper_->x(), stepper_->t()) - first_t);
    result_.events.push_back({finder.name, t, finder.column, report,
                              slope > T(0) ? to_double(T(value_moves / slope)) : 0});
    event_noise_[t] = noise;
  }

  // The error of a stiffness-limited solve, measured.
  static constexpr double unresolved_tolerances = 1000;
  [[nodiscard]] T tolerances(double count, const T& value) const {
    using std::abs;
    return T(count) * (request_.absolute_tolerance + request_.relative_tolerance * abs(value));
  }

  // Largest change of `read` when each component of the state is perturbed by `count` tolerances, with equal and with
  // alternating signs.
  template <class Read>
  T moved_by(double count, const Read& read, const T& t) {
    using std::abs;
    const T here = read(x_now_, t);
    T most(0);
    for (const bool alternates : {false, true}) {
      Vector<T> moved = x_now_;
      for (Index i = 0; i < n_; ++i) {
        const T by = tolerances(count, moved[i]);
        moved[i] += alternates && i % 2 != 0 ? T(-by) : by;
      }
      const T apart = abs(T(read(moved, t) - here));
      if (apart > most) most = apart;
    }
    return most;
  }

  // A sketch has a pair of zeros, and the solution one sign at all probes: it may turn beyond 0 between them.
  bool meets_zero(const EventFinder<T>& finder, const Seen& left, const Seen& right, T& where) {
    const Seen end{clocks_.back(), value_at(finder, clocks_.back())};
    const T sign = end.value > T(0) ? T(1) : T(-1);
    const bool left_is_wrong = sign * left.value < T(0);
    const Seen& wrong = left_is_wrong ? left : right;
    const auto at = std::lower_bound(clocks_.begin(), clocks_.end(), wrong.clock);
    const T from = at == clocks_.begin() ? clocks_.front() : *(at - 1);
    const auto next = std::upper_bound(clocks_.begin(), clocks_.end(), wrong.clock);
    const T to = next == clocks_.end() ? clocks_.back() : *next;
    const Seen bottom = turn(finder, sign, from, to);
    if (!(sign * bottom.value < T(0))) return false;
    const T side = left_is_wrong ? to : from;
    const T at_side = value_at(finder, side);
    if (!(sign * at_side > T(0))) return false;
    const auto f = [&](const T& clock) { return value_at(finder, clock); };
    where = left_is_wrong ? root(f, bottom.clock, side, bottom.value, at_side)
                          : root(f, side, bottom.clock, at_side, bottom.value);
    return true;
  }

  // Near a steady state the rate of an observable changes sign with rounding and truncation noise.
  // A pair of neighbouring extrema, or a last one and the end, that differ by less than the solve
  // resolves is no event.
  void drop_unresolved_extrema() {
    const auto is_extremum = [&](const Event<T>& event) {
      return std::any_of(rung_.events.begin(), rung_.events.end(), [&](const EventFinder<T>& f) {
        return f.kind != EventKind::crossing && f.name == event.name;
      });
    };
    const auto unresolved = [&](const Event<T>& event, const T& next) {
      using std::abs;
      T noise = tolerances(unresolved_tolerances, event.value);
      if (const auto own = event_noise_.find(event.t); own != event_noise_.end()) {
        noise = std::max(noise, own->second);
      }
      return abs(event.value - next) < noise;
    };
    std::vector<Event<T>> kept;
    // The last pair that was dropped. What comes next may be the same turn, which noise has made into several: it is
    // then anywhere from the first of them on.
    std::optional<std::pair<Event<T>, Event<T>>> dropped;
    for (Event<T>& event : result_.events) {
      if (!is_extremum(event)) {
        kept.push_back(std::move(event));
        continue;
      }
      if (dropped && dropped->first.name == event.name && dropped->first.column == event.column &&
          unresolved(dropped->second, event.value)) {
        event.uncertainty = std::max(event.uncertainty, to_double(T(event.t - dropped->first.t)) +
                                                            dropped->first.uncertainty);
      }
      if (!kept.empty() && is_extremum(kept.back()) && kept.back().column == event.column &&
          unresolved(kept.back(), event.value)) {
        dropped.emplace(std::move(kept.back()), std::move(event));
        kept.pop_back();
      } else {
        kept.push_back(std::move(event));
      }
    }
    if (!kept.empty() && is_extremum(kept.back()) && result_.last_state.size() == n_) {
      for (const EventFinder<T>& finder : rung_.events) {
        if (finder.name == kept.back().name &&
            unresolved(kept.back(), finder.report(result_.last_state, t_))) {
          kept.pop_back();
          break;
        }
      }
    }
    result_.events = std::move(kept);
  }

  // --- blow-up ---
  // In the arc clock
  //   d ln|f| / dt = sqrt(1 + |f|^2) d ln|f| / ds;
  // its inverse estimates t* - t up to a factor near 1 (exactly for x' = x^2 up to 2; tends to 1
  // for exponential fields).
  // Infinite where |f| does not grow. In the clock t: the time in which it grows e-fold.
  [[nodiscard]] T time_left() const {
    using std::log;
    const T step = stepper_->t() - stepper_->t_old();
    if (!in_arc_) {
      if (!(speed_ > speed_old_) || !(speed_old_ > T(0))) return solving::infinity<T>();
      return step / log(T(speed_ / speed_old_));
    }
    // In the arc clock dt/ds = 1 / sqrt(1 + |f|^2).
    const T pace = stepper_->slope()[n_] * arc_unit_;
    const T pace_old = stepper_->slope_old()[n_] * arc_unit_;
    const T growth = log(T(pace_old / pace)) / step;
    return growth > T(0) ? T(pace / growth) : solving::infinity<T>();
  }

  // The time of a blow-up is known to some hundred times the error of a step (measured by solves at looser
  // tolerances); nearer to it there is no telling whether it has been.
  T unresolved_time() const {
    using std::abs;
    constexpr double largest_share = 1e-4;
    return std::min(T(T(100) * request_.relative_tolerance), T(largest_share)) * abs(t_);
  }

  bool blew_up() {
    const T remaining = time_left();
    const bool grows = remaining < solving::infinity<T>();
    falling_ = grows ? 0 : falling_ + 1;
    if (!grows) return false;
    using std::abs;
    const T resolved = std::max(T(machine_epsilon<T>() * abs(t_)),
                                T(request_.relative_tolerance * abs(t_) / T(1000)));
    if (!blow_up_) {
      if (!(remaining < resolved)) return false;
      split(stepper_->x());
      Index component = 0;
      x_now_.cwiseAbs().maxCoeff(&component);
      blow_up_ =
          BlowUp{{"blow-up", t_ + remaining, rung_.state_names[static_cast<std::size_t>(component)],
                  x_now_[component] > T(0) ? solving::infinity<T>() : T(-solving::infinity<T>())},
                 x_now_,
                 t_,
                 result_.events.size()};
    }
    // What only grows fast, and saturates within a time that is not resolved, is followed until it does.
    constexpr double certain_speed = 1e290;
    if (stepper_->slope()[n_] * T(certain_speed) > T(1)) return false;
    finish(Ending::blew_up);
    return true;
  }

  // Near a steady state that is stiffer than the clock t resolves, steps of the arc go to and fro.
  bool stands() {
    constexpr int most_standing = 20'000;
    constexpr double roundings = 100;
    using std::abs;
    if (T(roundings) * machine_epsilon<T>() * abs(t_) < t_ - standing_since_) {
      standing_since_ = t_;
      standing_ = 0;
    }
    return ++standing_ > most_standing;
  }

  // Takes back what was found after it: the solution ends here.
  void end_at_blow_up() {
    result_.events.resize(blow_up_->events_before);
    result_.events.push_back(blow_up_->event);
    t_ = blow_up_->t;
    while (!result_.t.empty() && blow_up_->event.t - result_.t.back() < unresolved_time()) {
      result_.t.pop_back();
      result_.rows.pop_back();
      if (request_.keep_states) result_.states.pop_back();
    }
    last_good(blow_up_->state, t_);
  }

  // Of the arc clock: 1, or for times that are far from 1 a power of 2 near them, which is exact.
  static T unit_of(const T& t) {
    constexpr double short_time = 1e-3;
    constexpr double long_time = 1e6;
    const double size = to_double(t);
    if (!(size > 0) || (short_time < size && size < long_time)) return T(1);
    return T(std::ldexp(1.0, std::ilogb(size)));
  }

  // Changes to the arc clock when the largest slope points outwards and would run away long before
  // the end, and back when it falls again.
  void choose_clock() {
    if (!request_.find_blow_up) return;
    if (in_arc_) {
      leave_arc_if_settled();
      return;
    }
    const auto outward = [&] {
      // Only asked when the field grows: looking for the place costs more than the size.
      Index component = 0;
      stepper_->slope().cwiseAbs().maxCoeff(&component);
      return stepper_->slope()[component] * stepper_->x()[component] > T(0);
    };
    using std::log;
    bool runs_away = false;
    if (speed_ > speed_old_ && speed_old_ > T(0) && outward()) {
      const T remaining_time = (stepper_->t() - stepper_->t_old()) / log(speed_ / speed_old_);
      const T left = request_.end - stepper_->t();
      const T size = norm_inf(stepper_->x());
      // Near a steady state, where stability limits the steps, the speed is what the tolerance leaves of it and
      // grows by chance; what runs away moves by a fifth root of the tolerance a step.
      using std::sqrt;
      const T resolved = request_.absolute_tolerance + request_.relative_tolerance * size;
      runs_away = remaining_time * T(20) < left && speed_ * left > T(100) * (T(1) + size) &&
                  speed_ * T(stepper_->t() - stepper_->t_old()) >
                      resolved / T(sqrt(request_.relative_tolerance));
    }
    growing_ = runs_away ? growing_ + 1 : 0;
    if (growing_ >= enough_growing_) enter_arc();
  }

  // Back to the clock t once it resolves what is left of a fall of the speed. Where a component saturates within the
  // spacing of times, it never does: then once stability limits the steps.
  void leave_arc_if_settled() {
    using std::abs;
    slowest_pace_ = std::min(slowest_pace_, T(stepper_->slope()[n_]));
    if (falling_ >= 3) {
      split(stepper_->x());
      Vector<T> slope(n_);
      field_.rhs(x_now_, slope, t_);
      constexpr double spacings = 1e4;
      const T resolved = T(spacings) * machine_epsilon<T>() * abs(t_);
      if (resolved * spectral_radius(x_now_, slope) < T(1)) {
        leave_arc(request_.method == Method::rosenbrock4 ? Method::rosenbrock4 : method_);
        return;
      }
    }
    constexpr double short_step = 1e-6;
    const T step = stepper_->t() - stepper_->t_old();
    if (fallen() && step < T(short_step) * norm_inf(stepper_->x())) {
      if (can_change_to_rosenbrock4()) {
        damp_by_rosenbrock4();
      } else {
        leave_arc(method_);
      }
    }
  }

  // The first step damps what changes within a time that is not resolved, which no error estimate is to go by.
  void damp_by_rosenbrock4() {
    using std::abs;
    constexpr double spacings = 1e4;
    const T step = T(spacings) * machine_epsilon<T>() * abs(t_);
    damping_ = true;
    if (in_arc_) {
      leave_arc(Method::rosenbrock4, step);
    } else {
      change_method(Method::rosenbrock4, step);
    }
  }

  // Whether the speed is far below what it was in the arc clock.
  [[nodiscard]] bool fallen() const {
    constexpr double far_below_peak = 1e3;
    return T(far_below_peak) * slowest_pace_ < stepper_->slope()[n_];
  }

  void leave_arc(Method next) {
    leave_arc(next, T(t_ - time_of(stepper_->x_old(), stepper_->t_old())));
  }
  void leave_arc(Method next, const T& step) {
    blow_up_.reset();
    note("back to the clock t");
    split(stepper_->x());
    in_arc_ = false;
    growing_ = 0;
    // Whoever runs away in the end grows for longer; what only seemed to is not to go to and fro.
    constexpr int most_growing = 48;
    enough_growing_ = std::min(2 * enough_growing_, most_growing);
    start_method(next, x_now_, t_, step);
  }

  void enter_arc() {
    note("arc-length clock");
    Vector<T> y(n_ + 1);
    y.head(n_) = stepper_->x();
    // With t of order 1 the tolerance of a step holds for it, and the clock passes when x changes.
    arc_unit_ = unit_of(t_);
    y[n_] = stepper_->t() / arc_unit_;
    in_arc_ = true;
    falling_ = 0;
    slowest_pace_ = solving::infinity<T>();
    standing_since_ = t_;
    standing_ = 0;
    arc_field_ = in_arc_clock(field_, n_, arc_unit_);
    start_method(method_ == Method::rosenbrock4 ? first_method() : method_, y, T(0), T(0));
  }

  // --- changes of method ---
  // `auto`: one step of a nonlinear power iteration every 8 steps estimates the spectral radius rho
  // of the Jacobian. dopri5 is limited by stability when h rho stays near its bound of 3.3 on the
  // negative axis; rosenbrock4 hands back when h rho < 1 would do.
  //
  // Where its step costs hundreds of evaluations it may lose all the same. It is then tried once as many
  // evaluations are spent as the trial costs, and keeps on as long as it goes farther an evaluation; every
  // trial that fails doubles the evaluations before the next.
  void choose_method() {
    if (damping_) {
      damping_ = false;
      change_method(Method::rosenbrock4);
      return;
    }
    choose_clock();
    if (in_arc_ || n_ > largest_dense_dimension || !std::is_same_v<T, double>) return;
    if (method_ == Method::rosenbrock4 && !has_jump() && at_rest()) {
      rest_until_end();
      return;
    }
    if (request_.method != Method::automatic) return;
    ++since_start_;
    if (on_trial() && method_ == Method::rosenbrock4 && since_start_ % steps_of_trial == 0) {
      const T pace = T(stepper_->t() - t_of_trial_) / T(steps_of_trial * implicit_cost());
      t_of_trial_ = stepper_->t();
      if (pace < pace_before_) {
        patience_ *= 2;
        change_method(Method::dopri5);
        return;
      }
    }
    if (++since_estimate_ < 8) return;
    since_estimate_ = 0;
    const T step = stepper_->t() - stepper_->t_old();
    const T product = step * spectral_radius(stepper_->x(), stepper_->slope());
    const bool vote = method_ == Method::dopri5 ? product > T(5) / T(2) : product < T(1);
    stiff_votes_ = vote ? stiff_votes_ + 1 : 0;
    if (stiff_votes_ < 3) return;
    if (method_ == Method::rosenbrock4) {
      change_method(Method::dopri5);
      return;
    }
    constexpr double explicit_cost = 6;  // evaluations a step of dopri5
    if (on_trial() && explicit_cost * static_cast<double>(since_start_) <
                          patience_ * steps_of_trial * implicit_cost()) {
      return;
    }
    pace_before_ = step / T(explicit_cost);
    t_of_trial_ = stepper_->t();
    change_method(Method::rosenbrock4);
  }

  // Whether the field has been what rounding leaves of it, in each component, for as many long steps as any mode that
  // grows would have shown in. What limits the steps then is the rounding, and budgets would be used up on nothing.
  bool at_rest() {
    constexpr int rest_estimates = 50;
    constexpr int steps_between = 8;
    if (++since_rest_ < steps_between) return false;
    since_rest_ = 0;
    resting_ = is_rounding(stepper_->slope()) ? resting_ + 1 : 0;
    return resting_ >= rest_estimates;
  }

  // Of a slope there is left, a part is rounding of each of the terms that cancel in it: what the state moved by its
  // rounding, with several patterns of signs, does to it.
  bool is_rounding(const Vector<T>& slope) {
    const T rounding = T(100) * machine_epsilon<T>();
    Vector<T> moved(n_);
    image_.resize(n_);
    Vector<T> most = Vector<T>::Zero(n_);
    for (const Index period : {1, 2, 3}) {
      for (Index i = 0; i < n_; ++i) {
        const T share = i % (2 * period) < period ? rounding : T(-rounding);
        moved[i] = stepper_->x()[i] * (T(1) + share);
      }
      field_.rhs(moved, image_, stepper_->t());
      most = most.cwiseMax((image_ - slope).cwiseAbs());
    }
    return (slope.cwiseAbs().array() <= most.array()).all();
  }

  void rest_until_end() {
    note("at rest to rounding");
    split(stepper_->x());
    const Vector<T> x = x_now_;
    while (next_save_ < request_.save_at.size()) {
      x_now_ = x;
      save(request_.save_at[next_save_]);
    }
    t_ = request_.end;
    last_good(x, t_);
    finish(Ending::reached_end);
  }

  [[nodiscard]] bool can_change_to_rosenbrock4() const {
    return std::is_same_v<T, double> && method_ != Method::rosenbrock4 && field_.jacobian &&
           (request_.method == Method::automatic || request_.method == Method::rosenbrock4) &&
           n_ <= largest_dense_dimension;
  }

  void change_method(Method other) { change_method(other, T(stepper_->t() - stepper_->t_old())); }
  void change_method(Method other, const T& step) {
    note(name_of(other));
    // Copies: the stepper that owns them is replaced.
    const Vector<T> x = stepper_->x();
    const T now = stepper_->t();
    start_method(other, x, now, step);
  }

  [[nodiscard]] bool on_trial() const { return !field_.jacobian || n_ > largest_stiff_dimension; }

  // Evaluations that a step of rosenbrock4 costs: those of the Jacobian (on dual numbers each counts as two),
  // its own, and the LU at some ten operations a number and evaluation.
  [[nodiscard]] double implicit_cost() const {
    const auto n = static_cast<double>(n_);
    return 2 * n + 8 + n * n / 30;
  }

  // Of the Jacobian, by one step of the power iteration; `slope` is the field at x.
  T spectral_radius(const Vector<T>& x, const Vector<T>& slope) {
    using std::sqrt;
    if (direction_.size() != n_) {
      // Any start that no eigenvector is orthogonal to by construction.
      direction_.resize(n_);
      for (Index i = 0; i < n_; ++i) direction_[i] = T(1) / T(1 + i % 7);
    }
    const T size = norm_inf(direction_);
    const T small = sqrt(machine_epsilon<T>()) * (T(1) + norm_inf(x));
    image_.resize(n_);
    const Vector<T> moved = x + direction_ * (small / size);
    field_.rhs(moved, image_, t_);
    image_ = (image_ - slope) / small;
    const T radius = norm_inf(image_);
    if (radius > T(0)) direction_ = image_;
    return radius;
  }

  // --- end ---
  void note(const std::string& what) {
    result_.outcome.notes.push_back(what + " from t = " + popgrad::to_text(to_double(t_)));
  }
  void last_good(const Vector<T>& x, const T& t) {
    if (past_end_) return;
    result_.last_state = x;
    result_.outcome.t_reached = to_double(t);
  }
  void finish(Ending ending) {
    if (blow_up_ && ending != Ending::interrupted && !fallen()) {
      ending = Ending::blew_up;
      end_at_blow_up();
    }
    drop_unresolved_extrema();
    // Past the end only a blow-up counts.
    result_.outcome.ending = past_end_ && ending != Ending::blew_up ? Ending::reached_end : ending;
    finished_ = true;
  }
  static bool all_finite(const Vector<T>& x) {
    const T size = norm_inf(x);
    return size < solving::infinity<T>();
  }

  const AnyRung<T>& rung_;
  const SolveRequest<T>& request_;
  Index n_;
  Field<T> field_, arc_field_;
  std::unique_ptr<Stepper<T>> stepper_;
  Method method_ = Method::dopri5;
  Trajectory<T> result_;
  T t_{};
  std::size_t paced_steps_ = 0;  // when the pace was measured last, and the time then
  T paced_t_{};
  Vector<T> x_now_, y_now_, direction_, image_;
  std::vector<T> jumps_;  // of the field in time, ascending
  std::size_t next_jump_ = 0;
  std::size_t next_save_ = 0;
  std::size_t seen_step_rows_ = 0;
  std::size_t step_row_stride_ = 1;
  std::vector<T> clocks_;            // at which the last step is looked at
  std::vector<Vector<T>> sketches_;  // of the solution there, the first `sketched_` after its begin
  std::size_t sketched_ = 0;
  std::vector<std::size_t> same_value_;       // the first finder with the same function
  std::vector<std::vector<T>> probe_values_;  // of every finder
  std::vector<T> largest_values_;             // of |event function| so far
  std::vector<T> event_values_;               // the last that were not 0; 0 where none was seen yet
  std::map<T, T> event_noise_;                // at the time of an event, what its value is known to
  bool in_arc_ = false;
  /// A blow-up as it was located, before it is known not to saturate.
  struct BlowUp {
    Event<T> event;
    Vector<T> state;
    T t;
    std::size_t events_before;
  };
  std::optional<BlowUp> blow_up_;
  T arc_unit_{1};       // of t as a component in the arc clock
  T slowest_pace_{};    // in the arc clock so far
  T standing_since_{};  // when t last moved by more than rounding in the arc clock, and steps since
  int standing_ = 0;
  bool damping_ =
      false;  // in the first step of rosenbrock4 where others need steps below the spacing of times
  bool past_end_ = false;  // the end is reached, and a blow-up looked for that may lie before it
  bool finished_ = false;
  bool stepping_ = false;
  int growing_ = 0;
  int enough_growing_ = 3;  // steps in a row, for the arc clock
  int falling_ = 0;
  T speed_{}, speed_old_{};  // |f|_max at the two ends of the last step
  int stiff_votes_ = 0;
  int since_rest_ = 0;
  int resting_ = 0;              // estimates in a row that found the field at rest
  std::size_t since_start_ = 0;  // steps of this method
  double patience_ = 1;          // trials' worth of evaluations before rosenbrock4 is tried
  T pace_before_{0},
      t_of_trial_{0};  // time an evaluation before a trial, and when it was judged last
  int since_estimate_ = 0;
  int since_progress_ = 0;
};

template <class T>
void check(const AnyRung<T>& rung, const Vector<T>& initial, const SolveRequest<T>& request) {
  if (!rung.field.value)
    throw std::invalid_argument("solve: this rung is a closed form and has no rhs");
  if (request.method == Method::rosenbrock4 && rung.dimension > largest_dense_dimension) {
    reject(
        "solve", "--method", "rosenbrock4",
        fmt::format(
            "needs a Jacobian of n^2 numbers, and this rung has n = {} where {} are the most; take "
            "auto, dopri5 or bulirsch-stoer",
            rung.dimension, largest_dense_dimension));
  }
  if (initial.size() != rung.dimension) {
    throw std::invalid_argument("solve: the initial state has the wrong dimension");
  }
  if (!(request.relative_tolerance > T(0)) || !(request.absolute_tolerance > T(0))) {
    throw std::invalid_argument("solve: tolerances must be > 0");
  }
  require_memory(
      static_cast<double>(request.save_at.size()) *
          bytes_of_row(rung.observables.columns.size(),
                       request.keep_states ? static_cast<double>(rung.dimension) : 0, sizeof(T)),
      "the rows of " + std::to_string(request.save_at.size()) + " save points",
      "lower --save, or leave out --states");
  // The state, its slopes and the stages of a step: ten of that length at least.
  require_memory(10 * static_cast<double>(rung.dimension) * sizeof(T),
                 "steps of a state of " + std::to_string(rung.dimension) + " numbers",
                 "lower the sizes of the instance");
  if (request.end < request.start)
    throw std::invalid_argument("solve: the end is before the start");
  for (std::size_t i = 0; i < request.save_at.size(); ++i) {
    if (request.save_at[i] < request.start || request.end < request.save_at[i] ||
        (i > 0 && request.save_at[i] < request.save_at[i - 1])) {
      throw std::invalid_argument("solve: save points must ascend within [start, end]");
    }
  }
}

}  // namespace popgrad::solving

namespace popgrad {

template <class T>
Trajectory<T> solve(const AnyRung<T>& rung, const Vector<T>& initial,
                    const SolveRequest<T>& request) {
  solving::check(rung, initial, request);
  Trajectory<T> run = solving::Solver<T>(rung, request).run(initial);
  // Who follows the progress takes what there is; others expect a whole run.
  if (run.outcome.ending == Ending::interrupted && !request.on_progress) throw_if_stopped();
  return run;
}

template <class T>
std::vector<T> equally_spaced(const T& start, const T& end, std::size_t count) {
  if (count < 2) throw std::invalid_argument("equally_spaced: at least two points");
  std::vector<T> times(count);
  for (std::size_t k = 0; k < count; ++k) {
    times[k] = start + (end - start) * T(static_cast<long>(k)) / T(static_cast<long>(count - 1));
  }
  times.front() = start;
  times.back() = end;
  return times;
}

}  // namespace popgrad
