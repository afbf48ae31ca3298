#include "theorems/scb/rungs/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/moments_rung.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/lumped_moments.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/noisy_descent.hpp"
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
  rung.rhs = nullptr;
  rung.jacobian = nullptr;
  rung.state_at = [=](const T& t) {
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
constexpr std::array<StartKey, 3> start_keys{{{"V_", "V"}, {"a_", "A"}, {"w_", "A"}}};

template <class T>
AnyRung<T> make_rung(std::string_view name, const Training<T>& training) {
  if (name == "closed-form" || name == "hyperbola")
    return closed_form(training, name == "hyperbola");
  if (name == "reduced") {
    AnyRung<T> rung = forget_type(ReducedFlow<T>(training));
    return rung;
  }
  return forget_type(PopulationFlow<T>(training));
}

class Scb final : public Model {
 public:
  [[nodiscard]] std::string name() const override { return "scb"; }
  [[nodiscard]] std::string paper() const override {
    return "Ren, Wang, Lee: Learning and Transferring Sparse Contextual Bigrams with Linear "
           "Transformers, arXiv 2410.23438";
  }

  [[nodiscard]] std::vector<RungInfo> rungs() const override {
    const RungInfo sgd{"sgd",
                       RungKind::random,
                       "SGD on sampled sequences, dense attention",
                       "O(B (T + N^2)) a step, memory O(N T)",
                       "",
                       "20000",
                       "0.01",
                       64};
    RungInfo moments = moments_info(sgd);
    moments.cost +=
        "; linear, projected, from a^k = 1/T, plain steps: O(N Q) a step whatever T is, O(N^3) to "
        "set up";
    return {
        sgd,
        moments,
        {"noisy", RungKind::random, "expected gradient plus Gaussian noise, dense attention",
         "N T normals and O(N T + N^2) a step; no --optimiser", "", "20000", "0.01", 64},
        {"noisy-lumped", RungKind::random, "the law of noisy without its T coordinates",
         "O(N^2 + N Q) a step, whatever T is; no --optimiser", "", "20000", "0.01", 64},
        {"gd", RungKind::descent, "the same on the expected gradient", "O(N^2 + N Q) a step", "",
         "20000", "0.01"},
        {"flow", RungKind::flow, "population flow of values and attention",
         "O(N^2 + N Q) an evaluation, whatever T is", "", "200"},
        {"reduced", RungKind::flow, "alpha_V and alpha_A, and what a transfer start adds",
         "O(1) an evaluation", "", "200"},
        {"closed-form", RungKind::closed_form, "near 0: M^{-1} (e^{Mt} - I) b", "O(1) a time", "",
         "20"},
        {"hyperbola", RungKind::closed_form,
         "along alpha_A alpha_V = 1, from the balanced point on", "O(1) a time, to O(1/T)", "",
         "50000"},
    };
  }

  [[nodiscard]] std::vector<LadderStep> ladder() const override {
    // Short enough for ensembles on whole matrices.
    const Record short_context{{"T", "50"}};
    return {
        {"sgd", "noisy", "Gaussian noise in place of sampled sequences", "20", short_context},
        {"noisy", "noisy-lumped", "none: the same law, without its T coordinates", "20",
         short_context},
        {"noisy-lumped", "gd", "no noise", "20", short_context},
        {"gd", "flow", "steps of length 0", "20", short_context},
        {"flow", "reduced", "all of V and A but their components along P and Q vanish", "20",
         short_context},
        {"reduced", "closed-form", "linearised at 0", "5", short_context},
    };
  }

  [[nodiscard]] std::vector<Regime> regimes() const override {
    // Stage 1 carries V and A together from 0 to alpha_A alpha_V = 1.
    return {{"end-of-stage-1", "alpha_V", RegimeKind::settling},
            {"closest", "dist_P", RegimeKind::minimum},
            {"plateau", "loss", RegimeKind::plateau}};
  }

  [[nodiscard]] std::vector<ParameterInfo> parameters() const override { return parameter_infos(); }

  [[nodiscard]] AnyRung<double> rung(std::string_view name, const Parameters& p,
                                     std::uint64_t seed) const override {
    if (name == "moments") return moments(p, seed);
    AnyRung<double> rung = rung_from_matrices(name, p, seed);
    set_state(rung, p, fmt::format("scb {}", name), start_keys);
    return rung;
  }

  [[nodiscard]] AnyRung<Real> rung_in_digits(std::string_view name, const Parameters& p,
                                             std::uint64_t seed) const override {
    if (name == "sgd" || name == "moments" || name == "gd" || name == "noisy" ||
        name == "noisy-lumped") {
      reject("scb " + std::string(name), "--digits", std::to_string(digits()),
             "is for flows and closed forms; training steps run in double");
    }
    AnyRung<Real> rung = make_rung<Real>(name, training<Real>(p, seed));
    set_state(rung, p, fmt::format("scb {}", name), start_keys);
    return rung;
  }

  [[nodiscard]] AnyRung<Expression> symbolic_rung(std::string_view name,
                                                  const Parameters& p) const override {
    if (name == "moments") reject("scb", "rung", name, moments_have_no_equations);
    if (name == "closed-form" || name == "hyperbola") {
      reject("scb", "rung", name, "has no right-hand side; take reduced instead");
    }
    if (name == "reduced") {
      AnyRung<Expression> rung = forget_type(ReducedFlow<Expression>(
          GiNaC::possymbol("K_P"), GiNaC::possymbol("K_Q"), GiNaC::possymbol("T"),
          GiNaC::possymbol("mu2", "|\\mu|^2"), 0, 0));
      rung.initial << GiNaC::symbol("alpha_V", "\\alpha_V"), GiNaC::symbol("alpha_A", "\\alpha_A"),
          GiNaC::symbol("w");
      return rung;
    }
    // Two tokens, one position each that they look at; T stays a number.
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

 private:
  [[nodiscard]] AnyRung<double> moments(const Parameters& p, std::uint64_t seed) const {
    const Training<double> made = training<double>(p, seed);
    const Index n = made.bigrams.tokens();
    // What is particular about these, the dense rung says.
    const bool plain = read(p, parameter::algorithm) == "plain" && !p.has(state_key);
    if (plain && !has_faults(made) && made.bigrams.context > largest_full_covariance / n - n) {
      return lumped_moments_rung(made);
    }
    return moments_rung(
        rung("sgd", p, seed), "scb",
        read(p, parameter::algorithm) == "plain"
            ? ""
            : "--algorithm with thresholds and l1 steps sets small entries to 0, and "
              "which ones differs from run to run, so that runs do not scatter "
              "normally about one of them; give --algorithm plain");
  }

  static bool is_dense(std::string_view name) { return name == "sgd" || name == "noisy"; }

  static Training<double> training_of_rung(std::string_view name, const Parameters& p,
                                           std::uint64_t seed) {
    Training<double> made = training<double>(p, seed);
    if (name != "sgd") {
      made.label_noise = 0;  // of sequences alone, as the table of parameters says
      made.temperature = 1;
      made.query_last = false;
    }
    if (is_dense(name) && made.bigrams.context > most_dense / made.bigrams.tokens()) {
      reject("scb " + std::string(name), "--T", std::to_string(made.bigrams.context),
             fmt::format(
                 "needs N T <= {} numbers of memory; noisy-lumped, flow, gd and reduced do not "
                 "depend on T",
                 most_dense));
    }
    return made;
  }

  static AnyRung<double> rung_from_matrices(std::string_view name, const Parameters& p,
                                            std::uint64_t seed) {
    const Training<double> made = training_of_rung(name, p, seed);
    const bool gaussian = name == "noisy" || name == "noisy-lumped";
    const bool steps = is_dense(name) || gaussian || name == "gd";
    NoiseLevels levels;
    if (gaussian) levels = noise_levels(p, made, seed);
    if (steps && in_three_parts(p, name)) {
      constexpr const char* rule = "belongs to --algorithm plain";
      refuse_given(p, "scb", parameter::label_noise, rule);
      refuse_given(p, "scb", parameter::temperature, rule);
      refuse_given(p, "scb", parameter::query_position, rule);
      if (name == "sgd") return forget_type(ThreePartDescent(made, schedule(p)));
      if (name == "noisy") return forget_type(ThreePartDescent(made, schedule(p), levels));
      if (name == "gd") levels.attention = Vector<double>::Zero(made.bigrams.tokens());
      return forget_type(LumpedThreePart(made, schedule(p), levels));
    }
    if (name == "noisy-lumped") return forget_type(LumpedDescent(made, levels));
    if (name == "noisy") return forget_type(NoisyDescent(made, levels));
    if (name == "sgd") return forget_type(SequenceSgd<double>(made));
    return make_rung(name, made);
  }
};

}  // namespace

std::unique_ptr<Model> make_model() { return std::make_unique<Scb>(); }

}  // namespace popgrad::scb
