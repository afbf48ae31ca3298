/// Faults of the data that steps were taken with, where the log is of other data.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/judging/judge.hpp"
#include "popgrad/rungs/model.hpp"
#include "runs/runs_of_rung.hpp"
#include "tests/judging/logged_runs.hpp"

namespace popgrad::training_only_test {
namespace {

constexpr double noise = 0.2;
constexpr double rate = 0.5;

// Three runs that are trained with label noise; the log has the loss of clean labels or of those.
std::vector<RecordedRun> logs(const Model& model, const Parameters& clean,
                              bool loss_of_clean_labels) {
  Parameters trained = clean;
  trained.set("label_noise", std::to_string(noise));
  WalkRequest steps;
  steps.step_size = rate;
  steps.steps = 80;
  for (std::uint64_t k = 0; k <= steps.steps; k += 8) steps.save_steps.push_back(k);
  steps.batch = 8;
  steps.runs = 3;
  steps.seed = 77;
  RunChoices choices{.events = false};
  if (loss_of_clean_labels) choices.observed = clean;
  return logged(runs_of_walk(model, find_rung(model, "sgd"), trained, steps, choices,
                             [](double) { return false; }),
                {"loss", "norm_W_V"});
}

}  // namespace

TEST_CASE("judge: label noise in training is distinguished from label noise in all data",
          "[judging][unsanitized]") {
  const Model& model = find_model(theories(), "topic");
  const Parameters clean("topic", {{"T", 3}, {"tau", 2}, {"v", 2}, {"N", 16}});
  for (const bool loss_of_clean_labels : {true, false}) {
    CAPTURE(loss_of_clean_labels);
    JudgeRequest request{.model = model, .parameters = clean};
    request.steps.step_size = rate;
    request.steps.batch = 8;
    request.runs = 32;
    request.events = false;
    const RunJudge judge(request, logs(model, clean, loss_of_clean_labels),
                         [](double) { return false; });
    REQUIRE_FALSE(judge.judgement().consistent());
    const std::vector<FittedSetting>& fits = judge.judgement().fits;
    REQUIRE_FALSE(fits.empty());
    const FittedSetting& first = fits.front();
    CHECK(first.explains);
    CHECK(first.setting.name ==
          (loss_of_clean_labels ? "label_noise in training only" : "label_noise"));
    CHECK(first.value == Approx(noise).margin(0.06));
  }
}

}  // namespace popgrad::training_only_test
