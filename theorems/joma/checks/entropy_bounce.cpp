// Theorem    joma.entropy-bounce
// Status     observed in source, corrected here (Section 4)
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 4 and its entropy figure
// Statement  reduced flow, nonlinear phi, one unit, equal starts v0 below all mu_j, with
//            z_j = v_j^2/tau: the attention entropy falls first, as
//              ln d - H = Var(z)/2 + ...,  z_j = (v0 + v_j'(0) t)^2/tau,
//            its minimum lies below the entropy at mu, and it rises last, at the rate of the token
//            that comes last, exp(min mu^2/tau) on the exp clock. A single bounce is not general.
// Hypotheses H1 one unit; H2 nonlinear phi; H3 v_j(0) = v0 for all j; H4 0 <= v0 < mu_j; H5 mu not
//            constant
// Check      fall at small t against its leading term; minimum against the entropy at mu; rate of
//            the last rise against the linearisation at mu
// Controls   a fall 10 % faster; a last rate 10 % larger
// Uses       rung reduced

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/evidence/refined_digits.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/joma/checks/entropy_curve.hpp"
#include "theorems/joma/checks/knobs.hpp"
#include "theorems/joma/rungs/instance_record.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::theorems::joma::entropy_bounce {
namespace {

using namespace popgrad::joma;

constexpr Knob spread =
    logarithmic_knob("spread", "width of the law 1 + spread U(0, 1) of mu", 0.1, 3, 3);
constexpr Knob start = linear_knob("start", "common start v0 of all tokens", 0, 0.9, 0.05);
constexpr Knob drawn_tokens = whole_knob("tokens", "tokens of a draw of mu", 2, 10, 10);
constexpr Knob overshoot =
    logarithmic_knob("overshoot", "v0 beyond the least mu, in units of it; 0: as `start` says",
                     1e-3, 3, 0)
        .breaking("0 <= v0 < mu_j");
constexpr Knob unevenness =
    logarithmic_knob("unevenness", "deviation of v_j(0) from v0, in units of the least mu", 1e-4, 1,
                     0)
        .breaking("v_j(0) = v0 for all j");

// mu = 1 + spread U(0, 1), by the authors' law; the exp clock has the same orbit
// (joma.clock-change) and settles by a known time.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  ReducedInstance<double> instance = entropy_instance(setting.seed);
  const Index all = instance.tokens();
  const Index d = setting.count(drawn_tokens);
  Matrix<double> target(d, 1);
  for (Index l = 0; l < d; ++l) {
    target(l, 0) = 1 + setting.value(spread) / 3 * (instance.target(l * all / d, 0) - 1);
  }
  const double smallest = target.minCoeff();
  const double beyond = setting.value(overshoot);
  const double v0 = beyond > 0 ? smallest * (1 + beyond) : setting.value(start);
  instance.target = target;
  instance.start = Matrix<double>::Constant(d, 1, v0);
  if (const double uneven = setting.value(unevenness); uneven > 0) {
    Stream stream(setting.seed, stream_of_drawn_instances, 8);
    for (double& v : instance.start.reshaped()) v += uneven * smallest * stream.normal();
  }
  instance.logits = Vector<double>::Zero(d);
  instance.tau = setting.value(tau);
  instance.attention = Attention::exp;
  return instance;
}

void require_hypotheses(const ReducedInstance<double>& instance, Examination& it) {
  const double v0 = instance.start(0, 0);
  const double least = instance.target.minCoeff();
  const double uneven = (instance.start.array() - v0).abs().maxCoeff();
  it.require("one unit", 1.0 - static_cast<double>(instance.units()));
  it.require("nonlinear phi", instance.nonlinear ? Truth::yes : Truth::no);
  it.require("v_j(0) = v0 for all j", -uneven, fmt::format("apart by {:.3g}", uneven));
  it.require("0 <= v0 < mu_j", std::min(v0, least - v0),
             fmt::format("v0 = {:.4g}, least mu = {:.4g}", v0, least));
  const double unlike = instance.target.maxCoeff() - least;
  it.require_positive("mu not constant", unlike, fmt::format("apart by {:.3g}", unlike));
}

template <class T>
void judge(const ReducedFlow<T>& flow, Examination& it) {
  const AnyRung<T> rung = forget_type(flow);
  it.judge(Comparison{.what = "first fall of the entropy over Var(z)/2",
                      .measured = {first_fall(flow, rung)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("fall-rate", 1.1)}});
  const LastRise rise = last_rise(flow, rung);
  it.judge(Comparison{.what = "rate of the last rise of the entropy",
                      .measured = {rise.rate},
                      .predicted = {rise.linearised_rate},
                      .mistakes = {predicts_times("last-rate", 1.1)},
                      .places = {fmt::format("t = {:.4g}", rise.time)}});
  const double even = std::log(static_cast<double>(rung.dimension));
  it.judge(Comparison{.what = "least entropy against that at mu",
                      .measured = {rise.least_entropy},
                      .relation = Relation::below,
                      .predicted = {rise.entropy_at_target},
                      .scale = {even - rise.entropy_at_target}});
}

void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return drawn_instance(setting); });
  it.parameters = {{"mu", std::vector<double>(instance.target.data(),
                                              instance.target.data() + instance.target.size())},
                   {"v0", instance.start(0, 0)},
                   {"tau", instance.tau},
                   {"seed", setting.seed}};
  require_hypotheses(instance, it);
  if (instance.units() > 1 || !instance.nonlinear) return;
  in_refined_digits([&]<class T>() { judge(ReducedFlow<T>(instance.cast<T>()), it); });
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.entropy-bounce",
      .claim = "nonlinear phi: entropy falls first, rises last, minimum below the entropy at mu",
      .paper = "arXiv 2310.00535, Section 4",
      .status = "observed in source, corrected here",
      .hypotheses = {"one unit", "nonlinear phi", "v_j(0) = v0 for all j", "0 <= v0 < mu_j",
                     "mu not constant"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"fall-rate", "the first fall 10 % faster"},
                   {"last-rate", "the rate of the last rise 10 % larger"}},
      .knobs = {tau, spread, start, drawn_tokens, overshoot, unevenness},
      .reads = "reduced",
      .examine = examine};
}

}  // namespace popgrad::theorems::joma::entropy_bounce
