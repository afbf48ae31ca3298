#include <functional>
#include <numeric>

#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::winner_take_all {
namespace {

constexpr Hypothesis has_other{"n has another distinct token", Basis::evaluated,
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
  1 - c_nl0 ~ (1+t)^-a.
If B_n converges (p > 1), attention freezes: c_nl0 tends to what it is where B_n is a/(p-1), and
with r_l = f_nl0(0)^2/f_nl(0)^2 - 1
  1 - c_nl0 >= s/(1+s) > 0,  s = sum_l (1 + r_l exp(2 a/(p-1)))^(-1/2),
l over the other distinct tokens of n.)",
    .hypotheses = {learns, has_other, leads, commons_lose},
    .reaches = {EvidenceKind::numerical},
    .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio},
    .reads = "reduced"};

const Clause takes_all =
    sheet.clause("one distinct token takes all attention at xi_n = a/t, the rest as t^-a");
const Clause freezes = sheet.clause("attention freezes beyond");
const Clause leaves_rest = sheet.clause("with more than s/(1+s) left");

const Control larger_order = sheet.control("order", "the rest falls as (1+t)^(-1.1 a)");
const Control converges = sheet.control("decays", "xi_n falls as t^-1.05 in place of 1/t");
const Control faster = sheet.control("faster", "xi_n falls as t^(-1.1 p)");

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

// B_n between which the order is read, and (1 - c_nl0)/c_nl0 where its last piece begins: 1 - c_nl0
// is a sum of powers in the regime where that is small, and nothing is known of its order before.
struct LateGrowth {
  double begin = 0, end = 0, neglected = 0;
};

// Begins at the first whole number where a thousandth of the attention is left, or as late as the
// overlap, which falls as exp(-2 (K_m + 1) B_n), stays above the least double to the end.
LateGrowth late_growth_of(const LeadingToken& token) {
  const double least = -std::log(std::numeric_limits<double>::min());
  const double last = std::max(
      longest_growth, std::floor(least / (2.0 * (static_cast<double>(token.members() + 1)))));
  const AnyRung<double> by_growth = driven(token, [](double) { return 1.0; });
  for (double end = longest_growth;; end = std::min(last, 2 * end)) {
    std::vector<double> growths(static_cast<std::size_t>(end) + 1);
    std::iota(growths.begin(), growths.end(), 0.0);
    const Solved run(by_growth, growths, tolerance);
    const auto rest = [&](double growth) {
      return token.rest(run.state(static_cast<std::size_t>(growth)));
    };
    double begin = 0;
    while (begin + 1 + fitted <= end && rest(begin) > 0.001) ++begin;
    if (rest(begin) > 0.001 && end < last) continue;
    const double left = rest(begin + 2 * fitted / 3);
    return {begin, begin + fitted, left / (1 - left)};
  }
}

// Order of 1 - c_nl0 in 1/(1+t), where B_n = a ln(1+t) is late.
Quantity order_of_rest(const LeadingToken& token, double a, double p, const LateGrowth& late) {
  std::vector<double> growths, times;
  for (const double more : {fitted / 3, 2 * fitted / 3, fitted}) {
    growths.push_back(late.begin + more);
    times.push_back(std::expm1(growths.back() / a));
  }
  const std::vector<Quantity> logarithm =
      Solved(decaying(token, a, p), times, tolerance).along([&](const Vector<double>& x) {
        return std::log(token.rest(x));
      });
  const auto local = [&](std::size_t i) {
    return (logarithm[i] - logarithm[i + 1]) * Quantity(a / (growths[i + 1] - growths[i]));
  };
  // The next term falls as exp(-2 B_n) by distinct tokens, as exp(-q B_n) by common ones: what is
  // still to come is a geometric series of the change between the pairs.
  Quantity order = local(1);
  const double series = 1 / std::expm1(token.loss_of_commons() * fitted / 3);
  order.add(ErrorPart::next_order((order.value() - local(0).value()) * std::max(1.0, series)));
  order.add(ErrorPart::next_order(late.neglected));
  return order;
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
  LateGrowth late;
  if (drive.value() > 0 && loss.value() > 0) late = late_growth_of(token);
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
  it.judge(takes_all,
           equal("order of 1 - c_nl0 in 1/(1+t), p = 1", order_of_rest(token, a, 1, late), a)
               .unless(larger_order, times(1.1))
               .unless(converges, [&] { return order_of_rest(token, a, 1.05, late); }));
  const double whole = a / (p - 1);  // of B_n
  const Quantity limit = limit_of_rest(token, a, p);
  const Solved reached(by_growth, {whole}, tolerance);
  it.judge(freezes, equal("1 - c_nl0 as t goes to infinity, p > 1", limit,
                          reached.along([&](const Vector<double>& x) { return token.rest(x); }))
                        .unless(faster, [&] { return limit_of_rest(token, a, 1.1 * p); }));
  it.judge(leaves_rest, at_most("s/(1+s) against that limit", least_rest(token, whole), limit));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::winner_take_all
