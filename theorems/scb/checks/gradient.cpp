#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_directions.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::gradient {
namespace {

Statement sheet{.id = "scb.gradient",
                .paper = "arXiv 2410.23438, Section 3.1",
                .status = "proved in source, constraints derived here",
                .about = "SGD on sequences and the population flow",
                .theorem = R"(
With C = diag(mu) - mu mu', S_k = sum_t a^k_t and <V,P> = tr V'P C, the expected gradients of the
loss L are
  -dL/dV     = sum_k mu_k [(q^k.a^k) P C + S_k P mu mu' - |a^k|^2 V C - S_k^2 V mu mu']
  -dL/da^k_t = mu_k [q^k_t <V,P> - a^k_t <V,V> + mu'V'P mu - S_k mu'V'V mu].
Steps precondition them by D^{-1}, D = diag(mu), and 1/mu_k, and may project them onto 1'V = 1' and
1'a^k = 1. On 1'V = 1', positions off the support being equal, the population flow integrates the
same. The query is a token behind the context, not its last.)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::statistical},
                .no_rival = "an identity in the state, and sample means of the same",
                .false_version = "last-query",
                .reads = "sgd"};

const Clause over_samples = sheet.clause("gradients and loss are means over samples (`N = T = 2`)");
const Clause projected_too = sheet.clause("projected too");
const Clause flow_field = sheet.clause("the flow's field is SGD's");
const Clause sampled = sheet.clause("sampled directions have this mean");

const Hypothesis token_law = sheet.assume("`mu > 0` sums to 1");
const Hypothesis column_laws = sheet.assume("columns of `P` and `q` sum to 1");

const Control no_mean_value = sheet.control("no-mean-value", "the term `S_k |V mu|^2` left out");
const Control no_query_weight =
    sheet.control("no-query-weight", "`1/mu_k` left out of the attention part");
const Control larger_values = sheet.control("larger-values", "the direction of `V` 10 % larger");
const Control larger_loss = sheet.control("larger-loss", "the loss 10 % larger");
const Control last_query = sheet.control(
    "last-query", "the same formulas hold where the query is the last token of the context");
const Control any_values = sheet.control(
    "any-values", "the flow's field is SGD's at every `V`, not only where `1'V = 1'`");

const Knob vocabulary = sheet.knob(tokens_knob);
const Knob positions = sheet.knob(whole_knob("positions", "positions T of the context", 5, 40, 12));
const Knob few_positions = sheet.knob(support_knob);
const Knob size_of_state = sheet.knob(state_size);
const Knob projected = sheet.knob(
    whole_knob("projected", "1: gradients projected onto the constraints; 0: not", 0, 1, 0));

// Slips in the formulas.
enum class Slip { none, no_mean_value, no_query_weight, larger_values, larger_loss, last_query };

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

// Columns (p, 1 - p) of symbols.
Matrix<Expression> two_laws(const std::string& name) {
  const Vector<Expression> p = symbols(name, 2);
  Matrix<Expression> law(2, 2);
  law << p[0], p[1], 1 - p[0], 1 - p[1];
  return law;
}

// Two tokens, mu, P and q generic; `places` of each are the two positions that it attends to.
Training<Expression> generic_training(Index context, std::vector<Index> places, bool project) {
  Training<Expression> training;
  Bigrams<Expression>& b = training.bigrams;
  b.transition = two_laws("P");
  b.stationary = symbols("mu", 2);
  b.stationary[1] = 1 - b.stationary[0];
  b.context = context;
  b.first = {0, 2, 4};
  b.position = std::move(places);
  b.law = two_laws("q").reshaped();
  training.start = Matrix<Expression>::Constant(2, 2, Expression(0));
  training.attention_rate = symbol("eta");
  training.project = project;
  return training;
}

// The expected direction and, below it, the loss: sums over all sequences, queries, sources and
// labels, N = T = 2. Or the query is the second token of the sequence.
Vector<Expression> enumerated(const SequenceSgd<Expression>& rung, const Vector<Expression>& x,
                              bool query_in_context) {
  const Bigrams<Expression>& b = rung.training().bigrams;
  Vector<Expression> sum = Vector<Expression>::Constant(x.size(), Expression(0));
  Expression loss = 0;
  rung.attend(x);
  const Eigen::Map<const Matrix<Expression>> v(x.data(), 2, 2);
  for (int sample = 0; sample < 32; ++sample) {
    const auto drawn = [sample](int place) -> Index { return sample >> place & 1; };
    const std::vector<Index> sequence{drawn(0), drawn(1)};
    const Index behind = drawn(2);
    const Index query = query_in_context ? sequence.back() : behind;
    const Index source = drawn(3);
    const Index label = drawn(4);
    const Expression weight = b.stationary[sequence[0]] * b.stationary[sequence[1]] *
                              b.stationary[behind] * b.law[2 * query + source] *
                              b.transition(label, drawn(static_cast<int>(source)));
    rung.add_sample(x, sequence, query, label, weight, sum);
    for (Index i = 0; i < 2; ++i) {
      const Expression answer =
          v(i, sequence[0]) * x[4 + 2 * query] + v(i, sequence[1]) * x[5 + 2 * query];
      loss += weight * GiNaC::pow((i == label ? 1 : 0) - answer, 2) / 2;
    }
  }
  rung.finish(sum);
  Vector<Expression> both(x.size() + 1);
  both << sum, loss;
  return both;
}

