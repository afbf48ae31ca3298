#include <algorithm>
#include <array>
#include <boost/math/tools/roots.hpp>
#include <functional>
#include <numeric>

#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::winner_take_all {
namespace {

constexpr Hypothesis has_other{"`n` has another distinct token", Basis::evaluated,
                               "else only common tokens make the rest; it falls faster"};

Statement sheet{
    .id = "scan-snap.winner-take-all",
    .paper = "arXiv 2305.16380, Section 6 and Theorem 3",
    .status = "stated in source, derived here with exponents and limits",
    .about = "the reduced flow with the learning speed of a class prescribed",
    .theorem = R"(
Eqn 10 with the speed of class n prescribed, B_n' = eta_Z w xi_n = a/(1+t)^p. If all of B_n grows
without bound (p <= 1), the attention of class n goes to its leading distinct token l0; at p = 1
what is left for all others falls as
  1 - c_nl0 ~ (1+t)^-a,
from where little is left: as long as common tokens have most of it, they go first. Of a class j of
its query with the same common tokens the rest falls alike, as B_j/B_n -> 1: a larger f_jc makes B_j
faster, and that f_jc smaller. Of other classes nothing is said. If B_n converges (p > 1), attention
freezes: c_nl0 tends to what it is where B_n is a/(p-1), and with r_l = f_nl0(0)^2/f_nl(0)^2 - 1
  1 - c_nl0 >= s/(1+s) > 0,  s = sum_l (1 + r_l exp(2 a/(p-1)))^(-1/2),
l over the other distinct tokens of n.)",
    .hypotheses = {learns, has_other, leads, commons_lose},
    .reaches = {EvidenceKind::numerical},
    .false_version = "temperature",
    .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio},
    .reads = "reduced"};

const Clause takes_all = sheet.clause(
    "one distinct token of a class takes all its attention at `xi_n = a/t` of its own, the rest as "
    "`t^-a`");
const Clause others_follow =
    sheet.clause("late also in classes of its query with the same common tokens");
const Clause freezes = sheet.clause("attention freezes beyond");
const Clause leaves_rest = sheet.clause("with more than `s/(1+s)` left");

const Control larger_order = sheet.control("order", "the rest falls as `(1+t)^(-1.1 a)`");
const Control converges = sheet.control("decays", "`xi_n` falls as `t^-1.05` in place of `1/t`");
const Control faster = sheet.control("faster", "`xi_n` falls as `t^(-1.1 p)`");

const Rival temperature = sheet.rival(
    "temperature", "attention on distinct tokens is a softmax of `(1 + kappa B_n) ln P(l|n)`",
    "`kappa`");

const Knob speed =
    sheet.knob(logarithmic_knob("speed", "a in eta_Z w xi_n = a/(1+t)^p", 0.5, 4, 1));
const Knob decay = sheet.knob(linear_knob("decay", "p where B_n converges", 1.2, 3, 1.5));

constexpr double tolerance = 1e-11;
// B_n up to which xi_n and common tokens are followed, where the order is not read further out.
constexpr double longest_growth = 24;
constexpr double fitted = 6;  // of B_n, in three pieces

