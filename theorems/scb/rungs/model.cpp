#include "theorems/scb/rungs/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/lumped_moments.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"
#include "theorems/scb/rungs/observables.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb {
namespace {

/// Numbers of a dense attention matrix that a run may hold: 8 GB.
constexpr Index most_dense = 1'000'000'000;

// Near 0 by the matrix exponential, or along the hyperbola; from mu 1' only.
template <class T>
AnyRung<T> closed_form(const Training<T>& training, bool late) {
  ReducedFlow<T> flow(training);
  if (training.start != training.bigrams.stationary *
                            Vector<T>::Constant(training.bigrams.tokens(), T(1)).transpose()) {
    reject(late ? "scb hyperbola" : "scb closed-form", "--start", "other than stationary",
           "has no such form; use the rung 'reduced'");
  }
  if (training.attention_start.size() > 0) {
    reject(late ? "scb hyperbola" : "scb closed-form", "A", "given",
           "has no such form: A begins at 1/T; use the rung 'reduced'");
  }
  const T transition = transition_size(training.bigrams);
  const T context = context_size(training.bigrams);
  const T positions(static_cast<int>(training.bigrams.context));
  AnyRung<T> rung = forget_type(std::move(flow));
  rung.field.value = nullptr;
  rung.field.jacobian = nullptr;
  rung.field.state_at = [=](const T& t) {
    Vector<T> x = Vector<T>::Constant(3, T(0));
    x.head(2) = late ? along_hyperbola(transition, context, positions, t)
                     : linearised(transition, context, positions, t);
    return x;
  };
  return rung;
}

// V = P, A = Q, as a state of the rung sgd.
Vector<double> solution(const Bigrams<double>& b) {
  const Index n = b.tokens();
  Vector<double> x = Vector<double>::Zero(n * (n + b.context));
  x.head(n * n) = b.transition.reshaped();
  for (Index k = 0; k < n; ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      x[n * n + k * b.context + b.position[static_cast<std::size_t>(e)]] = b.law[e];
    }
  }
  return x;
}

// Levels of one sample at the solution, unless given or measured.
NoiseLevels noise_levels(const Parameters& p, const Training<double>& made, std::uint64_t seed) {
  const Bigrams<double>& bigrams = made.bigrams;
  const std::string shape = read(p, parameter::noise);
  NoiseLevels levels = noise_at_solution(bigrams);
  if (shape == "calibrated") {
    constexpr Index most_piloted = 10'000'000;
    if (bigrams.context > most_piloted / bigrams.tokens()) {
      reject("scb", "--noise", "calibrated",
             fmt::format("draws sequences, which needs N T <= {}; measure at a smaller T and give "
                         "--sigma_V and --sigma_A",
                         most_piloted));
    }
    const bool at_start = read(p, parameter::pilot_at) == "start";
    levels =
        noise_from_pilot(made, at_start ? SequenceSgd<double>(made).initial() : solution(bigrams),
                         read(p, parameter::pilot), seed);
  } else {
    refuse_given(p, "scb", parameter::pilot, "belongs to --noise calibrated");
    refuse_given(p, "scb", parameter::pilot_at, "belongs to --noise calibrated");
  }
  levels.shape = shape == "multiplicative" ? NoiseShape::multiplicative : NoiseShape::constant;
  levels.value = read_or(p, parameter::sigma_V, levels.value);
  if (given(p, parameter::sigma_A)) {
    levels.attention.setConstant(read_or(p, parameter::sigma_A, 0.0));
  }
  return levels;
}

Schedule schedule(const Parameters& p) {
  Schedule s;
  s.transfer = read(p, parameter::algorithm) == "transfer";
  s.boost_until = read_or(p, parameter::boost_until, s.boost_until);
  s.boost_steps = static_cast<std::uint64_t>(read(p, parameter::boost_steps));
  s.threshold = read<double>(p, parameter::threshold);
  s.l1_step = read<double>(p, parameter::l1_step);
  s.l1_weight = read<double>(p, parameter::l1_weight);
  s.l1_steps = static_cast<std::uint64_t>(read(p, parameter::l1_steps));
  return s;
}

