// Theorem    joma.linear-growth
// Status     proved in source (Theorem 2)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 2
// Statement  v' = Delta o exp(v^2/tau), v(0) = 0, is solved by
//              erf(v_l/sqrt tau) sqrt(pi tau)/2 = Delta_l t;
//            the token of largest |Delta| blows up at
//              t* = sqrt(pi tau)/(2 |Delta|_max),
//            the others stop at
//              v_l = sqrt(tau) erfinv(Delta_l/|Delta|_max);
//            attention entropy falls to ln m, m the number of ties for |Delta|_max
// Hypotheses H1 linear phi; H2 one hidden unit; H3 v(0) = 0; H4 Delta is not 0
// Check      separation of variables on symbols; integration with the blow-up as an event; limits
//            of the others; entropy along the way
// Controls   a blow-up time too large by sqrt 2; signs lost in the limits; entropy said to rise
// Uses       rungs reduced, closed-form

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/joma/closed_form.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/random.hpp"
#include "popgrad/solve.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob largest{.name = "largest",
                       .meaning = "|Delta| of the salient token",
                       .low = 0.1,
                       .high = 10,
                       .usual = 2,
                       .spacing = Spacing::logarithmic};
constexpr Knob runner_up{.name = "runner-up",
                         .meaning = "|Delta| of the second token, in units of the largest",
                         .low = 0.1,
                         .high = 0.95,
                         .usual = 0.75};
constexpr Knob ties{.name = "ties",
                    .meaning = "tokens that share the largest |Delta| in the instance with ties",
                    .low = 2,
                    .high = 5,
                    .usual = 2,
                    .spacing = Spacing::whole};
constexpr Knob start{.name = "start",
                     .meaning = "deviation of v(0), in units of sqrt tau",
                     .low = 1e-4,
                     .high = 1,
                     .usual = 0,
                     .spacing = Spacing::logarithmic,
                     .breaks = "v(0) = 0"};
constexpr Knob second_unit{
    .name = "second-unit",
    .meaning = "deviation of Delta of a second unit, in units of the largest",
    .low = 1e-3,
    .high = 3,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "one hidden unit"};

// Delta with its largest entry, and the runner-up after it; the other tokens are drawn. The fixed
// shape 1, 2, -1.5, 0.25 is the one that verify looks at.
struct Gradients {
  std::vector<double> delta;
  Index salient = 1;
};

Gradients gradients(const Setting& setting) {
  const double top = setting.value(largest);
  const double second = setting.value(runner_up);
  const Index d = setting.count(token_count);
  if (!setting.only_what_varies && d == 4) {
    return {{0.5 * top, top, -second * top, 0.125 * top}, 1};
  }
  Stream stream(setting.seed, stream_of_drawn_instances, 2);
  const auto sign = [&] { return stream.uniform() < 0.5 ? -1.0 : 1.0; };
  Gradients g;
  g.salient = static_cast<Index>(stream.index(static_cast<std::uint32_t>(d)));
  for (Index l = 0; l < d; ++l) {
    // Never 0, where the theorem says nothing.
    g.delta.push_back(sign() * top * second * (0.1 + 0.9 * stream.uniform()));
  }
  g.delta[static_cast<std::size_t>(g.salient)] = sign() * top;
  g.delta[static_cast<std::size_t>((g.salient + 1) % d)] = sign() * top * second;
  return g;
}

