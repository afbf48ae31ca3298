// Theorem    scan-snap.assumptions
// Status     derived here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10
// Statement  relative distances of z at a fixed time, eta_Y fixed, as eta_Z -> 0:
//              flow - quasi-static, fast-decoder - reduced: order 1 in eta_Z/eta_Y;
//            but reduced does not tend to flow: fast-decoder and quasi-static stay apart, and as
//            t -> 0, at any rates, with v_m(B) = sum_{n: psi(n) = m} diag(f_n) (I - f_n f_n')
//            sum_{n' != n} B_nn' f_n' over all queries m,
//              |z'_reduced|/|z'_flow| -> (M-1)^2/M |v(beta)|/|v(1)|,
//            which grows as M E'
// Hypotheses H1 overlapping classes; H2 classes are equally likely
// Check      both orders from four rates of attention; the quotient of z' as t -> 0 against its
//            formula; the distance of fast-decoder and quasi-static at the fixed time as eta_Z -> 0
// Controls   order 1.1 claimed for flow; order 1.1 claimed for fast-decoder; reduced said to tend
//            to flow; beta to first order in E
// Uses       rungs flow, quasi-static, fast-decoder, reduced; backprop

#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/start_quotients.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"

namespace popgrad::scan_snap::checks::assumptions {
namespace {

constexpr double tolerance = 1e-12;
using Numbers = std::vector<Quantity>;

TrainingInstance<double> chosen_training(const Setting& setting) {
  return examined_training(setting, [&] {
    Stream stream(setting.seed, stream_of_drawn_classes, 4);
    return with_ratio(random_classes(stream, setting.count(class_count),
                                     setting.count(common_count), setting.count(distinct_count),
                                     setting.value(common_weight), setting.count(vocabulary)),
                      setting.value(rate_ratio));
  });
}

template <Flow F, class T = typename F::Scalar>
Numbers logits(const F& rung, double t) {
  return read_all(SolvedIn<T>(forget_type(rung), {t}, tolerance), rung.layout().pairs(),
                  [&](const Vector<T>& x) -> Vector<T> { return rung.logits_at(x); });
}

// |z'| at time t.
template <Flow F, class T = typename F::Scalar>
Quantity speed(const F& rung, double t) {
  return norm(read_all(SolvedIn<T>(forget_type(rung), {t}, tolerance), rung.layout().pairs(),
                       [&](const Vector<T>& x) -> Vector<T> {
                         Vector<T> rate(x.size());
                         rung.rhs(x, rate, T(0));
                         return rung.logits_at(rate);
                       }));
}

// At rates of attention so small that logits stay below a hundredth.
template <class T>
void judge_slow_attention(const TrainingInstance<double>& in_double, double end, Examination& it) {
  const auto m = static_cast<double>(in_double.classes.tokens);
  const double draws = end / static_cast<double>(in_double.classes.classes());
  const double gamma = backprop_scale(m, decoder_scale(m, in_double.decoder_rate, draws));
  TrainingInstance<T> training = training_in<T>(in_double);
  const std::vector<double> rates = falling_parameters(0.01 / (end * gamma), 2, 4);
  Numbers features_frozen, decoder_summed, plateau;
  for (const double rate : rates) {
    training.attention_rate = T(rate);
    const Numbers quasi_static = logits(QuasiStaticFlow<T>(training), end);
    const Numbers fast = logits(PopulationFlow<T>(training, DecoderRule::fast), end);
    features_frozen.push_back(distance(logits(PopulationFlow<T>(training), end), quasi_static));
    decoder_summed.push_back(distance(logits(ReducedFlow<T>(training), end), fast));
    plateau.push_back(distance(fast, quasi_static));
  }
  it.judge(Comparison{.what = "order of |flow - quasi-static| in eta_Z",
                      .measured = {order_in(rates, features_frozen)},
                      .predicted = {1.0},
                      .mistakes = {predicts("order-of-flow", 1.1)}});
  it.judge(Comparison{.what = "order of |reduced - fast-decoder| in eta_Z",
                      .measured = {order_in(rates, decoder_summed)},
                      .predicted = {1.0},
                      .mistakes = {predicts("order-of-fast-decoder", 1.1)}});
  it.judge(Comparison{.what = "0 against |fast-decoder - quasi-static| as eta_Z -> 0",
                      .measured = {0.0},
                      .relation = Relation::below,
                      .predicted = {limit_in(rates, plateau)}});
}

template <class T>
void judge_start(const TrainingInstance<double>& in_double, Examination& it) {
  const auto k = static_cast<double>(in_double.classes.classes());
  const double early = 1e-5 * k / std::max(in_double.decoder_rate, in_double.attention_rate);
  const TrainingInstance<T> training = training_in<T>(in_double);
  const auto measured = [&](double t) {
    return speed(ReducedFlow<T>(training), t) / speed(PopulationFlow<T>(training), t);
  };
  const StartQuotients quotient = start_quotients(training.classes);
  it.judge(Comparison{
      .what = "|z'_reduced|/|z'_flow| as t -> 0",
      .measured = {limit_of(measured, early, 2, 3)},
      .predicted = {quotient.claimed},
      .mistakes = {predicts("tends-to-flow", 1.0), predicts("first-order", quotient.first_order)}});
}

void examine(const Setting& setting, Examination& it) {
  const TrainingInstance<double> training = chosen_training(setting);
  const SequenceClasses<double>& classes = training.classes;
  it.parameters = {{"K", classes.classes()},         {"M", classes.tokens},
                   {"eta_Y", training.decoder_rate}, {"eta_Z", training.attention_rate},
                   {"t", setting.value(horizon)},    {"seed", setting.seed}};
  const std::vector<Index> owners = classes_of_tokens(classes);
  const Index most = *std::max_element(owners.begin(), owners.end());
  it.require("overlapping classes", static_cast<double>(most) - 2,
             fmt::format("lambda_max(E) = {:.3g}", largest_overlap(classes)));
  require_equally_likely(it, classes.weight);
  if (most < 2) return;
  in_refined_digits([&]<class T>() {
    judge_slow_attention<T>(training, setting.value(horizon), it);
    judge_start<T>(training, it);
  });
}

}  // namespace

Statement statement() {
  return {
      .id = "scan-snap.assumptions",
      .claim = "the two slow-attention assumptions cost O(eta_Z/eta_Y), the fast decoder a plateau",
      .paper = "arXiv 2305.16380, Assumption 1, Lemma 3, Eqn 10",
      .status = "derived here",
      .hypotheses = {"overlapping classes", equally_likely},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"order-of-flow", "order 1.1 for flow - quasi-static"},
                   {"order-of-fast-decoder", "order 1.1 for fast-decoder - reduced"},
                   {"tends-to-flow", "reduced said to tend to flow"},
                   {"first-order", "beta = q1 E - q0, of first order in E"}},
      .knobs = {class_count, common_count, distinct_count, common_weight, vocabulary, rate_ratio,
                horizon},
      .reads = "flow",
      .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::assumptions