bool in_three_parts(const Parameters& p, std::string_view rung) {
  if (read(p, parameter::algorithm) != "plain") return true;
  const auto refuse = [&](const auto&... of_parts) {
    (refuse_given(p, "scb " + std::string(rung), of_parts,
                  "belongs to --algorithm three-part or transfer"),
     ...);
  };
  refuse(parameter::boost_until, parameter::boost_steps, parameter::threshold, parameter::l1_step,
         parameter::l1_weight, parameter::l1_steps);
  return false;
}

// Faults that the three parts and the lumped moments do not have.
bool has_faults(const Training<double>& training) {
  return training.label_noise != 0 || training.temperature != 1 || training.query_last;
}

/// Matrices of the instance; what is left for `state` are the numbers of the reduced rungs.
const std::vector<StartKey> start_keys{{"V_", "V"}, {"a_", "A"}, {"w_", "A"}};

// Without what only sampled sequences have.
template <class T>
Training<T> expected_training(const Parameters& p, std::uint64_t seed) {
  Training<T> made = training<T>(p, seed);
  made.label_noise = T(0);
  made.temperature = T(1);
  made.query_last = false;
  return made;
}

void require_dense(std::string_view rung, const Training<double>& made) {
  if (made.bigrams.context <= most_dense / made.bigrams.tokens()) return;
  reject(fmt::format("scb {}", rung), "--T", std::to_string(made.bigrams.context),
         fmt::format("needs N T <= {} numbers of memory; noisy-lumped, flow, gd and reduced do not "
                     "depend on T",
                     most_dense));
}

// The schedule of training in three parts, where it is asked for.
std::optional<Schedule> schedule_of(std::string_view rung, const Parameters& p) {
  if (!in_three_parts(p, rung)) return {};
  constexpr const char* rule = "belongs to --algorithm plain";
  refuse_given(p, "scb", parameter::label_noise, rule);
  refuse_given(p, "scb", parameter::temperature, rule);
  refuse_given(p, "scb", parameter::query_position, rule);
  return schedule(p);
}

AnyRung<double> sampled(const Parameters& p, std::uint64_t seed) {
  const Training<double> made = training<double>(p, seed);
  require_dense("sgd", made);
  if (const auto parts = schedule_of("sgd", p)) return forget_type(ThreePartDescent(made, *parts));
  return forget_type(SequenceSgd<double>(made));
}

AnyRung<double> noisy(const Parameters& p, std::uint64_t seed) {
  const auto made = expected_training<double>(p, seed);
  require_dense("noisy", made);
  const NoiseLevels levels = noise_levels(p, made, seed);
  if (const auto parts = schedule_of("noisy", p)) {
    return forget_type(ThreePartDescent(made, *parts, levels));
  }
  return forget_type(NoisyDescent(made, levels));
}

AnyRung<double> noisy_lumped(const Parameters& p, std::uint64_t seed) {
  const auto made = expected_training<double>(p, seed);
  const NoiseLevels levels = noise_levels(p, made, seed);
  if (const auto parts = schedule_of("noisy-lumped", p)) {
    return forget_type(LumpedThreePart(made, *parts, levels));
  }
  return forget_type(LumpedDescent(made, levels));
}

AnyRung<double> descent(const Parameters& p, std::uint64_t seed) {
  const auto made = expected_training<double>(p, seed);
  if (const auto parts = schedule_of("gd", p)) {
    NoiseLevels none;
    none.attention = Vector<double>::Zero(made.bigrams.tokens());
    return forget_type(LumpedThreePart(made, *parts, none));
  }
  return forget_type(PopulationFlow<double>(made));
}

// ---- symbols -----------------------------------------------------------------------------------

AnyRung<Expression> symbolic_reduced(const Parameters& /*p*/) {
  AnyRung<Expression> rung = forget_type(
      ReducedFlow<Expression>(GiNaC::possymbol("K_P"), GiNaC::possymbol("K_Q"),
                              GiNaC::possymbol("T"), GiNaC::possymbol("mu2", "|\\mu|^2"), 0, 0));
  rung.initial << GiNaC::symbol("alpha_V", "\\alpha_V"), GiNaC::symbol("alpha_A", "\\alpha_A"),
      GiNaC::symbol("w");
  return rung;
}

