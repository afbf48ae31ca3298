#include "theorems/topic/rungs/model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/block_flow.hpp"
#include "theorems/topic/rungs/corpus_audit.hpp"
#include "theorems/topic/rungs/optimum_rung.hpp"
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
  if (value == "block") return penalised_value(law, lambda);
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

template <class T>
AnyRung<T> optimum(const Parameters& p) {
  const auto law = topic_law<T>(p);
  return optimum_rung(law, block_value(read(p, parameter::value, "for optimum"), law,
                                       read<T>(p, parameter::lambda)));
}

PopulationFlow expected_flow(const Parameters& p, std::uint64_t seed) {
  Training made = training(p, seed);
  made.label_noise = 0;
  return PopulationFlow(made);
}

AnyRung<double> sampled(const Parameters& p, std::uint64_t seed) {
  return forget_type(PopulationFlow(training(p, seed)));
}

AnyRung<double> expected(const Parameters& p, std::uint64_t seed) {
  return without_draws(forget_type(expected_flow(p, seed)));
}

AnyRung<double> two_stage(const Parameters& p, std::uint64_t seed) {
  Training made = training(p, seed);
  made.label_noise = 0;
  if (made.embedding_width > 0) {
    reject("topic two-stage", "--d_e", std::to_string(made.embedding_width),
           "has no stages of its own; leave it out, or take flow");
  }
  const double standard = 10 / value_rate(made.law);
  const double time = read_or(p, parameter::switch_time, standard);
  return forget_type(TwoStageFlow(made, time));
}

