// Theorem    scan-snap.phase-transition
// Status     proved in source (Theorem 4), constant corrected here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Theorem 4
// Statement  reduced flow, one common token in all K classes, K_m of each query:
//              C0    = 1/((K-1) f_c^4)
//              Gamma = (eta_Z/eta_Y) K (M-1)^2 h^2/2
//              B_n   = ln(1 + 4 w K_m Gamma/C0)/(4 K_m),  z = -K_m B_n
//            to leading order in the overlap; B_n rises fast before and slowly after
//              t0 = 2 (1 + omega1) K ln M/eta_Y,
//            as gamma is largest, (M-1)^2/(M e^x), where M h = x = 1 + W((M-1)/e), before t0
// Hypotheses H1 one common token; H2 classes are alike; H3 K f_c^2, 1/(M f_c^2), sum_l f_nl^4 -> 0
// Check      the closed forms solve z' = -w K_m eta_Z gamma e^(4z)/C0 and B' = w eta_Z gamma
//            e^(4z)/C0 (symbols); B_n and z over them at t0/4, t0, 3 t0, in the limit H3 (distinct
//            tokens parted, M larger); largest gamma on the way to t0
// Controls   the constant of the paper; K_m left out; 3.6 for 4 in the exponent; K_m - 1 for K_m in
//            z; gamma 10 % larger
// Uses       rungs reduced, closed-form; decoder

#include <boost/math/special_functions/lambert_w.hpp>

#include "theorems/scan_snap/checks/common_token_flow.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks::phase_transition {
namespace {

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
  for (const double t : times_in_t0) places.push_back(fmt::format("t = {} t0", t));
  const auto mistaken = [&](const char* control, const auto& form) {
    return predicts(
        control, in_units_of_claim(found.finest.token(), transition_time_of(found.finest), form));
  };
  it.judge(Comparison{.what = "B_n over its closed form, as the overlap goes to 0",
                      .measured = found.growth,
                      .predicted = {1.0},
                      .mistakes = {mistaken("paper", growth_exponent_of_paper<double>),
                                   mistaken("no-members", without_members),
                                   mistaken("exponent", with_smaller_exponent)},
                      .places = places});
  const auto members = static_cast<double>(instance.members);
  it.judge(Comparison{.what = "z over -K_m B_n, as the overlap goes to 0",
                      .measured = found.logit,
                      .predicted = {1.0},
                      .mistakes = {predicts_times("fewer-members", (members - 1) / members)},
                      .places = places});
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
  it.judge(Comparison{.what = "largest gamma before t0",
                      .measured = {largest},
                      .predicted = {(m - 1) * (m - 1) / (m * std::exp(x))},
                      .mistakes = {predicts_times("gamma", 1.1)}});
}

void examine(const Setting& setting, Examination& it) {
  const OneCommonToken instance = one_common_token(setting);
  it.parameters = common_token_parameters(instance);
  it.parameters["seed"] = setting.seed;
  if (!require_one_common_token(instance, it)) return;
  judge_closed_forms(instance, it);
  judge_peak(instance, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.phase-transition",
          .claim = "B_n of one common token in closed form, rising fast before t0 and slowly after",
          .paper = "arXiv 2305.16380, Theorem 4",
          .status = "proved in source",
          .hypotheses = {"one common token", "classes are alike",
                         by_construction("K f_c^2, 1/(M f_c^2), sum_l f_nl^4 -> 0",
                                         "quotients are extrapolated along refined instances")},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"paper", "B = ln(C0 + 4 Gamma)/4 as printed"},
                       {"no-members", "K_m = 1 where the query holds several classes"},
                       {"exponent", "z' falls with exp(3.6 z)"},
                       {"fewer-members", "z = -(K_m - 1) B"},
                       {"gamma", "largest gamma 10 % larger"}},
          .knobs = one_common_token_knobs(),
          .reads = "reduced",
          .derive = derive_common_token,
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::phase_transition
