#include "popgrad/base/failure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/checks/decoder_clock.hpp"
#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::late_growth {
namespace {

Statement sheet{.id = "scan-snap.late-growth",
                .paper = "arXiv 2305.16380, Eqn 10, Section 6, Theorem 4",
                .status = "derived here",
                .about = "the reduced flow",
                .theorem = R"(
What Section 6 asks of xi_n, on Eqn 10 with its own gamma: one common token c in all K classes, K_m
of each query. On Eqn 10 states depend on time through y = M h only, y ~ ln(M eta_Y t/K). With l0
the leading distinct token of n, rho_l = P(l|n)/P(l0|n) of the others and
  kappa = (K_m + 1) (K - 1) w K eta_Z/(eta_Y M)
  a_n   = ln(P(l0|n)/P(c|n)) + sum_l ln(1 - rho_l^2)/2,
as t -> infinity
  eta_Z w t xi_n ~ 1/((K_m + 1) y) -> 0,
so that xi_n falls below any c/t, and yet
  B_n     = (ln(kappa^(1/2) y) + sum_{j: psi(j) = psi(n)} a_j)/(K_m + 1) - a_n + J_n + o(1),
with J_n = int f_nc^2 dB_n, at most f_nc^2/(2 (1 - f_nc^2)^2) at the start, and
  1 - c_nl0 ~ sum_l rho_l (1 - rho_l^2)^(-1/2) e^(J_n - B_n) / prod_l (1 - rho_l^2)^(1/2) -> 0:
the leading distinct token takes all, ln(t) 2^(K_m + 1) times as large for every halving of the
rest. Within a tenth this is so from where every class has 4/5 of its attention on its leader,
M f_nc^2 is below 1/100, f_nc^2 a fiftieth of what it was and f_nc alike to a twentieth in all classes.
Theorem 4 (corrected), 1/(2 K_m)
in place of 1/(K_m + 1), holds as long as f_c^2 M is large and no distinct token leads.)",
                .hypotheses = {one_common, classes_alike},
                .reaches = {EvidenceKind::numerical},
                .false_version = "from-e2",
                .knobs = one_common_token_knobs(),
                .reads = "reduced"};

const Clause grows = sheet.clause(
    "`xi_n` falls below any `c/t`, and `B_n` grows like `ln(ln t)/(K_m + 1)` all the same");
const Clause rest_falls = sheet.clause("the rest falls as `(ln t)^(-1/(K_m + 1))`");
const Clause begins =
    sheet.clause("both within a tenth from where leading tokens have four fifths of the attention");

const Hypothesis has_other =
    sheet.assume({"`n` has another distinct token", Basis::evaluated,
                  "else the rest is the common token's, of order `K_m + 1`"});
const Hypothesis leading = sheet.assume("one token leads the distinct ones of each class");

const Control theorem_4 =
    sheet.control("theorem-4", "`B_n ~ ln(y)/(2 K_m)`, as while the overlap is large");
const Control norms_kept =
    sheet.control("norms-kept", "`B_n ~ ln(y)/K_m`, as if no distinct token led");
const Control all_classes = sheet.control("all-classes", "`K` for `K - 1` in `kappa`");
const Control larger_order = sheet.control("order", "the rest falls with an order 10 % larger");
const Control from_e2 = sheet.control("from-e2", "the regime begins at `y = e^2`");

const Rival power = sheet.rival("power", "`B_n` is a power of `ln t`, not its logarithm",
                                "an amplitude and an exponent");

constexpr double tolerance = 1e-11;
// The late law begins where at most so much is left, and f_c is alike in all classes up to this.
constexpr double rest_at_begin = 0.2, apart_at_begin = 0.05;
constexpr double close_from_there = 0.1;
// The rest falls by this in every piece of the clock from there on.
const double fall_of_rest = std::sqrt(10.0);
constexpr std::size_t pieces = 6;
constexpr std::size_t settled = 2;  // pieces before B_n is set against its law

// Of class n, by the logarithm of y, with a_n, their sum over the classes of its query and what
// stands before e^(J_n - B_n).
struct LateLaw {
  double members = 0, half_log_kappa = 0, own = 0, sum = 0, amplitude = 0;

  [[nodiscard]] double growth(double log_y) const {  // B_n - J_n
    return (log_y + half_log_kappa + sum) / (members + 1) - own;
  }
  [[nodiscard]] double odds(double log_y) const {  // (1 - c_nl0)/c_nl0
    return amplitude * std::exp(-growth(log_y));
  }
  [[nodiscard]] double log_y_at(double odds) const {
    return (members + 1) * (std::log(amplitude / odds) + own) - half_log_kappa - sum;
  }
};

// The common token and the leading ones of all classes.
struct Classes {
  OneCommonToken instance;
  std::vector<LeadingToken> all;

  [[nodiscard]] double lead() const {
    double least = std::numeric_limits<double>::infinity();
    for (const LeadingToken& token : all) least = std::min(least, token.lead());
    return least;
  }
};

