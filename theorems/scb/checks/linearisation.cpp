#include <string>
#include <type_traits>
#include <vector>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::linearisation {
namespace {

Statement sheet{.id = "scb.linearisation",
                .paper = "arXiv 2410.23438, Section 3",
                .status = "derived here",
                .about = "the reduced flow",
                .theorem = R"(
From scratch, while alpha_A alpha_V is small, alpha = (alpha_V, alpha_A) is
  alpha = x + y + ...
  x     = M^{-1} (e^{Mt} - I) b,  M = [[-1/T, K_Q - 1/T], [K_P, 0]],  b = (1/T, 0)
  y'    = M y - x_A x_V ((K_Q - 1/T) x_A, K_P x_V),
y of third order in alpha; the time to reach alpha_A alpha_V = z is
  t    = ln[z/(1-z) 4 T^2 rate^3/K_P (1 + O(1/T))]/(2 rate)
  rate = sqrt(K_P (K_Q - 1/T) + 1/(4 T^2)) - 1/(2 T),
so that it grows like ln T only.)",
                .hypotheses = {zero_start, many_growth_times},
                .reaches = {EvidenceKind::numerical},
                .false_version = "linear-to-the-end",
                .knobs = {transition_size_knob, context_size_knob},
                .reads = "reduced"};

const Clause grows = sheet.clause("growth from 0 is `M^{-1} (e^{Mt} - I) b` up to third order");
const Clause takes_logarithm = sheet.clause(
    "it takes a time ln[z/(1-z) `4 T^2 rate^3/K_P`]/(2 rate), so grows like `ln T` only");

const Control third_order = sheet.control("third-order", "the terms of third order 10 % larger");
const Control drift = sheet.control("drift", "`b = 1.1/T` in place of `1/T`");
const Control prefactor = sheet.control("prefactor", "`4.4 T^2 rate^3/K_P` in the time");
const Control power_of_rate = sheet.control("power-of-rate", "`4 T^2 rate^2.7/K_P` in the time");
const Control power_of_length = sheet.control("power-of-length", "`T^2.2` in the time");
const Control linear_to_the_end = sheet.control(
    "linear-to-the-end", "growth is linear until `z` is reached: `z` in place of `z/(1-z)`");
const Rival power = sheet.rival("power", "the time is a power of `T`", "its factor and exponent");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 1e4, 1e9, 1e4));
const Knob product_knob = sheet.knob(
    linear_knob("product", "alpha_A alpha_V = z at which the time is taken", 0.05, 0.99, 0.9));
const Knob growth_time = sheet.knob(short_context);
const Knob head_start = sheet.knob(
    logarithmic_knob(
        "head-start",
        "distance of the start from 0, in units of what the drift moves in a growth time", 1e-3,
        1e3, 0)
        .breaking(zero_start));

constexpr double tolerance = 1e-12;
constexpr double small = 0.02;  // alpha_A alpha_V from which its limit at 0 is extrapolated

// T y, driven by x.
template <class T>
AnyRung<T> next_order_of(const Sizes& sizes) {
  AnyRung<T> rung = per_length<T>(sizes);
  rung.dimension = 2;
  rung.initial = Vector<T>::Zero(2);
  const T positions(sizes.positions), transition(sizes.transition), context(sizes.context);
  const T share = T(1) / positions;
  rung.field.value = [=](const Vector<T>& y, Vector<T>& dy, const T& t) {
    const Vector<T> x = linearised(transition, context, positions, t);
    const T product = x[0] * x[1];
    dy[0] = -share * y[0] + (context - share) * (y[1] - product * x[1] / share);
    dy[1] = transition * (y[0] - product * x[0] / share);
  };
  return rung;
}

// (alpha - x)/y of both components, from where alpha_A alpha_V is about `small` and quarters of it,
// as it goes to 0.
template <class T>
std::vector<Quantity> missed(const Sizes& sizes, double of_drift) {
  const std::vector<double> products = falling_parameters(small, 4, 3);
  std::vector<double> times;
  for (std::size_t i = products.size(); i-- > 0;) {
    times.push_back(sizes.time_to(small) - std::log(small / products[i]) / (2 * sizes.rate()));
  }
  const SolvedIn<T> run(per_length<T>(sizes), times, tolerance);
  const SolvedIn<T> next(next_order_of<T>(sizes), times, tolerance);
  std::vector<std::vector<Quantity>> ratios;
  for (std::size_t save = times.size(); save-- > 0;) {
    const Vector<T> x = T(sizes.positions) * linearised(T(sizes.transition), T(sizes.context),
                                                        T(sizes.positions), T(run.times()[save]));
    std::vector<Quantity>& ratio = ratios.emplace_back();
    for (const Index i : {0, 1}) {
      Quantity gap =
          run.at(save, [&](const Vector<T>& state) -> T { return state[i] - of_drift * x[i]; });
      if constexpr (std::is_same_v<T, double>) gap.add(ErrorPart::rounding(10, x[i]));
      ratio.push_back(gap / next.at(save, [i](const Vector<T>& y) { return y[i]; }));
    }
  }
  return limits_in(products, ratios);
}

