#include <array>
#include <boost/math/tools/roots.hpp>
#include <cmath>

#include "theorems/scan_snap/checks/decoder_clock.hpp"
#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::rate_dependence {
namespace {

Statement sheet{
    .id = "scan-snap.rate-dependence",
    .paper = "arXiv 2305.16380, Eqn 10, Theorem 4, Section 6, Appendix F",
    .status = "stated in source, derived and corrected here from Eqn 10",
    .about = "the reduced flow",
    .theorem = R"(
States depend on the rates and on t through
  Gamma = (eta_Z/eta_Y) K (M-1)^2 h(t/K)^2/2
only, and B_n rises with Gamma. With q = d ln h/d ln t, which falls from 1 to 0,
  d ln B_n/d ln eta_Z = w (xi_n/gamma) Gamma/B_n > 0
  d ln B_n/d ln eta_Y = (2 q - 1) d ln B_n/d ln eta_Z:
(a) both rates up by one factor: B_n(t) larger, by 2 q in place of 2 q - 1; at t0 ~ 1/eta_Y it is
the same, so that of the rates B_n(t0) depends on eta_Y/eta_Z only; (b) eta_Y up at fixed eta_Z:
larger B_n first, and smaller once q < 1/2. The change is at y = M h,
  e^y (y - 2) = (M-1) y - 2,
before t0. With c_l the attention of n on its distinct tokens, of sum 1, and H its entropy
  dH/dB_n = -sum_l c_l (ln c_l + H) f_nl^2 < 0.
B_n(t0) is no function of K, M and eta_Y/eta_Z: as eta_Z/eta_Y -> 0 it is w Gamma times xi_n/gamma
at the start, which depends on P, by C0 = 1/((K-1) f_c^4) where there is one common token.)",
    .hypotheses = {learns},
    .reaches = {EvidenceKind::numerical},
    .false_version = "k-m-and-rates",
    .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio},
    .reads = "reduced"};

const Clause one_variable = sheet.clause("`B_n` a function of `(eta_Z/eta_Y) h^2`, for one `P`");
const Clause rises = sheet.clause("rising with `eta_Z`");
const Clause slope = sheet.clause(
    "`2 q` times as much with both rates, `2 q - 1` times with `eta_Y`, which helps first, then "
    "harms");
const Clause turns = sheet.clause("from before `t0`");
const Clause entropy_follows = sheet.clause("entropy falls as `B_n` rises");
const Clause on_law =
    sheet.clause("`B_n(t0)` depends on `P` too, not on `K`, `M`, `eta_Y/eta_Z` only");

const Hypothesis many_tokens = sheet.assume("`M > 7`");

const Control power_of_h = sheet.control("power-of-h", "`B_n` a function of `(eta_Z/eta_Y) h^1.9`");
const Control power_of_ratio =
    sheet.control("power-of-ratio", "`B_n` a function of `(eta_Z/eta_Y)^1.1 h^2`");
const Control lower_order = sheet.control("lower-order", "`1.9 q` for `2 q`");
const Control at_t0 = sheet.control("at-t0", "more `eta_Y` begins to harm at `t0`");
const Control larger = sheet.control("larger", "`xi_n` 10 % larger");
const Control first_power =
    sheet.control("first-power", "the first power of attention in the slope of the entropy");

const Rival in_proportion =
    sheet.rival("in-proportion", "features at rest: `B_n` in proportion to `Gamma`", "a rate");
const Rival of_k_m_and_rates = sheet.rival(
    "k-m-and-rates", "`B_n(t0)` is given by `K`, `M` and `eta_Y/eta_Z` only", "its value");

constexpr double tolerance = 1e-12;

// Factors of eta_Y and eta_Z.
struct Rates {
  double decoder = 1, attention = 1;
};

LeadingToken with_rates(const LeadingToken& token, Rates factor) {
  TrainingInstance<double> training = token.training();
  training.decoder_rate *= factor.decoder;
  training.attention_rate *= factor.attention;
  return LeadingToken(std::move(training));
}

// y where d ln h/d ln t = 1/2, M > 7.
double turning_point(double m) {
  boost::math::tools::eps_tolerance<double> close;
  std::uintmax_t steps = 200;
  const auto [low, high] = boost::math::tools::toms748_solve(
      [m](double y) { return (y - 2) - ((m - 1) * y - 2) * std::exp(-y); }, 2.0, 2 * crossover(m),
      close, steps);
  return (low + high) / 2;
}

// B_n and the entropy of attention on distinct tokens at `times`, with the rates times `factor`.
struct AtTimes {
  std::vector<Quantity> growth, entropy;
};
AtTimes read(const LeadingToken& token, Rates factor, const std::vector<double>& times) {
  const LeadingToken other = with_rates(token, factor);
  const Solved run(forget_type(other.flow()), times, tolerance);
  return {run.along([&](const Vector<double>& x) { return other.growth(x); }),
          run.along([&](const Vector<double>& x) { return other.entropy(x); })};
}

