// Theorem    scan-snap.position-bias
// Status     derived here (Section 7: a linear position bias is a prior e^{z0})
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Section 7; Lemma 2
// Statement  attention of logits z_m + z0_m, z0 fixed by query and token, learns on P(l|n) as
//            attention of logits z_m does on
//              prior(l|n) = P(l|n) exp(z0_ml)/sum_k P(k|n) exp(z0_mk):
//            Y and z are the same at all times. A bias -a j by the distance j of a token is no such
//            prior at z = 0, where P(l|n) does not depend on j: it leaves c_n = P(l|n), but
//              Var (X'b)_l = P(l|n) (1 - P(l|n)) tanh(a/2) (1 + q)/(1 - q),   q = exp(-a (T-1)),
//            which goes to 0 with 1/T if a T is fixed, and not at fixed a: Lemma 2 asks for a -> 0
// Hypotheses H1 the bias is fixed, by query and token, or by distance
// Check      the two fields at generic P, z, z0; Y and z of either training along a trajectory; the
//            variance of (X'b)_l over sampled sequences
// Controls   -z0 for z0; 0.9 z0 for z0; the variance P (1 - P)/(T-1) of no bias
// Uses       rung flow

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/position_prior.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"

namespace popgrad::scan_snap::checks::position_bias {
namespace {

constexpr Knob bias_size =
    logarithmic_knob("size-of-the-bias", "standard deviation of z0 over pairs", 0.1, 2, 1);
constexpr Knob slope = logarithmic_knob("slope", "bias a for each token of distance", 0.05, 1, 0.2);
constexpr Knob ratio = logarithmic_knob("rate-ratio", "eta_Y/eta_Z, eta_Y = 1", 0.3, 100, 2);
constexpr Knob duration = logarithmic_knob("time", "end of the trajectory, draws", 10, 300, 100);

void derive(Examination& it) {
  it.judge(Identity{.what = "field under the bias is that of the prior",
                    .holds = [] { return symbolic_prior(1, 1); },
                    .mistakes = {{"other-sign", [] { return symbolic_prior(-1, 1); }},
                                 {"weaker", [] { return symbolic_prior(9, 10); }}},
                    .detail = "generic P, w, Y, z, z0"});
}

// Y, and z to which `bias` by pairs is added, at the save points.
template <class T>
std::vector<Quantity> followed(const TrainingInstance<T>& training, const Vector<T>& bias,
                               double end) {
  const PopulationFlow<T> flow(training);
  const SolvedIn<T> run(forget_type(flow), {end / 8, end}, 1e-10);
  return read_all(run, flow.dimension(), [&](const Vector<T>& x) {
    Vector<T> state = x;
    state.tail(bias.size()) += bias;
    return state;
  });
}

template <class T>
void judge_trajectories(const TrainingInstance<double>& in_double, double size, double end,
                        Stream stream, Examination& it) {
  const TrainingInstance<T> training = training_in<T>(in_double);
  const Vector<T> bias =
      random_state(stream, lay_out(training.classes, true).pairs(), size).template cast<T>();
  const Vector<T> none = Vector<T>::Zero(bias.size());
  const auto on_prior = [&](double share) {
    return followed<T>(with_prior<T>(training, T(share) * bias), bias, end);
  };
  // Solved only where controls are judged.
  const auto mistaken = [&](const char* control, double share) {
    return Mistake{control, [&, share](const std::vector<Quantity>&) { return on_prior(share); }};
  };
  double largest = 0;  // of what is learned
  for (const Quantity& number : followed<T>(with_prior<T>(training, bias), none, end)) {
    largest = std::max(largest, std::fabs(number.value()));
  }
  it.judge(Comparison{.what = "Y and logits under the bias against Y and z + z0 on the prior",
                      .measured = followed<T>(with_bias<T>(training, bias), none, end),
                      .predicted = on_prior(1),
                      .scale = {largest},
                      .mistakes = {mistaken("other-sign", -1), mistaken("weaker", 0.9)}});
}

// (X'b)_l of the first entry, a bias by distance, over sequences of class 0.
void judge_distance(const SequenceClasses<double>& classes, double a, const Setting& setting,
                    Examination& it) {
  const std::uint32_t runs = setting.draws(40'000);
  const Index length = static_cast<Index>(std::ceil(4 / a));
  const double p = classes.law[0];
  const double total = (1 - std::exp(-a * static_cast<double>(length))) / (1 - std::exp(-a));
  Matrix<double> samples = Matrix<double>::Zero(runs, 1);
  Stream stream(setting.draw_seed(), 2, 0);
  for (double& attended : samples.col(0)) {
    throw_if_stopped();
    for (Index j = 0; j < length; ++j) {
      if (stream.uniform() < p) attended += std::exp(-a * static_cast<double>(j)) / total;
    }
  }
  const double q = std::exp(-a * static_cast<double>(length));
  const double variance = p * (1 - p) * std::tanh(a / 2) * (1 + q) / (1 - q);
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "variance of (X'b)_l under a bias by distance",
                      .measured = sample_moments(samples, setting.false_alarm).variance,
                      .predicted = {variance},
                      .mistakes = {predicts("no-bias", p * (1 - p) / static_cast<double>(length))},
                      .detail = fmt::format("T - 1 = {}, {} sequences", length, runs)});
}

void examine(const Setting& setting, Examination& it) {
  TrainingInstance<double> training = examined_training(setting, [&] {
    Stream stream(setting.seed, stream_of_drawn_classes, 9);
    auto drawn = with_ratio(
        random_classes(stream, setting.count(class_count), setting.count(common_count), 3, 1, 60),
        setting.value(ratio));
    for (Index& query : drawn.classes.query) query = static_cast<Index>(stream.index(2));
    return drawn;
  });
  training.track_growth = false;
  it.parameters = {{"K", training.classes.classes()},        {"M", training.classes.tokens},
                   {"size of z0", setting.value(bias_size)}, {"a", setting.value(slope)},
                   {"t", setting.value(duration)},           {"seed", setting.seed}};
  in_refined_digits([&]<class T>() {
    judge_trajectories<T>(training, setting.value(bias_size), setting.value(duration),
                          Stream(setting.seed, 1, 3), it);
  });
  judge_distance(training.classes, setting.value(slope), setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.position-bias",
          .claim = "a fixed bias of the attention logits is a prior of the tokens",
          .paper = "arXiv 2305.16380, Section 7",
          .status = "derived here",
          .hypotheses = {by_construction("the bias is fixed, by query and token, or by distance",
                                         "z0 and a are constants of the training")},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"other-sign", "-z0 in place of z0"},
                       {"weaker", "0.9 z0 in place of z0"},
                       {"no-bias", "variance P (1 - P)/(T-1)"}},
          .knobs = {class_count, common_count, bias_size, slope, ratio, duration},
          .reads = "flow",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::position_bias
