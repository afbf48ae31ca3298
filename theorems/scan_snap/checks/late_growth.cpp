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
What Section 6 asks of xi_n, on Eqn 10 with its own gamma: one common token in all K classes, K_m
of each query. On Eqn 10 states depend on time through y = M h only, y ~ ln(M eta_Y t/K). As t ->
infinity
  eta_Z w t xi_n ~ 1/((K_m + 1) y) -> 0,
so that xi_n falls below any c/t, and yet
  B_n ~ ln(y)/(K_m + 1) -> infinity
  1 - c_nl0 ~ y^(-1/(K_m + 1)) -> 0:
the leading distinct token l0 of n takes all, ln(t) 2^(K_m + 1) times as large for every halving
of the rest. Theorem 4 (corrected), 1/(2 K_m) in place of 1/(K_m + 1), holds as long as f_c^2 M
is large and no distinct token leads.)",
                .hypotheses = {one_common, classes_alike},
                .reaches = {EvidenceKind::numerical},
                .knobs = one_common_token_knobs(),
                .reads = "reduced"};

const Clause grows =
    sheet.clause("xi_n falls below any c/t, and B_n grows like ln(ln t)/(K_m + 1) all the same");
const Clause rest_falls = sheet.clause("the rest falls as (ln t)^(-1/(K_m + 1))");

const Hypothesis has_other =
    sheet.assume({"n has another distinct token", Basis::evaluated,
                  "else the rest is the common token's, of order K_m + 1"});
const Hypothesis leading = sheet.assume("l0 leads the distinct tokens of n");

const Control theorem_4 =
    sheet.control("theorem-4", "B_n ~ ln(y)/(2 K_m), as while the overlap is large");
const Control norms_kept =
    sheet.control("norms-kept", "B_n ~ ln(y)/K_m, as if no distinct token led");
const Control larger_order = sheet.control("order", "the rest falls with an order 10 % larger");

constexpr double tolerance = 1e-11;
constexpr double clock_step = 40;
constexpr std::size_t clock_steps = 4;

// Eqn 10 in the clock theta = ln(1 + y^2)/2 of y = M h: dx/dtheta is the rate of x per unit of
// int gamma, times
//   d(int gamma)/dtheta = (K/eta_Y) ((M-1)/M)^2 e^(2 theta).
template <class T>
AnyRung<T> in_clock_of_decoder(const ReducedFlow<T>& flow, const TrainingInstance<T>& training) {
  const Index tokens = training.classes.tokens;
  const auto m = static_cast<T>(tokens);
  const T part = (m - T(1)) / m;
  const T scale = static_cast<T>(training.classes.classes()) / training.decoder_rate * part * part /
                  backprop_scale(m, T(T(1) / m));
  AnyRung<T> rung;
  rung.initial = flow.initial();
  rung.dimension = rung.initial.size();
  rung.state_names = flow.state_names();
  rung.field.value = [&flow, tokens, scale](const Vector<T>& x, Vector<T>& dx, const T& theta) {
    using std::exp;
    dx = rates_while_learning(flow, tokens, x);
    dx *= T(scale * exp(T(2 * theta)));
  };
  rung.observables.read = [](const Vector<T>&, const T&, std::span<T>) {};
  return rung;
}

template <class T>
void judge_exponents(const LeadingToken& token, Examination& it) {
  const TrainingInstance<T> training = training_in<T>(token.training());
  const ReducedFlow<T> flow(training);
  const AnyRung<T> rung = in_clock_of_decoder<T>(flow, training);
  const auto members = static_cast<double>(token.members());
  // y^(-1/(K_m + 1)) at the clock times.
  const double factor = std::exp(clock_step / (members + 1));
  const std::vector<double> falling = falling_parameters(1 / factor, factor, clock_steps);
  std::vector<double> clock_times;
  while (clock_times.size() < falling.size()) {
    clock_times.push_back(clock_step * static_cast<double>(clock_times.size() + 1));
  }
  const std::size_t last = clock_times.size() - 1;
  const SolvedIn<T> run(rung, clock_times, tolerance);
  const std::vector<Quantity> growth =
      run.along([&](const Vector<T>& x) { return token.growth(x); });
  const auto slope = [&](std::size_t i) {
    return (growth[i + 1] - growth[i]) / Quantity(clock_times[i + 1] - clock_times[i]);
  };
  const auto local = [&](std::size_t i) {
    return run.at(i, [&](const Vector<T>& x) {
      Vector<T> rate(x.size());
      rung.field.value(x, rate, T(clock_times[i]));
      return token.growth(rate);
    });
  };
  Quantity late = slope(last - 1), now = local(last);
  late.add(ErrorPart::next_order(late.value() - slope(last - 2).value()));
  now.add(ErrorPart::next_order(now.value() - local(last - 1).value()));
  // The local exponent is eta_Z w t xi_n y, as t xi_n is the slope of B_n in ln t.
  const double exponent = 1 / (members + 1);
  it.judge(grows, equal("exponent of B_n in y = M h")
                      .add("eta_Z w t xi_n y at y = e^160", now, exponent)
                      .add("from y = e^120 to e^160", late, exponent)
                      .unless(theorem_4, 1 / (2 * members))
                      .unless(norms_kept, 1 / members));
  const auto rest = [&](const Vector<T>& x) { return token.rest_of(flow.features_at(x)); };
  it.judge(rest_falls,
           equal("order of 1 - c_nl0 in y^(-1/(K_m + 1))", order_in(falling, run.along(rest)), 1)
               .unless(larger_order, times(1.1)));
}

void examine(const Setting& setting, Examination& it) {
  const OneCommonToken instance = one_common_token(setting);
  it.parameters = common_token_parameters(instance);
  it.parameters["seed"] = setting.seed;
  if (!require_one_common_token(instance, it)) return;
  const LeadingToken token(instance.training);
  it.require(has_other, static_cast<double>(token.others().size()) - 1);
  it.require_positive(leading, token.lead() - 1,
                      fmt::format("P(l0|n) is {:.4g} of the next largest", token.lead()));
  in_refined_digits([&]<class T>() { judge_exponents<T>(token, it); });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::late_growth