// -sum_l ln(1 - rho_l^2)/2, and sum_l rho_l (1 - rho_l^2)^(-1/2).
struct OtherTokens {
  double lost = 0, sum = 0;
};
OtherTokens other_tokens(const LeadingToken& token) {
  const Vector<double>& law = token.training().classes.law;
  OtherTokens found;
  for (const Index l : token.others()) {
    const double rho = law[l] / law[token.leader()];
    found.lost -= std::log1p(-rho * rho) / 2;
    found.sum += rho / std::sqrt(1 - rho * rho);
  }
  return found;
}

// The law of class n as if `partners` classes overlapped with it: K - 1 do.
LateLaw late_law(const Classes& classes, Index n, double partners) {
  const TrainingInstance<double>& training = classes.instance.training;
  const auto k = static_cast<double>(classes.all.size());
  LateLaw law;
  law.members = static_cast<double>(classes.instance.members);
  law.half_log_kappa =
      std::log((law.members + 1) * partners * classes.instance.token().weight * k *
               training.attention_rate / (training.decoder_rate * classes.instance.vocabulary)) /
      2;
  for (const LeadingToken& token : classes.all) {
    const auto j = static_cast<std::size_t>(token.number());
    if (training.classes.query[j] != training.classes.query[static_cast<std::size_t>(n)]) continue;
    const Vector<double>& p = training.classes.law;
    const OtherTokens others = other_tokens(token);
    const double a = std::log(p[token.leader()] / p[classes.instance.entries[j]]) - others.lost;
    law.sum += a;
    if (token.number() == n) {
      law.own = a;
      law.amplitude = others.sum * std::exp(others.lost);
    }
  }
  return law;
}

// Where the late law begins, in the clock theta. Throws Failure if it is not reached.
double beginning(const Classes& classes, const AnyRung<double>& rung,
                 const ReducedFlow<double>& flow, const LateLaw& law) {
  const OneCommonToken& instance = classes.instance;
  const double square = *std::max_element(instance.squares.begin(), instance.squares.end());
  const double small = std::min(1 / (100 * instance.vocabulary), square / 50);
  const auto margin = [&](const Vector<double>& x, const double&) {
    const Vector<double> f = flow.features_at(x);
    double rest = 0, least = 1, most = 0;
    for (const LeadingToken& token : classes.all) {
      rest = std::max(rest, token.rest_of(f));
      const double common = f[instance.entries[static_cast<std::size_t>(token.number())]];
      least = std::min(least, common);
      most = std::max(most, common);
    }
    return 1 - std::max({rest / rest_at_begin, most * most / small,
                         std::log(most / least) / apart_at_begin});
  };
  const std::string name = "late law begins";
  AnyRung<double> watched = rung;
  watched.events.push_back({name, "rest", EventKind::crossing, margin, margin});
  const double expected = std::max(law.log_y_at(rest_at_begin / (1 - rest_at_begin)),
                                   -std::log(small) / 2 - law.half_log_kappa);
  // Only where the law is read: in a refinement it is read, in more digits, at the same place.
  SolveRequest<double> request;
  request.end = 10 + 2 * std::max(0.0, expected);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / 100;
  double begin = -1;
  for (const Event<double>& event : solve(watched, request).events) {
    if (event.name == name) begin = event.t;
  }
  throw_if_stopped();
  if (begin < 0) throw Failure("the late law was not reached");
  return begin;
}

// What is read at times of the clock: d B_n/d ln y, B_n, (1 - c_nl0)/c_nl0.
struct Reading {
  std::vector<Quantity> exponent, growth, odds;
};

template <class T>
struct LateFlow {
  const LeadingToken& token;
  TrainingInstance<T> training = training_in<T>(token.training());
  ReducedFlow<T> flow{training};
  AnyRung<T> rung = in_clock_of_decoder<T>(flow, training);

  [[nodiscard]] Reading read(const std::vector<double>& times) const {
    const SolvedIn<T> run(rung, times, tolerance);
    Reading found;
    for (std::size_t i = 0; i < times.size(); ++i) {
      found.exponent.push_back(run.at(i, [&](const Vector<T>& x) -> T {
        Vector<T> rate(x.size());
        rung.field.value(x, rate, T(times[i]));
        return token.growth(rate) * T(-std::expm1(-2 * times[i]));
      }));
    }
    found.growth = run.along([&](const Vector<T>& x) { return token.growth(x); });
    found.odds = run.along([&](const Vector<T>& x) -> T {
      const T rest = token.rest_of(flow.features_at(x));
      return rest / (T(1) - rest);
    });
    return found;
  }
};

// How far the exponent and the odds are from their law, in units of it.
std::vector<Quantity> distances(const Reading& reading, const std::vector<double>& times,
                                const LateLaw& law) {
  std::vector<Quantity> found;
  for (std::size_t i = 0; i < times.size(); ++i) {
    found.push_back(abs(reading.exponent[i] * Quantity(law.members + 1) - Quantity(1)));
    found.push_back(abs(reading.odds[i] / Quantity(law.odds(log_y_at(times[i]))) - Quantity(1)));
  }
  return found;
}

