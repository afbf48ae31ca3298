#include "theorems/scan_snap/rungs/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "theorems/scan_snap/rungs/audit.hpp"
#include "theorems/scan_snap/rungs/closed_form.hpp"
#include "theorems/scan_snap/rungs/parameters.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap {
namespace {

/// Beside those of the default instance, which has classes N.
constexpr const char* column_note = "N are classes; f_N_L chi_N_L with --watch";

/// Matrices of the instance; what is left for `state` are h, S and B.
const std::vector<StartKey> start_keys{{"y_", "Y"}, {"z_", "Z"}};

// `y_0_other` as `y_{0,other}`: TeX takes one subscript.
std::string in_latex(const std::string& name) {
  const std::size_t first = name.find('_');
  if (first == std::string::npos) return name;
  std::string indices = name.substr(first + 1);
  std::replace(indices.begin(), indices.end(), '_', ',');
  return fmt::format("{}_{{{}}}", name.substr(0, first), indices);
}

template <class T>
TrainingInstance<T> instance_of(std::string_view name, Parameters p, std::uint64_t seed) {
  // The closed form is for one common token, which only this preset has.
  const bool standard = !given(p, parameter::P) && !given(p, parameter::P_tokens) &&
                        !given(p, parameter::corpus) && !given(p, parameter::preset);
  if (name == "closed-form" && standard) {
    p.set(parameter::preset.name, read(p, parameter::preset, "for closed-form"));
  }
  TrainingInstance<T> instance = training_instance<T>(p, seed);
  const bool needs_zero = name == "quasi-static" || name == "reduced" || name == "closed-form";
  if (needs_zero && !given(p, parameter::start)) instance.start = Start::zero;
  // Y and Z follow their gradients: there is one clock but in what sums Y up.
  if (name != "reduced" && name != "closed-form") instance.clock = Clock::consistent;
  if (name != "sgd") {
    instance.label_noise = T(0);
    instance.temperature = T(1);
    return instance;
  }
  // Sampled steps are cheap, and xi is not: B_n is carried along only if asked for.
  if (!given(p, parameter::track_growth)) instance.track_growth = false;
  if (instance.track_growth && !instance.is_clean()) {
    reject("scan-snap sgd", "--track-growth", "true",
           "does not go with --label_noise or --temperature: B_n has its meaning by the flow of "
           "the theory");
  }
  return instance;
}

AnyRung<double> sampled_training(const Parameters& p, std::uint64_t seed) {
  return forget_type(PopulationFlow<double>(instance_of<double>("sgd", p, seed)));
}

// What makes the rungs of an instance, for any scalar.
constexpr auto expected_training = []<class T>(const TrainingInstance<T>& instance) {
  return without_draws(forget_type(PopulationFlow<T>(instance)));
};
constexpr auto fast_decoder = []<class T>(const TrainingInstance<T>& instance) {
  return without_draws(forget_type(PopulationFlow<T>(instance, DecoderRule::fast)));
};
constexpr auto quasi_static = []<class T>(const TrainingInstance<T>& instance) {
  return forget_type(QuasiStaticFlow<T>(instance));
};
constexpr auto reduced = []<class T>(const TrainingInstance<T>& instance) {
  return forget_type(ReducedFlow<T>(instance));
};
constexpr auto closed_form = []<class T>(const TrainingInstance<T>& instance) {
  return closed_form_rung(instance);
};

template <class Make>
AnyRung<Expression> over_symbols(const Make& make) {
  // One query, two classes, three tokens: 0 common, 1 and 2 distinct.
  TrainingInstance<Expression> instance;
  Matrix<Expression> law = Matrix<Expression>::Constant(2, 3, Expression(0));
  for (const auto& [n, l] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 2}}) {
    law(n, l) = GiNaC::possymbol(fmt::format("P_{}_{}", n, l), fmt::format("P_{{{}|{}}}", l, n));
  }
  instance.classes.tokens = 3;
  instance.classes.query = {0, 0};
  instance.classes.next = {0, 1};
  instance.classes.first = {0, 2, 4};
  instance.classes.token = {0, 1, 0, 2};
  instance.classes.law.resize(4);
  instance.classes.law << law(0, 0), law(0, 1), law(1, 0), law(1, 2);
  instance.classes.weight = Vector<Expression>::Constant(2, Expression(1) / Expression(2));
  instance.decoder_rate = GiNaC::possymbol("eta_Y", "\\eta_Y");
  instance.attention_rate = GiNaC::possymbol("eta_Z", "\\eta_Z");
  AnyRung<Expression> rung = make(instance);
  for (Index i = 0; i < rung.dimension; ++i) {
    const std::string& state = rung.state_names[static_cast<std::size_t>(i)];
    rung.initial[i] = GiNaC::symbol(state, in_latex(state));
  }
  return rung;
}

