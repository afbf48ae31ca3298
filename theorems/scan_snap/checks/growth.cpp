#include "theorems/scan_snap/checks/leading_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::growth {
namespace {

Statement sheet{.id = "scan-snap.growth",
                .paper = "arXiv 2305.16380, Theorem 3",
                .status = "proved in source",
                .about = "the reduced flow",
                .theorem = R"(
From zero start, with chi_l = exp(2 z_l(t)), distinct tokens l, l' of class n obey
  r(t) = r(0) chi_l(t),  r = f_nl^2/f_nl'^2 - 1;
f of the leading distinct token l0 rises, and with B_n = eta_Z w int xi_n
  f_nl0(0)^2 B_n <= ln(chi_l0)/2 <= f_nl0(t)^2 B_n  (in the paper: <= B_n).)",
                .hypotheses = {learns, leads, commons_lose},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "on-flow",
                .knobs = leading_token_knobs(),
                .reads = "reduced"};

const Clause parts = sheet.clause("distinct tokens part as `r(t) = r(0) chi(t)`");
const Clause by_square = sheet.clause("`z' = f^2 B'`");
const Clause from_below = sheet.clause("`ln(chi)/2` of the leading one at least `f(0)^2 B`");
const Clause from_above = sheet.clause("at most `f(t)^2 B`");
const Clause rises = sheet.clause("its `f` rises");

const Control other_exponent = sheet.control("exponent", "`chi^1.1` in place of `chi`");
const Control other_token = sheet.control("other-token", "`chi` of `l'` in place of that of `l`");
const Control not_squared = sheet.control("not-squared", "`z_l' = f_nl B_n'`");
const Control on_flow = sheet.control(
    "on-flow", "the same law on the flow, where the decoder learns by the gradient of the loss");
const Control lower_bound = sheet.control("lower-bound", "`1.1 f_nl0(0)^2 B_n` as the lower bound");
const Control upper_bound = sheet.control("upper-bound", "`0.9 f_nl0(t)^2 B_n` as the upper bound");

const Rival temperature = sheet.rival(
    "temperature", "attention sharpens its first weights, `ln f_nl = (1 + kappa B_n) ln P(l|n)`",
    "`kappa`");

constexpr double tolerance = 1e-12;

// Class 0 has tokens 0 (common), 1, 2 (distinct), class 1 has 0 and 3.
void prove(Examination& it) {
  TrainingInstance<Expression> instance;
  SequenceClasses<Expression>& classes = instance.classes;
  classes.tokens = 4;
  classes.query = {0, 0};
  classes.next = {0, 1};
  classes.first = {0, 3, 5};
  classes.token = {0, 1, 2, 0, 3};
  classes.law = symbols("P", 5);
  classes.weight = symbols("w", 2);
  instance.decoder_rate = symbol("eta_Y");
  instance.attention_rate = symbol("eta_Z");
  instance.track_growth = true;
  const ReducedFlow<Expression> flow(instance, symbol("M"));
  const Vector<Expression> x = symbols("x", flow.dimension());  // z of 0 to 3, h, B_0, B_1
  Vector<Expression> rate(x.size());
  flow.rhs(x, rate, Expression(0));
  const Expression f = flow.features_at(x)[1];
  const Expression quotient = classes.law[1] / classes.law[2];
  const Expression r = quotient * quotient * GiNaC::exp(2 * (x[1] - x[2])) - 1;
  const char* const generic = "generic `P`, `w`, `z`, `h`, `M`";
  it.judge(parts, identity("`r' = 2 z_l' r`", [&] {
                    return vanishes(Expression(rate_along(r, x, rate) - 2 * rate[1] * r));
                  }).with(generic));
  it.judge(by_square,
           identity("`z_l' = f_nl^2 B_n'`",
                    [&] { return vanishes(Expression(rate[1] - f * f * rate[5])); })
               .with(generic)
               .unless(not_squared, [&] { return vanishes(Expression(rate[1] - f * rate[5])); }));
}

// ln(r/r(0)) of attention that sharpens its first weights, f_nl^2/f_nl'^2 = (1 + r(0))^(1 + kappa B_n),
// with the kappa nearest to the measured `parting`; `before` has r(0) and `growth` B_n of each number.
std::vector<Quantity> sharpened(const std::vector<Quantity>& parting,
                                const std::vector<double>& before,
                                const std::vector<double>& growth) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < parting.size(); ++i) {
    const double first = std::log1p(before[i]);
    const double now = std::log1p(before[i] * std::exp(parting[i].value()));
    product += growth[i] * first * (now - first);
    square += std::pow(growth[i] * first, 2);
  }
  std::vector<Quantity> claimed;
  for (std::size_t i = 0; i < parting.size(); ++i) {
    const double power = 1 + product / square * growth[i];
    claimed.emplace_back(std::log(std::expm1(power * std::log1p(before[i])) / before[i]));
  }
  return claimed;
}

