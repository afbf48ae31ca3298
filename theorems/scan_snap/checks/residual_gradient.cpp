#include "theorems/scan_snap/checks/attention_formula.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/checks/residual_classes.hpp"

namespace popgrad::scan_snap::checks::residual_gradient {
namespace {

Statement sheet{.id = "scan-snap.residual-gradient",
                .paper = "arXiv 2305.16380, Section 7",
                .status = "derived here",
                .about = "the population flow with a residual connection",
                .theorem = R"(
The decoder reads phi_n = (f_n + e_m)/|f_n + e_m|, m = psi(n) (Section 7 sketches the model). With
alpha_n = softmax(Y' phi_n) and g_n = Y (e_n - alpha_n) the training formulas
  dY   = eta_Y sum_n w_n phi_n (e_n - alpha_n)'
  dz_m = eta_Z sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') (I - phi_n phi_n') g_n/|f_n + e_m|
are eta_Y, eta_Z times the derivatives of
  sum_n w_n ln alpha_n(n),
minus the expected loss of sequences of T -> infinity tokens: at finite T that of a sequence is the
same with the frequencies of its T - 1 tokens for P(l|n), and the expected one another. Where no query token is in a context,
  dz_m = (eta_Z/sqrt(2)) sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') g_n.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .false_version = "finite-length",
                .reads = "flow"};

const Clause is_gradient = sheet.clause(
    "the training formulas with a residual connection are the gradient of the loss of long "
    "sequences");
const Clause short_form =
    sheet.clause("`z'` has a factor `1/sqrt(2)` where no query is in a context");

const Hypothesis positive_weights =
    sheet.assume("every class has a positive weight and `f_n` does not vanish");

const Control one_projection = sheet.control("one-projection", "I in place of `I - phi phi'`");
const Control no_norm = sheet.control("no-norm", "1 in place of `1/|f_n + e_m|`");
const Control full_rate = sheet.control("full-rate", "`eta_Z` in place of `eta_Z/sqrt(2)`");

const Rival finite_length =
    sheet.rival("finite-length", "the gradient of the expected loss of sequences of 5 tokens",
                "a rate of `Y` and one of `Z`");

const Knob class_count = sheet.knob(class_count_knob(1, 6, 3));
const Knob common_count = sheet.knob(common_count_knob(0, 4, 2));
const Knob common_weight = sheet.knob(common_weight_knob(1e-3, 1e3));
const Knob state_size = sheet.knob(state_size_knob);

constexpr Index length_of_sequences = 4;  // T - 1 contextual tokens, where T is finite

Truth symbolic_gradient(Backward backward) {
  const ResidualFlow<Expression> flow(generic_class_with_query(), DecoderRule::gradient, backward);
  const Vector<Expression> x = symbols("x", flow.dimension());
  return derivatives_are(flow, x, flow.field(x));
}

void prove(Examination& it) {
  it.judge(
      is_gradient,
      identity("derivatives of the objective are the field",
               [] { return symbolic_gradient(Backward::gradient); })
          .unless(one_projection, [] { return symbolic_gradient(Backward::without_projection); })
          .unless(no_norm, [] { return symbolic_gradient(Backward::without_norm); })
          .with("generic `P`, `w`, `Y`, `Z`"));
}

void judge_directions(const TrainingInstance<double>& training, double size, std::uint64_t seed,
                      Examination& it) {
  const ResidualFlow<double> flow(training);
  const Index all = flow.dimension();
  const Index table = all - flow.layout().pairs();
  Stream stream(seed, 0, 1);
  const Vector<double> x = random_state(stream, all, size);
  std::vector<Vector<double>> along;
  std::vector<std::string> places;
  for (Index k = 0; k < 8; ++k) {
    Vector<double> direction = random_state(stream, all, 1);
    (k % 2 == 0 ? direction.tail(all - table) : direction.head(table)).setZero();
    along.push_back(direction);
    places.push_back(fmt::format("direction {} in {}", k / 2, k % 2 == 0 ? "Y" : "Z"));
  }
  const auto slopes = [&](const ResidualFlow<double>& of) {
    std::vector<Quantity> found;
    for (const Vector<double>& direction : along) {
      found.push_back(slope_along([&](const Vector<double>& at) { return of.loss(at); },
                                  static_cast<double>(all), x, direction));
    }
    return found;
  };
  const auto predicted = [&](Backward backward) {
    const ResidualFlow<double> field(training, DecoderRule::gradient, backward);
    const Vector<double> rate = field.field(x);
    std::vector<Quantity> products;
    for (const Vector<double>& direction : along) {
      products.emplace_back(direction.dot(rate.cwiseQuotient(field.rates())));
    }
    return products;
  };
  const std::vector<Quantity> claimed = predicted(Backward::gradient);
  // Slopes of the mean loss of short sequences, Y and Z each times what brings them nearest.
  const auto of_short_sequences = [&] {
    TrainingInstance<double> sampled = training;
    sampled.classes = sequences_of(training.classes, length_of_sequences);
    std::vector<Quantity> found = slopes(ResidualFlow<double>(sampled));
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
  it.judge(is_gradient, equal("slopes of the objective against the field", slopes(flow), claimed)
                            .at(places)
                            .unless(one_projection, predicted(Backward::without_projection))
                            .unless(no_norm, predicted(Backward::without_norm))
                            .against(finite_length, of_short_sequences));
}

// The short form, with queries beyond the vocabulary, which are in no context.
void judge_apart(TrainingInstance<double> training, double size, std::uint64_t seed,
                 Examination& it) {
  SequenceClasses<double>& classes = training.classes;
  for (Index& query : classes.query) query = classes.tokens + query % 2;
  classes.tokens += 2;
  const ResidualFlow<double> flow(training);
  Stream stream(seed, 0, 2);
  const Vector<double> x = random_state(stream, flow.dimension(), size);
  const Vector<double> rates = flow.logits_at(flow.field(x));
  it.judge(short_form,
           equal("`z'` where no query token is in a context",
                 std::vector<Quantity>(rates.begin(), rates.end()), short_rates(flow, x))
               .in_units_of(rates.cwiseAbs().maxCoeff())
               .unless(full_rate, times(std::sqrt(2.0))));
}

void examine(const Setting& setting, Examination& it) {
  TrainingInstance<double> training = examined_training(setting, [&] {
    auto drawn = random_training(setting.seed, setting.count(class_count),
                                 setting.count(common_count), setting.value(common_weight));
    drawn.classes.query[0] = 0;  // in its context
    return drawn;
  });
  training.track_growth = false;
  training.start = Start::uniform;
  const auto& classes = training.classes;
  const double size = setting.value(state_size);
  it.parameters = {{"K", classes.classes()},
                   {"M", classes.tokens},
                   {"size of the state", size},
                   {"seed", setting.seed}};
  const double least = std::min(classes.weight.minCoeff(), classes.law.minCoeff());
  it.require_positive(positive_weights, least,
                      fmt::format("least `P(n)` and `P(l|n)` {:.3g}", least));
  judge_directions(training, size, setting.seed, it);
  judge_apart(training, size, setting.seed, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::residual_gradient