// At `times`, the slopes of ln B_n in ln eta_Z, those in ln eta_Y and in both over it, and those of the
// entropy in B_n: central differences, extrapolated to 0.
std::array<std::vector<Quantity>, 4> slopes_of(const LeadingToken& token,
                                               const std::vector<double>& times) {
  std::vector<double> squares;
  std::vector<std::vector<Quantity>> found;
  const std::size_t n = times.size();
  for (const double step : falling_parameters(0.2, 2, 3)) {
    squares.push_back(step * step);
    const auto at = [&](double decoder, double attention) {
      return read(token, {std::exp(step * decoder), std::exp(step * attention)}, times);
    };
    std::vector<Quantity> slopes(4 * n);
    const AtTimes up = at(0, 1), down = at(0, -1);
    const AtTimes faster = at(1, 0), slower = at(-1, 0), more = at(1, 1), less = at(-1, -1);
    for (std::size_t i = 0; i < n; ++i) {
      const auto rise = [i](const AtTimes& a, const AtTimes& b) {
        return log(a.growth[i]) - log(b.growth[i]);
      };
      slopes[i] = rise(up, down) / Quantity(2 * step);
      slopes[n + i] = rise(faster, slower) / rise(up, down);
      slopes[2 * n + i] = rise(more, less) / rise(up, down);
      slopes[3 * n + i] = (up.entropy[i] - down.entropy[i]) / (up.growth[i] - down.growth[i]);
    }
    found.push_back(slopes);
  }
  const std::vector<Quantity> limits = limits_in(squares, found);
  std::array<std::vector<Quantity>, 4> slopes;
  for (std::size_t i = 0; i < limits.size(); ++i) slopes[i / n].push_back(limits[i]);
  return slopes;
}

// B_n of three other pairs of rates, when (eta_Z/eta_Y)^on_ratio h^on_h is what it is at `ys`.
void judge_one_variable(const LeadingToken& token, const std::vector<double>& ys, Examination& it) {
  const DecoderClock clock(token.training());
  const auto moved = [&](double on_ratio, double on_h) {
    std::vector<Quantity> found;
    for (const Rates factor : {Rates{2, 1}, Rates{1, 2}, Rates{3, 3}}) {
      DecoderClock other = clock;
      other.rate *= factor.decoder;
      const double ratio = std::pow(factor.decoder / factor.attention, on_ratio / on_h);
      std::vector<double> times;
      for (const double y : ys) times.push_back(other.t(y * ratio));
      for (const Quantity& q : read(token, factor, times).growth) found.push_back(q);
    }
    return found;
  };
  std::vector<double> times;
  for (const double y : ys) times.push_back(clock.t(y));
  const std::vector<Quantity> once = read(token, {}, times).growth;
  std::vector<Quantity> expected;
  for (int pair = 0; pair < 3; ++pair) expected.insert(expected.end(), once.begin(), once.end());
  it.judge(one_variable, equal("`B_n` of other rates at equal `Gamma`", moved(1, 2), expected)
                             .unless(power_of_h, [&] { return moved(1, 1.9); })
                             .unless(power_of_ratio, [&] { return moved(1.1, 2); }));
}

// d B_n/d Gamma = w xi_n/gamma at a state, and Gamma.
double rise_of(const LeadingToken& token, const Vector<double>& x) {
  const double m = DecoderClock(token.training()).m;
  return token.drive(x) / (token.training().attention_rate * backprop_scale(m, 1 / m));
}
double gamma_at(const LeadingToken& token, double t) {
  const double y = DecoderClock(token.training()).y(t);
  return gamma_per_half_square(token.training()) * y * y / 2;
}

// dH/dB_n = -sum_l c_l (ln c_l + H) f_nl^power at a state, power = 2.
double entropy_slope(const LeadingToken& token, const Vector<double>& x, int power) {
  const Vector<double> f = token.flow().features_at(x);
  std::vector<Index> distinct = token.others();
  distinct.push_back(token.leader());
  double sum = 0, falls = 0;
  for (const Index l : distinct) sum += f[l];
  for (const Index l : distinct) {
    const double c = f[l] / sum;
    falls -= c * (std::log(c) + token.entropy(x)) * std::pow(f[l], power);
  }
  return falls;
}