template <class T>
void judge(const Classes& classes, const LeadingToken& token, double begin, Examination& it) {
  const LateFlow<T> late{token};
  const auto k = static_cast<double>(classes.all.size());
  const LateLaw law = late_law(classes, token.number(), k - 1);
  const LateLaw of_all = late_law(classes, token.number(), k);
  const std::vector<double> falling =
      falling_parameters(1, fall_of_rest, pieces + 1);  // of the rest
  std::vector<double> times;
  for (const double part : falling) times.push_back(begin - (law.members + 1) * std::log(part));
  const std::size_t last = times.size() - 1;
  const Reading found = late.read(times);

  const auto slope = [&](std::size_t i) {
    return (found.growth[i + 1] - found.growth[i]) / Quantity(times[i + 1] - times[i]);
  };
  Quantity chord = slope(last - 1), now = found.exponent[last];
  chord.add(ErrorPart::next_order(chord.value() - slope(last - 2).value()));
  now.add(ErrorPart::next_order(now.value() - found.exponent[last - 1].value()));
  // The local exponent is eta_Z w t xi_n y, as t xi_n is the slope of B_n in ln t.
  it.judge(grows, equal("exponent of `B_n` in `y = M h`")
                      .add("`eta_Z w t xi_n y` at the end", now, 1 / (law.members + 1))
                      .add("of the last piece", chord, 1 / (law.members + 1))
                      .unless(theorem_4, 1 / (2 * law.members))
                      .unless(norms_kept, 1 / law.members));

  const double square = classes.instance.squares[static_cast<std::size_t>(token.number())];
  std::vector<Quantity> growths, expected, of_all_classes;
  std::vector<std::string> places;
  for (std::size_t i = settled; i <= last; ++i) {
    const double log_y = log_y_at(times[i]);
    const auto off = [&](std::size_t at) {
      return found.growth[at].value() - law.growth(log_y_at(times[at]));
    };
    growths.push_back(found.growth[i]);
    expected.emplace_back(law.growth(log_y));
    expected.back().add(ErrorPart::next_order(square / (2 * std::pow(1 - square, 2))));
    expected.back().add(ErrorPart::next_order(off(i) - off(i - 1)));
    of_all_classes.emplace_back(of_all.growth(log_y));
    places.push_back(fmt::format("`y = e^{:.4g}`", log_y));
  }
  // Through the first and the last.
  const auto by_power = [&] {
    std::vector<Quantity> powers;
    const double first = std::log(growths.front().value());
    const double rise = std::log(growths.back().value()) - first;
    for (std::size_t i = 0; i < growths.size(); ++i) {
      const double part = (times[i + settled] - times[settled]) / (times[last] - times[settled]);
      powers.emplace_back(std::exp(first + rise * part));
    }
    return powers;
  };
  it.judge(grows, equal("`B_n`", growths, expected)
                      .in_units_of(1)
                      .at(places)
                      .unless(all_classes, of_all_classes)
                      .against(power, by_power()));

  std::vector<Quantity> shares;
  for (std::size_t i = 0; i <= last; ++i) {
    shares.push_back(found.odds[i] / Quantity(law.odds(log_y_at(times[i]))));
  }
  it.judge(rest_falls, equal("`(1 - c_nl0)/c_nl0` over its law, `t` to `infinity`",
                             limit_in(falling, shares), 1)
                           .unless(all_classes, of_all.odds(0) / law.odds(0)));
  it.judge(rest_falls, equal("order of `(1 - c_nl0)/c_nl0` in `y^(-1/(K_m + 1))`",
                             order_in(falling, found.odds), 1)
                           .unless(larger_order, popgrad::times(1.1)));

  it.judge(begins, at_most("distance of exponent and rest from their law, from its beginning on",
                           distances(found, times, law), close_from_there)
                       .with(fmt::format("from `y = e^{:.4g}` on", log_y_at(begin)))
                       .unless(from_e2, [&] {
                         const std::vector<double> early{std::log1p(std::exp(4.0)) / 2};
                         return std::vector<Quantity>(
                             2 * times.size(), distances(late.read(early), early, law).front());
                       }));
}

void examine(const Setting& setting, Examination& it) {
  Classes classes{one_common_token(setting), {}};
  const OneCommonToken& instance = classes.instance;
  it.parameters = common_token_parameters(instance);
  it.parameters["seed"] = setting.seed;
  if (!require_one_common_token(instance, it)) return;
  const LeadingToken token(instance.training);
  for (Index n = 0; n < instance.training.classes.classes(); ++n) {
    classes.all.push_back(token.of_class(n));
  }
  const bool others = it.require(has_other, static_cast<double>(token.others().size()) - 1);
  const double lead = classes.lead();
  if (!it.require_positive(leading, lead - 1,
                           fmt::format("a `P(l0|n)` is {:.4g} of the next largest", lead)) ||
      !others) {
    return;
  }
  const LateFlow<double> late{token};
  const double begin =
      beginning(classes, late.rung, late.flow,
                late_law(classes, token.number(), static_cast<double>(classes.all.size() - 1)));
  in_refined_digits([&]<class T>() { judge<T>(classes, token, begin, it); });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::late_growth