// 2 rate t at the time t at which alpha_A alpha_V passes z.
Quantity growth_times(const Sizes& sizes, double z) {
  AnyRung<double> rung = per_length(sizes);
  const double square = sizes.positions * sizes.positions;
  const auto product = [=](const Vector<double>& x, const double&) {
    return x[0] * x[1] / square - z;
  };
  rung.events = {{"passing", "alpha_V", EventKind::crossing, product, product}};
  const double claimed = sizes.time_to(z);
  const std::vector<FoundEvent> found = events_of(rung, claimed + 4 / sizes.rate(), tolerance);
  return found.at(0).time * Quantity(2 * sizes.rate());
}

// e^{2 rate t} then, over what the formula says.
Quantity grown(const Sizes& sizes, double z) {
  return exp(growth_times(sizes, z) - Quantity(2 * sizes.rate() * sizes.time_to(z)));
}

// What 2 rate t gains from T to 16 T and from there to 256 T, over the gain of ln T^2.
void judge_logarithm(const Sizes& sizes, double z, Examination& it) {
  constexpr double apart = 16;
  const double gain = 2 * std::log(apart);
  const auto times_at = [&](const Sizes& first) {
    return std::vector<Quantity>{growth_times(first, z), growth_times(first.longer(apart), z),
                                 growth_times(first.longer(apart * apart), z)};
  };
  const auto gained = [&](const std::vector<Quantity>& times) {
    return std::vector<Quantity>{(times[1] - times[0]) / Quantity(gain),
                                 (times[2] - times[1]) / Quantity(gain)};
  };
  const auto at_length = [&](double share) {
    return gained(times_at(sizes.longer(1 / share / sizes.positions)));
  };
  std::vector<Quantity> of_power = times_at(sizes);
  of_power[1] = std::sqrt(of_power[0].value() * of_power[2].value());
  it.judge(takes_logarithm,
           equal("gain of `2 rate t` over that of `ln T^2`",
                 limits_of(at_length, 1 / sizes.positions, 4, 3), std::vector<Quantity>{1.0, 1.0})
               .at(std::vector<std::string>{"`T` to `16 T`", "`16 T` to `256 T`"})
               .unless(power_of_length, times(1.1))
               .against(power, gained(of_power)));
}

void examine(const Setting& setting, Examination& it) {
  const Sizes sizes =
      examined_sizes(setting, setting.value(length), setting.value(head_start),
                     [](const Sizes& s) { return 1 / (s.positions * std::sqrt(s.context)); });
  const double z = setting.value(product_knob);
  it.parameters = parameters_of(sizes, setting);
  require_growth(sizes, sizes.leftover(std::min(z, small)), it);
  // Too short for a linear stage.
  if (!(sizes.time_to(falling_parameters(small, 4, 3).back()) > 0)) return;
  in_refined_digits([&]<class T>() {
    it.judge(grows,
             equal("what the linear solution misses over the third order", missed<T>(sizes, 1), 1)
                 .at(std::vector<std::string>{"`alpha_V`", "`alpha_A`"})
                 .unless(third_order, times(1.1))
                 .unless(drift, [&] { return missed<T>(sizes, 1.1); }));
  });
  const auto at_length = [&](double share) {
    return grown(sizes.longer(1 / share / sizes.positions), z);
  };
  const double here = grown(sizes, z).value();
  it.judge(takes_logarithm,
           equal("`e^{2 rate t}` at `alpha_A alpha_V = z` over its formula",
                 limit_of(at_length, 1 / sizes.positions, 4, 3), 1)
               .unless(prefactor, times(1.1))
               .unless(linear_to_the_end, times(1 - z))
               .unless(power_of_rate, times(std::pow(sizes.rate(), -0.3)))
               .with(fmt::format("{:.6g} at `T = {:g}`, `z = {:g}`", here, sizes.positions, z)));
  judge_logarithm(sizes, z, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::linearisation