ReducedInstance<double> instance_of(const std::vector<double>& delta, double tau_value) {
  ReducedInstance<double> instance;
  instance.tau = tau_value;
  const auto d = static_cast<Index>(delta.size());
  instance.target = Eigen::Map<const Vector<double>>(delta.data(), d);
  instance.start = Matrix<double>::Zero(d, 1);
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

// Moves the start off 0, and adds a second unit, by the sizes of the knobs.
void break_hypotheses(const Setting& setting, ReducedInstance<double>& instance,
                      Examination& result) {
  Stream stream(setting.seed, stream_of_drawn_instances, 3);
  const Index d = instance.tokens();
  if (const double size = setting.value(start); size > 0) {
    for (double& v : instance.start.reshaped())
      v = size * std::sqrt(instance.tau) * stream.normal();
    result.hypotheses.push_back({"v(0) = 0", Truth::no, fmt::format("{} sqrt tau", size)});
  }
  if (const double size = setting.value(second_unit); size > 0) {
    instance.target.conservativeResize(d, 2);
    instance.start.conservativeResize(d, 2);
    instance.start.col(1).setZero();
    for (Index l = 0; l < d; ++l) {
      instance.target(l, 1) = size * setting.value(largest) * stream.normal();
    }
    result.hypotheses.push_back(
        {"one hidden unit", Truth::no, fmt::format("a second one of size {}", size)});
  }
}

// d/dt [erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t] along the rung's own right-hand side.
Truth separation_of_variables() {
  ReducedInstance<Expression> instance;
  const Vector<Expression> v = symbols("v", 2);
  instance.target = symbols("Delta", 2, 1);
  instance.start = v;
  const Expression root = GiNaC::possymbol("s");
  instance.tau = root * root;
  const ReducedFlow<Expression> flow(instance);
  Vector<Expression> rate(2);
  flow.rhs(v, rate, Expression(0));
  Truth all = Truth::yes;
  for (Index l = 0; l < 2; ++l) {
    const Expression grown =
        error_function(Expression(v[l] / root)) * GiNaC::sqrt(GiNaC::Pi) * root / 2;
    const Truth one = vanishes(rate_along(grown, v, rate) - instance.target(l, 0));
    if (one == Truth::no) return Truth::no;
    if (one == Truth::undecided) all = Truth::undecided;
  }
  return all;
}

Trajectory<double> integrate(const ReducedInstance<double>& instance, double until,
                             std::vector<double> save_at) {
  SolveRequest<double> request;
  request.end = 10 * until;
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-13;
  request.save_at = std::move(save_at);
  request.keep_states = true;
  return solve(forget_type(ReducedFlow<double>(instance)), request);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const double scale = setting.value(tau);
  const double top = setting.value(largest);
  const Gradients g = gradients(setting);
  const auto d = static_cast<Index>(g.delta.size());
  const std::vector<double>& delta = g.delta;
  std::vector<double> tied(static_cast<std::size_t>(setting.count(ties)), top);
  tied[1] = -top;
  tied.insert(tied.begin() + 1, top / 2);
  tied.push_back(top / 4);
  result.parameters = {
      {"delta", delta}, {"tied delta", tied}, {"tau", scale}, {"seed", setting.seed}};
  if (!setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "d/dt of erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t is 0",
                                       separation_of_variables()));
  }
  ReducedInstance<double> instance = instance_of(delta, scale);
  break_hypotheses(setting, instance, result);
  const double blow_up = blow_up_time(top, 0.0, scale);
  double predicted = blow_up;
  if (variant == "blow-up-factor") predicted *= std::sqrt(2.0);
  // Entropy is read on a grid that ends well before the slope of v is beyond resolution.
  const Trajectory<double> run =
      integrate(instance, blow_up, equally_spaced(0.0, 0.999 * blow_up, 200));
  const auto event = std::find_if(run.events.begin(), run.events.end(),
                                  [](const Event<double>& e) { return e.name == "blow-up"; });
  const bool found = event != run.events.end();
  // Another token first is a miss of the whole time; with two units its name has the unit's number.
  const std::string column = fmt::format("v_{}", g.salient);
  const bool salient = found && (event->column == column || event->column == column + "_0" ||
                                 event->column == column + "_1");
  result.evidence.push_back(bounded(
      EvidenceKind::numerical,
      fmt::format("blow-up of {} as an event, against the formula", column),
      !found    ? std::nan("")
      : salient ? std::fabs(event->t - predicted)
                : predicted,
      allowance(setting, 1e-10 * std::max(1.0, blow_up), blow_up),
      "tolerance 1e-12 a step over some 300 steps",
      found ? fmt::format("{} at {:.13g}, predicted {:.13g}", event->column, event->t, predicted)
            : "not found"));

  double limit_error = 0;
  double steepest = 2;  // exp(v^2/tau) of the limits: it magnifies errors made at small v
  for (Index l = 0; l < d; ++l) {
    if (l == g.salient) continue;
    const double gradient = delta[static_cast<std::size_t>(l)];
    // linear_phi_component at the blow-up time is the limit: erf = Delta_l / |Delta|_max there.
    const double limit = linear_phi_component(
        variant == "signs-lost" ? std::fabs(gradient) : gradient, 0.0, scale, blow_up);
    limit_error = std::max(limit_error, std::fabs(run.last_state[l] - limit));
    steepest = std::max(steepest, std::exp(limit * limit / scale));
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "limits of the other tokens, with their signs", limit_error,
              allowance(setting, 1e-10 * steepest / 2 * std::max(1.0, std::sqrt(scale / 2)),
                        std::sqrt(scale)),
              "tolerance 1e-12 a step; v has slope of order 1 there, or the bound its slope"));
  double ratio_error = 0;
  double weakest = top;
  for (const double gradient : delta) weakest = std::min(weakest, std::fabs(gradient));
  for (std::size_t k = 1; k < run.states.size(); ++k) {
    for (Index l = 0; l < d; ++l) {
      const double grown =
          std::erf(run.states[k][l] / std::sqrt(scale)) * std::sqrt(M_PI * scale) / 2;
      ratio_error =
          std::max(ratio_error, std::fabs(grown / delta[static_cast<std::size_t>(l)] - run.t[k]));
    }
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "erf(v/sqrt tau) sqrt(pi tau)/2/Delta = t at 200 times",
              ratio_error, allowance(setting, 3e-10 * blow_up + 3e-11 / weakest, blow_up),
              "300 steps of relative tolerance 1e-12 and absolute 1e-13, over the slope of v"));

  double largest_rise = -1;
  for (std::size_t k = 1; k < run.rows.size(); ++k) {
    const double rise = run.rows[k][0] - run.rows[k - 1][0];
    largest_rise = std::max(largest_rise, variant == "entropy-rises" ? -rise : rise);
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "largest change of the entropy between 200 times", largest_rise,
                                    0.0, "a strict decrease leaves no room"));
  const ReducedFlow<double> flow(instance);
  result.evidence.push_back(bounded(EvidenceKind::numerical, "entropy at the blow-up, one token",
                                    flow.attention_entropy(run.last_state), setting.allow(1e-9),
                                    "weights of the others are e^{-v^2/tau}, v^2/tau about 32"));
  // A tie is an equality of its own, which whatever is broken here breaks at once.
  if (setting.slack > 0) return result;
  const ReducedInstance<double> two = instance_of(tied, scale);
  // Differences of rounding between the tied ones grow like their weights e^{v^2/tau}, so the
  // entropy is read where these are 1e8: the other tokens then have about 1e-7 of it.
  const double late = (1 - 1e-9) * blow_up;
  const Trajectory<double> tie = integrate(two, blow_up, {0.0, late});
  const double of_ties = std::log(static_cast<double>(setting.count(ties)));
  result.evidence.push_back(bounded(
      EvidenceKind::numerical,
      fmt::format("entropy just before the blow-up minus ln {}, tokens tied", setting.count(ties)),
      tie.rows.empty() ? std::nan("") : std::fabs(tie.rows.back()[0] - of_ties),
      allowance(setting, 1e-6, of_ties), "weights of the others, relative to 1e8"));
  return result;
}

}  // namespace

Statement linear_growth() {
  return {
      .id = "joma.linear-growth",
      .claim = "linear phi: erf(v_l) in proportion to Delta_l t; the salient token blows up first",
      .paper = "arXiv 2310.00535, Theorem 2",
      .status = "proved in source",
      .hypotheses = {"linear phi", "one hidden unit", "v(0) = 0", "Delta is not 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
      .controls = {{"blow-up-factor", "blow-up time too large by sqrt 2"},
                   {"signs-lost", "limits of |Delta_l| in place of Delta_l"},
                   {"entropy-rises", "entropy said to rise"}},
      .knobs = {tau, token_count, largest, runner_up, ties, start, second_unit},
      .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
