// Theorem    scb.linearisation
// Status     derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  near 0, up to O(alpha^2) relative to it,
//              (alpha_V, alpha_A) = M^{-1} (e^{Mt} - I) b;
//            the time to reach alpha_A alpha_V = z is to 1 %
//              t    = ln[z/(1-z) 4 T^2 rate^3/K_P]/(2 rate)
//              rate = sqrt(K_P (K_Q - 1/T) + 1/(4 T^2)) - 1/(2 T),
//            so that it grows like ln T only
// Hypotheses H1 from scratch; H2 T large
// Check      order of the error in alpha; the time on the reduced flow for T = 1e4 to 1e9
// Controls   rate without the square root of K_P K_Q; the time with T for T^2
// Uses       rungs reduced, closed-form

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "popgrad/fit.hpp"
#include "popgrad/random.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/solve.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob length{.name = "length",
                      .meaning = "positions T of the context",
                      .low = 1e3,
                      .high = 1e7,
                      .usual = 1e4,
                      .spacing = Spacing::logarithmic};
constexpr Knob product_knob{.name = "product",
                            .meaning = "alpha_A alpha_V = z at which the time is taken",
                            .low = 0.05,
                            .high = 0.99,
                            .usual = 0.9};
constexpr Knob head_start{
    .name = "head-start",
    .meaning =
        "distance of the start from 0, in units of what the drift 1/T moves within a growth "
        "time; its direction within the half plane that grows is drawn",
    .low = 1e-3,
    .high = 1e3,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "from scratch"};

struct Sizes {
  double transition = 0;  // K_P
  double context = 0;     // K_Q
  double head_start = 0;
  double angle = 0;  // of the start, in sqrt(K_P) alpha_V and sqrt(K_Q) alpha_A
  [[nodiscard]] double growth() const { return std::sqrt(transition * context); }
  [[nodiscard]] double rate(double positions) const {
    return growth_rate(transition, context, positions);
  }
};

AnyRung<double> reduced(const Sizes& sizes, double positions) {
  AnyRung<double> rung =
      forget_type(ReducedFlow<double>(sizes.transition, sizes.context, positions, 0.35, 0.0, 0.0));
  const double scale =
      sizes.head_start * std::sqrt(sizes.transition) / (positions * sizes.growth());
  rung.initial[0] = scale * std::cos(sizes.angle) / std::sqrt(sizes.transition);
  rung.initial[1] = scale * std::sin(sizes.angle) / std::sqrt(sizes.context);
  return rung;
}

SolveRequest<double> precise(std::vector<double> times) {
  SolveRequest<double> request;
  request.end = times.back();
  request.save_at = std::move(times);
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-20;
  request.keep_states = true;
  return request;
}

// Relative error of the linear solution where alpha_V is about `size`.
struct Point {
  double size = 0, error = 0;
};
Point error_near_zero(const Sizes& sizes, double positions, double t) {
  const Trajectory<double> run = solve(reduced(sizes, positions), precise({t}));
  const Vector<double> linear = linearised(sizes.transition, sizes.context, positions, t);
  const Vector<double> there = run.states.front().head(2);
  return {there[0], (linear - there).norm() / there.norm()};
}

// Time at which alpha_A alpha_V passes z, as an event.
double passing_time(const Sizes& sizes, double positions, double z, double guess) {
  AnyRung<double> rung = reduced(sizes, positions);
  const auto product = [z](const Vector<double>& x, const double&) { return x[0] * x[1] - z; };
  rung.events = {{"passing", "alpha_V", EventKind::crossing, product, product}};
  const Trajectory<double> run = solve(rung, precise({2 * guess}));
  for (const Event<double>& event : run.events) {
    if (event.name == "passing") return event.t;
  }
  return std::nan("");
}

