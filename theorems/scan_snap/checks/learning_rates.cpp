#include <omp.h>
#include <array>

#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::learning_rates {
namespace {

Statement sheet{.id = "scan-snap.learning-rates",
                .paper = "arXiv 2305.16380, Section 6, Fig. 6",
                .status = "observed in source",
                .about = "SGD with momentum on sequences, momentum descent",
                .theorem = R"(
Syn-Medium, 100 steps with momentum 0.9 and batches of 128, as the authors ran it: the entropy H
of attention on distinct tokens falls with eta_Z at a fixed ratio, and at fixed eta_Z rises with
eta_Y from eta_Y/eta_Z = 2 on
  H(2 eta_Z, ratio 2) < H(eta_Z, ratio 2) < H(eta_Z, ratio 5) < H(eta_Z, ratio 10),
in the mean over starts; so it does by momentum descent on the expected gradient. With one query it
rises from 1 on already, with 5 at eta_Z = 1 it falls up to 2.)",
                .hypotheses = {by_construction("the same data law and start at every pair of rates",
                                               "differences are taken start by start")},
                .reaches = {EvidenceKind::statistical},
                .false_version = "product"};

const Clause by_descent = sheet.clause(
    "entropy on distinct tokens falls as `eta_Z` doubles, rises with `eta_Y` from ratio 2 to 5 and "
    "to "
    "10, by "
    "descent");
const Clause by_sgd = sheet.clause("by SGD as well");

const Control with_eta_z =
    sheet.control("with-eta-z", "entropy said to rise with `eta_Z` at a fixed ratio");
const Control from_five =
    sheet.control("from-five", "entropy said to fall with `eta_Y` up to ratio 5");

const Rival product = sheet.rival(
    "product", "entropy falls with `eta_Y eta_Z`, as the growth of attention before `t0` has it");

const Knob query_count =
    sheet.knob(whole_knob("queries", "last tokens of Syn-Medium, two classes each", 1, 10, 5));
const Knob sequence_length =
    sheet.knob(logarithmic_knob("length", "tokens T of a sequence", 64, 128, 128));
const Knob attention_rate = sheet.knob(
    logarithmic_knob("attention-rate", "learning rate eta_Z, the smaller one", 0.5, 3, 1));

constexpr std::uint64_t steps = 100;
constexpr Index batch = 128;

struct Rates {
  double decoder, attention;
};

// Mean over classes of the entropy on distinct tokens after the last step.
double distinct_entropy(const Rates& rates, std::uint64_t seed, Index sequences,
                        const Setting& setting) {
  TrainingInstance<double> instance;
  instance.classes = syn_medium<double>(setting.count(query_count));
  instance.decoder_rate = rates.decoder;
  instance.attention_rate = rates.attention;
  instance.length = setting.count(sequence_length);
  instance.start = Start::uniform;
  instance.seed = seed;
  WalkRequest request;
  request.optimiser.rule = Optimiser::Rule::momentum;
  request.step_size = 1;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = sequences;
  request.seed = seed;
  request.jobs = 1;  // threads are for the starts
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(instance));
  const Trajectory<double> run = walk(rung, rung.initial, request).front();
  double sum = 0;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i].starts_with("distinct_entropy_")) sum += run.rows.back()[i];
  }
  return sum / static_cast<double>(instance.classes.classes());
}

// H at each pair of rates less H at the next one, start by start: means over starts.
std::vector<Quantity> changes(const std::vector<Rates>& path, Index sequences,
                              const Setting& setting) {
  const std::uint32_t starts = 2 * setting.draws(sequences > 0 ? 12 : 8);
  Matrix<double> entropies(starts, std::ssize(path));
  const std::uint64_t first = setting.draw_seed() * 1000;
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t k = 0; k < starts; ++k) {
    for (std::size_t i = 0; i < path.size() && !stop_asked(); ++i) {
      entropies(k, static_cast<Index>(i)) =
          distinct_entropy(path[i], first + k, sequences, setting);
    }
  }
  throw_if_stopped();
  const Index last = entropies.cols() - 1;
  // Half of the false alarms for descent, half for SGD.
  return sample_moments(entropies.leftCols(last) - entropies.rightCols(last),
                        setting.false_alarm / 2)
      .mean;
}

void examine(const Setting& setting, Examination& it) {
  const double slow = setting.value(attention_rate);
  it.parameters = {{"preset", "syn-medium"}, {"n_last", setting.count(query_count)},
                   {"eta_Z", slow},          {"steps", steps},
                   {"batch", batch},         {"T", setting.count(sequence_length)},
                   {"seed", setting.seed}};
  const auto at = [&](double ratio) { return Rates{ratio * slow, slow}; };
  const Rates doubled{4 * slow, 2 * slow};
  const std::vector<Rates> claim{doubled, at(2), at(5), at(10)};
  const auto falls = [&](const char* what, Index sequences) {
    return below(what, changes(claim, sequences, setting), 0)
        .of_kind(EvidenceKind::statistical)
        .in_units_of(std::log(10.0))  // H of the ten distinct tokens of a class, even
        .at(std::vector<std::string>{"`eta_Z` doubled at ratio 2", "ratio 2 against 5",
                                     "ratio 5 against 10"});
  };
  const auto by_mistake = [&](const std::vector<Rates>& path) { return changes(path, 0, setting); };
  it.judge(by_descent, falls("`H` by momentum descent, changes that are to be falls", 0)
                           .unless(with_eta_z,
                                   [&] {
                                     return by_mistake({at(2), doubled, at(5), at(10)});
                                   })
                           .unless(from_five,
                                   [&] {
                                     return by_mistake({doubled, at(5), at(2), at(10)});
                                   })
                           .against(product, [&] {
                             return by_mistake({at(10), doubled, at(5), at(2)});
                           }));
  it.judge(by_sgd, falls("`H` by SGD with momentum, changes that are to be falls", batch));
  const Quantity rise = changes({at(2), at(1)}, 0, setting).front();
  it.report("`H` by momentum descent at ratio 2 less that at ratio 1", rise.value(),
            fmt::format("+- {:.2g}", rise.error()));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::learning_rates
