#include "theorems/topic/rungs/model.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/moments_rung.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/block_flow.hpp"
#include "theorems/topic/rungs/corpus_audit.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/parameters.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/symmetric_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic {
namespace {

// W_V on its symmetric form; only the optimum is of a penalised loss.
template <class T>
BlockValue<T> block_value(const std::string& value, const TopicLaw<T>& law,
                          const T& lambda = T(0)) {
  if (lambda > T(0) && value != "block") {
    reject("topic", "--lambda", to_text(lambda), "gives the penalised W_V; take --value block");
  }
  if (value == "block") {
    return lambda > T(0) ? penalised_value(law, lambda) : minimum_norm_value(law);
  }
  if (value == "diagonal") return diagonal_value(law);
  if (value != "zero") {
    reject("topic", "--value", value, "is of whole matrices; must be one of zero, block, diagonal");
  }
  return {};
}

struct TrainedParts {
  bool value;
  bool attention;
};

TrainedParts trained_parts(const Parameters& p) {
  const std::string trained = read_or(p, parameter::train, "VKQ");
  const auto has = [&](char c) { return trained.find(c) != std::string::npos; };
  if (trained.empty() || trained.find_first_not_of("VKQ") != std::string::npos ||
      has('K') != has('Q')) {
    reject("topic block-reduced", "--train", trained, "must be V, KQ or VKQ");
  }
  return {has('V'), has('K')};
}

template <class T>
AnyRung<T> block_reduced(const Parameters& p) {
  const auto law = topic_law<T>(p);
  const TrainedParts trained = trained_parts(p);
  return forget_type(BlockFlow<T>(law, block_value(read(p, parameter::value), law), trained.value,
                                  trained.attention));
}

template <class T>
AnyRung<T> symmetric(const Parameters& p) {
  const auto law = topic_law<T>(p);
  const T scale = read<T>(p, parameter::sigma);
  if (!(scale > T(0))) {
    reject("topic symmetric", "--sigma", to_text(scale), "must be > 0: W_K = W_Q = 0 stays there");
  }
  return forget_type(SymmetricFlow<T>(law, block_value(read(p, parameter::value), law),
                                      read(p, parameter::d_a), scale));
}

// The best (alpha, beta) for a W_V, to all digits; state and observables as in block-reduced.
template <class T>
AnyRung<T> optimum(const Parameters& p) {
  using std::log;
  const auto law = topic_law<T>(p);
  const std::string form = read(p, parameter::value, "for optimum");
  const BlockValue<T> value = block_value(form, law, read<T>(p, parameter::lambda));
  const Landscape<T> made = landscape(law, value);
  const auto rounded_law = topic_law<double>(p);
  const Landscape<double> rounded =
      landscape(rounded_law, block_value(form, rounded_law, read<double>(p, parameter::lambda)));
  const double far = 20.0 * static_cast<double>(law.active) * static_cast<double>(law.words);
  const Minimum found = find_minimum(rounded, {0, far, 0, far});
  Vector<T> x(2);
  x << T(found.alpha), T(found.beta);
  const bool on_line = form == "block";
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
  if (!(T(0) < x[0]) || !(T(0) < x[1])) {
    reject("topic optimum", "--value", form,
           fmt::format("has its optimum at {} = 0 here, which a state of logarithms cannot hold; "
                       "take 'popgrad landscape topic'",
                       T(0) < x[0] ? "beta" : "alpha"));
  }
  Vector<T> state(6);
  state << value.mask, value.diagonal, value.same, value.other, T(log(x[0])), T(log(x[1]));
  AnyRung<T> rung = forget_type(BlockFlow<T>(law, value, false, false));
  rung.initial = state;
  rung.rhs = nullptr;
  rung.state_at = [state](const T&) { return state; };
  return rung;
}

// As forget_type makes it, but for a law of one draw that tells that it is sampled.
AnyRung<double> with_sampled_law(const PopulationFlow& flow) {
  AnyRung<double> rung = forget_type(flow);
  rung.draw_covariance = SampledLaw{
      [own = std::make_shared<const PopulationFlow>(flow)](
          const Vector<double>& x, const Matrix<double>& vectors, SampledDraws::Part part,
          Matrix<double>& images) { own->sampled_covariance(x, vectors, part, images); }};
  rung.clone = [own = std::make_shared<const PopulationFlow>(flow)] {
    return with_sampled_law(*own);
  };
  return rung;
}

/// Matrices of the instance; what is left for `state` are the numbers of the reduced rungs.
constexpr std::array<StartKey, 4> start_keys{
    {{"W_K_", "W_K"}, {"W_Q_", "W_Q"}, {"W_V_", "W_V"}, {"W_E_", "W_E"}}};

template <class T>
AnyRung<T> with_state(AnyRung<T> rung, std::string_view name, const Parameters& p) {
  set_state(rung, p, fmt::format("topic {}", name), start_keys);
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
    const RungInfo sgd{"sgd",
                       RungKind::random,
                       "SGD on documents of N tokens",
                       "O(Tv) a pair of words in a document and O(d_a (Tv)^2) a step",
                       "",
                       "20000",
                       "1",
                       32};
    return {
        sgd,
        moments_info(sgd),
        {"gd", RungKind::descent, "the same on the expected gradient", "that of flow", "", "20000",
         "1"},
        {"flow", RungKind::flow, "population flow of W_K, W_Q, W_V (and W_E)",
         "O((d_a + Tv) (Tv)^2 + Tv C(T, tau) tau^2) an evaluation", "", "20000"},
        {"two-stage", RungKind::flow, "W_V under uniform attention, then W_K and W_Q alone",
         "that of flow", "", "100000"},
        {"symmetric", RungKind::flow, "flow on matrices that permutations of words leave alone",
         "O(1) an evaluation, whatever T, tau and v are", "", "20000"},
        {"block-reduced", RungKind::flow, "W_V and logits on their symmetric forms, six numbers",
         "O(1) an evaluation, whatever T, tau and v are", "", "100000"},
        {"optimum", RungKind::closed_form, "the best attention for W_V block or diagonal",
         "O(1) a time", "", "1"},
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
    if (name == "moments") {
      const AnyRung<double> sgd = rung("sgd", p, seed);
      return moments_rung(
          sgd, "topic",
          sgd.draw_covariance ? "" : PopulationFlow(training(p, seed)).why_not_known());
    }
    return with_state(rung_from_matrices(name, p, seed), name, p);
  }

  [[nodiscard]] std::shared_ptr<const Examination> audit(
      std::string_view name, const Parameters& p, std::uint64_t seed,
      const AnyRung<double>& /*rung_made*/, const Trajectory<double>& run) const override {
    if (name != "sgd" || !given(p, parameter::corpus)) return nullptr;
    return std::make_shared<Examination>(audit_corpus(training(p, seed), run.last_state));
  }

  [[nodiscard]] AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                             std::uint64_t /*seed*/) const override {
    if (name == "block-reduced") return with_state(block_reduced<Real>(p), name, p);
    if (name == "optimum") return with_state(optimum<Real>(p), name, p);
    if (name == "symmetric") return with_state(symmetric<Real>(p), name, p);
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
    const TrainedParts trained = trained_parts(p);
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
    rung.rhs = [loss, x, entries, trained](const Vector<Expression>&, Vector<Expression>& dx,
                                           const Expression&) {
      dx.resize(6);
      for (Index i = 0; i < 6; ++i) {
        const int count = entries[static_cast<std::size_t>(i)];
        dx[i] = Expression(0);
        if (count == 0 || !(i < 4 ? trained.value : trained.attention)) continue;
        dx[i] = -loss.diff(GiNaC::ex_to<GiNaC::symbol>(x[i])) / count;
      }
    };
    return rung;
  }