void judge_slopes(const LeadingToken& token, double turn, double t0, Examination& it) {
  const DecoderClock clock(token.training());
  const std::vector<double> times{t0 / 8, turn, t0, 3 * t0};
  const std::vector<std::string> places{"`t0/8`", "`q = 1/2`", "`t0`", "`3 t0`"};
  const auto [by_attention, by_decoder, by_both, of_entropy] = slopes_of(token, times);
  const Solved run(forget_type(token.flow()), times, tolerance);
  std::vector<Quantity> rising, on_entropy, with_first_power;
  std::vector<Quantity> harming, helping, lower_harming, lower_helping;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double gamma = gamma_at(token, times[i]);
    rising.push_back(run.at(
        i, [&](const Vector<double>& x) { return rise_of(token, x) * gamma / token.growth(x); }));
    on_entropy.push_back(
        run.at(i, [&](const Vector<double>& x) { return entropy_slope(token, x, 2); }));
    with_first_power.emplace_back(entropy_slope(token, run.state(i), 1));
    const double q = clock.order(clock.y(times[i]));
    harming.emplace_back(2 * q - 1);
    helping.emplace_back(2 * q);
    lower_harming.emplace_back(1.9 * q - 1);
    lower_helping.emplace_back(1.9 * q);
  }
  std::vector<Quantity> later = harming;
  later[2] = 0.0;
  it.judge(rises, equal("slope of `ln B_n` in `ln eta_Z`", by_attention, rising)
                      .at(places)
                      .unless(larger, popgrad::times(1.1))
                      .against(in_proportion, 1.0));
  it.judge(slope, equal("slope in `ln eta_Y` over slope in `ln eta_Z`", by_decoder, harming)
                      .in_units_of(1)
                      .at(places)
                      .unless(lower_order, lower_harming)
                      .unless(at_t0, later));
  it.judge(slope, equal("slope in both over slope in `ln eta_Z`", by_both, helping)
                      .at(places)
                      .unless(lower_order, lower_helping));
  it.judge(entropy_follows, equal("slope of the entropy in `B_n`", of_entropy, on_entropy)
                                .at(places)
                                .unless(first_power, with_first_power));
}

// B_n(t0)/Gamma as eta_Z/eta_Y goes to 0, of P and of two others of the same K and M.
void judge_law(const LeadingToken& token, Examination& it) {
  std::vector<Quantity> found, expected;
  const auto add = [&](const LeadingToken& of) {
    const double t0 = DecoderClock(of.training()).t0(), gamma = gamma_at(of, t0);
    const Vector<double> start = of.flow().initial();
    double fastest = 0;
    for (Index n = 0; n < of.training().classes.classes(); ++n) {
      fastest = std::max(fastest, rise_of(of.of_class(n), start));
    }
    // By the B_n that the fastest class would have.
    const auto per_gamma = [&](double growth) {
      const double factor = growth / (gamma * fastest);
      return read(of, {1, factor}, {t0}).growth[0] / Quantity(factor * gamma);
    };
    found.push_back(limit_of(per_gamma, 0.01, 2, 3));
    expected.emplace_back(rise_of(of, start));
  };
  add(token);
  for (const Index entry : {token.commons().front(), token.leader()}) {
    TrainingInstance<double> other = token.training();
    const Index same = other.classes.token[static_cast<std::size_t>(entry)];
    for (Index e = 0; e < other.classes.entries(); ++e) {
      if (other.classes.token[static_cast<std::size_t>(e)] == same) reweigh(other.classes, e, 1.25);
    }
    add(LeadingToken(std::move(other)));
  }
  const Quantity mean = (found[0] + found[1] + found[2]) * Quantity(1.0 / 3);
  it.judge(on_law, equal("`B_n(t0)/Gamma` as `eta_Z/eta_Y` goes to 0", found, expected)
                       .at({"P", "a common token 1.25 times as heavy", "l0 1.25 times as heavy"})
                       .unless(larger, times(1.1))
                       .against(of_k_m_and_rates, mean.value()));
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const DecoderClock clock(token.training());
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"eta_Y", token.training().decoder_rate},
                   {"eta_Z", token.training().attention_rate},
                   {"seed", setting.seed}};
  if (!it.require(many_tokens, clock.m - 8, fmt::format("`M = {}`", clock.m))) return;
  const double t0 = clock.t0();
  const Quantity drive = smallest_along(forget_type(token.flow()), 3 * t0, tolerance,
                                        [&](const Vector<double>& x) { return token.drive(x); });
  if (!it.require_positive(learns, drive, fmt::format("{:.4g}", drive.value()))) return;
  const double turn = clock.t(turning_point(clock.m));
  it.judge(turns, below("turn against `t0`", turn, t0));
  judge_one_variable(token, {clock.y(t0 / 8), clock.y(t0), clock.y(3 * t0)}, it);
  judge_slopes(token, turn, t0, it);
  judge_law(token, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::rate_dependence
