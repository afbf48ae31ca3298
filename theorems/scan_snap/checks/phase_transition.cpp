#include <boost/math/special_functions/lambert_w.hpp>

#include "theorems/scan_snap/checks/common_token_flow.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks::phase_transition {
namespace {

Statement sheet{
    .id = "scan-snap.phase-transition",
    .paper = "arXiv 2305.16380, Theorem 4",
    .status = "proved in source, constant corrected here",
    .about = "the reduced flow",
    .theorem = R"(
One common token in all K classes, K_m of each query:
  C0    = 1/((K-1) f_c^4)
  Gamma = (eta_Z/eta_Y) K (M-1)^2 h^2/2
  B_n   = ln(1 + 4 w K_m Gamma/C0)/(4 K_m),  z = -K_m B_n
to leading order in the overlap, by z' = -w K_m eta_Z gamma e^(4z)/C0 and B' = w eta_Z gamma
e^(4z)/C0; where M > 100, B_n rises by less from t0 to 3 t0 than from t0/3 to t0,
  t0 = 2 (1 + omega1) K ln M/eta_Y,
as gamma is largest, (M-1)^2/(M e^x), where M h = x = 1 + W((M-1)/e), before t0.)",
    .hypotheses = {one_common, classes_alike,
                   by_construction("`K f_c^2`, `1/(M f_c^2)`, `sum_l f_nl^4 -> 0`",
                                   "quotients are extrapolated along refined instances")},
    .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
    .false_version = "paper",
    .knobs = one_common_token_knobs(),
    .reads = "reduced"};

const Clause closed_form =
    sheet.clause("`B_n` and `z` of one common token in closed form at small overlap");
const Clause largest_before = sheet.clause("`gamma` largest before `t0`");
const Clause fast_then_slow = sheet.clause("`B_n` rises fast before `t0`, slowly after");

const Hypothesis wide = sheet.assume("`M >> 100`");

const Control of_paper = sheet.control("paper", "`B = ln(C0 + 4 Gamma)/4` as printed");
const Control no_members =
    sheet.control("no-members", "`K_m = 1` where the query holds several classes");
const Control smaller_exponent = sheet.control("exponent", "`z'` falls with `exp(3.6 z)`");
const Control fewer_members = sheet.control("fewer-members", "`z = -(K_m - 1) B`");
const Control larger_gamma = sheet.control("gamma", "largest `gamma` 10 % larger");

const Rival power = sheet.rival("power", "`B_n` is one power of `t` before and after `t0`",
                                "an amplitude and an exponent");

constexpr double tolerance = 1e-10;
const std::vector<double> times_in_t0{0.25, 1, 3};

// What a mistaken B_n is of the claimed one, at the same times.
std::vector<Quantity> in_units_of_claim(const CommonToken<double>& token, double t0,
                                        const auto& mistaken) {
  std::vector<Quantity> shares;
  for (const double t : times_in_t0) {
    const double h = decoder_scale(token.vocabulary, token.decoder_rate, t * t0 / token.classes);
    const double accumulated = accumulated_scale(token, h);
    shares.emplace_back(mistaken(token, accumulated) / growth_exponent(token, accumulated));
  }
  return shares;
}

double with_smaller_exponent(const CommonToken<double>& token, double accumulated) {
  const double rate = 3.6 * token.classes_of_query;
  return std::log(1 + rate * token.weight * accumulated / token.scale()) / rate;
}

double without_members(CommonToken<double> token, double accumulated) {
  token.classes_of_query = 1;
  return growth_exponent(token, accumulated);
}

void judge_closed_forms(const OneCommonToken& instance, Examination& it) {
  const InLimit found = over_closed_forms(instance, times_in_t0);
  std::vector<std::string> places;
  for (const double t : times_in_t0) places.push_back(fmt::format("`t = {} t0`", t));
  const auto mistaken = [&](const auto& form) {
    return in_units_of_claim(found.finest.token(), transition_time_of(found.finest), form);
  };
  // Through the first and the last time.
  const std::vector<Quantity> claimed =
      in_units_of_claim(found.finest.token(), transition_time_of(found.finest),
                        [](const CommonToken<double>& token, double accumulated) {
                          return std::pow(growth_exponent(token, accumulated), 2);
                        });  // the closed form itself, as a square over it
  const auto growth_at = [&](std::size_t i) {
    return claimed[i].value() * found.growth[i].value();
  };
  const double part =
      std::log(times_in_t0[1] / times_in_t0[0]) / std::log(times_in_t0[2] / times_in_t0[0]);
  std::vector<Quantity> of_power = found.growth;
  of_power[1] = growth_at(0) * std::pow(growth_at(2) / growth_at(0), part) / claimed[1].value();
  it.judge(closed_form,
           equal("`B_n` over its closed form, as the overlap goes to 0", found.growth, 1)
               .at(places)
               .against(power, of_power)
               .unless(of_paper, mistaken(growth_exponent_of_paper<double>))
               .unless(no_members, mistaken(without_members))
               .unless(smaller_exponent, mistaken(with_smaller_exponent)));
  const auto members = static_cast<double>(instance.members);
  it.judge(closed_form, equal("`z` over `-K_m B_n`, as the overlap goes to 0", found.logit, 1)
                            .at(places)
                            .unless(fewer_members, times((members - 1) / members)));
}

// gamma ~ x/(M - 1 + e^x) with x = M h peaks where (x - 1) e^x = M - 1.
void judge_peak(const OneCommonToken& instance, Examination& it) {
  const CommonToken<double> token = instance.token();
  const double m = token.vocabulary;
  const double x = 1 + boost::math::lambert_w0((m - 1) / std::exp(1.0));
  const ReducedFlow<double> flow(instance.training);
  const Index at_h = flow.layout().pairs();
  const Quantity largest =
      largest_along(forget_type(flow), transition_time_of(instance), tolerance,
                    [&](const Vector<double>& state) { return backprop_scale(m, state[at_h]); });
  it.judge(largest_before,
           equal("largest `gamma` before `t0`", largest, (m - 1) * (m - 1) / (m * std::exp(x)))
               .unless(larger_gamma, times(1.1)));
}

void judge_rise(const OneCommonToken& instance, Examination& it) {
  const double t0 = transition_time_of(instance);
  const ReducedFlow<double> flow(instance.training, instance.vocabulary);
  const Index at = flow.layout().pairs() + 1;
  const std::vector<Quantity> growth = Solved(forget_type(flow), {t0 / 3, t0, 3 * t0}, tolerance)
                                           .along([&](const Vector<double>& x) { return x[at]; });
  it.judge(fast_then_slow,
           below("rise of `B_n` from `t0` to `3 t0` against that from `t0/3` to `t0`",
                 growth[2] - growth[1], growth[1] - growth[0]));
}

void examine(const Setting& setting, Examination& it) {
  const OneCommonToken instance = one_common_token(setting);
  it.parameters = common_token_parameters(instance);
  it.parameters["seed"] = setting.seed;
  if (!require_one_common_token(instance, it)) return;
  it.require(wide, instance.vocabulary / 100 - 1, fmt::format("`M = {:g}`", instance.vocabulary));
  judge_closed_forms(instance, it);
  judge_rise(instance, it);
  judge_peak(instance, it);
}

void prove(Examination& it) {
  it.judge(closed_form, identity("the closed forms solve the equations of `Gamma`, `z` and `B`",
                                 closed_forms_solve_equations)
                            .with("generic `M`, rates, `f`, `w`; `K = 7`, `K_m = 3`"));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::phase_transition
