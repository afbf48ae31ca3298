#include "popgrad/scalars/dual.hpp"
#include "theorems/joma/checks/invariant_parts.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/softmax_terms.hpp"
#include "theorems/joma/rungs/invariant.hpp"
#include "theorems/joma/rungs/joint_direction.hpp"

namespace popgrad::joma::checks::invariant_softmax {
namespace {

constexpr Knob start =
    logarithmic_knob("start", "size of the start, in units of that of the authors", 1, 100, 1);
constexpr Hypothesis softmax_attention{"softmax attention"};

Statement sheet{.id = "joma.invariant-softmax",
                .paper = "arXiv 2310.00535, Theorem 1",
                .status = "proved in source, corrected here",
                .about = "the population flow",
                .theorem = R"(
Softmax attention. With
  b_bar = E[b]
  q     = sum_k g_k phi' v_k'b
  R     = z - (1/2T) sum_k (v_k^2 - |v_k|^2 b_bar)
it always holds that
  T R' = -(E[b q] - b_bar E[q]) + (1/2) sum_k |v_k|^2 b_bar'
and
  E[b q] = b_bar E[q]
if for each k
  E[g_k phi' b b'] = b_bar E[g_k phi' b'],
but not if that holds only summed over k (K >= 2). So R is constant where the condition holds and b_bar is
constant, and not in general. Which of the two conditions the source has was not seen.)",
                .hypotheses = {softmax_attention, orthonormal, not_normalised},
                .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::numerical},
                .no_rival = "an identity in the state",
                .false_version = "conserved",
                .knobs = {attention_temperature, start, hidden_units, token_law_of_authors,
                          activation, overlap, normalisation},
                .reads = "flow"};

const Clause exact_rate =
    sheet.clause("softmax: `T R' = b_bar E[q] - E[b q] + (1/2) sum_k |v_k|^2 b_bar'`");
const Clause factors = sheet.clause("`E[b q] = b_bar E[q]` if `b` factors out per unit");
const Clause not_summed = sheet.clause("not if summed over units");
[[maybe_unused]] const Clause printed = sheet.not_checked("the condition as printed");

const Control drift_factor =
    sheet.control("drift-factor", "the term `1/2 sum |v|^2 b_bar'` 10 % too large");
const Control query_in_q =
    sheet.control("query-in-q", "`q = sum_k g_k phi' w_k'f`, with the weights of the query");
const Control no_drift_term =
    sheet.control("no-drift-term", "the term `1/2 sum |v|^2 b_bar'` left out");
const Control summed_condition =
    sheet.control("summed-condition", "the condition summed over units");
const Control conserved = sheet.control(
    "conserved", "softmax attention has its invariant without conditions, as exp attention has");

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
  it.judge(exact_rate,
           identity("`T R' = -(E[b q] - b_bar E[q]) + 1/2 sum |v|^2 b_bar'`, generic samples", [] {
             return rate_is_exact(1);
           }).unless(no_drift_term, [] { return rate_is_exact(0); }));
  it.judge(factors, identity("the condition for each unit makes `E[b q] = b_bar E[q]`",
                             defect_is_sum_over_units));
  const SummedConditionExample<Expression> example;
  const Matrix<Expression> defect = example.defect();
  const Truth summed = vanishes(example.summed_condition());
  const Expression left = defect(0, 0) - Expression(3) / Expression(8);
  it.judge(not_summed,
           identity("summed condition met, `E[b q] - b_bar E[q] = 3/8` all the same",
                    [&] { return summed == Truth::yes && left.is_zero() ? Truth::yes : Truth::no; })
               .of_kind(EvidenceKind::exact)
               .unless(summed_condition, [&] { return vanishes(defect); })
               .with("defect " + to_text(defect(0, 0))));
}

// Rows of contextual tokens, then that of the query.
template <class T>
Matrix<T> weights_at(const ClassInstance<double>& instance, const Vector<T>& state) {
  return state.head(instance.weights.size()).reshaped(instance.weights.rows(), instance.units());
}

// T R' along the field.
Vector<double> measured_rate(const PopulationFlow<double>& flow, const Vector<double>& state,
                             const Vector<double>& slope) {
  using Moving = Dual<double>;
  const ClassInstance<double>& instance = flow.instance();
  Vector<Moving> moving(state.size());
  for (Index i = 0; i < state.size(); ++i) moving[i] = Moving(state[i], slope[i]);
  const Vector<Moving> residual =
      invariant<Moving>(Attention::softmax, weights_at(instance, moving).topRows(instance.tokens()),
                        moving.tail(instance.tokens()), Moving(instance.temperature),
                        flow.cast<Moving>().mean_attention(moving));
  return instance.temperature * residual.unaryExpr([](const Moving& r) { return r.slope; });
}