std::shared_ptr<const Examination> audit_of_run(std::string_view name, const Parameters& p,
                                                std::uint64_t seed, const AnyRung<double>& rung,
                                                const Trajectory<double>& run) {
  if (!given(p, parameter::corpus) || name == "closed-form" || name == "moments" ||
      run.rows.empty()) {
    return nullptr;
  }
  const TrainingInstance<double> instance = instance_of<double>(name, p, seed);
  const auto is_logit = [](const std::string& state) { return state.starts_with("z_"); };
  const auto begin = std::find_if(rung.state_names.begin(), rung.state_names.end(), is_logit);
  const auto at = begin - rung.state_names.begin();
  const auto pairs = std::find_if_not(begin, rung.state_names.end(), is_logit) - begin;
  std::vector<double> xi;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i].starts_with("xi_")) xi.push_back(run.rows.back()[i]);
  }
  return std::make_shared<Examination>(scan_snap::audit(instance, rung.initial.segment(at, pairs),
                                                        run.last_state.segment(at, pairs), xi));
}

// ---- the table ---------------------------------------------------------------------------------

// A row from its info, parameters, observables and a maker from above.
template <class Make>
Rung row(RungInfo info, std::vector<ParameterInfo> reads, std::vector<ObservableInfo> observables,
         const Make& make) {
  const std::string name = info.name;
  const Rung rung{
      .info = std::move(info), .reads = std::move(reads), .observables = std::move(observables)};
  return rung.made_by([name, make]<class T>(const Parameters& p, std::uint64_t seed) {
    return make(instance_of<T>(name, p, seed));
  });
}

Rung startable(const Rung& rung) {
  return with_given_state(rung, fmt::format("scan-snap {}", rung.info.name), start_keys);
}

std::vector<Rung> training_rungs() {
  const auto reads = parameter::of_decoder();
  const auto observables = Observer<double>::observables();
  Rung sgd{
      .info = {"sgd", RungKind::random, "SGD on sampled sequences of T tokens",
               "O(B (T + u C)) a step, u <= T - 1 different tokens a sequence, C columns of Y",
               column_note, "100", "1", 128},
      .reads =
          reads + parameter_table(parameter::T, parameter::label_noise, parameter::temperature),
      .observables = observables,
      .make = sampled_training,
      .make_over_symbols = [](const Parameters& /*p*/) { return over_symbols(expected_training); }};
  Rung gd = row({"gd", RungKind::descent, "the same on the expected gradient of long sequences",
                 "O(nnz(P) C) a step", column_note, "1000", "1"},
                reads, observables, expected_training);
  gd.make_in_digits = nullptr;
  gd.make_over_symbols = sgd.make_over_symbols;
  Rung flow = row({"flow", RungKind::flow, "population flow of decoder Y and attention logits Z",
                   "O(nnz(P) C) an evaluation, C <= K + 1 from a zero start", column_note, "1000"},
                  reads, observables, expected_training);
  flow.make_over_symbols = sgd.make_over_symbols;
  sgd = startable(sgd);
  return {
      sgd,
      moments_of(sgd, "scan-snap",
                 [](const Parameters& /*p*/, std::uint64_t /*seed*/) {
                   return "sequences of --T tokens are too many to run through, and a class has "
                          "more than 32 tokens, or one too rare to be seen; give --T 1001 or "
                          "more, where an expansion holds";
                 }),
      startable(gd), startable(flow)};
}