AnyRung<Expression> symbolic_training(const Parameters& p) {
  // Two tokens, one position each that they attend to; T stays a number.
  Training<Expression> made;
  Bigrams<Expression>& b = made.bigrams;
  b.transition.resize(2, 2);
  b.stationary.resize(2);
  for (int i = 0; i < 2; ++i) {
    b.stationary[i] = GiNaC::possymbol(fmt::format("mu_{}", i), fmt::format("\\mu_{{{}}}", i));
    for (int k = 0; k < 2; ++k) {
      b.transition(i, k) =
          GiNaC::possymbol(fmt::format("P_{}_{}", i, k), fmt::format("P_{{{},{}}}", i, k));
    }
  }
  b.context = given(p, parameter::T) ? read(p, parameter::T) : 3;
  b.first = {0, 1, 2};
  b.position = {0, 1};
  b.law = Vector<Expression>::Constant(2, Expression(1));
  made.start = Matrix<Expression>::Constant(2, 2, Expression(0));
  made.attention_rate = GiNaC::possymbol("eta_A", "\\eta_A");
  made.softmax = read(p, parameter::attention) == "softmax";
  made.project = read(p, parameter::project);
  AnyRung<Expression> rung = forget_type(PopulationFlow<Expression>(made));
  for (Index i = 0; i < rung.dimension; ++i) {
    std::string latex = rung.state_names[static_cast<std::size_t>(i)];
    latex = fmt::format("{}_{{{}}}", latex[0], latex.substr(2));
    std::replace(latex.begin() + 2, latex.end(), '_', ',');
    rung.initial[i] = GiNaC::symbol(rung.state_names[static_cast<std::size_t>(i)], latex);
  }
  return rung;
}

// ---- the table ---------------------------------------------------------------------------------

Rung startable(const Rung& rung) {
  return with_given_state(rung, fmt::format("scb {}", rung.info.name), start_keys);
}

// Linear and projected from a^k = 1/T, large states go without the T coordinates.
Rung moments_of_sgd(const Rung& sgd) {
  Rung rung = moments_of(sgd, "scb", [](const Parameters& p, std::uint64_t /*seed*/) {
    return read(p, parameter::algorithm) == "plain"
               ? ""
               : "--algorithm with thresholds and l1 steps sets small entries to 0, and "
                 "which ones differs from run to run, so that runs do not scatter "
                 "normally about one of them; give --algorithm plain";
  });
  rung.info.cost +=
      "; linear, projected, from a^k = 1/T, plain steps: O(N Q) a step for any T, O(N^3) to "
      "set up";
  rung.predict = [in_full = rung.predict](const Parameters& p, std::uint64_t seed) {
    const Training<double> made = training<double>(p, seed);
    const Index n = made.bigrams.tokens();
    // What is particular about these, the dense rung says.
    const bool plain = read(p, parameter::algorithm) == "plain" && !p.has(state_key);
    if (plain && !has_faults(made) && made.bigrams.context > largest_full_covariance / n - n) {
      return std::make_shared<const Prediction>(lumped_moments(made));
    }
    return in_full(p, seed);
  };
  return rung;
}

std::vector<Rung> stepped_rungs() {
  using namespace parameter;
  const auto observables = observables_in_parts();
  const Rung sgd =
      startable({.info = {"sgd", RungKind::random, "SGD on sampled sequences, dense attention",
                          "O(B (T + N^2)) a step, memory O(N T)", "", "20000", "0.01", 64},
                 .reads = of_steps() + parameter_table(label_noise, temperature, query_position),
                 .observables = observables,
                 .make = sampled,
                 .make_over_symbols = symbolic_training});
  const Rung dense{
      .info = {"noisy", RungKind::random, "expected gradient plus Gaussian noise, dense attention",
               "N T normals and O(N T + N^2) a step; no --optimiser", "", "20000", "0.01", 64},
      .reads = of_gaussian_steps(),
      .observables = observables,
      .make = noisy,
      .make_over_symbols = symbolic_training};
  const Rung lumped{
      .info = {"noisy-lumped", RungKind::random, "the law of noisy without its T coordinates",
               "O(N^2 + N Q) a step, for any T; no --optimiser", "", "20000", "0.01", 64},
      .reads = of_gaussian_steps(),
      .observables = observables,
      .make = noisy_lumped,
      .make_over_symbols = symbolic_training};
  const Rung gd{.info = {"gd", RungKind::descent, "the same on the expected gradient",
                         "O(N^2 + N Q) a step", "", "20000", "0.01"},
                .reads = of_steps(),
                .observables = observables,
                .make = descent,
                .make_over_symbols = symbolic_training};
  return {sgd, moments_of_sgd(sgd), startable(dense), startable(lumped), startable(gd)};
}