AnyRung<Expression> symbolic_blocks(const Parameters& p) {
  const TrainedParts trained = trained_parts(p);
  const auto rational = topic_law<Rational>(p);
  const auto law = TopicLaw<Expression>{rational.topics,         rational.active,
                                        rational.words,          GiNaC::possymbol("p_m"),
                                        GiNaC::possymbol("p_c"), GiNaC::possymbol("p_r")};
  AnyRung<Expression> rung;
  rung.dimension = 6;
  rung.state_names = {"w_0", "d", "s", "u", "ln_alpha", "ln_beta"};
  rung.initial.resize(6);
  rung.initial << GiNaC::symbol("w_0"), GiNaC::symbol("d"), GiNaC::symbol("s"), GiNaC::symbol("u"),
      GiNaC::symbol("ln_alpha", "\\ln\\alpha"), GiNaC::symbol("ln_beta", "\\ln\\beta");
  const Vector<Expression> x = rung.initial;
  const Expression loss =
      landscape(law, BlockValue<Expression>{x[0], x[1], x[2], x[3]})(exp(x[4]), exp(x[5]));
  const int v = static_cast<int>(law.words);
  const int words = static_cast<int>(law.topics * law.words);
  const std::vector<int> entries{words, words,          words * (v - 1), words * (words - v),
                                 words, words * (v - 1)};
  rung.field.value = [loss, x, entries, trained](const Vector<Expression>&, Vector<Expression>& dx,
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

// ---- the table ---------------------------------------------------------------------------------

/// Matrices of the instance; what is left for `state` are the numbers of the reduced rungs.
const std::vector<StartKey> start_keys{
    {"W_K_", "W_K"}, {"W_Q_", "W_Q"}, {"W_V_", "W_V"}, {"W_E_", "W_E"}};

Rung startable(Rung rung) {
  if (!rung.make_over_symbols) {
    rung.why_no_symbols =
        "has no short equations: sums over subsets of products of matrices, or no right-hand side; "
        "take block-reduced";
  }
  return with_given_state(rung, fmt::format("topic {}", rung.info.name), start_keys);
}

std::vector<Rung> whole_rungs() {
  using namespace parameter;
  const auto observables = PopulationFlow::observables();
  const Rung sgd =
      startable({.info = {"sgd", RungKind::random, "SGD on documents of N tokens",
                          "O(Tv) a pair of words in a document and O(d_a (Tv)^2) a step", "",
                          "20000", "1", 32},
                 .reads = of_whole_matrices() +
                          parameter_table(N, label_noise, longer, documents, concentration, corpus),
                 .observables = observables,
                 .make = sampled});
  const Rung gd{.info = {"gd", RungKind::descent, "the same on the expected gradient",
                         "that of flow", "", "20000", "1"},
                .reads = of_whole_matrices(),
                .observables = observables,
                .make = expected};
  const Rung flow{.info = {"flow", RungKind::flow, "population flow of W_K, W_Q, W_V (and W_E)",
                           "O((d_a + Tv) (Tv)^2 + Tv C(T, tau) tau^2) an evaluation", "", "20000"},
                  .reads = of_whole_matrices(),
                  .observables = observables,
                  .make = expected};
  const Rung stages{
      .info = {"two-stage", RungKind::flow, "W_V under uniform attention, then only W_K and W_Q",
               "that of flow", "", "100000"},
      .reads = of_whole_matrices() + parameter_table(switch_time),
      .observables = observables,
      .make = two_stage};
  return {sgd,
          moments_of(sgd, "topic",
                     [](const Parameters& p, std::uint64_t seed) {
                       return PopulationFlow(topic::training(p, seed)).why_not_known();
                     }),
          startable(gd), startable(flow), startable(stages)};
}

std::vector<Rung> symmetric_rungs() {
  using namespace parameter;
  const Rung matrices = Rung{.info = {"symmetric", RungKind::flow,
                                      "flow on matrices that permutations of words leave unchanged",
                                      "O(1) an evaluation, for any T, tau and v", "", "20000"},
                             .reads = of_every_rung() + parameter_table(d_a, sigma, state),
                             .observables = SymmetricFlow<double>::observables()}
                            .made_by([]<class T>(const Parameters& p, std::uint64_t /*seed*/) {
                              return symmetric<T>(p);
                            });
  const Rung blocks = Rung{.info = {"block-reduced", RungKind::flow,
                                    "W_V and logits on their symmetric forms, six numbers",
                                    "O(1) an evaluation, for any T, tau and v", "", "100000"},
                           .reads = of_every_rung() + parameter_table(train, state),
                           .observables = BlockFlow<double>::observables(),
                           .make_over_symbols = symbolic_blocks}
                          .made_by([]<class T>(const Parameters& p, std::uint64_t /*seed*/) {
                            return block_reduced<T>(p);
                          });
  const Rung best =
      Rung{.info = {"optimum", RungKind::closed_form,
                    "the best attention for W_V block or diagonal", "O(1) a time", "", "1"},
           .reads = of_every_rung() + parameter_table(lambda),
           .observables = BlockFlow<double>::observables()}
          .made_by(
              []<class T>(const Parameters& p, std::uint64_t /*seed*/) { return optimum<T>(p); });
  return {startable(matrices), startable(blocks), startable(best)};
}

constexpr const char* notation = R"(
All columns are functions of the matrices on infinitely long documents, in `sgd` too: `loss` is the
population loss, not that of a minibatch, and with `label_noise` that of the noisy labels. Attention
is that of the layer, at its `temperature`. `Z_i = sum_j pt_j exp(s_ji)`, and attention is averaged over
query words `i` and documents with the topic of `i`.
)";

std::shared_ptr<const Examination> audit_of_run(std::string_view name, const Parameters& p,
                                                std::uint64_t seed, const AnyRung<double>& /*made*/,
                                                const Trajectory<double>& run) {
  if (name != "sgd" || !given(p, parameter::corpus)) return nullptr;
  return std::make_shared<Examination>(audit_corpus(training(p, seed), run.last_state));
}

}  // namespace

std::shared_ptr<const Model> make_model() {
  // Small enough for an ensemble on the whole matrices.
  const Record small{{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"N", "64"}};
  std::vector<Rung> rungs = whole_rungs();
  for (Rung& rung : symmetric_rungs()) rungs.push_back(std::move(rung));
  return std::make_shared<const Model>(ModelTable{
      .name = "topic",
      .paper = "Li, Li, Risteski: How Do Transformers Learn Topic Structure: Towards a Mechanistic "
               "Understanding, arXiv 2303.04245",
      .rungs = std::move(rungs),
      .notation = notation,
      .ladder = {{"sgd", "gd", "long documents, the full batch in place of a sampled one", "300",
                  small},
                 {"gd", "flow", "steps of length 0", "300", small},
                 {"flow", "two-stage", "attention waits until W_V has converged", "3000", small},
                 {"flow", "symmetric", "a start that permutations of words leave unchanged", "3000",
                  small}},
      .regimes = {{"end-of-stage-1", "norm_W_V", RegimeKind::settling},
                  {"plateau", "loss", RegimeKind::plateau}},
      .audit = audit_of_run});
}

}  // namespace popgrad::topic
