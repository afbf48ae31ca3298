#include <boost/math/tools/roots.hpp>
#include <cmath>

#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::rate_dependence {
namespace {

Statement sheet{
    .id = "scan-snap.rate-dependence",
    .paper = "arXiv 2305.16380, Eqn 10, Theorem 4, Section 6, Appendix F",
    .status = "stated in source, derived here from Eqn 10",
    .about = "the reduced flow",
    .theorem = R"(
States depend on the rates and on t through
  Gamma = (eta_Z/eta_Y) K (M-1)^2 h(t/K)^2/2
only, and B_n rises with Gamma. With q = d ln h/d ln t, which falls from 1 to 0,
  d ln B_n/d ln eta_Y = (2 q - 1) d ln B_n/d ln eta_Z,  d ln B_n/d ln eta_Z > 0:
(a) both rates up by one factor: B_n(t) larger, at t0 ~ 1/eta_Y the same, so that of the rates
B_n(t0) depends on eta_Y/eta_Z only, with which it falls; (b) eta_Y up at fixed eta_Z: smaller
B_n once q < 1/2, and larger before. The change is at y = M h,
  e^y (y - 2) = (M-1) y - 2,
before t0. Where B_n falls, the entropy of attention on distinct tokens rises.)",
    .hypotheses = {learns},
    .reaches = {EvidenceKind::numerical},
    .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio},
    .reads = "reduced"};

const Clause one_variable = sheet.clause("B_n a function of (eta_Z/eta_Y) h^2");
const Clause slope = sheet.clause("eta_Y acts 2 q - 1 times as eta_Z does");
const Clause helps_then_harms = sheet.clause("helps first, then harms");
const Clause turns = sheet.clause("from before t0");
const Clause both_help = sheet.clause("both rates together help");
const Clause entropy_follows = sheet.clause("entropy falls where B_n rises");

const Hypothesis many_tokens = sheet.assume("M > 7");

const Control power_of_h = sheet.control("power-of-h", "B_n a function of (eta_Z/eta_Y) h^1.9");
const Control power_of_ratio =
    sheet.control("power-of-ratio", "B_n a function of (eta_Z/eta_Y)^1.1 h^2");
const Control lower_order = sheet.control("lower-order", "1.9 q - 1 for 2 q - 1");
const Control at_t0 = sheet.control("at-t0", "more eta_Y begins to harm at t0");

constexpr double tolerance = 1e-12;

// Factors of eta_Y and eta_Z.
struct Rates {
  double decoder = 1, attention = 1;
};

// Steps t of batch 1 and y = M h, one from the other, and d ln h/d ln t.
struct DecoderClock {
  double m, k, rate;
  [[nodiscard]] double y(double t) const { return m * decoder_scale(m, rate, t / k); }
  [[nodiscard]] double t(double y) const { return k * (std::expm1(y) + (m - 1) * y) / (m * rate); }
  [[nodiscard]] double order(double y) const {
    return (std::expm1(y) + (m - 1) * y) / (y * (m - 1 + std::exp(y)));
  }
};

LeadingToken with_rates(const LeadingToken& token, Rates factor) {
  TrainingInstance<double> training = token.training();
  training.decoder_rate *= factor.decoder;
  training.attention_rate *= factor.attention;
  return LeadingToken(std::move(training));
}