std::vector<Rung> reduced_rungs() {
  const auto observables = Observer<double>::observables();
  Rung frozen =
      row({"quasi-static", RungKind::flow, "Y = F S: the decoder sees frozen features",
           "O(K^2 C + overlaps) an evaluation", column_note, "1000"},
          parameter::of_integrated() + parameter_table(parameter::next), observables, quasi_static);
  frozen.make_over_symbols = [](const Parameters& /*p*/) { return over_symbols(quasi_static); };
  Rung fast = row({"fast-decoder", RungKind::flow, "overlap of features undone in Y' (Lemma 3)",
                   "O(nnz(P) C + K^3) an evaluation", column_note, "1000"},
                  parameter::of_decoder(), observables, fast_decoder);
  fast.make_over_symbols = [](const Parameters& /*p*/) { return over_symbols(fast_decoder); };
  Rung attention = row({"reduced", RungKind::flow, "only Z, the decoder summed up by h(t) (Eqn 10)",
                        "O(K^3 + overlaps) an evaluation", column_note, "1000"},
                       parameter::of_integrated() + parameter_table(parameter::reading),
                       ReducedFlow<double>::observables(), reduced);
  attention.make_over_symbols = [](const Parameters& /*p*/) {
    return over_symbols([](const TrainingInstance<Expression>& instance) {
      return forget_type(ReducedFlow<Expression>(instance, GiNaC::possymbol("M")));
    });
  };
  Rung closed = row({"closed-form", RungKind::closed_form,
                     "one common token, leading order in K f^2 (Theorem 4, corrected); default "
                     "preset growth",
                     "O(1) a time", "", "700"},
                    parameter::of_every_rung() + parameter_table(parameter::reading),
                    closed_form_observables(), closed_form);
  closed.why_no_symbols =
      "has no right-hand side; its formulas are in scan_snap/decoder.hpp, take reduced";
  return {startable(frozen), startable(fast), startable(attention), startable(closed)};
}

constexpr const char* notation = R"(
`N` is a class, `L` a token. All rungs, `sgd` too, evaluate them at the `c_n` of long sequences and at all
classes, never on the batch; with the labels of the classes and `softmax(z)` even where `sgd` trains
with `label_noise` or a `temperature`. Entropies and losses are in nats.
)";

}  // namespace

std::shared_ptr<const Model> make_model() {
  const Record one_common{{"preset", "growth"}};
  std::vector<Rung> rungs = training_rungs();
  for (Rung& rung : reduced_rungs()) rungs.push_back(std::move(rung));
  return std::make_shared<const Model>(ModelTable{
      .name = "scan-snap",
      .paper = "Tian, Wang, Chen, Du: Scan and Snap, Understanding Training Dynamics and Token "
               "Composition in 1-layer Transformer, arXiv 2305.16380",
      .rungs = std::move(rungs),
      .notation = notation,
      .ladder =
          {{"sgd", "gd", "long sequences, the full batch in place of a sampled one", "100", {}},
           {"gd", "flow", "steps of length 0", "100", {}},
           {"flow", "quasi-static", "the decoder sees frozen features", "300", {}},
           {"quasi-static",
            "fast-decoder",
            "Lemma 3: the overlap of features is undone",
            "300",
            {}},
           {"fast-decoder", "reduced", "Eqn 10: the decoder is summed up by h(t)", "300", {}},
           {"reduced", "closed-form", "Theorem 4: leading order in K f_c^2", "300", one_common,
            true}},
      // Attention turns fastest where gamma peaks, and is all but frozen after the plateau's entry.
      .regimes = {{"snap", "distinct_entropy_*", RegimeKind::fastest_change},
                  {"snap", "B", RegimeKind::fastest_change},
                  {"plateau", "loss", RegimeKind::plateau}},
      .audit = audit_of_run});
}

}  // namespace popgrad::scan_snap
