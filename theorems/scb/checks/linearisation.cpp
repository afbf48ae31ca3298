// Theorem    scb.linearisation
// Status     derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3
// Statement  from scratch, while alpha_A alpha_V is small,
//              (alpha_V, alpha_A) = x + y + ...
//              x  = M^{-1} (e^{Mt} - I) b
//              y' = M y - x_A x_V ((K_Q - 1/T) x_A, K_P x_V),
//            y of third order in alpha; the time to reach alpha_A alpha_V = z is
//              t    = ln[z/(1-z) 4 T^2 rate^3/K_P (1 + O(1/T))]/(2 rate)
//              rate = sqrt(K_P (K_Q - 1/T) + 1/(4 T^2)) - 1/(2 T),
//            so that it grows like ln T only
// Hypotheses H1 from scratch; H2 T large
// Check      what x misses over y as alpha_A alpha_V goes to 0; e^{2 rate t} at z over its formula,
//            from T, 4 T, 16 T
// Controls   y 10 % larger; b 10 % larger; 4.4 for 4 in the time; rate^2.7 for rate^3 in it
// Uses       rungs reduced, closed-form

#include <type_traits>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::linearisation {
namespace {

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 1e4, 1e9, 1e4);
constexpr Knob product_knob =
    linear_knob("product", "alpha_A alpha_V = z at which the time is taken", 0.05, 0.99, 0.9);
constexpr Knob head_start =
    logarithmic_knob(
        "head-start",
        "distance of the start from 0, in units of what the drift moves in a growth time", 1e-3,
        1e3, 0)
        .breaking("from scratch");
constexpr double tolerance = 1e-12;

// T y, driven by x.
template <class T>
AnyRung<T> third_order(const Sizes& sizes) {
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

// (alpha - x)/y of both components, from where alpha_A alpha_V is about `product` and quarters of it,
// as it goes to 0.
template <class T>
std::vector<Quantity> missed(const Sizes& sizes, double product, double of_drift) {
  const std::vector<double> products = falling_parameters(product, 4, 3);
  std::vector<double> times;
  for (std::size_t i = products.size(); i-- > 0;) {
    times.push_back(sizes.time_to(product) - std::log(product / products[i]) / (2 * sizes.rate()));
  }
  const SolvedIn<T> run(per_length<T>(sizes), times, tolerance);
  const SolvedIn<T> next(third_order<T>(sizes), times, tolerance);
  std::vector<Quantity> limits;
  for (const Index i : {0, 1}) {
    std::vector<Quantity> ratio;
    for (std::size_t save = times.size(); save-- > 0;) {
      const T x = T(sizes.positions) * linearised(T(sizes.transition), T(sizes.context),
                                                  T(sizes.positions), T(run.times()[save]))[i];
      Quantity gap =
          run.at(save, [&](const Vector<T>& state) -> T { return state[i] - of_drift * x; });
      if constexpr (std::is_same_v<T, double>) gap.add(ErrorPart::rounding(10, x));
      ratio.push_back(gap / next.at(save, [i](const Vector<T>& y) { return y[i]; }));
    }
    limits.push_back(limit_in(products, ratio));
  }
  return limits;
}

// e^{2 rate t} at the time t at which alpha_A alpha_V passes z, over what the formula says.
Quantity grown(const Sizes& sizes, double z) {
  AnyRung<double> rung = per_length(sizes);
  const double square = sizes.positions * sizes.positions;
  const auto product = [=](const Vector<double>& x, const double&) {
    return x[0] * x[1] / square - z;
  };
  rung.events = {{"passing", "alpha_V", EventKind::crossing, product, product}};
  const double claimed = sizes.time_to(z);
  const std::vector<FoundEvent> found = events_of(rung, claimed + 4 / sizes.rate(), tolerance);
  return exp((found.at(0).time - Quantity(claimed)) * Quantity(2 * sizes.rate()));
}

void examine(const Setting& setting, Examination& it) {
  const Sizes sizes =
      examined_sizes(setting, setting.value(length), setting.value(head_start),
                     [](const Sizes& s) { return 1 / (s.positions * std::sqrt(s.context)); });
  const double z = setting.value(product_knob);
  it.parameters = parameters_of(sizes, setting);
  constexpr double small = 0.02;  // alpha_A alpha_V from which its limit at 0 is extrapolated
  require_growth(sizes, sizes.leftover(std::min(z, small)), it);
  // Too short for a linear stage.
  if (!(sizes.time_to(falling_parameters(small, 4, 3).back()) > 0)) return;
  in_refined_digits([&]<class T>() {
    it.judge(
        Comparison{.what = "what the linear solution misses over the third order",
                   .measured = missed<T>(sizes, small, 1),
                   .predicted = {1.0},
                   .mistakes = {predicts_times("third-order", 1.1),
                                measures("drift", [&] { return missed<T>(sizes, small, 1.1); })},
                   .places = {"alpha_V", "alpha_A"}});
  });
  const auto at_length = [&](double share) {
    return grown(sizes.longer(1 / share / sizes.positions), z);
  };
  const Quantity here = grown(sizes, z);
  it.judge(Comparison{
      .what = "e^{2 rate t} at alpha_A alpha_V = z over its formula",
      .measured = {limit_of(at_length, 1 / sizes.positions, 4, 3)},
      .predicted = {1.0},
      .mistakes = {predicts_times("prefactor", 1.1),
                   predicts_times("power-of-rate", std::pow(sizes.rate(), -0.3))},
      .detail = fmt::format("{:.6g} at T = {:g}, z = {:g}", here.value(), sizes.positions, z)});
}

}  // namespace

Statement statement() {
  return {.id = "scb.linearisation",
          .claim = "growth from 0 is M^{-1} (e^{Mt} - I) b, and takes a time that grows like ln T",
          .paper = "arXiv 2410.23438, Section 3",
          .status = "derived here",
          .hypotheses = {"from scratch", "T large"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"third-order", "the terms of third order 10 % larger"},
                       {"drift", "b = 1.1/T in place of 1/T"},
                       {"prefactor", "4.4 T^2 rate^3/K_P in the time"},
                       {"power-of-rate", "4 T^2 rate^2.7/K_P in the time"}},
          .knobs = {transition_size_knob, context_size_knob, length, product_knob, short_context,
                    head_start},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::linearisation
