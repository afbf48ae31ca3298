#include "theorems/ode_limit.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks::ode_limit {
namespace {

constexpr Knob vocabulary = whole_knob("tokens", "tokens N of the vocabulary", 3, 5, 3);
constexpr Knob length = whole_knob("length", "positions T of the context", 5, 12, 10);
constexpr Knob correlation = linear_knob(
    "correlation", "of the transferred kernel with P, where training starts", 0.1, 1, 0.8);
constexpr Knob horizon_knob = linear_knob("horizon", "the fixed time", 4, 6, 4);
constexpr Knob largest_step =
    logarithmic_knob("step", "learning rate eta, the largest of those compared", 0.07, 0.15, 0.1);
constexpr Knob batch_eighth =
    whole_knob("batch-eighth", "an eighth of the samples in a minibatch, B/8", 3, 6, 3);

Statement sheet =
    ode_limit_sheet({.id = "scb.ode-limit",
                     .paper = "arXiv 2410.23438, Section 2",
                     .status = "derived here",
                     .about = "descent and SGD on sequences",
                     .theorem = R"(
Gradient flow in place of SGD: descent follows the flow with an error O(eta); SGD, projected, spreads
about descent by O(sqrt(eta/B)) at a fixed time, with the mean and the variance of the second order
in eta.)",
                     .knobs = {vocabulary, length, support_knob, correlation, horizon_knob,
                               largest_step, batch_eighth, repetition_knob}});

// A transfer start, so that the field is of order one at once.
Training<double> small_training(const Setting& setting) {
  Training<double> training;
  training.bigrams = random_bigrams(setting.count(vocabulary), setting.count(length),
                                    setting.count(support_knob), setting.seed);
  training.start = transfer_start(training.bigrams, 1.0, setting.value(correlation), setting.seed);
  return training;
}

void examine(const Setting& setting, Examination& it) {
  OdeLimit training;
  training.rung = forget_type(SequenceSgd<double>(small_training(setting)));
  training.step_size = setting.value(largest_step);
  training.steps =
      static_cast<std::uint64_t>(std::llround(setting.value(horizon_knob) / training.step_size));
  training.batch = 8 * setting.count(batch_eighth);
  training.runs = 16000;
  const Index values = setting.count(vocabulary) * setting.count(vocabulary);
  training.components = {0, values - 1, values};  // two values and the attention to one position
  training.repetition = setting.value(repetition_knob);
  it.parameters = {{"N", setting.count(vocabulary)}, {"T", setting.count(length)},
                   {"eta", training.step_size},      {"B", training.batch},
                   {"steps", training.steps},        {"seed", setting.seed}};
  examine_ode_limit(training, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::ode_limit