std::vector<Rung> solved_rungs() {
  using namespace parameter;
  const Rung flow = Rung{.info = {"flow", RungKind::flow, "population flow of values and attention",
                                  "O(N^2 + N Q) an evaluation, for any T", "", "200"},
                         .reads = of_training(),
                         .observables = observables(),
                         .make_over_symbols = symbolic_training}
                        .made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
                          return forget_type(PopulationFlow<T>(expected_training<T>(p, seed)));
                        });
  const Rung reduced = Rung{.info = {"reduced", RungKind::flow,
                                     "alpha_V and alpha_A, and what a transfer start adds",
                                     "O(1) an evaluation", "", "200"},
                            .reads = of_integrated() + parameter_table(state),
                            .observables = observables(),
                            .make_over_symbols = symbolic_reduced}
                           .made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
                             return forget_type(ReducedFlow<T>(expected_training<T>(p, seed)));
                           });
  const Rung closed{.reads = of_every_rung(),
                    .observables = observables(),
                    .why_no_symbols = "has no right-hand side; take reduced instead"};
  Rung early = closed.made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
    return closed_form(expected_training<T>(p, seed), false);
  });
  early.info = {
      "closed-form", RungKind::closed_form, "near 0: M^{-1} (e^{Mt} - I) b", "O(1) a time", "",
      "20"};
  Rung late = closed.made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
    return closed_form(expected_training<T>(p, seed), true);
  });
  late.info = {"hyperbola",
               RungKind::closed_form,
               "along alpha_A alpha_V = 1, from the balanced point on",
               "O(1) a time, to O(1/T)",
               "",
               "50000"};
  return {startable(flow), startable(reduced), startable(early), startable(late)};
}

constexpr const char* notation = R"(
All are dimensionless. `reduced`, `closed-form` and `hyperbola` report them on their family: `dist_P`
`= sqrt(K_P (1 - alpha_V)^2 + w)`, `dist_Q` `= |1 - alpha_A| sqrt(K_Q - 1/T)`, `S_k = 1` (`w = 0` on the last
two).
)";

}  // namespace

std::shared_ptr<const Model> make_model() {
  // Short enough for ensembles on whole matrices.
  const Record short_context{{"T", "50"}};
  std::vector<Rung> rungs = stepped_rungs();
  for (Rung& rung : solved_rungs()) rungs.push_back(std::move(rung));
  return std::make_shared<const Model>(ModelTable{
      .name = "scb",
      .paper = "Ren, Wang, Lee: Learning and Transferring Sparse Contextual Bigrams with Linear "
               "Transformers, arXiv 2410.23438",
      .rungs = std::move(rungs),
      .notation = notation,
      .ladder = {{"sgd", "noisy", "Gaussian noise in place of sampled sequences", "20",
                  short_context},
                 {"noisy", "noisy-lumped", "none: the same law, without its T coordinates", "20",
                  short_context},
                 {"noisy-lumped", "gd", "no noise", "20", short_context},
                 {"gd", "flow", "steps of length 0", "20", short_context},
                 {"flow", "reduced", "all of V and A but their components along P and Q vanish",
                  "20", short_context},
                 {"reduced", "closed-form", "linearised at 0", "5", short_context}},
      // Stage 1 carries V and A together from 0 to alpha_A alpha_V = 1.
      .regimes = {{"end-of-stage-1", "alpha_V", RegimeKind::settling},
                  {"closest", "dist_P", RegimeKind::minimum},
                  {"plateau", "loss", RegimeKind::plateau}}});
}

}  // namespace popgrad::scb
