#include "topic/model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/error.hpp"
#include "popgrad/topic/block_flow.hpp"
#include "popgrad/topic/corpus_audit.hpp"
#include "popgrad/topic/optimum.hpp"
#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/symmetric_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"

namespace popgrad::topic {
namespace {

constexpr const char* whole_columns =
    "loss norm_W_V norm_W_K norm_W_Q attention_same_word attention_same_topic "
    "attention_other_topic value_diagonal value_same_topic value_other_topic gram_diagonal "
    "gram_same_topic gram_other_topic";
constexpr const char* block_columns =
    "loss norm_W_V attention_same_word attention_same_topic attention_other_topic value_diagonal "
    "value_same_topic value_other_topic alpha beta";

template <class T>
BlockValue<T> block_value(const Parameters& p, const TopicLaw<T>& law, std::string_view standard) {
  const std::vector<std::string> starts{"zero", "block", "diagonal"};
  const std::string value = p.choice("value", standard, starts);
  const T lambda = p.number<T>("lambda", "0");
  if (lambda < T(0)) reject("topic", "--lambda", to_text(lambda), "must be >= 0");
  if (lambda > T(0) && value != "block") {
    reject("topic", "--lambda", to_text(lambda), "gives the penalised W_V; take --value block");
  }
  if (value == "block") {
    return lambda > T(0) ? penalised_value(law, lambda) : minimum_norm_value(law);
  }
  if (value == "diagonal") return diagonal_value(law);
  return {};
}

template <class T>
AnyRung<T> block_reduced(const Parameters& p) {
  const auto law = topic_law<T>(p);
  const std::string trained = p.text("train", "VKQ");
  const auto has = [&](char c) { return trained.find(c) != std::string::npos; };
  if (trained.empty() || trained.find_first_not_of("VKQ") != std::string::npos ||
      has('K') != has('Q')) {
    reject("topic block-reduced", "--train", trained, "must be V, KQ or VKQ");
  }
  return forget_type(BlockFlow<T>(law, block_value(p, law, "zero"), has('V'), has('K')));
}

template <class T>
AnyRung<T> symmetric(const Parameters& p) {
  const auto law = topic_law<T>(p);
  const T scale = p.number<T>("sigma", "0.01");
  if (!(scale > T(0))) {
    reject("topic symmetric", "--sigma", to_text(scale), "must be > 0: W_K = W_Q = 0 stays there");
  }
  return forget_type(
      SymmetricFlow<T>(law, block_value(p, law, "zero"), p.count("d_a", 100, 1, 100'000), scale));
}

// The best (alpha, beta) for a W_V, to all digits; state and observables as in block-reduced.
template <class T>
AnyRung<T> optimum(const Parameters& p) {
  using std::log;
  const auto law = topic_law<T>(p);
  const BlockValue<T> value = block_value(p, law, "block");
  const Landscape<T> made = landscape(law, value);
  const auto rounded_law = topic_law<double>(p);
  const Landscape<double> rounded = landscape(rounded_law, block_value(p, rounded_law, "block"));
  const double far = 20.0 * static_cast<double>(law.active) * static_cast<double>(law.words);
  const Minimum found = find_minimum(rounded, {0, far, 0, far});
  Vector<T> x(2);
  x << T(found.alpha), T(found.beta);
  const bool on_line =
      p.choice("value", "block", std::vector<std::string>{"zero", "block", "diagonal"}) == "block";
  // Newton steps from double: each doubles the digits. On a line, along alpha alone; so where beta
  // weighs nothing, with one word a topic.
  T moved(0);  // by the last step, of alpha
  for (int i = 0; i < 10; ++i) {
    const T before = x[0];
    const Vector<T> gradient = made.gradient(x[0], x[1]);
    const Matrix<T> hessian = made.hessian(x[0], x[1]);
    if (on_line || law.words == 1) {
      x[0] = x[0] - gradient[0] / hessian(0, 0);
      moved = x[0] - before;
      continue;
    }
    const T determinant = hessian(0, 0) * hessian(1, 1) - hessian(0, 1) * hessian(0, 1);
    const T first = (hessian(1, 1) * gradient[0] - hessian(0, 1) * gradient[1]) / determinant;
    x[1] = x[1] - (hessian(0, 0) * gradient[1] - hessian(0, 1) * gradient[0]) / determinant;
    x[0] = x[0] - first;
    moved = x[0] - before;
  }
  constexpr double settled = 1e-6;
  if (!(std::fabs(to_double(moved)) <= settled * std::fabs(to_double(x[0])))) {
    reject(
        "topic optimum", "--value", p.text("value", "block"),
        "has no finite optimum here: the loss falls for ever as attention on the own topic grows; "
        "lower --lambda or raise --p_r");
  }
  if (law.words == 1) x[1] = T(1);
  if (on_line) {
    // Of the line, the point where all words of the topic get the same.
    const T v = TopicLaw<T>::number(law.words);
    x[0] = (x[0] + (v - T(1)) * x[1]) / v;
    x[1] = x[0];
  }
  Vector<T> state(6);
  state << value.mask, value.diagonal, value.same, value.other, T(log(x[0])), T(log(x[1]));
  AnyRung<T> rung = forget_type(BlockFlow<T>(law, value, false, false));
  rung.initial = state;
  rung.rhs = nullptr;
  rung.state_at = [state](const T&) { return state; };
  return rung;
}

class Topic final : public Model {
 public:
  [[nodiscard]] std::string name() const override { return "topic"; }
  [[nodiscard]] std::string paper() const override {
    return "Li, Li, Risteski: How Do Transformers Learn Topic Structure: Towards a Mechanistic "
           "Understanding, arXiv 2303.04245";
  }

  [[nodiscard]] std::vector<RungInfo> rungs() const override {
    return {
        {"sgd", RungKind::random, "SGD on documents of N tokens",
         "O(Tv) a pair of words in a document and O(d_a (Tv)^2) a step", whole_columns, "20000",
         "1", 32},
        {"gd", RungKind::descent, "the same on the expected gradient", "that of flow",
         whole_columns, "20000", "1"},
        {"flow", RungKind::flow, "population flow of W_K, W_Q, W_V (and W_E)",
         "O((d_a + Tv) (Tv)^2 + Tv C(T, tau) tau^2) an evaluation", whole_columns, "20000"},
        {"two-stage", RungKind::flow, "W_V under uniform attention, then W_K and W_Q alone",
         "that of flow", whole_columns, "100000"},
        {"symmetric", RungKind::flow, "flow on matrices that permutations of words leave alone",
         "O(1) an evaluation, whatever T, tau and v are",
         "loss norm_W_V norm_W_K norm_W_Q attention_same_word attention_same_topic "
         "attention_other_topic value_diagonal value_same_topic value_other_topic alpha beta "
         "mask_weight",
         "20000"},
        {"block-reduced", RungKind::flow, "W_V and logits on their symmetric forms, six numbers",
         "O(1) an evaluation, whatever T, tau and v are", block_columns, "100000"},
        {"optimum", RungKind::closed_form, "the best attention for W_V block or diagonal",
         "O(1) a time", block_columns, "1"},
    };
  }

  [[nodiscard]] std::vector<LadderStep> ladder() const override {
    // Small enough for an ensemble on the whole matrices.
    const Record small{{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"N", "64"}};
    return {
        {"sgd", "gd", "long documents, the full batch in place of a sampled one", "300", small},
        {"gd", "flow", "steps of length 0", "300", small},
        {"flow", "two-stage", "attention waits until W_V has converged", "3000", small},
        {"flow", "symmetric", "a start that permutations of words leave alone", "3000", small},
    };
  }

  [[nodiscard]] std::vector<Regime> regimes() const override {
    return {{"end-of-stage-1", "norm_W_V", RegimeKind::settling},
            {"plateau", "loss", RegimeKind::plateau}};
  }

  [[nodiscard]] std::vector<ParameterInfo> parameters() const override { return parameter_infos(); }

  [[nodiscard]] AnyRung<double> rung(std::string_view name, const Parameters& p,
                                     std::uint64_t seed) const override {
    if (name == "block-reduced") return block_reduced<double>(p);
    if (name == "optimum") return optimum<double>(p);
    if (name == "symmetric") return symmetric<double>(p);
    const Training made = training(p, seed);
    if (name == "two-stage") {
      if (made.embedding_width > 0) {
        reject("topic two-stage", "--d_e", std::to_string(made.embedding_width),
               "has no stages of its own; leave it out, or take flow");
      }
      const double standard = 10 / value_rate(made.law);
      const auto time = p.number<double>("switch", fmt::format("{}", standard));
      if (!(time > 0)) reject("topic two-stage", "--switch", to_text(time), "must be > 0");
      return forget_type(TwoStageFlow(made, time));
    }
    return forget_type(PopulationFlow(made));
  }

  [[nodiscard]] std::optional<Examination> audit(std::string_view name, const Parameters& p,
                                                 std::uint64_t seed,
                                                 const AnyRung<double>& /*rung_made*/,
                                                 const Trajectory<double>& run) const override {
    if (name != "sgd" || !p.has("corpus")) return std::nullopt;
    return audit_corpus(training(p, seed), run.last_state);
  }

  [[nodiscard]] AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                             std::uint64_t /*seed*/) const override {
    if (name == "block-reduced") return block_reduced<Real>(p);
    if (name == "optimum") return optimum<Real>(p);
    if (name == "symmetric") return symmetric<Real>(p);
    reject("topic " + std::string(name), "--digits", std::to_string(digits()),
           "is for symmetric, block-reduced and optimum; the whole matrices run in double");
  }

  [[nodiscard]] AnyRung<Expression> symbolic_rung(std::string_view name,
                                                  const Parameters& p) const override {
    if (name != "block-reduced") {
      reject("topic", "rung", name,
             "has no short equations: sums over subsets of products of matrices, or no "
             "right-hand side; take block-reduced");
    }
    const auto rational = topic_law<Rational>(p);
    const auto law = TopicLaw<Expression>{rational.topics,         rational.active,
                                          rational.words,          GiNaC::possymbol("p_m"),
                                          GiNaC::possymbol("p_c"), GiNaC::possymbol("p_r")};
    AnyRung<Expression> rung;
    rung.dimension = 6;
    rung.state_names = {"w_0", "d", "s", "u", "ln_alpha", "ln_beta"};
    rung.initial.resize(6);
    rung.initial << GiNaC::symbol("w_0"), GiNaC::symbol("d"), GiNaC::symbol("s"),
        GiNaC::symbol("u"), GiNaC::symbol("ln_alpha", "\\ln\\alpha"),
        GiNaC::symbol("ln_beta", "\\ln\\beta");
    const Vector<Expression> x = rung.initial;
    const Expression loss =
        landscape(law, BlockValue<Expression>{x[0], x[1], x[2], x[3]})(exp(x[4]), exp(x[5]));
    const int v = static_cast<int>(law.words);
    const int words = static_cast<int>(law.topics * law.words);
    const std::vector<int> entries{words, words,          words * (v - 1), words * (words - v),
                                   words, words * (v - 1)};
    rung.rhs = [loss, x, entries](const Vector<Expression>&, Vector<Expression>& dx,
                                  const Expression&) {
      dx.resize(6);
      for (Index i = 0; i < 6; ++i) {
        const int count = entries[static_cast<std::size_t>(i)];
        dx[i] = Expression(0);
        if (count == 0) continue;
        dx[i] = -loss.diff(GiNaC::ex_to<GiNaC::symbol>(x[i])) / count;
      }
    };
    return rung;
  }
};

}  // namespace

std::unique_ptr<Model> make_model() { return std::make_unique<Topic>(); }

}  // namespace popgrad::topic
