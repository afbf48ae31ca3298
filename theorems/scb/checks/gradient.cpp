// Theorem    scb.gradient
// Status     proved in source, constraints derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3.1
// Statement  the expected gradients of V and a^k, preconditioned by D^{-1} and 1/mu_k, with and
//            without projection, and the expected loss, are what the population rungs integrate:
//              -dL/dV = sum_k mu_k [(q^k.a^k) P C + S_k P mu mu' - |a^k|^2 V C - S_k^2 V mu mu']
//              -dL/da^k_t = mu_k [q^k_t <V,P> - a^k_t <V,V> + mu'V'P mu - S_k mu'V'V mu]
// Hypotheses H1 mu > 0 sums to 1; H2 the columns of P and q sum to 1
// Check      all sequences of N = T = 2 enumerated, mu, P, q, A, V generic; the field of the rung
//            flow against that of sgd at 1'V = 1', positions off the support equal; the mean of
//            sampled directions on the instance, component by component
// Controls   the term of V mu left out of the a-gradient; the query weight 1/mu_k left out; the
//            direction of V 10 % larger
// Uses       rungs sgd, flow

#include "theorems/scb/checks/enumeration.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_directions.hpp"

namespace popgrad::scb::checks::gradient {
namespace {

constexpr Knob positions = whole_knob("positions", "positions T of the context", 5, 40, 12);
constexpr Knob projected =
    whole_knob("projected", "1: gradients projected onto the constraints; 0: not", 0, 1, 0);

// Slips in the formulas.
enum class Slip { none, no_mean_value, no_query_weight, larger_values };

// The expected direction at x, with a slip in it.
template <class T>
Vector<T> expected(const SequenceSgd<T>& rung, const Vector<T>& x, Slip slip) {
  const Training<T>& training = rung.training();
  const Bigrams<T>& b = training.bigrams;
  const Index n = b.tokens();
  const Vector<T> mean_value = x.head(n * n).reshaped(n, n) * b.stationary;
  Vector<T> direction(x.size());
  rung.rhs(x, direction, T(0));
  Vector<T> slipped = Vector<T>::Constant(x.size(), T(0));
  for (Index k = 0; k < n; ++k) {
    const Index begin = n * n + k * b.context;
    if (slip == Slip::no_query_weight) direction.segment(begin, b.context) *= b.stationary[k];
    if (slip != Slip::no_mean_value) continue;
    const T left_out =
        training.attention_rate * rung.attention(x, k).sum() * mean_value.squaredNorm();
    slipped.segment(begin, b.context) = Vector<T>::Constant(b.context, left_out);
  }
  if (slip == Slip::larger_values) slipped.head(n * n) = direction.head(n * n) / T(10);
  rung.finish(slipped);
  return direction + slipped;
}

Truth is_expectation(bool project, Slip slip) {
  const SymbolicSample s = symbolic_training(project);
  const SequenceSgd<Expression> rung(s.training);
  const Vector<Expression> x = symbols("x", 8);
  Expression loss;
  const Vector<Expression> mean = enumerated(rung, s, x, loss);
  Matrix<Expression> missed(9, 1);
  missed << mean - expected(rung, x, slip), loss - observed_at(rung, x, "loss");
  return vanishes(missed);
}

void derive(Examination& it) {
  for (const bool project : {false, true}) {
    const auto with = [project](Slip slip) {
      return [project, slip] { return is_expectation(project, slip); };
    };
    const char* const kind = project ? ", projected" : "";
    Identity enumeration{
        .what = fmt::format("enumerated gradients and loss minus formulas{}", kind),
        .holds = with(Slip::none),
        .mistakes = {{"no-query-weight", with(Slip::no_query_weight)}},
        .detail = "32 weighted samples, generic mu, P, q, A, V"};
    // Its term is the same for all positions, so that the projection removes it.
    if (!project) enumeration.mistakes.emplace_back("no-mean-value", with(Slip::no_mean_value));
    it.judge(enumeration);
    it.judge(Identity{.what = fmt::format("field of the rung flow minus that of sgd{}", kind),
                      .holds = [=] { return vanishes(lumped_field_minus_dense(project)); }});
  }
}

void judge_samples(const Training<double>& training, const Setting& setting, Examination& it) {
  const SequenceSgd<double> rung(training);
  const Vector<double> x = drawn_state(rung, setting.value(state_size), setting.seed);
  const auto predicted = [&](Slip slip) {
    const Vector<double> direction = expected(rung, x, slip);
    return std::vector<Quantity>(direction.begin(), direction.end());
  };
  it.judge(
      Comparison{.kind = EvidenceKind::statistical,
                 .what = "mean of sampled directions",
                 .measured = sampled_means(rung, x, setting),
                 .predicted = predicted(Slip::none),
                 .scale = largest_of_part(expected(rung, x, Slip::none), training.start.size()),
                 .mistakes = {predicts("no-mean-value", predicted(Slip::no_mean_value)),
                              predicts("no-query-weight", predicted(Slip::no_query_weight)),
                              predicts("larger-values", predicted(Slip::larger_values))},
                 .places = rung.state_names()});
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = examined_training(setting, [&] {
    auto drawn = from_scratch(setting.count(tokens_knob), setting.count(positions),
                              setting.count(support_knob), setting.seed);
    drawn.project = setting.count(projected) == 1;
    return drawn;
  });
  it.parameters = {{"T", training.bigrams.context}, {"seed", setting.seed}};
  require_laws(training.bigrams, it);
  judge_samples(training, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.gradient",
          .claim = "expected gradients, loss and projected directions equal those over samples",
          .paper = "arXiv 2410.23438, Section 3.1",
          .status = "proved in source",
          .hypotheses = {"mu > 0 sums to 1", "columns of P and q sum to 1"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::statistical},
          .controls = {{"no-mean-value", "the term S_k |V mu|^2 left out"},
                       {"no-query-weight", "1/mu_k left out of the attention part"},
                       {"larger-values", "the direction of V 10 % larger"}},
          .knobs = {tokens_knob, positions, support_knob, state_size, projected},
          .reads = "sgd",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scb::checks::gradient
