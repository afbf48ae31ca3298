// Theorem    scan-snap.gradient
// Status     proved in source (Lemma 1)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemma 1
// Statement  the training formulas
//              dY   = eta_Y sum_n w_n f_n (e_n - alpha_n)'
//              dz_m = eta_Z sum_n w_n diag(f_n) (I - f_n f_n') Y (e_n - alpha_n)
//            are eta_Y, eta_Z times the derivatives of
//              sum_n w_n ln alpha_n(n),
//            and every row of dY and of dz sums to 0
// Hypotheses H1 every class has a positive weight and f_n does not vanish
// Check      the derivative of the objective on generic symbols (M = 3, two classes, one shared
//            token), taken of the code that training runs; its slopes along random directions in Y
//            and in Z at a random state, from central differences extrapolated to width 0; sums of
//            rows for one generic class and at the same state
// Controls   a tenth of f f' left out of I - f f'; c_n in place of f_n outside the projection
// Uses       rung flow

#include "theorems/scan_snap/checks/attention_formula.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::gradient {
namespace {

constexpr const char* weight_text = "every class has a positive weight and f_n does not vanish";
constexpr Knob class_count = class_count_knob(1, 6, 2);
constexpr Knob common_count = common_count_knob(0, 4, 2);
constexpr Knob common_weight = common_weight_knob(1e-3, 1e3);

Truth symbolic_gradient(Formula formula) {
  const PopulationFlow<Expression> flow(generic_training());
  const Vector<Expression> x = symbols("x", flow.dimension());
  return derivatives_are(flow, x, field_of(flow, x, formula));
}

Truth rows_vanish(Formula formula) {
  const PopulationFlow<Expression> flow(generic_class_with_query());
  const Vector<Expression> x = symbols("x", flow.dimension());
  return vanishes(Matrix<Expression>(row_sums(flow.layout(), field_of(flow, x, formula))));
}

void derive(Examination& it) {
  it.judge(Identity{
      .what = "derivatives of the objective are the field",
      .holds = [] { return symbolic_gradient(Formula::lemma_1); },
      .mistakes = {{"weak-projection", [] { return symbolic_gradient(Formula::weak_projection); }},
                   {"no-norm", [] { return symbolic_gradient(Formula::no_norm); }}},
      .detail = "generic P, w, Y, Z"});
  it.judge(Identity{
      .what = "rows of the field sum to 0",
      .holds = [] { return rows_vanish(Formula::lemma_1); },
      .mistakes = {{"weak-projection", [] { return rows_vanish(Formula::weak_projection); }}}});
}

template <class T>
void judge_directions(const TrainingInstance<double>& training, double size, std::uint64_t seed,
                      Examination& it) {
  const PopulationFlow<T> flow(training_in<T>(training));
  constexpr Index directions = 8;
  const Index all = flow.dimension();
  const Index table = all - flow.layout().pairs();
  Stream stream(seed, 0, 0);
  Vector<T> x(all);
  for (T& value : x) value = T(size * stream.normal());
  Matrix<T> along = Matrix<T>::Zero(all, directions);
  std::vector<Quantity> slopes;
  std::vector<std::string> places;
  for (Index k = 0; k < directions; ++k) {
    auto direction = k % 2 == 0 ? along.col(k).head(table) : along.col(k).tail(all - table);
    for (T& value : direction) value = T(stream.normal());
    slopes.push_back(slope_along<T>(flow, x, along.col(k)));
    places.push_back(fmt::format("direction {} in {}", k / 2, k % 2 == 0 ? "Y" : "Z"));
  }
  // Derivatives by the tokens that a column of Y stands for.
  const Vector<double> tokens = tokens_of_components(flow.layout());
  const auto predicted = [&](Formula formula) {
    const Vector<T> gradient =
        field_of(flow, x, formula).cwiseQuotient(flow.rates()).cwiseProduct(tokens.cast<T>());
    std::vector<Quantity> products;
    for (const auto direction : along.colwise()) {
      products.emplace_back(to_double(T(direction.dot(gradient))));
    }
    return products;
  };
  it.judge(Comparison{.what = "slopes of the objective against the field",
                      .measured = slopes,
                      .predicted = predicted(Formula::lemma_1),
                      .mistakes = {predicts("weak-projection", predicted(Formula::weak_projection)),
                                   predicts("no-norm", predicted(Formula::no_norm))},
                      .places = places});
  const Vector<T> field = field_of(flow, x, Formula::lemma_1);
  const double largest = to_double(T(field.cwiseAbs().maxCoeff()));
  // Components are products with responses of both signs, which add up to 2 at most and round as
  // numbers of order 1.
  const double term = to_double(T(flow.rates().maxCoeff())) *
                      std::max(1.0, 2 * to_double(T(x.cwiseAbs().maxCoeff())));
  std::vector<Quantity> sums;
  for (const T& sum : row_sums(flow.layout(), field)) {
    sums.push_back(rounded<T>(sum, tokens.sum(), term));
  }
  it.judge(Comparison{.what = "sums of the rows of dY and dZ",
                      .measured = std::move(sums),
                      .predicted = {0.0},
                      .scale = {largest}});
}

void examine(const Setting& setting, Examination& it) {
  TrainingInstance<double> training = examined_training(setting, [&] {
    return random_training(setting.seed, setting.count(class_count), setting.count(common_count),
                           setting.value(common_weight));
  });
  training.track_growth = false;
  const SequenceClasses<double>& classes = training.classes;
  const double size = setting.value(state_size_knob);
  it.parameters = {{"K", classes.classes()},
                   {"M", classes.tokens},
                   {"size of the state", size},
                   {"seed", setting.seed}};
  const double least = std::min(classes.weight.minCoeff(), classes.law.minCoeff());
  it.require_positive(weight_text, least, fmt::format("least P(n) and P(l|n) {:.3g}", least));
  in_refined_digits([&]<class T>() { judge_directions<T>(training, size, setting.seed, it); });
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.gradient",
          .claim = "the training formulas are the gradient of the log-likelihood, of rows of sum 0",
          .paper = "arXiv 2305.16380, Lemma 1",
          .status = "proved in source",
          .hypotheses = {weight_text},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
          .controls = {{"weak-projection", "I - 0.9 f f' in the attention part"},
                       {"no-norm", "attention weights c_n = f_n/|f_n|_1 in place of f_n"}},
          .knobs = {class_count, common_count, common_weight, state_size_knob},
          .reads = "flow",
          .derive = derive,
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::gradient