// g_k phi' of every class (K x C) from W'f: the gradient of the mean log-likelihood.
Matrix<double> pulled_back(const ClassInstance<double>& instance, const Matrix<double>& hidden) {
  const bool decoded = instance.decoder.size() > 0;
  const Matrix<double> active =
      hidden.unaryExpr([&](double h) { return activate(instance.phi, h); });
  const Matrix<double> logits = decoded ? Matrix<double>(instance.decoder * active) : active;
  // A noisy label is drawn uniformly.
  const double noise = instance.label_noise;
  Matrix<double> error = Matrix<double>::Constant(logits.rows(), logits.cols(),
                                                  noise / static_cast<double>(logits.rows()));
  error.diagonal().array() += 1 - noise;
  for (Index c = 0; c < logits.cols(); ++c) {
    error.col(c) -= softmax<double>(Vector<double>(logits.col(c)));
  }
  const Matrix<double> back =
      decoded ? Matrix<double>(instance.decoder.transpose() * error) : error;
  return back.cwiseProduct(
      hidden.unaryExpr([&](double h) { return activation_slope(instance.phi, h); }));
}

// Sums of absolute values of everything that is added up in T R', the largest over tokens.
double size_of_terms(const Matrix<double>& v, const Matrix<double>& b, const Matrix<double>& pulled,
                     const Vector<double>& weight, const Vector<double>& drift) {
  const Matrix<double> size = v.cwiseAbs();
  const Matrix<double> gradient = pulled.cwiseAbs();
  const SoftmaxTerms<double> terms =
      softmax_terms<double>(b, weight, gradient, size.transpose() * b);
  const Matrix<double> moments = b * weight.asDiagonal() * gradient.transpose();
  const Vector<double> products = size.cwiseProduct(moments).rowwise().sum();
  return (drift.cwiseAbs() + terms.joint + terms.mean_attention * terms.mean_q + products)
      .maxCoeff();
}

// T R' at a state, by dual numbers along the rung's field and term by term. Cost: one evaluation of
// the field over dual numbers.
void judge_rate(const PopulationFlow<double>& flow, const Vector<double>& state,
                const std::string& place, Examination& it) {
  const ClassInstance<double>& instance = flow.instance();
  const double temperature = instance.temperature;
  const Vector<double> z = flow.logits(state);
  Vector<double> slope(state.size());
  flow.rhs(state, slope, 0.0);
  const Matrix<double> weights = weights_at(instance, state);
  const Matrix<double> v = weights.topRows(instance.tokens());
  JointWorkspace<double> work;
  hidden_preactivations(Attention::softmax, instance.features, temperature, weights, z,
                        instance.token_law, work);
  const Matrix<double> pulled = pulled_back(instance, work.hidden);
  const Vector<double>& weight = instance.class_law;
  // The Jacobian of softmax is symmetric: it gives b' from z' as well.
  Vector<double> mean_rate = Vector<double>::Zero(z.size());
  const Matrix<double> logit_rate = slope.tail(z.size()).replicate(1, weight.size());
  add_attention_pullback(Attention::softmax, work.b, instance.token_law, logit_rate, weight,
                         temperature, mean_rate);
  const Vector<double> drift = v.squaredNorm() / 2 * mean_rate;
  // Of q = sum_k g_k phi' times these images of the units.
  const auto predicted = [&](const Matrix<double>& images, double share) {
    const Vector<double> sum =
        share * drift - softmax_terms<double>(work.b, weight, pulled, images).defect();
    return std::vector<Quantity>(sum.begin(), sum.end());
  };
  const Matrix<double> images = v.transpose() * work.b;

  // b has the relative error of its exponents, as many roundings as they are large.
  const double operations =
      static_cast<double>(instance.tokens() + instance.units() + instance.classes()) *
      (1 + z.cwiseAbs().maxCoeff() / temperature);
  const double size = size_of_terms(v, work.b, pulled, weight, drift);
  std::vector<Quantity> measured;
  for (const double rate : measured_rate(flow, state, slope)) {
    measured.push_back({rate, {ErrorPart::rounding(operations, size)}});
  }
  const std::vector<Quantity> claimed = predicted(images, 1);
  double largest = 0;
  for (const Quantity& rate : claimed) largest = std::max(largest, std::fabs(rate.value()));
  it.judge(exact_rate, equal("`T R'` against its terms", measured, claimed)
                           .in_units_of(largest)
                           .unless(drift_factor, predicted(images, 1.1))
                           .unless(conserved, 0.0)
                           .unless(query_in_q, predicted(work.hidden, 1))
                           .with(place));
}

void examine(const Setting& setting, Examination& it) {
  const ClassInstance<double> instance =
      training_instance(setting, Attention::softmax, setting.value(start));
  if (!require_hypotheses(instance, setting, Attention::softmax, softmax_attention, it)) return;
  const PopulationFlow<double> flow(instance);
  const double unit = time_unit(flow);
  // The identity holds at every state, so the states need not be those of the flow to many digits.
  const Solved run(forget_type(flow), {0, unit / 2, unit}, 1e-6);
  for (std::size_t save = 0; save < run.size(); ++save) {
    judge_rate(flow, run.state(save), run.places()[save], it);
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::joma::checks::invariant_softmax
