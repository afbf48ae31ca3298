#include <array>

#include "popgrad/solving/solve.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr double training_tolerance = 1e-12;
constexpr double entropy_tolerance = 1e-11;

// When each token has 1e-3, 1e-4, 1e-5 of its way left, and when all have 1e-6.
struct Schedule {
  std::vector<std::array<double, 3>> times;
  double end = 0;
};

Schedule schedule(const AnyRung<double>& rung, Index tokens, double first_guess) {
  constexpr std::size_t saves = 4000;
  for (double end = first_guess; end < 100 * first_guess; end *= 2) {
    SolveRequest<double> request;
    request.end = end;
    request.save_at = equally_spaced(0.0, end, saves + 1);
    request.relative_tolerance = 1e-10;
    request.absolute_tolerance = 1e-13;
    request.keep_states = true;
    request.find_events = false;
    const Trajectory<double> run = solve(rung, request);
    throw_if_stopped();
    if (!run.outcome.usable()) throw Failure("the unit does not get to its end");
    Schedule found;
    Vector<double> slope(rung.dimension);
    Vector<double> first_slope(rung.dimension);
    rung.field.value(run.states.back(), slope, 0.0);
    rung.field.value(run.states[saves / 2], first_slope, 0.0);
    // Settled: what is left, v'/rate, with the rate over the second half.
    bool settled = true;
    for (Index l = 0; l < tokens; ++l) {
      const double rate = std::log(std::fabs(first_slope[l] / slope[l])) / (end / 2);
      const double last = run.states.back()[l];
      settled = settled && (slope[l] == 0 || std::fabs(slope[l] / rate / last) < 1e-6);
    }
    if (!settled) continue;
    for (Index l = 0; l < tokens; ++l) {
      const double last = run.states.back()[l];
      std::array<double, 3> at{};
      std::size_t i = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const double left = std::pow(10.0, -3.0 - static_cast<double>(k));
        while (i < saves && std::fabs(1 - run.states[i][l] / last) > left) ++i;
        at[k] = run.t[i];
        ++i;  // the next one is later
      }
      found.times.push_back(at);
    }
    found.end = end;
    return found;
  }
  throw Failure("the unit does not settle");
}

Functional entropy_of(const AttendedUnit& unit) {
  return [temperature = unit.training.temperature,
          tokens = unit.target.size()](const Vector<double>& x) {
    return softmax_entropy(Vector<double>(x.tail(tokens) / temperature));
  };
}

// v' = a o G(a o v), a = exp(v^2/tau): G is the field of training at z = 0.
AnyRung<double> law_of(const AttendedUnit& unit) {
  const PopulationFlow<double> flow(unit.training);
  const Index d = unit.target.size();
  AnyRung<double> rung;
  rung.dimension = d;
  rung.initial = flow.initial().head(d);
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  rung.field.value = [flow, d, tau = unit.tau](const Vector<double>& v, Vector<double>& slope,
                                               const double& t) {
    const Vector<double> a = (v.array().square() / tau).exp();
    Vector<double> x = Vector<double>::Zero(2 * d);
    x.head(d) = a.cwiseProduct(v);
    Vector<double> field(2 * d);
    flow.rhs(x, field, t);
    slope = a.cwiseProduct(field.head(d));
  };
  return rung;
}

}  // namespace

double attention_entropy(const Vector<double>& v, double tau_of_unit) {
  return softmax_entropy(Vector<double>(v.array().square() / tau_of_unit));
}

Quantity rebound(const AttendedUnit& unit, const AttendedEnd& end) {
  return end.entropy - smallest_along(forget_type(PopulationFlow<double>(unit.training)), end.time,
                                      entropy_tolerance, entropy_of(unit));
}

Quantity rebound_by_law(const AttendedUnit& unit, const Vector<double>& last, double time) {
  return Quantity(attention_entropy(last, unit.tau)) -
         smallest_along(
             law_of(unit), time, entropy_tolerance,
             [tau = unit.tau](const Vector<double>& v) { return attention_entropy(v, tau); });
}

AttendedEnd train(const AttendedUnit& unit) {
  const Index d = unit.target.size();
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(unit.training));
  const Schedule plan = schedule(rung, d, 10 / unit.slope);
  std::vector<double> times{plan.end};
  for (const auto& at : plan.times) times.insert(times.end(), at.begin(), at.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const Solved run(rung, times, training_tolerance);
  const auto place = [&](double t) {
    return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) -
                                    times.begin());
  };
  const auto slope_at = [&](std::size_t save, Index l) {
    Quantity value = run.at(save, [&](const Vector<double>& x) {
      Vector<double> dx(x.size());
      rung.field.value(x, dx, 0.0);
      return std::fabs(dx[l]);
    });
    // The two classes of a token cancel near mu.
    const double gain = std::exp(run.state(save)[d + l] / unit.training.temperature);
    const double pull =
        unit.training.class_law.segment(2 * l, 2).sum() * unit.training.decoder.maxCoeff();
    value.add(ErrorPart::rounding(8, gain * pull));
    return value;
  };
  AttendedEnd end;
  const std::size_t last = place(plan.end);
  Vector<double> logits = run.state(last).tail(d) / unit.training.temperature;
  for (Index l = 0; l < d; ++l) {
    const auto& at = plan.times[static_cast<std::size_t>(l)];
    std::array<Quantity, 3> logs;
    for (std::size_t k = 0; k < logs.size(); ++k) logs[k] = log(slope_at(place(at[k]), l));
    const Quantity before = (logs[0] - logs[1]) * Quantity(1 / (at[1] - at[0]));
    Quantity rate = (logs[1] - logs[2]) * Quantity(1 / (at[2] - at[1]));
    rate.add(ErrorPart::next_order(rate.value() - before.value()));
    // What is left at this rate is added, and taken for the error.
    const Quantity left = slope_at(last, l) / rate;
    const bool rising = run.state(last)[l] > run.state(0)[l];
    Quantity weight = run.at(last, [l](const Vector<double>& x) { return x[l]; });
    // T z' = v v'.
    const double before_end = weight.value();
    weight = rising ? weight + left : weight - left;
    logits[l] += (weight.value() - before_end) * (weight.value() + before_end) / unit.tau;
    weight.add(ErrorPart::next_order(left.value()));
    end.weight.push_back(weight);
    end.rate.push_back(rate * Quantity(1 / unit.slope));
  }
  end.entropy = run.at(last, entropy_of(unit));
  const double entropy_left = softmax_entropy(logits) - end.entropy.value();
  end.entropy = end.entropy + Quantity(entropy_left, {ErrorPart::next_order(entropy_left)});
  end.time = plan.end;
  return end;
}

}  // namespace popgrad::joma::checks