// The time at which the product alpha_A alpha_V is what it is at `t` for the usual knobs.
double as_large_as(double t, const Sizes& sizes, double positions) {
  const Sizes usual{transition_size_knob.usual, context_size_knob.usual, 0, 0};
  const auto scale = [](const Sizes& s, double length_of) {
    return 2 * std::log(length_of) + 3 * std::log(s.rate(length_of)) - std::log(s.transition);
  };
  const double rate = sizes.rate(positions);
  const double found = t * (usual.rate(length.usual) / rate) +
                       (scale(sizes, positions) - scale(usual, length.usual)) / (2 * rate);
  // A short context moves the product beyond that within less than a growth time.
  return std::max(found, 0.01 * t / rate);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  Stream stream(setting.seed, 0, 0);
  const Sizes sizes{setting.value(transition_size_knob), setting.value(context_size_knob),
                    setting.value(head_start), std::numbers::pi * (stream.uniform() - 0.25)};
  const double positions =
      length_at(setting.value(short_context), sizes.growth(), setting.value(length));
  const double last = setting.value(product_knob);
  // Longer contexts are within the hypotheses whatever the first is.
  std::vector<double> lengths{positions};
  if (setting.value(short_context) == 0) {
    lengths.insert(lengths.end(), {100 * positions, 1e5 * positions});
  }
  result.parameters = {
      {"K_P", sizes.transition}, {"K_Q", sizes.context},      {"T", lengths},
      {"z", {0.1, 0.5, last}},   {"start", sizes.head_start}, {"seed", setting.seed}};
  result.hypotheses.push_back({"from scratch", sizes.head_start == 0 ? Truth::yes : Truth::no,
                               fmt::format("a start of {:.3g}/(T rate)", sizes.head_start)});
  // What grows has left the terms of order one of the linear solution behind before alpha matters.
  const double growths =
      positions * sizes.growth() * std::sqrt(std::sqrt(sizes.context / sizes.transition));
  result.hypotheses.push_back({"T large", growths >= 2500 ? Truth::yes : Truth::no,
                               fmt::format("T (K_P K_Q)^(1/2) (K_Q/K_P)^(1/4) = {:.3g}", growths)});
  if (variant != "linear-in-T") {
    std::vector<double> reached, errors;
    for (const double t : {18.0, 22.0, 26.0, 30.0}) {
      const Point p = error_near_zero(sizes, positions, as_large_as(t, sizes, positions));
      reached.push_back(p.size);
      errors.push_back(p.error);
    }
    const double order = log_log_slope(reached, errors);
    if (variant.empty() && setting.slack > 0) {
      // An order needs errors of one cause; what a broken hypothesis adds is seen at once.
      result.evidence.push_back(bounded(
          EvidenceKind::numerical, "relative error of the linear solution where alpha is small",
          errors.front(), setting.allow(1e-3), "alpha_A alpha_V is below 1e-4 there"));
    } else if (variant.empty()) {
      result.evidence.push_back(bounded(
          EvidenceKind::numerical, "order of the relative error in alpha, minus 2",
          std::fabs(order - 2), 0.2, "the cubic term alpha_A alpha_V^2 is the first left out",
          fmt::format("measured {:.3f}; error {:.2e} at alpha_V = {:.3f}", order, errors.back(),
                      reached.back())));
    }
  }
  double worst = 0;
  std::string where;
  for (const double length_of : lengths) {
    double rate = sizes.rate(length_of);
    if (variant == "wrong-rate") rate = sizes.transition * sizes.context;
    for (const double z : {0.1, 0.5, last}) {
      const double power = variant == "linear-in-T" ? length_of : length_of * length_of;
      const double claimed =
          std::log(z / (1 - z) * 4 * power * std::pow(rate, 3) / sizes.transition) / (2 * rate);
      const double guess = std::log(400 * length_of * length_of) / (2 * sizes.rate(length_of));
      const double apart = std::fabs(claimed / passing_time(sizes, length_of, z, guess) - 1);
      if (apart > worst) {
        worst = apart;
        where = fmt::format("T = {:.0e}, z = {}", length_of, z);
      }
    }
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "time to alpha_A alpha_V = z minus the formula, relative",
              worst, setting.allow(0.01), "the statement's own 1 %", "worst at " + where));
  return result;
}

}  // namespace

Statement linearisation() {
  return {.id = "scb.linearisation",
          .claim = "growth from 0 is M^{-1} (e^{Mt} - I) b, and takes a time that grows like ln T",
          .paper = "arXiv 2410.23438, Section 3",
          .status = "derived here",
          .hypotheses = {"from scratch", "T large"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"wrong-rate", "rate K_P K_Q in place of its square root"},
                       {"linear-in-T", "T in place of T^2 in the time"}},
          .knobs = {transition_size_knob, context_size_knob, length, product_knob, short_context,
                    head_start},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
