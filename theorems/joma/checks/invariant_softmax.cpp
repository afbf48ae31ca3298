// Theorem    joma.invariant-softmax
// Status     proved in source, corrected here (Theorem 1)
// Source     Tian et al., JoMA, arXiv 2310.00535, Theorem 1 (softmax attention)
// Statement  with
//              b_bar = E[b]
//              q     = sum_k g_k phi' v_k'b
//              R     = z - (1/2T) sum_k (v_k^2 - |v_k|^2 b_bar)
//            it always holds that
//              T R' = -(E[b q] - b_bar E[q]) + 1/2 sum_k |v_k|^2 b_bar'
//            and
//              E[b q] = b_bar E[q]
//            if for each k
//              E[g_k phi' b b'] = b_bar E[g_k phi' b'],
//            but not if that holds only summed over k (K >= 2)
// Hypotheses H1 softmax attention; H2 orthonormal embeddings; H3 f is not l2-normalised
// Check      the identities on generic samples (symbols); the counterexample (exact); the rate of R
//            at states of the flow, by dual numbers, against its terms
// Controls   a drift term 10 % too large; q with the query row of the weights; the drift term left
//            out; the condition summed over units
// Uses       rung flow

#include "theorems/joma/checks/invariant_parts.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/softmax_rate.hpp"
#include "theorems/joma/checks/softmax_terms.hpp"

namespace popgrad::joma::checks::invariant_softmax {
namespace {

constexpr Knob start =
    logarithmic_knob("start", "size of the start, in units of that of the authors", 1, 100, 10);

SoftmaxTerms<Expression> terms_of(const SymbolicTraining& s) {
  return softmax_terms<Expression>(s.b, s.weight, s.pulled, s.v.transpose() * s.b);
}

// T R' - prediction, entry by entry, with `share` of the term 1/2 sum |v|^2 b_bar'. Probabilities
// are generic; b_bar as written does not need their sum to be 1.
Truth rate_is_exact(int share) {
  const SymbolicTraining s = symbolic_training(Attention::softmax, 2, 2, 2, false);
  const SoftmaxTerms<Expression> terms = terms_of(s);
  const Expression size = s.v.squaredNorm();
  Matrix<Expression> miss = terms.defect();
  for (Index l = 0; l < s.z.size(); ++l) {
    const Expression squares = s.v.row(l).squaredNorm();
    const Expression mean = terms.mean_attention[l];
    const Expression residual = s.temperature * s.z[l] - (squares - size * mean) / 2;
    miss(l, 0) += rate_along(residual, s.unknowns, s.rates) -
                  share * size / 2 * rate_along(mean, s.unknowns, s.rates);
  }
  return vanishes(miss);
}

// E[b q] - b_bar E[q] = sum_k (E[g_k b b'] - b_bar E[g_k b']) v_k.
Truth defect_is_sum_over_units() {
  const SymbolicTraining s = symbolic_training(Attention::softmax, 2, 2, 2, false);
  Matrix<Expression> miss = terms_of(s).defect();
  for (Index k = 0; k < s.v.cols(); ++k) {
    miss -= condition_defect(s.b, s.weight, s.pulled, k) * s.v.col(k);
  }
  return vanishes(miss);
}

void prove(Examination& it) {
  it.judge(Identity{.what = "T R' = -(E[b q] - b_bar E[q]) + 1/2 sum |v|^2 b_bar', generic samples",
                    .holds = [] { return rate_is_exact(1); },
                    .mistakes = {{"no-drift-term", [] { return rate_is_exact(0); }}}});
  it.judge(Identity{.what = "the condition for each unit makes E[b q] = b_bar E[q]",
                    .holds = defect_is_sum_over_units});
  const SummedConditionExample<Expression> example;
  const Matrix<Expression> defect = example.defect();
  const Truth summed = vanishes(example.summed_condition());
  const Expression left = defect(0, 0) - Expression(3) / Expression(8);
  it.judge(Identity{
      .kind = EvidenceKind::exact,
      .what = "summed condition met, E[b q] - b_bar E[q] = 3/8 all the same",
      .holds = [&] { return summed == Truth::yes && left.is_zero() ? Truth::yes : Truth::no; },
      .mistakes = {{"summed-condition", [&] { return vanishes(defect); }}},
      .detail = "defect " + to_text(defect(0, 0))});
}

void judge_rate(const PopulationFlow<double>& flow, const Solved& run, std::size_t save,
                Examination& it) {
  const SoftmaxRate rate = softmax_rate(flow, run.state(save));
  const auto predicted = [&](const Vector<double>& defect, double share) {
    const Vector<double> sum = share * rate.drift - defect;
    return std::vector<Quantity>(sum.begin(), sum.end());
  };
  const Vector<double> claimed = rate.drift - rate.defect;
  it.judge(Comparison{.what = "T R' against its terms",
                      .measured = rate.measured,
                      .predicted = predicted(rate.defect, 1),
                      .scale = {claimed.cwiseAbs().maxCoeff()},
                      .mistakes = {predicts("drift-factor", predicted(rate.defect, 1.1)),
                                   predicts("query-in-q", predicted(rate.defect_with_query, 1))},
                      .detail = run.places()[save]});
}

void examine(const Setting& setting, Examination& it) {
  const ClassInstance<double> instance =
      training_instance(setting, Attention::softmax, setting.value(start));
  it.parameters = {{"tokens", instance.tokens()},
                   {"units", instance.units()},
                   {"temperature", instance.temperature},
                   {"seed", setting.seed}};
  require_hypotheses(instance, Attention::softmax, "softmax attention", it);
  if (instance.attention != Attention::softmax) return;
  const PopulationFlow<double> flow(instance);
  const double unit = time_unit(flow);
  // The identity holds at every state, so the states need not be those of the flow to many digits.
  const Solved run(forget_type(flow), {0, unit / 2, unit}, 1e-6);
  for (std::size_t save = 0; save < run.size(); ++save) judge_rate(flow, run, save, it);
}

}  // namespace

Statement statement() {
  return {
      .id = "joma.invariant-softmax",
      .claim = "softmax: exact rate of the residual; conserved if b_bar is and factors per unit",
      .paper = "arXiv 2310.00535, Theorem 1",
      .status = "proved in source, corrected here",
      .hypotheses = {"softmax attention", "orthonormal embeddings", "f is not l2-normalised"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::numerical},
      .controls = {{"drift-factor", "the term 1/2 sum |v|^2 b_bar' 10 % too large"},
                   {"query-in-q", "q = sum_k g_k phi' w_k'f, with the weights of the query"},
                   {"no-drift-term", "the term 1/2 sum |v|^2 b_bar' left out"},
                   {"summed-condition", "the condition summed over units"}},
      .knobs = {attention_temperature, start, hidden_units, token_law_of_authors, activation,
                overlap, normalisation},
      .reads = "flow",
      .derive = prove,
      .examine = examine};
}

}  // namespace popgrad::joma::checks::invariant_softmax
