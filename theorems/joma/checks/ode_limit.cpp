#include "theorems/ode_limit.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::ode_limit {
namespace {

constexpr Knob temperature =
    logarithmic_knob("temperature", "temperature T of the attention", 0.7, 4, 1);
constexpr Knob start_size =
    logarithmic_knob("start", "size of the start, in units of the usual one", 0.3, 2, 1);
constexpr Knob first_class =
    linear_knob("first-class", "probability of the first class", 0.3, 0.7, 0.6);
constexpr Knob batch_eighth =
    whole_knob("batch-eighth", "an eighth of the samples in a minibatch, B/8", 1, 8, 2);
constexpr Knob largest_step =
    logarithmic_knob("step", "learning rate eta, the largest of those compared", 0.25, 30, 0.2)
        .breaking("small steps");

Statement sheet = ode_limit_sheet(
    {.id = "joma.ode-limit",
     .paper = "arXiv 2310.00535, Section 3",
     .status = "assumed in source",
     .about = "descent and SGD on samples",
     .theorem = R"(
SGD of step eta and batch B stays within O(eta) + O(sqrt(eta/B)) of the population flow
(gradient flow in place of SGD) at a fixed time: descent within O(eta), and SGD about descent within
O(sqrt(eta/B)), with the mean and the variance of the second order in eta.)",
     .knobs = {temperature, start_size, first_class, batch_eighth, largest_step, repetition_knob}});

const Hypothesis smooth = sheet.assume(by_construction("smooth `phi`", "`phi` is linear here"));

// Three tokens, two classes of unequal weight, a start of order 1 so that curvature counts.
ClassInstance<double> small_instance(const Setting& setting) {
  ClassInstance<double> instance;
  instance.token_law.resize(3, 2);
  instance.token_law << 0.6, 0.1, 0.3, 0.3, 0.1, 0.6;
  instance.class_law = Vector<double>{{setting.value(first_class), 1 - setting.value(first_class)}};
  instance.weights.resize(4, 2);
  instance.weights << 0.5, -0.2, 0.1, 0.3, -0.4, 0.2, 0.05, -0.1;
  instance.logits = Vector<double>{{0.3, 0.0, -0.3}};
  instance.weights *= setting.value(start_size);
  instance.logits *= setting.value(start_size);
  instance.temperature = setting.value(temperature);
  instance.attention = Attention::softmax;
  return instance;
}

constexpr double end_time = 6;

void examine(const Setting& setting, Examination& it) {
  OdeLimit training;
  training.rung = forget_type(PopulationFlow<double>(small_instance(setting)));
  training.step_size = setting.value(largest_step);
  training.steps =
      static_cast<std::uint64_t>(std::max(2L, std::lround(end_time / training.step_size)));
  training.batch = 8 * setting.count(batch_eighth);
  training.runs = 40'000;
  training.components = {0, 4, 8, 10};  // a weight of each unit, first and last logit
  training.repetition = setting.value(repetition_knob);
  it.parameters = {{"X", "3 x 2"},
                   {"P", setting.value(first_class)},
                   {"temperature", setting.value(temperature)},
                   {"start", setting.value(start_size)},
                   {"eta", training.step_size},
                   {"B", training.batch},
                   {"steps", training.steps},
                   {"seed", setting.seed}};
  examine_ode_limit(training, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::ode_limit
