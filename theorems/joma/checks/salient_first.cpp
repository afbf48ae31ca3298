// Theorem    joma.salient-first
// Status     proved in source; the limit is derived here (Theorem 4)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 4
// Statement  on v' = (mu - v) o exp(sum_k v_k^2/tau), any number of units k:
//              d/ds ln(1/|delta_j|) = exp(sum_k v_jk^2/tau),
//            hence with gap = (|mu_j|^2 - |mu_k|^2)/tau, |mu_j|^2 summed over the units of token j
//              ln(1/|delta_j|) / ln(1/|delta_k|) = e^gap (1 + Lambda)
//              Lambda ln(1/|delta_k|) -> C_j e^{-gap} - C_k,
//            C = ln(1/|delta(0)|) + c, c of the late solution (approach.hpp)
// Hypotheses H1 nonlinear phi; H2 v(0) differs from mu; H3 exp clock s; H4 late: delta_k -> 0
// Check      the first line on symbols; the flow against the flow in logarithms; on that, the late
//            ratio of rates and the limit, every token against the weakest
// Controls   an exponent 10 % larger; a limit 10 % larger; C_j not damped by e^{-gap}
// Uses       rung reduced

#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::salient_first {
namespace {

constexpr double late = 30;  // least ln(delta(0)/delta) where limits are read

constexpr Knob exponent_gap =
    logarithmic_knob("gap", "(|mu_j|^2 - |mu_k|^2)/tau of the salient and the other", 0.1, 2, 2);
constexpr Knob weak = logarithmic_knob("weak", "|mu_k| of the weaker token", 0.3, 3, 1.5);
constexpr Knob start = linear_knob(
    "start", "largest v_lk(0), in units of mu_lk; beyond 1: the other side", -0.5, 1.5, 0.5);

ReducedInstance<double> pair_instance(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_instances, 7);
  ReducedInstance<double> pair;
  pair.nonlinear = true;
  pair.tau = setting.value(tau);
  pair.target.resize(2, setting.count(unit_count));
  for (double& mu : pair.target.reshaped()) mu = stream.normal();
  const double square = std::pow(setting.value(weak), 2);
  pair.target.row(0) *=
      std::sqrt(square + setting.value(exponent_gap) * pair.tau) / pair.target.row(0).norm();
  pair.target.row(1) *= std::sqrt(square) / pair.target.row(1).norm();
  pair.start = setting.value(start) * pair.target;
  for (double& v : pair.start.reshaped()) v *= stream.uniform();
  pair.logits = Vector<double>::Zero(2);
  return pair;
}

void judge_limits(const ReducedInstance<double>& instance, Examination& it) {
  const Index weakest = weakest_token(instance);
  const Vector<double> squares = instance.target.rowwise().squaredNorm();
  const double depth = late_clock(instance, weakest, late);
  const std::vector<double> falling = falling_parameters(1, 2, 2);  // delta_k, from the first
  std::vector<double> depths;
  for (const double part : falling) depths.push_back(depth - std::log(part));
  const auto logs_at = logarithms_of(instance, weakest, depths);
  const Quantity own_constant =
      first_logarithm(instance, weakest) + late_constant(instance, weakest);
  Comparison ratio, limit;
  ratio.what = "late ratio of the rates of ln(1/|delta|)";
  limit.what = "Lambda ln(1/|delta_k|) as delta_k goes to 0";
  std::vector<Quantity> steeper, undamped;
  for (Index l = 0; l < instance.tokens(); ++l) {
    if (l == weakest) continue;
    const double gap = (squares[l] - squares[weakest]) / instance.tau;
    const double from = first_logarithm(instance, l);
    std::vector<Quantity> logs, lambda;
    for (std::size_t k = 0; k < depths.size(); ++k) {
      const double other = depths[k] + first_logarithm(instance, weakest);
      logs.push_back(from + logs_at[k][static_cast<std::size_t>(l)]);
      lambda.push_back(logs[k] * Quantity(std::exp(-gap)) - Quantity(other));
    }
    const std::size_t last = depths.size() - 1;
    ratio.measured.push_back((logs[last] - logs[last - 1]) /
                             Quantity(depths[last] - depths[last - 1]));
    ratio.predicted.emplace_back(std::exp(gap));
    steeper.emplace_back(std::exp(1.1 * gap));
    const Quantity constant = from + late_constant(instance, l);
    limit.measured.push_back(limit_in(falling, lambda));
    limit.predicted.push_back(constant * Quantity(std::exp(-gap)) - own_constant);
    undamped.push_back(constant - own_constant);
    limit.places.push_back(fmt::format("token {} of gap {:.4g}", l, gap));
  }
  ratio.places = limit.places;
  ratio.mistakes = {predicts("exponent", steeper)};
  limit.mistakes = {predicts_times("limit", 1.1), predicts("undamped", undamped)};
  it.judge(ratio);
  it.judge(limit);
}

void examine(const Setting& setting, Examination& it) {
  ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return pair_instance(setting); });
  it.parameters = parameters_of(instance, setting);
  it.require("nonlinear phi", instance.nonlinear ? Truth::yes : Truth::no);
  const double nearest = (1 - instance.start.array() / instance.target.array()).abs().minCoeff();
  it.require("v(0) differs from mu", nearest > 0 ? Truth::yes : Truth::no,
             fmt::format("least |delta(0)| = {:.3g}", nearest));
  if (!instance.nonlinear || !(nearest > 0) || instance.tokens() < 2) return;
  instance.attention = Attention::exp;
  it.judge(flow_in_logarithms(instance));
  judge_limits(instance, it);
}

}  // namespace

Statement statement() {
  return {.id = "joma.salient-first",
          .claim = "salient tokens are learned first, by a factor e^{(mu_j^2 - mu_k^2)/tau}",
          .paper = "arXiv 2310.00535, Theorem 4",
          .status = "proved in source; the limit is derived here",
          .hypotheses = {"nonlinear phi", "v(0) differs from mu",
                         by_construction("exp clock",
                                         "s is the time of exp attention; softmax "
                                         "attention has the same orbit on its own clock"),
                         by_construction("late: delta_k -> 0",
                                         "all delta are below e^-30 of their starts")},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"exponent", "1.1 (|mu_j|^2 - |mu_k|^2)/tau as the exponent"},
                       {"limit", "a limit of Lambda ln(1/|delta_k|) 10 % larger"},
                       {"undamped", "limit C_j - C_k in place of C_j e^{-gap} - C_k"}},
          .knobs = {exponent_gap, weak, unit_count, start, tau},
          .reads = "reduced",
          .derive =
              [](Examination& it) {
                it.judge(Identity{.what = "d/ds ln(1/|delta|) = exp(sum_k v_k^2/tau), two units",
                                  .holds = gain_is_the_rate});
              },
          .examine = examine};
}

}  // namespace popgrad::joma::checks::salient_first
