#include "theorems/joma/rungs/model.hpp"

#include <fmt/format.h>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/enumerations.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/joma/rungs/stationary_flow.hpp"

namespace popgrad::joma {
namespace {

void require_exp(Attention attention) {
  if (attention == Attention::exp) return;
  reject("joma attended", "--attention", attention == Attention::softmax ? "softmax" : "linear",
         "must be exp: only there is v' = a o G(a o v) exact; take reduced instead");
}

template <class T>
PopulationFlow<T> training_flow(const Parameters& p, std::uint64_t seed) {
  return PopulationFlow<T>(class_instance<T>(p, seed));
}

AnyRung<double> sampled_training(const Parameters& p, std::uint64_t seed) {
  return forget_type(training_flow<double>(p, seed));
}

template <class T>
AnyRung<T> expected_training(const Parameters& p, std::uint64_t seed) {
  return without_draws(forget_type(training_flow<T>(p, seed)));
}

// Of the rungs in which z follows from v.
template <class T>
ReducedInstance<T> instance_without_logits(std::string_view rung, const Parameters& p,
                                           std::uint64_t seed) {
  ReducedInstance<T> instance = reduced_instance<T>(p, seed);
  const std::string where = fmt::format("joma {}", rung);
  if (instance.attention != Attention::linear) {
    if (!given(p, parameter::z0)) return instance;
    reject(where, "z0", "given",
           "is read only by linear attention: here z = sum v^2/(2T) follows from v; leave it out, "
           "or take the rung 'stationary'");
  }
  if (instance.nonlinear || instance.units() != 1) {
    reject(where, "--attention", "linear",
           "needs one hidden unit and delta (linear phi); give delta, or use exp attention");
  }
  for (Index l = 0; l < instance.tokens(); ++l) {
    const T c =
        instance.logits[l] * instance.logits[l] - instance.start(l, 0) * instance.start(l, 0);
    if (c < T(0)) {
      reject(where, "z0", std::to_string(to_double(instance.logits[l])),
             fmt::format("at token {} makes z0^2 - v0^2 negative; it must be >= 0", l));
    }
  }
  return instance;
}

AnyRung<double> network(const Parameters& p, std::uint64_t seed) {
  AnyRung<double> rung = forget_type(MultilayerFlow<double>(multilayer_instance(p, seed)));
  // A Jacobian takes n evaluations in dual numbers and n^2 numbers.
  constexpr Index largest_jacobian = 500;
  if (rung.dimension > largest_jacobian) rung.field.jacobian = nullptr;
  return rung;
}

AnyRung<double> network_without_draws(const Parameters& p, std::uint64_t seed) {
  return without_draws(network(p, seed));
}

// ---- symbols -----------------------------------------------------------------------------------

GiNaC::ex indexed(const std::string& name, const std::string& latex, Index l, Index k = -1) {
  if (k < 0) {
    return GiNaC::symbol(fmt::format("{}_{}", name, l), fmt::format("{}_{{{}}}", latex, l));
  }
  return GiNaC::symbol(fmt::format("{}_{}_{}", name, l, k),
                       fmt::format("{}_{{{},{}}}", latex, l, k));
}

Matrix<Expression> symbols(const std::string& name, const std::string& latex, Index rows,
                           Index cols, bool one_index) {
  Matrix<Expression> m(rows, cols);
  for (Index k = 0; k < cols; ++k) {
    for (Index l = 0; l < rows; ++l) {
      m(l, k) = one_index ? indexed(name, latex, l) : indexed(name, latex, l, k);
    }
  }
  return m;
}

AnyRung<Expression> symbolic_reduced(std::string_view name, const Parameters& p) {
  // The shape and the switches come from the instance; its numbers become symbols.
  ReducedInstance<double> numbers = reduced_instance<double>(p, 0);
  const bool numbered = given(p, parameter::mu) || given(p, parameter::delta);
  const Index d = numbered ? numbers.tokens() : 3;
  const Index units = numbers.units();
  ReducedInstance<Expression> instance;
  instance.nonlinear = numbers.nonlinear;
  instance.attended = name == "attended";
  if (instance.attended) require_exp(numbers.attention);
  instance.attention = numbers.attention;
  instance.target = numbers.nonlinear ? symbols("mu", "\\mu", d, units, units == 1)
                                      : symbols("Delta", "\\Delta", d, units, units == 1);
  instance.start = symbols("v", "v", d, units, units == 1);
  instance.logits = symbols("z", "z", d, 1, true);
  const GiNaC::possymbol temperature("T", "T");
  instance.tau = name == "stationary" ? Expression(2 * GiNaC::pow(temperature, 2))
                                      : Expression(GiNaC::possymbol("tau", "\\tau"));
  if (name == "stationary") return forget_type(StationaryFlow<Expression>(instance));
  return forget_type(ReducedFlow<Expression>(instance));
}

AnyRung<Expression> symbolic_training(const Parameters& p) {
  const Index tokens = 2;
  const Index classes = 2;
  ClassInstance<Expression> instance;
  instance.attention = attention_of(p);
  instance.phi = phi_of(p);
  instance.token_law = symbols("X", "X", tokens, classes, false);
  instance.class_law = Vector<Expression>::Constant(classes, Expression(1) / Expression(classes));
  instance.features.residual = read(p, parameter::residual);
  instance.features.normalise = read(p, parameter::normalise);
  const Index rows = tokens + (instance.features.residual ? 1 : 0);
  instance.weights = symbols("v", "v", rows, classes, false);
  if (instance.features.residual) {
    for (Index k = 0; k < classes; ++k) instance.weights(tokens, k) = indexed("query", "\\beta", k);
  }
  instance.logits = symbols("z", "z", tokens, 1, true);
  if (instance.phi != Activation::linear || given(p, parameter::decoder)) {
    instance.decoder = symbols("O", "O", classes, classes, false);
  }
  instance.temperature = GiNaC::possymbol("T", "T");
  if (given(p, parameter::label_noise)) instance.label_noise = GiNaC::possymbol("rho", "\\rho");
  return forget_type(PopulationFlow<Expression>(instance));
}

// ---- the table ---------------------------------------------------------------------------------

std::vector<Rung> training_rungs() {
  using parameter::of_training;
  const std::vector<ObservableInfo> observables = PopulationFlow<double>::observables();
  const Rung sgd{
      .info = {"sgd", RungKind::random, "SGD of hidden weights and attention on sampled classes",
               "O(C M_C K) a step (law) or O(B (length + M_C K)) (sampled tokens)", "", "2000"},
      .reads = of_training() + parameter_table(parameter::length),
      .observables = observables,
      .make = sampled_training,
      .make_over_symbols = symbolic_training};
  const Rung flow =
      Rung{.info = {"flow", RungKind::flow,
                    "population flow of weights and attention, no stationarity assumed",
                    "O(M_C K) a class and evaluation", "", "200"},
           .reads = of_training(),
           .observables = observables,
           .make_over_symbols = symbolic_training}
          .made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
            return expected_training<T>(p, seed);
          });
  const Rung gd{.info = {"gd", RungKind::descent, "the same on the full batch", "O(C M_C K) a step",
                         "", "2000"},
                .reads = of_training(),
                .observables = observables,
                .make = flow.make,
                .make_over_symbols = symbolic_training};
  return {sgd,
          moments_of(sgd, "joma",
                     [](const Parameters& /*p*/, std::uint64_t /*seed*/) {
                       return "sequences of --length tokens are too many to run through, and too "
                              "short for an expansion; give --length 1000 or more, or 0 for long "
                              "ones";
                     }),
          gd, flow};
}