Truth is_expectation(bool project, Slip slip) {
  const SequenceSgd<Expression> rung(generic_training(2, {0, 1, 0, 1}, project));
  const Vector<Expression> x = symbols("x", 8);
  Vector<Expression> formulas(9);
  formulas << expected(rung, x, slip), observed_at(rung, x, "loss");
  if (slip == Slip::larger_loss) formulas[8] *= Expression(11) / 10;
  return vanishes(Matrix<Expression>(enumerated(rung, x, slip == Slip::last_query) - formulas));
}

// The field of the rung flow minus that of the rung sgd at the same V and A, in which positions off
// the support are equal and, as projections keep it, 1'V = 1' unless `any_sum`: N = 2, T = 4,
// else generic.
Truth is_field_of_flow(bool project, bool any_sum) {
  const Training<Expression> training = generic_training(4, {0, 2, 1, 2}, project);
  const PopulationFlow<Expression> flow(training);
  const SequenceSgd<Expression> dense(training);
  Vector<Expression> x = symbols("x", flow.dimension());
  if (!any_sum) x.head(4) = two_laws("V").reshaped();
  // Where V and the positions 0..3 of both tokens stand in the state of the flow.
  const std::vector<Index> place{0, 1, 2, 3, 4, 6, 5, 6, 9, 7, 8, 9};
  Vector<Expression> lumped(x.size());
  flow.rhs(x, lumped, Expression(0));
  Vector<Expression> field(12);
  dense.rhs(Vector<Expression>(x(place)), field, Expression(0));
  return vanishes(Matrix<Expression>(field - lumped(place)));
}

void prove(Examination& it) {
  for (const bool project : {false, true}) {
    const auto with = [project](Slip slip) {
      return [project, slip] { return is_expectation(project, slip); };
    };
    const char* const kind = project ? ", projected" : "";
    Identity enumeration =
        identity(fmt::format("enumerated gradients and loss minus formulas{}", kind),
                 with(Slip::none))
            .unless(no_query_weight, with(Slip::no_query_weight))
            .unless(larger_values, with(Slip::larger_values))
            .unless(larger_loss, with(Slip::larger_loss))
            .unless(last_query, with(Slip::last_query))
            .with("32 weighted samples, generic `mu`, `P`, `q`, `A`, `V`");
    // Its term is the same for all positions, so that the projection removes it.
    if (!project) enumeration.unless(no_mean_value, with(Slip::no_mean_value));
    it.judge(project ? projected_too : over_samples, enumeration);
    const auto field = [project](bool any) {
      return [project, any] { return is_field_of_flow(project, any); };
    };
    it.judge(flow_field,
             identity(fmt::format("field of the rung flow minus that of sgd{}", kind), field(false))
                 .unless(any_values, field(true)));
  }
}

// Up to the rounding of the sums.
void require_laws(const Bigrams<double>& b, Examination& it) {
  const auto n = static_cast<double>(b.tokens());
  const double least = b.stationary.minCoeff();
  const double miss = std::fabs(b.stationary.sum() - 1);
  it.require(token_law, std::min(least, ErrorPart::rounding(n, 1).size() - miss),
             fmt::format("least {:.3g}, sum off by {:.3g}", least, miss));
  double off = (b.transition.colwise().sum().array() - 1).abs().maxCoeff();
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    off = std::max(off, std::fabs(b.law.segment(begin, b.support(k)).sum() - 1));
  }
  const auto terms = static_cast<double>(b.entries()) + n;
  it.require(column_laws, ErrorPart::rounding(terms, 1).size() - off,
             fmt::format("off by {:.3g}", off));
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = examined_training(setting, [&] {
    auto drawn = from_scratch(setting.count(vocabulary), setting.count(positions),
                              setting.count(few_positions), setting.seed);
    drawn.project = setting.count(projected) == 1;
    return drawn;
  });
  it.parameters = {{"T", training.bigrams.context}, {"seed", setting.seed}};
  require_laws(training.bigrams, it);
  const SequenceSgd<double> rung(training);
  const Vector<double> x = drawn_state(rung, setting.value(size_of_state), setting.seed);
  const auto direction = [&](Slip slip) {
    const Vector<double> all = expected(rung, x, slip);
    return std::vector<Quantity>(all.begin(), all.end());
  };
  it.judge(
      sampled,
      equal("mean of sampled directions", sampled_means(rung, x, setting), direction(Slip::none))
          .at(rung.state_names())
          .of_kind(EvidenceKind::statistical)
          .in_units_of(largest_of_part(expected(rung, x, Slip::none), training.start.size()))
          .unless(no_mean_value, direction(Slip::no_mean_value))
          .unless(no_query_weight, direction(Slip::no_query_weight))
          .unless(larger_values, direction(Slip::larger_values)));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scb::checks::gradient
