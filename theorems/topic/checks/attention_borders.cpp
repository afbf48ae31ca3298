#include "theorems/topic/checks/attention_borders.hpp"

#include "theorems/topic/checks/distant_optimum.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

Quantity enclosed(const Rational& low, const Rational& high) {
  return {to_double(Rational((low + high) / 2)),
          {ErrorPart::enclosure(to_double(Rational((high - low) / 2)))}};
}

// All minimisers at p_c = 0, told from a tenth beside uniform attention, which is claimed to be
// one. Throws std::domain_error if it is not, or if the loss is flat there.
Box<Rational> certified_near_uniform(const TopicLaw<Rational>& law) {
  const Landscape<Rational> made = landscape(law, diagonal_value(law));
  const Matrix<double> h = made.cast<double>().hessian(1, 1);
  const double flattest = (h(0, 0) * h(1, 1) - h(0, 1) * h(0, 1)) / std::fmax(h(0, 0), h(1, 1));
  if (!(flattest > 0)) throw Failure("the loss is flat at uniform attention");
  Box<Rational> found;
  double within = 0.01;
  // The boxes of a valley that lies across the axes are wider than the valley.
  for (int closer = 0; closer < 5; ++closer, within /= 4) {
    found =
        certify_minimum(law, made, weight_box(law, true), Rational(flattest * within * within / 2))
            .minimisers;
    const Rational widest =
        std::max(found.alpha_high - found.alpha_low, found.beta_high - found.beta_low);
    if (to_double(widest) < noticed_share) break;
  }
  return found;
}

// Of p_c from which on it is 0 to a thousandth for g*: to first order in p_c, g*/v - 1 is the slope
// at uniform attention over the curvature there at p_c = 0, which is of order p_c T/(p_r tau).
int halvings_to_small_response(const LargeLaw& law) {
  constexpr int least = 12;
  constexpr double small = 1e-3;
  LargeLaw never = law;
  never.correct = 0;
  LargeLaw rarely = law;
  rarely.correct *= Rational(std::ldexp(1.0, -least));
  const Rational& v = law.words;
  const Rational slope = landscape(rarely, minimum_norm_value(rarely)).gradient(v, 0)[0];
  const Rational curvature = landscape(never, minimum_norm_value(never)).hessian(v, 0)(0, 0);
  if (curvature <= 0) return least;
  const double response = to_double(Rational(-slope / (curvature * v)));
  return least + std::max(0, static_cast<int>(std::ceil(std::log2(response / small))));
}

// Of the mean weight less its uniform one, for p_c on its way to 0.
Quantity order_in_keeping(const TopicLaw<Rational>& law) {
  const LargeLaw large = unbounded(law);
  const std::vector<double> parameter =
      falling_parameters(std::ldexp(1.0, -halvings_to_small_response(large)), 2, 4);
  std::vector<Quantity> rise;
  for (const double less : parameter) {
    LargeLaw rarely = large;
    rarely.correct *= Rational(less);
    rise.push_back(best_weights(rarely, false).ratio * Quantity(to_double(rarely.active)) -
                   Quantity(1));
  }
  return order_in(parameter, rise);
}

}  // namespace

TopicLaw<Rational> bordering_law(const Setting& setting) {
  TopicLaw<Rational> law = crowded_law(setting);
  if (setting.count(single_topic) == 1) law.active = 1;
  if (setting.count(never_kept) == 1) law.correct = 0;
  return law;
}

void judge_uniform(const Landscape<Rational>& made, Examination& it) {
  const Vector<Rational> slopes = made.gradient(1, 1);
  it.judge(Identity{
      .kind = EvidenceKind::exact, .what = "uniform attention is not stationary", .holds = [&] {
        return slopes[0] == 0 && slopes[1] == 0 ? Truth::no : Truth::yes;
      }});
}

void judge_block_borders(const TopicLaw<Rational>& law, Examination& it) {
  TopicLaw<Rational> single = law;
  single.active = 1;
  TopicLaw<Rational> never = law;
  never.correct = 0;
  const auto v = static_cast<double>(law.words);
  const auto judge = [&](const TopicLaw<Rational>& at, const char* what, const char* control) {
    it.judge(Comparison{
        .kind = EvidenceKind::certified,
        .what = what,
        .measured = {certified_weights(at, landscape(at, minimum_norm_value(at)), false).alpha},
        .predicted = {v},
        .mistakes = {predicts(control, 1.1 * v)}});
  };
  judge(single, "g* of documents of one topic", "single");
  judge(never, "g* where no word is kept", "never-kept");
  it.judge(Comparison{.what = "order of g*/v - 1 in p_c, towards 0",
                      .measured = {order_in_keeping(law)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("vanishing", 1.1)}});
}

void judge_diagonal_borders(const TopicLaw<Rational>& law, Examination& it) {
  TopicLaw<Rational> never = law;
  never.correct = 0;
  const Box<Rational> uniform = certified_near_uniform(never);
  it.judge(Comparison{.kind = EvidenceKind::certified,
                      .what = "alpha* and beta* where no word is kept",
                      .measured = {enclosed(uniform.alpha_low, uniform.alpha_high),
                                   enclosed(uniform.beta_low, uniform.beta_high)},
                      .predicted = {1.0},
                      .mistakes = {predicts("never-kept", 1.1)},
                      .places = {"alpha*", "beta*"}});
  TopicLaw<Rational> single = law;
  single.active = 1;
  it.judge(Comparison{
      .what = "documents of one topic: mean weight of the topic, own word included, below 1",
      .measured = {mean_weight(single)},
      .relation = Relation::below,
      .predicted = {1.0}});
}

Quantity mean_weight(const TopicLaw<Rational>& law) {
  const BestWeights best = best_weights(unbounded(law), true);
  const auto v = static_cast<double>(law.words);
  return best.ratio * Quantity(static_cast<double>(law.active)) + Quantity((v - 1) / v) * best.beta;
}

}  // namespace popgrad::topic::checks