std::vector<Rung> reduced_rungs() {
  const auto reads = parameter::of_target();
  const char* const without = "without largest_delta for linear phi";
  const Rung stationary = Rung{
      .info = {"stationary", RungKind::flow,
               "expected gradients frozen (Assumption 1), v and z kept", "O(M_C K) an evaluation",
               "", "100"},
      .reads = reads,
      .observables = StationaryFlow<double>::observables(),
      .make_over_symbols = [](const Parameters& p) {
        return symbolic_reduced("stationary", p);
      }}.made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
    return forget_type(StationaryFlow<T>(reduced_instance<T>(p, seed)));
  });
  const Rung reduced = Rung{
      .info = {"reduced", RungKind::flow,
               "JoMA flow: z eliminated by the invariant, only v is left",
               "O(M_C K) an evaluation, no allocation", without, "100"},
      .reads = reads,
      .observables = ReducedFlow<double>::observables(),
      .make_over_symbols = [](const Parameters& p) {
        return symbolic_reduced("reduced", p);
      }}.made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
    return forget_type(ReducedFlow<T>(instance_without_logits<T>("reduced", p, seed)));
  });
  const Rung attended = Rung{
      .info = {"attended", RungKind::flow,
               "JoMA flow whose fixed point moves with attention: mu - a o v in place of mu - v",
               "O(M_C K) an evaluation, no allocation", without, "100"},
      .reads = reads,
      .observables = ReducedFlow<double>::observables(),
      .make_over_symbols = [](const Parameters& p) {
        return symbolic_reduced("attended", p);
      }}.made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
    ReducedInstance<T> instance = instance_without_logits<T>("attended", p, seed);
    require_exp(instance.attention);
    instance.attended = true;
    return forget_type(ReducedFlow<T>(std::move(instance)));
  });
  const Rung closed_form =
      Rung{.info = {"closed-form", RungKind::closed_form,
                    "one hidden unit: erf, sinh or quadrature token by token", "O(M_C) a time",
                    without, "100"},
           .reads = reads,
           .observables = ReducedFlow<double>::observables(),
           .why_no_symbols =
               "has no right-hand side; theorems/joma/rungs/closed_form.hpp has its formulas, take "
               "reduced instead"}
          .made_by([]<class T>(const Parameters& p, std::uint64_t seed) {
            return closed_form_rung<T>(instance_without_logits<T>("closed-form", p, seed));
          });
  return {stationary, reduced, attended, closed_form};
}

