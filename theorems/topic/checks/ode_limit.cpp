#include "theorems/ode_limit.hpp"
#include "theorems/topic/checks/finite_documents.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks::ode_limit {
namespace {

constexpr Knob horizon = linear_knob("horizon", "time at which the flow is compared", 20, 30, 20);
constexpr Knob start_size =
    linear_knob("start", "deviation of the entries of all matrices at first", 0.4, 0.75, 0.7);

Statement sheet = ode_limit_sheet({.id = "topic.ode-limit",
                                   .paper = "arXiv 2303.04245",
                                   .status = "derived here",
                                   .about = "descent and SGD on documents of `N` tokens",
                                   .theorem = R"(
Gradient flow in place of SGD: descent follows the flow with an error O(eta); the spread of SGD over
runs is O(sqrt(eta/B)); documents of N tokens add to the expected field, and to the mean path,
  c(x)/N + O(1/N^2),  c as in finite_documents.hpp)",
                                   .knobs = {horizon, start_size, repetition_knob}},
                                  false);

const Clause documents_add = sheet.clause("documents of `N` tokens add `c/N`");
const Control larger_bias = sheet.control("larger-bias", "a bias of documents 10 % larger");
const Control mean_output =
    sheet.control("mean-output", "the variance of outputs over documents left out of `c`");

constexpr double step_size = 0.4;
constexpr Index tokens = 64, shorter = 4;  // documents for what is neglected are N/4 long

Training small_training(const Setting& setting, Index document) {
  Training training;
  training.law = law_of<double>(3, 2, 2);
  training.key_width = 2;
  training.scale = setting.value(start_size);
  training.seed = setting.seed;
  training.start = ValueStart::normal;
  training.document = document;
  return training;
}

WalkRequest to_the_horizon(const Setting& setting) {
  WalkRequest request;
  request.step_size = step_size;
  request.steps = static_cast<std::uint64_t>(std::llround(setting.value(horizon) / step_size));
  request.save_steps = {request.steps};
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  return request;
}

// The mean of SGD as 1/B goes to 0 along what c/N shifts descent by, in units of that shift. Returns
// what c/N leaves of the bias, as a share of it.
double judge_bias(const Setting& setting, Examination& it) {
  const WalkRequest request = to_the_horizon(setting);
  const Vector<double> unbiased =
      end_of_descent(forget_type(PopulationFlow(small_training(setting, tokens))), request);
  const auto shift_of = [=](const Training& training, bool of_variance, double eta = step_size) {
    WalkRequest other = request;
    other.step_size = eta;
    return Vector<double>(end_of_descent(flow_of_documents(training, of_variance), other) -
                          unbiased);
  };
  const auto share_at = [&](Index length, std::uint32_t first_run) {
    const AnyRung<double> rung = flow_of_documents(small_training(setting, length));
    const Vector<double> shift = shift_of(small_training(setting, length), true);
    WalkRequest runs = request;
    runs.first_run = first_run;
    runs.runs = setting.draws(1000);
    return mean_along(rung, runs, unbiased, shift / shift.squaredNorm(), setting.false_alarm);
  };
  Quantity share = share_at(tokens, 1U << 26U);
  const Quantity change = share_at(tokens / shorter, 1U << 27U) - share;
  const double left = (std::fabs(change.value()) + change.error()) / (shorter - 1);
  share.add(ErrorPart::next_order(left));
  const Training documents = small_training(setting, tokens);
  const Vector<double> shift = shift_of(documents, true);
  const auto other = [&](bool of_variance, double eta) {
    return instead(
        [=] { return shift_of(documents, of_variance, eta).dot(shift) / shift.squaredNorm(); });
  };
  it.judge(
      documents_add,
      equal("shift of the mean over runs by documents of `N` tokens, over that of `c/N`", share, 1)
          .of_kind(EvidenceKind::statistical)
          .with(fmt::format("`c/N` shifts descent by {:.3g}", shift.norm()))
          .unless(larger_bias, times(1.1))
          .unless(mean_output, other(false, step_size))
          .unless(wrong_learning_rate, other(true, 1.1 * step_size)));
  return left;
}

void examine(const Setting& setting, Examination& it) {
  OdeLimit training;
  const Training documents = small_training(setting, tokens);
  training.rung = flow_of_documents(documents);
  training.uncorrected = forget_type(PopulationFlow(documents));
  // Of documents that are not run through it is known only to order 1/N: drawn instead.
  training.rung.draws.covariance = nullptr;
  training.uncorrected.draws.covariance = nullptr;
  training.left = judge_bias(setting, it);
  training.step_size = step_size;
  training.steps = to_the_horizon(setting).steps;
  training.batch = 8;
  training.runs = 2000;
  training.variance_draws = 2048;
  training.repetition = setting.value(repetition_knob);
  it.parameters = {{"T", documents.law.topics},   {"tau", documents.law.active},
                   {"v", documents.law.words},    {"N", tokens},
                   {"t", setting.value(horizon)}, {"start", setting.value(start_size)},
                   {"seed", setting.seed}};
  examine_ode_limit(training, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::ode_limit