// The reduced flow on another clock: B_n' = speed_at(t).
AnyRung<double> driven(const LeadingToken& token, std::function<double(double)> speed_at) {
  AnyRung<double> rung;
  rung.initial = token.flow().initial();
  rung.dimension = rung.initial.size();
  rung.state_names = token.flow().state_names();
  rung.field.value = [&token, speed_at = std::move(speed_at)](const Vector<double>& x,
                                                              Vector<double>& dx, const double& t) {
    dx = rates_while_learning(token.flow(), token.training().classes.tokens, x);
    dx *= speed_at(t) / token.growth(dx);
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

AnyRung<double> decaying(const LeadingToken& token, double a, double p) {
  return driven(token, [=](double t) { return a * std::pow(1 + t, -p); });
}

// The class of the token, then those of its query with the same common tokens that have leaders and
// other distinct tokens.
std::vector<LeadingToken> classes_alike_to(const LeadingToken& token) {
  const SequenceClasses<double>& classes = token.training().classes;
  const auto commons = [&](const LeadingToken& of) {
    std::vector<Index> tokens;
    for (const Index e : of.commons()) tokens.push_back(classes.token[static_cast<std::size_t>(e)]);
    return tokens;
  };
  const auto query = [&](const LeadingToken& of) {
    return classes.query[static_cast<std::size_t>(of.number())];
  };
  std::vector<LeadingToken> found{token};
  for (Index n = 0; n < classes.classes(); ++n) {
    const LeadingToken other = token.of_class(n);
    if (n != token.number() && !other.others().empty() && other.lead() > 1 &&
        query(other) == query(token) && commons(other) == commons(token)) {
      found.push_back(other);
    }
  }
  return found;
}

// B_n between which orders are read, and the state in the middle of them.
struct LateGrowth {
  double begin = 0, end = 0;
  Vector<double> last_piece;  // where it begins
};

// Begins at the first whole number where each class has a thousandth of its attention left, or as
// late as the overlap, which falls as exp(-2 (K_m + 1) B_n), stays above the least double to the end.
LateGrowth late_growth_of(const std::vector<LeadingToken>& alike) {
  const LeadingToken& token = alike.front();
  const double least = -std::log(std::numeric_limits<double>::min());
  const double last = std::max(
      longest_growth, std::floor(least / (2.0 * (static_cast<double>(token.members() + 1)))));
  const AnyRung<double> by_growth = driven(token, [](double) { return 1.0; });
  for (double end = longest_growth;; end = std::min(last, 2 * end)) {
    std::vector<double> growths(static_cast<std::size_t>(end) + 1);
    std::iota(growths.begin(), growths.end(), 0.0);
    const Solved run(by_growth, growths, tolerance);
    const auto late = [&](double growth) {
      return std::all_of(alike.begin(), alike.end(), [&](const LeadingToken& each) {
        return each.rest(run.state(static_cast<std::size_t>(growth))) <= 0.001;
      });
    };
    double begin = 0;
    while (begin + 1 + fitted <= end && !late(begin)) ++begin;
    if (!late(begin) && end < last) continue;
    return {begin, begin + fitted, run.state(static_cast<std::size_t>(begin + 2 * fitted / 3))};
  }
}

// The last of three values whose changes fall as those of a geometric series, with what is still to
// come; where they do not fall, with all that changed.
Quantity settling(const std::array<Quantity, 3>& values) {
  const double before = std::fabs(values[1].value() - values[0].value());
  const double change = std::fabs(values[2].value() - values[1].value());
  Quantity last = values[2];
  last.add(ErrorPart::next_order(
      before > change ? std::max(change, change * change / (before - change)) : before + change));
  return last;
}

// Orders of 1 - c_jl0 in 1/(1+t) by class, where B_n = a ln(1+t) is late.
std::vector<Quantity> orders_of_rest(const std::vector<LeadingToken>& alike, double a,
                                     const LateGrowth& late) {
  std::vector<double> growths, times;
  for (const double more : {0.0, fitted / 3, 2 * fitted / 3, fitted}) {
    growths.push_back(late.begin + more);
    times.push_back(std::expm1(growths.back() / a));
  }
  const Solved run(decaying(alike.front(), a, 1), times, tolerance);
  std::vector<Quantity> orders;
  for (const LeadingToken& each : alike) {
    const std::vector<Quantity> logarithm =
        run.along([&](const Vector<double>& x) { return std::log(each.rest(x)); });
    const std::vector<Quantity> own =
        run.along([&](const Vector<double>& x) { return each.growth(x); });
    // In exp(-B_j), and B_j in ln(1+t).
    const auto in_growth = [&](std::size_t i) {
      return (logarithm[i] - logarithm[i + 1]) / (own[i + 1] - own[i]);
    };
    const auto rise_of = [&](std::size_t i) {
      return (own[i + 1] - own[i]) * Quantity(a / (growths[i + 1] - growths[i]));
    };
    // Terms fall as exp(-2 B_n) by distinct tokens, as exp(-q B_n) by common ones, those of B_j/B_n at
    // rates that depend on P. Nothing is known of the order before the rest is small.
    Quantity rest = settling({in_growth(0), in_growth(1), in_growth(2)});
    const Quantity rise = settling({rise_of(0), rise_of(1), rise_of(2)});
    const double left = each.rest(late.last_piece);
    rest.add(ErrorPart::next_order(left / (1 - left)));
    orders.push_back(rest * rise);
  }
  return orders;
}

// Limit of 1 - c_nl0 as t -> infinity, p > 1.
Quantity limit_of_rest(const LeadingToken& token, double a, double p) {
  const std::vector<double> falling = falling_parameters(std::ldexp(1.0, -8), 2, 3);
  std::vector<double> times;
  for (const double parameter : falling) times.push_back(std::pow(parameter, 1 / (1 - p)) - 1);
  const Solved run(decaying(token, a, p), times, tolerance);
  return limit_in(falling, run.along([&](const Vector<double>& x) { return token.rest(x); }));
}

// s/(1+s) at B_n = growth.
double least_rest(const LeadingToken& token, double growth) {
  const Vector<double> start = token.flow().initial();
  double s = 0;
  for (const Index other : token.others()) {
    const double r = token.square(start, token.leader()) / token.square(start, other) - 1;
    s += 1 / std::sqrt(1 + r * std::exp(2 * growth));
  }
  return s / (1 + s);
}

// 1 - c_nl0 at a state where attention on distinct tokens is a softmax of (1 + kappa B_n) ln P(l|n),
// kappa as it is at another state.
double rest_by_temperature(const LeadingToken& token, const Vector<double>& at,
                           const Vector<double>& fitted_at) {
  const Vector<double>& law = token.training().classes.law;
  const auto odds = [&](double power) {
    double sum = 0;
    for (const Index l : token.others()) sum += std::pow(law[l] / law[token.leader()], power);
    return sum;
  };
  const auto share = [&](const Vector<double>& x) {  // of common tokens
    const Vector<double> f = token.flow().features_at(x);
    double sum = 0, commons = 0;
    for (const Index l : token.commons()) commons += f[l];
    for (const Index l : token.others()) sum += f[l];
    return std::pair{sum / f[token.leader()], commons / (commons + sum + f[token.leader()])};
  };
  boost::math::tools::eps_tolerance<double> close;
  std::uintmax_t steps = 200;
  const double wanted = std::log(share(fitted_at).first);
  const auto [low, high] = boost::math::tools::bracket_and_solve_root(
      [&](double power) { return std::log(odds(power)) - wanted; }, 1.0, 2.0, false, close, steps);
  const double kappa = ((low + high) / 2 - 1) / token.growth(fitted_at);
  return 1 - (1 - share(at).second) / (1 + odds(1 + kappa * token.growth(at)));
}

bool require_learning(const Quantity& drive, Examination& it) {
  return it.require_positive(learns, drive, fmt::format("{:.4g}", drive.value()));
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const double a = setting.value(speed);
  const double p = setting.value(decay);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"a", a},
                   {"p", p},
                   {"seed", setting.seed}};
  const AnyRung<double> by_growth = driven(token, [](double) { return 1.0; });
  const auto least = [&](double (LeadingToken::*read)(const Vector<double>&) const, double end) {
    return smallest_along(by_growth, end, tolerance,
                          [&](const Vector<double>& x) { return (token.*read)(x); });
  };
  const double at_start = token.drive(token.flow().initial());
  if (!(at_start > 0)) {
    require_learning(at_start, it);
    return;
  }
  Quantity drive = least(&LeadingToken::drive, longest_growth);
  Quantity loss = least(&LeadingToken::least_loss, longest_growth);
  const std::vector<LeadingToken> alike = classes_alike_to(token);
  LateGrowth late;
  if (drive.value() > 0 && loss.value() > 0) late = late_growth_of(alike);
  if (late.end > longest_growth) {
    drive = least(&LeadingToken::drive, late.end);
    loss = least(&LeadingToken::least_loss, late.end);
  }
  require_learning(drive, it);
  it.require(has_other, static_cast<double>(token.others().size()) - 1);
  it.require_positive(leads, token.lead() - 1);
  it.require_positive(commons_lose, loss, fmt::format("{:.4g}", loss.value()));
  if (late.end == 0) return;

  // Where a thousandth is left later than doubles reach, the order is undecided.
  const std::vector<Quantity> orders = orders_of_rest(alike, a, late);
  it.judge(takes_all, equal("order of `1 - c_nl0` in `1/(1+t)`, `p = 1`", orders.front(), a)
                          .at(fmt::format("`B_n = {:g}` to {:g}", late.end - fitted / 3, late.end))
                          .unless(larger_order, times(1.1))
                          .unless(converges, a * std::exp(-0.05 * (late.end - fitted / 6) / a)));
  if (alike.size() > 1) {
    it.judge(others_follow, equal("order of `1 - c_jl0` in other classes",
                                  std::vector<Quantity>(orders.begin() + 1, orders.end()), a)
                                .unless(larger_order, times(1.1)));
  }
  const double whole = a / (p - 1);  // of B_n
  const Quantity limit = limit_of_rest(token, a, p);
  const Solved reached(by_growth, {whole}, tolerance);
  it.judge(freezes, equal("`1 - c_nl0` as `t` goes to `infinity`, `p > 1`", limit,
                          reached.along([&](const Vector<double>& x) { return token.rest(x); }))
                        .against(temperature, instead([&] {
                                   return rest_by_temperature(token, reached.state(0),
                                                              late.last_piece);
                                 }))
                        .unless(faster, [&] { return limit_of_rest(token, a, 1.1 * p); }));
  it.judge(leaves_rest, at_most("`s/(1+s)` against that limit", least_rest(token, whole), limit));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::winner_take_all