 private:
  static AnyRung<double> rung_from_matrices(std::string_view name, const Parameters& p,
                                            std::uint64_t seed) {
    if (name == "block-reduced") return block_reduced<double>(p);
    if (name == "optimum") return optimum<double>(p);
    if (name == "symmetric") return symmetric<double>(p);
    Training made = training(p, seed);
    if (name != "sgd") made.label_noise = 0;
    if (name == "two-stage") {
      if (made.embedding_width > 0) {
        reject("topic two-stage", "--d_e", std::to_string(made.embedding_width),
               "has no stages of its own; leave it out, or take flow");
      }
      const double standard = 10 / value_rate(made.law);
      const double time = read_or(p, parameter::switch_time, standard);
      return forget_type(TwoStageFlow(made, time));
    }
    const PopulationFlow flow(made);
    if (name == "sgd" && flow.known_draws() == PopulationFlow::KnownDraws::sampled) {
      return with_sampled_law(flow);
    }
    AnyRung<double> rung = forget_type(flow);
    if (flow.known_draws() == PopulationFlow::KnownDraws::not_at_all) forget_law_of_draws(rung);
    return rung;
  }
};

}  // namespace

std::unique_ptr<Model> make_model() { return std::make_unique<Topic>(); }

}  // namespace popgrad::topic
