/// Sound runs of a law with long tails, of which few sampled runs know little.

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/judging/judge.hpp"
#include "popgrad/rungs/model.hpp"
#include "runs/runs_of_rung.hpp"
#include "tests/judging/logged_runs.hpp"
#include "tests/places.hpp"

namespace popgrad::narrow_departure_test {
namespace {

struct Sound {
  std::uint32_t first_run;  // of two
  std::uint64_t seed;       // of the ensemble
};

bool agrees(const Sound& sound, double scale_of_rate) {
  const Model& model = find_model(theories(), "joma");
  const std::string path = places::sources() + "/tests/recorded/joma.json";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Parameters parameters = Parameters::parse("joma", text, path);
  WalkRequest steps;
  steps.step_size = 0.1;
  steps.batch = 8;
  steps.steps = 600;
  for (std::uint64_t k = 0; k <= steps.steps; k += 40) steps.save_steps.push_back(k);
  steps.runs = 2;
  steps.first_run = sound.first_run;
  steps.seed = 101;
  JudgeRequest request{.model = model, .parameters = parameters};
  request.steps.step_size = steps.step_size;
  request.steps.batch = steps.batch;
  request.steps.seed = sound.seed;
  request.events = false;
  request.fit = false;
  steps.step_size *= scale_of_rate;
  auto runs = logged(runs_of_walk(model, find_rung(model, "sgd"), parameters, steps,
                                  {.events = false}, [](double) { return false; }),
                     {"attention_entropy", "loss"});
  for (RecordedRun& run : runs)
    for (double& t : run.t) t /= scale_of_rate;
  for (RecordedRun& run : runs) run.last = run.t.back();
  const RunJudge judge(request, runs, [](double) { return false; });
  return judge.judgement().consistent();
}

}  // namespace

// By 64 sampled runs and a normal law of what these do not show, the label noise of the first two has a chance of 1e-4,
// and the scatter between the last two one of 2e-5.
TEST_CASE("judge: a narrow departure is decided by many sampled runs", "[judging][unsanitized]") {
  CHECK(agrees({102, 61}, 1));
  CHECK(agrees({460, 240}, 1));
  // A rate that is off by twice what is said to be detectable.
  CHECK_FALSE(agrees({102, 61}, 1.005));
  CHECK_FALSE(agrees({460, 240}, 0.995));
}

}  // namespace popgrad::narrow_departure_test