DecoderClock clock_of(const LeadingToken& token) {
  const TrainingInstance<double>& training = token.training();
  return {static_cast<double>(training.classes.tokens),
          static_cast<double>(training.classes.classes()), training.decoder_rate};
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

// B_n, or another number of a state, at `times` with the rates of the instance times `factor`.
std::vector<Quantity> read(const LeadingToken& token, Rates factor,
                           const std::vector<double>& times,
                           double (LeadingToken::*number)(const Vector<double>&) const) {
  const LeadingToken other = with_rates(token, factor);
  return Solved(forget_type(other.flow()), times, tolerance).along([&](const Vector<double>& x) {
    return (other.*number)(x);
  });
}

// d ln B_n/d ln eta_Y over d ln B_n/d ln eta_Z at `times`: central differences, extrapolated to 0.
std::vector<Quantity> quotients_of_slopes(const LeadingToken& token,
                                          const std::vector<double>& times) {
  std::vector<double> squares;
  std::vector<std::vector<Quantity>> found;
  for (const double step : falling_parameters(0.2, 2, 3)) {
    squares.push_back(step * step);
    const auto at = [&](double decoder, double attention) {
      return read(token, {std::exp(decoder), std::exp(attention)}, times, &LeadingToken::growth);
    };
    const auto more = at(step, 0), less = at(-step, 0), up = at(0, step), down = at(0, -step);
    std::vector<Quantity>& own = found.emplace_back();
    for (std::size_t i = 0; i < times.size(); ++i) {
      own.push_back((log(more[i]) - log(less[i])) / (log(up[i]) - log(down[i])));
    }
  }
  return limits_in(squares, found);
}

// B_n of three other pairs of rates, when (eta_Z/eta_Y)^on_ratio h^on_h is what it is at `ys`.
void judge_one_variable(const LeadingToken& token, const std::vector<double>& ys, Examination& it) {
  const DecoderClock clock = clock_of(token);
  const auto moved = [&](double on_ratio, double on_h) {
    std::vector<Quantity> found;
    for (const Rates factor : {Rates{2, 1}, Rates{1, 2}, Rates{3, 3}}) {
      const DecoderClock other{clock.m, clock.k, clock.rate * factor.decoder};
      const double ratio = std::pow(factor.decoder / factor.attention, on_ratio / on_h);
      std::vector<double> times;
      for (const double y : ys) times.push_back(other.t(y * ratio));
      for (const Quantity& q : read(token, factor, times, &LeadingToken::growth))
        found.push_back(q);
    }
    return found;
  };
  std::vector<double> times;
  for (const double y : ys) times.push_back(clock.t(y));
  const std::vector<Quantity> once = read(token, {}, times, &LeadingToken::growth);
  std::vector<Quantity> expected;
  for (int pair = 0; pair < 3; ++pair) expected.insert(expected.end(), once.begin(), once.end());
  it.judge(one_variable, equal("B_n of other rates at equal Gamma", moved(1, 2), expected)
                             .unless(power_of_h, [&] { return moved(1, 1.9); })
                             .unless(power_of_ratio, [&] { return moved(1.1, 2); }));
}

void judge_signs(const LeadingToken& token, const std::vector<double>& times, Examination& it) {
  const auto growth = [&](Rates r) { return read(token, r, times, &LeadingToken::growth); };
  const auto entropy = [&](Rates r) { return read(token, r, times, &LeadingToken::entropy); };
  const auto one = growth({}), faster = growth({1.5, 1}), both = growth({1.5, 1.5});
  const auto of_one = entropy({}), of_faster = entropy({1.5, 1}), of_both = entropy({1.5, 1.5});
  const auto judge = [&](const Clause& clause, const char* what, std::vector<Quantity> less,
                         std::vector<Quantity> more) {
    it.judge(clause, below(what, std::move(less), std::move(more))
                         .at(std::vector<std::string>{"t0/8", "t0", "3 t0"}));
  };
  judge(both_help, "B_n by B_n of both rates 1.5 times as large", one, both);
  judge(entropy_follows, "entropy of both rates 1.5 times as large by entropy", of_both, of_one);
  judge(helps_then_harms, "B_n: larger with 1.5 eta_Y at t0/8, then smaller",
        {one[0], faster[1], faster[2]}, {faster[0], one[1], one[2]});
  judge(entropy_follows, "entropy: smaller with 1.5 eta_Y at t0/8, then larger",
        {of_faster[0], of_one[1], of_one[2]}, {of_one[0], of_faster[1], of_faster[2]});
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const DecoderClock clock = clock_of(token);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"eta_Y", token.training().decoder_rate},
                   {"eta_Z", token.training().attention_rate},
                   {"seed", setting.seed}};
  if (!it.require(many_tokens, clock.m - 8, fmt::format("M = {}", clock.m))) return;
  const double t0 = transition_time(clock.m, clock.rate, static_cast<int>(clock.k));
  const Quantity drive = smallest_along(forget_type(token.flow()), 3 * t0, tolerance,
                                        [&](const Vector<double>& x) { return token.drive(x); });
  it.require_positive(learns, drive, fmt::format("{:.4g}", drive.value()));
  const double turn = clock.t(turning_point(clock.m));
  it.judge(turns, below("turn against t0", turn, t0));
  judge_one_variable(token, {clock.y(t0 / 8), clock.y(t0), clock.y(3 * t0)}, it);
  const std::vector<double> times{t0 / 8, turn, t0, 3 * t0};
  std::vector<Quantity> slopes, smaller;
  for (const double t : times) {
    const double q = clock.order(clock.y(t));
    slopes.emplace_back(2 * q - 1);
    smaller.emplace_back(1.9 * q - 1);
  }
  std::vector<Quantity> later = slopes;
  later[2] = 0.0;
  it.judge(slope, equal("slope of ln B_n in ln eta_Y over slope in ln eta_Z",
                        quotients_of_slopes(token, times), slopes)
                      .in_units_of(1)
                      .at(std::vector<std::string>{"t0/8", "q = 1/2", "t0", "3 t0"})
                      .unless(lower_order, smaller)
                      .unless(at_t0, later));
  judge_signs(token, {t0 / 8, t0, 3 * t0}, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::rate_dependence
