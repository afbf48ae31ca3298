#include "theorems/scan_snap/checks/attention_formula.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks::gradient {
namespace {

Statement sheet{.id = "scan-snap.gradient",
                .paper = "arXiv 2305.16380, Lemma 1",
                .status = "proved in source",
                .about = "the population flow",
                .theorem = R"(
Classes n of weight w_n and query m = psi(n), whose contexts have the features f_n of norm 1, and
whose next token is answered by alpha_n = softmax(Y'f_n). The training formulas
  dY   = eta_Y sum_n w_n f_n (e_n - alpha_n)'
  dz_m = eta_Z sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') Y (e_n - alpha_n)
are eta_Y, eta_Z times the derivatives of the log-likelihood
  sum_n w_n ln alpha_n(n)
of sequences of T -> infinity tokens (of one sequence, with the frequencies of its T - 1 tokens for P(l|n)); and every row of dY and of dz sums to 0.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "finite-length",
                .reads = "flow"};

const Clause is_gradient =
    sheet.clause("the training formulas are the gradient of the log-likelihood of long sequences");
const Clause rows_cancel = sheet.clause("their rows sum to 0");

const Hypothesis positive_weights =
    sheet.assume("every class has a positive weight and `f_n` does not vanish");

const Control weak_projection =
    sheet.control("weak-projection", "`I - 0.9 f f'` in the attention part");
const Control no_norm =
    sheet.control("no-norm", "attention weights `c_n = f_n/|f_n|_1` in place of `f_n`");

const Rival finite_length =
    sheet.rival("finite-length", "the gradient of the expected loss of sequences of 5 tokens",
                "a rate of `Y` and one of `Z`");

const Knob class_count = sheet.knob(class_count_knob(1, 6, 2));
const Knob common_count = sheet.knob(common_count_knob(0, 4, 2));
const Knob common_weight = sheet.knob(common_weight_knob(1e-3, 1e3));
const Knob state_size = sheet.knob(state_size_knob);

// Lemma 1's field with mistakes in it, to set against the code that training runs.
constexpr Index length_of_sequences = 4;  // T - 1 contextual tokens, where T is finite

enum class Formula {
  lemma_1,
  weak_projection,  // I - 0.9 f f'
  no_norm,          // c_n = f_n/|f_n|_1 in place of f_n in dY, and of diag(f_n) in dz
};

// The sum over one class, added to the field.
template <class T>
void add_class(const PopulationFlow<T>& flow, const Vector<T>& x, const Vector<T>& f, Index n,
               Formula formula, Vector<T>& field) {
  const TrainingInstance<T>& training = flow.instance();
  const SequenceClasses<T>& classes = training.classes;
  const Layout& layout = flow.layout();
  const Index columns = layout.columns();
  const auto at = static_cast<std::size_t>(n);
  Vector<T> multiplicity(columns);
  for (Index c = 0; c < columns; ++c) {
    multiplicity[c] = T(static_cast<int>(layout.multiplicity[static_cast<std::size_t>(c)]));
  }
  Vector<T> logits = Vector<T>::Constant(columns, T(0));
  T total(0);  // |f_n|_1
  for (Index e = classes.first[at]; e < classes.first[at + 1]; ++e) {
    const Index row = layout.entry_row[static_cast<std::size_t>(e)];
    for (Index c = 0; c < columns; ++c) logits[c] = logits[c] + f[e] * x[row * columns + c];
    total = total + f[e];
  }
  const T norm = formula == Formula::no_norm ? total : T(1);
  const T projection = formula == Formula::weak_projection ? T(T(9) / T(10)) : T(1);
  Vector<T> residual(columns);
  respond(static_cast<const T*>(logits.data()), multiplicity, layout.class_column[at],
          residual.data());
  const T along = logits.dot(Vector<T>(residual.cwiseProduct(multiplicity)));  // f_n.g_n
  for (Index e = classes.first[at]; e < classes.first[at + 1]; ++e) {
    const Index row = layout.entry_row[static_cast<std::size_t>(e)];
    const Index pair = layout.entry_pair[static_cast<std::size_t>(e)];
    T g(0);
    for (Index c = 0; c < columns; ++c) {
      T& slope = field[row * columns + c];
      slope = slope + training.decoder_rate * classes.weight[n] * f[e] / norm * residual[c];
      g = g + x[row * columns + c] * multiplicity[c] * residual[c];
    }
    T& slope = field[layout.rows() * columns + pair];
    slope = slope + training.attention_rate * classes.weight[n] * f[e] / norm *
                        (g - projection * f[e] * along);
  }
}

template <class T>
Vector<T> field_of(const PopulationFlow<T>& flow, const Vector<T>& x, Formula formula) {
  Vector<T> field = Vector<T>::Constant(x.size(), T(0));
  if (formula == Formula::lemma_1) {
    flow.rhs(x, field, T(0));
    return field;
  }
  const Vector<T> f = flow.features_at(x);
  for (Index n = 0; n < flow.instance().classes.classes(); ++n) {
    add_class(flow, x, f, n, formula, field);
  }
  return field;
}
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

void prove(Examination& it) {
  it.judge(is_gradient,
           identity("derivatives of the objective are the field",
                    [] { return symbolic_gradient(Formula::lemma_1); })
               .unless(weak_projection, [] { return symbolic_gradient(Formula::weak_projection); })
               .unless(no_norm, [] { return symbolic_gradient(Formula::no_norm); })
               .with("generic `P`, `w`, `Y`, `Z`"));
  it.judge(rows_cancel,
           identity("rows of the field sum to 0", [] {
             return rows_vanish(Formula::lemma_1);
           }).unless(weak_projection, [] { return rows_vanish(Formula::weak_projection); }));
}

template <class T>
Vector<double> rounded_to_double(const Vector<T>& x) {
  Vector<double> found(x.size());
  for (Index i = 0; i < x.size(); ++i) found[i] = to_double(x[i]);
  return found;
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
  const std::vector<Quantity> claimed = predicted(Formula::lemma_1);
  // Slopes of the mean loss of short sequences, Y and Z each times what brings them nearest.
  const auto of_short_sequences = [&] {
    TrainingInstance<double> sampled = training;
    sampled.classes = sequences_of(training.classes, length_of_sequences);
    const PopulationFlow<double> of(sampled);
    std::vector<Quantity> found;
    for (const auto direction : along.colwise()) {
      found.push_back(
          slope_along<double>(of, rounded_to_double<T>(x), rounded_to_double<T>(direction)));
    }
    for (std::size_t of_table = 0; of_table < 2; ++of_table) {
      double product = 0, square = 0;
      for (std::size_t k = of_table; k < found.size(); k += 2) {
        product += found[k].value() * claimed[k].value();
        square += found[k].value() * found[k].value();
      }
      for (std::size_t k = of_table; k < found.size(); k += 2) {
        found[k] = found[k] * Quantity(product / square);
      }
    }
    return found;
  };
  it.judge(is_gradient, equal("slopes of the objective against the field", slopes, claimed)
                            .against(finite_length, of_short_sequences)
                            .at(places)
                            .unless(weak_projection, predicted(Formula::weak_projection))
                            .unless(no_norm, predicted(Formula::no_norm)));
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
  it.judge(rows_cancel,
           equal("sums of the rows of dY and dZ", std::move(sums), 0).in_units_of(largest));
}

void examine(const Setting& setting, Examination& it) {
  TrainingInstance<double> training = examined_training(setting, [&] {
    return random_training(setting.seed, setting.count(class_count), setting.count(common_count),
                           setting.value(common_weight));
  });
  training.track_growth = false;
  const SequenceClasses<double>& classes = training.classes;
  const double size = setting.value(state_size);
  it.parameters = {{"K", classes.classes()},
                   {"M", classes.tokens},
                   {"size of the state", size},
                   {"seed", setting.seed}};
  const double least = std::min(classes.weight.minCoeff(), classes.law.minCoeff());
  it.require_positive(positive_weights, least,
                      fmt::format("least `P(n)` and `P(l|n)` {:.3g}", least));
  in_refined_digits([&]<class T>() { judge_directions<T>(training, size, setting.seed, it); });
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::gradient