std::vector<Rung> network_rungs() {
  Rung sgd{
      .info = {"multilayer-sgd", RungKind::random, "SGD of 1 to 3 layers on sequences of tokens",
               "O(S (d^2 + d width)) a layer and step, S the columns of the sequences drawn", "",
               "500"},
      .reads = parameter::of_several_layers(),
      .observables = MultilayerFlow<double>::observables(),
      .make = network,
      .why_no_symbols = "has no form over symbols; take flow, of one layer"};
  Rung gd = sgd;
  gd.info = {"multilayer-gd",
             RungKind::descent,
             "the same on the full batch",
             "O(S (d^2 + d width)) a layer and step, S the columns of all sequences",
             "",
             "500"};
  gd.make = network_without_draws;
  Rung flow = gd;
  flow.info = {"multilayer-flow",
               RungKind::flow,
               "population flow of 1 to 3 layers, nothing of the theory assumed",
               "that of multilayer-gd",
               "",
               "20"};
  return {with_given_state(sgd, "joma multilayer-sgd"), with_given_state(gd, "joma multilayer-gd"),
          with_given_state(flow, "joma multilayer-flow")};
}

std::vector<LadderStep> ladder() {
  // Four tokens in two classes, three of them common; what the closed form takes is one unit.
  const Record law{{"X", {{"0.5", "0.05"}, {"0.1", "0.55"}, {"0.1", "0.1"}, {"0.3", "0.3"}}}};
  const Record one_unit{{"delta", {"0.5", "1", "1.5"}}};
  const Record near_target{{"mu", {"1", "1.5", "2"}}};
  const Record layers{{"d", "8"},
                      {"latents", Value::List{"6", "4"}},
                      {"children", Value::List{"2", "2"}},
                      {"phi", "gelu"}};
  return {
      {"sgd", "gd", "the full batch in place of a sampled one", "40", law},
      {"gd", "flow", "steps of length 0", "40", law},
      {"flow", "stationary", "Assumption 1: back-propagated gradients stay as at the start", "2",
       law},
      {"stationary", "reduced", "Theorem 1: the invariant gives z from v", "0.7", one_unit, true},
      {"attended", "reduced", "Eqn 10: attention does not scale the argument of phi'", "2",
       near_target, true},
      {"reduced", "closed-form", "one hidden unit: solved token by token", "0.7", one_unit, true},
      {"multilayer-sgd", "multilayer-gd", "the full batch in place of a sampled one", "5", layers},
      {"multilayer-gd", "multilayer-flow", "steps of length 0", "5", layers},
  };
}

constexpr const char* notation = R"(
`V` is `v` without the query row (`M_C x K`); `m` stands for `b_bar`, `E[x]` down to `flow` and `1/M_C` on
`stationary`. `R` and corr (`h` a hidden unit at the last position, `y` a latent, over sequences) are

    `R = z^2 - sum_k v_k^2`                            `attention = linear`
      `= z - (1/2T) sum_k v_k^2`                       exp
      `= z - (1/2T) (sum_k v_k^2 - |V|_F^2 m)`         softmax
    corr `= E[(h - E h)(E[y | sequence] - E y)] / (sd(h) sqrt(E y (1 - E y)))`
)";

std::vector<Rung> rungs() {
  std::vector<Rung> all = training_rungs();
  for (const std::vector<Rung>& more : {reduced_rungs(), network_rungs()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

std::shared_ptr<const Model> make_model() {
  return std::make_shared<const Model>(ModelTable{
      .name = "joma",
      .paper = "Tian, Wang, Zhang, Chen, Du: JoMA, Demystifying Multilayer Transformers via Joint "
               "Dynamics of MLP and Attention, arXiv 2310.00535",
      .rungs = rungs(),
      .notation = notation,
      .ladder = ladder(),
      .regimes = {{"entropy-minimum", "attention_entropy", RegimeKind::minimum},
                  {"rebound", "attention_entropy", RegimeKind::rebound},
                  {"plateau", "loss", RegimeKind::plateau}}});
}

}  // namespace popgrad::joma