// ln(r/r(0)) for l = l0 and every other distinct token l' of another weight.
void judge_ratios(const LeadingToken& token, const Solved& run, Examination& it) {
  Comparison parting = equal("`ln(r(t)/r(0))` of `l0` and another distinct token");
  std::vector<Quantity> of_other;
  std::vector<double> starts, growths;
  for (const Index other : token.others()) {
    const auto square_ratio = [&](const Vector<double>& x) {
      return token.square(x, token.leader()) / token.square(x, other);
    };
    const double before = square_ratio(token.flow().initial()) - 1;
    if (before == 0) continue;
    for (std::size_t save = 0; save < run.size(); ++save) {
      Quantity parted = run.at(
          save, [&](const Vector<double>& x) { return std::log((square_ratio(x) - 1) / before); });
      // Of two exponentials, quotients and squares each, before 1 is taken off.
      parted.add(ErrorPart::rounding(8, (1 + before) / before));
      const auto twice_logit = [&](Index entry) {
        return run.at(save, [&](const Vector<double>& x) { return 2 * token.logit(x, entry); });
      };
      parting.add(run.places()[save], parted, twice_logit(token.leader()));
      of_other.push_back(twice_logit(other));
      starts.push_back(before);
      growths.push_back(token.growth(run.state(save)));
    }
  }
  if (parting.measured.empty()) return;
  // On the flow, the quotient of both sides times what it is to be.
  const auto of_flow = [&] {
    const PopulationFlow<double> flow(token.training());
    const Solved learned(forget_type(flow), run.times(), tolerance);
    const auto pair = [&](Index entry) {
      return flow.layout().entry_pair[static_cast<std::size_t>(entry)];
    };
    std::vector<Quantity> found;
    for (const Index other : token.others()) {
      const auto parted = [&](const Vector<double>& x) {
        const Vector<double> f = flow.features_at(x);
        return std::pow(f[token.leader()] / f[other], 2) - 1;
      };
      const double before = parted(flow.initial());
      if (before == 0) continue;
      for (std::size_t save = 0; save < run.size(); ++save) {
        Quantity logarithm =
            learned.at(save, [&](const Vector<double>& x) { return std::log(parted(x) / before); });
        logarithm.add(ErrorPart::rounding(8, (1 + before) / before));
        found.push_back(logarithm / learned.at(save, [&](const Vector<double>& x) {
          return 2 * flow.logits_at(x)[pair(token.leader())];
        }) * parting.predicted[found.size()]);
      }
    }
    return found;
  };
  it.judge(parts, parting.unless(other_exponent, times(1.1))
                      .unless(other_token, of_other)
                      .unless(on_flow, of_flow)
                      .against(temperature, sharpened(parting.measured, starts, growths)));
}

// z_l0 = int f_nl0^2 dB_n of a rising f.
void judge_bounds(const LeadingToken& token, const Solved& run, Examination& it) {
  const auto square = [&](const Vector<double>& x) { return token.square(x, token.leader()); };
  const double before = square(token.flow().initial());
  const std::vector<Quantity> after = run.along(square);
  std::vector<Quantity> shares;
  for (std::size_t save = 0; save < run.size(); ++save) {
    shares.push_back(run.at(save, [&](const Vector<double>& x) {
      return token.logit(x, token.leader());
    }) / run.at(save, [&](const Vector<double>& x) { return token.growth(x); }));
  }
  const auto all = [&](double number) { return std::vector<Quantity>(shares.size(), number); };
  it.judge(from_below, at_most("`f_nl0(0)^2` against `z_l0/B_n`", all(before), shares)
                           .at(run.places())
                           .unless(lower_bound, [&] { return all(1.1 * before); }));
  it.judge(from_above, at_most("`z_l0/B_n` against `f_nl0(t)^2`", shares, after)
                           .at(run.places())
                           .unless(upper_bound, times(0.9)));
}

void examine(const Setting& setting, Examination& it) {
  const LeadingToken token(setting);
  const double end = setting.value(horizon);
  it.parameters = {{"K", token.training().classes.classes()},
                   {"M", token.training().classes.tokens},
                   {"entries of P", token.training().classes.entries()},
                   {"eta_Y", token.training().decoder_rate},
                   {"eta_Z", token.training().attention_rate},
                   {"t", end},
                   {"seed", setting.seed}};
  const AnyRung<double> rung = forget_type(token.flow());
  const auto least = [&](double (LeadingToken::*read)(const Vector<double>&) const) {
    return smallest_along(rung, end, tolerance,
                          [&](const Vector<double>& x) { return (token.*read)(x); });
  };
  const Quantity drive = least(&LeadingToken::drive);
  it.require_positive(learns, drive, fmt::format("{:.4g}", drive.value()));
  if (!(drive.value() > drive.error())) return;
  it.require(leads, token.lead() - 1,
             fmt::format("`P(l0|n)` is {:.4g} of the next largest", token.lead()));
  const Quantity loss = least(&LeadingToken::least_loss);
  it.require_positive(commons_lose, loss, fmt::format("{:.4g}", loss.value()));
  std::vector<double> times;
  constexpr int halvings = 10;
  for (int k = halvings; k >= 0; --k) times.push_back(std::ldexp(end, -k));
  const Solved run(rung, times, tolerance);
  judge_ratios(token, run, it);
  judge_bounds(token, run, it);
  it.judge(rises, below("0 against the least `d ln f_nl0/dB_n`", 0, least(&LeadingToken::rise)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::growth
