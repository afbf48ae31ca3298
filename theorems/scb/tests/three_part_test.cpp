#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/success.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace three_part_test {

using namespace popgrad;
using namespace popgrad::scb;

namespace {

std::vector<std::vector<double>> rows(const AnyRung<double>& rung, std::uint64_t steps, Index batch,
                                      int jobs = 1) {
  WalkRequest request;
  request.step_size = 0.05;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 21);
  request.batch = batch;
  request.jobs = jobs;
  return walk(rung, rung.initial, request).front().rows;
}

}  // namespace

TEST_CASE("scb: what has diverged is named with the factor of its step", "[scb]") {
  // eta d = 0.5 * 30, eta eta_A <V,V> = 0.5 * 4 * 7.
  CHECK(divergence_of(9e5, 30, 7, 0.5, 4, 1).empty());
  CHECK_THAT(divergence_of(2e6, 30, 7, 0.5, 4, 1),
             Catch::Contains("eta d = 15 (stable below 2)") && Catch::Contains("raise --batch"));
  CHECK_THAT(
      divergence_of(2e6, 20, 7, 0.5, 4, 0),
      Catch::Contains("eta eta_A <V,V> = 14 (stable below 2)") && Catch::EndsWith("; lower --eta"));
  CHECK_THAT(divergence_while_values_stay(1, 2e7, 10, 7, 0.5, 4, 0),
             Catch::Contains("eta d = 1e+06"));
}

TEST_CASE("scb: three parts, lumped and dense, are one without noise", "[scb]") {
  Training<double> training = from_scratch(4, 60, 3, 1);
  Schedule schedule;
  schedule.transfer = GENERATE(false, true);
  if (schedule.transfer) training.start = transfer_start(training.bigrams, 0.5, 0.6, 1);
  schedule.l1_step = 0.05;
  schedule.l1_steps = 800;
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  const auto dense = rows(forget_type(ThreePartDescent(training, schedule, levels)), 4000, 0);
  const auto sampled = rows(forget_type(ThreePartDescent(training, schedule)), 4000, 0);
  const auto lumped = rows(forget_type(LumpedThreePart(training, schedule, levels)), 4000, 0);
  REQUIRE(dense.size() == lumped.size());
  bool l1 = false;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (std::size_t c = 0; c < dense[i].size(); ++c) {
      INFO("row " << i << ", column " << c);
      CHECK(dense[i][c] == Approx(lumped[i][c]).margin(1e-10));
      CHECK(dense[i][c] == Approx(sampled[i][c]).margin(1e-10));
    }
    l1 = l1 || dense[i][8] == 2;
  }
  CHECK(l1);
  CHECK(dense.back()[8] == 3);
  CHECK(dense.back()[5] == Approx(1).epsilon(1e-12));  // normalised: S = 1
  CHECK(dense.back()[6] < 0.05);
  CHECK(dense.back()[7] < 0.2);
}

TEST_CASE("scb: in part 1 of transfer V stays and attention goes straight to q", "[scb]") {
  Training<double> training = from_scratch(3, 40, 2, 1);
  const Bigrams<double>& b = training.bigrams;
  training.start = transfer_start(b, 0.5, 0.4, 1);
  const double product = covariance_product(training.start, b.transition, b.stationary);
  const double square = covariance_product(training.start, training.start, b.stationary);
  Schedule schedule;
  schedule.transfer = true;
  const NoiseLevels levels = noise_at_solution(b);
  constexpr double step = 0.3;
  for (const AnyRung<double>& rung : {forget_type(ThreePartDescent(training, schedule)),
                                      forget_type(ThreePartDescent(training, schedule, levels)),
                                      forget_type(LumpedThreePart(training, schedule, levels))}) {
    Vector<double> quiet = rung.initial;
    Vector<double> noisy = rung.initial;
    Vector<double> slope(quiet.size());
    rung.field.value(quiet, slope, 0.0);
    CHECK(slope.head(9).isZero(0));
    std::vector<double> row(rung.observables.columns.size());
    for (int k = 1; k <= 20; ++k) {
      Stream stream(1, 0, static_cast<std::uint64_t>(k));
      rung.draws.step(quiet, step, stream, 0);
      rung.draws.step(noisy, step, stream, 1000);
      rung.observables.read(quiet, 0.0, row);
      // a - 1/T = <V,P>/<V,V> (1 - (1 - eta <V,V>)^k) (q - 1/T)
      CHECK(row[1] == Approx(product / square * (1 - std::pow(1 - step * square, k))));
      REQUIRE(part_of(quiet) == Part::boost);
      CHECK(quiet.head(9) == training.start.reshaped());
      if (part_of(noisy) == Part::boost) CHECK(noisy.head(9) == training.start.reshaped());
    }
    CHECK(noisy != quiet);
  }
}

TEST_CASE("scb: a noisy step does not depend on threads and keeps sums at 1", "[scb]") {
  const Training<double> training = from_scratch(6, 40'000, 2, 1);
  const NoisyDescent rung(training, noise_at_solution(training.bigrams));
  Vector<double> one = rung.initial();
  one.head(36) += 0.1 * (training.bigrams.transition - training.start).reshaped();
  Vector<double> other = one;
  for (const int threads : {1, 2}) {
    Vector<double>& x = threads == 1 ? one : other;
#pragma omp parallel num_threads(2)
    {
      // Within a team the rung works in one thread.
#pragma omp single
      if (threads == 1) {
        for (std::uint64_t i = 0; i < 3; ++i) {
          Stream stream(1, 0, i);
          rung.sample_step(x, 0.1, stream, 16);
        }
      }
    }
    if (threads == 2) {
      const NoisyDescent fresh(training, noise_at_solution(training.bigrams));
      for (std::uint64_t i = 0; i < 3; ++i) {
        Stream stream(1, 0, i);
        fresh.sample_step(x, 0.1, stream, 16);
      }
    }
  }
  CHECK(one == other);
  for (Index k = 0; k < 6; ++k) {
    CHECK(one.segment(36 + k * 40'000, 40'000).sum() == Approx(1).epsilon(1e-11));
  }
}

TEST_CASE("scb: the fast noisy step has the law of the plain one", "[scb]") {
  const Training<double> training = from_scratch(3, 8, 2, 1);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  const NoisyDescent rung(training, levels);
  Vector<double> start = rung.initial();
  start.head(9) += 0.5 * (training.bigrams.transition - training.start).reshaped();
  constexpr int draws = 40'000;
  const Index n = rung.dimension();
  Vector<double> mean_fast = Vector<double>::Zero(n), mean_plain = mean_fast;
  Matrix<double> square_fast = Matrix<double>::Zero(n, n), square_plain = square_fast;
  Vector<double> slope(n);
  for (int i = 0; i < draws; ++i) {
    Stream a(1, 0, static_cast<std::uint64_t>(i));
    Vector<double> x = start;
    rung.sample_step(x, 0.1, a, 4);
    x -= start;
    mean_fast += x / draws;
    square_fast += x * x.transpose() / draws;
    Stream b(1, 1, static_cast<std::uint64_t>(i));
    rung.sample_rhs(start, slope, b, 4);
    slope *= 0.1;
    mean_plain += slope / draws;
    square_plain += slope * slope.transpose() / draws;
  }
  const Matrix<double> fast = square_fast - mean_fast * mean_fast.transpose();
  const Matrix<double> plain = square_plain - mean_plain * mean_plain.transpose();
  for (Index i = 0; i < n; ++i) {
    const double deviation = std::sqrt(2 * plain(i, i) / draws);
    CHECK(std::fabs(mean_fast[i] - mean_plain[i]) < 5 * deviation + 1e-15);
    for (Index j = 0; j < n; ++j) {
      // Standard error of a covariance: at most sqrt(2 C_ii C_jj / draws), twice.
      const double error = 2 * std::sqrt(plain(i, i) * plain(j, j) / draws);
      CHECK(std::fabs(fast(i, j) - plain(i, j)) < 5 * error + 1e-18);
    }
  }
}

TEST_CASE("scb: noise levels measured are those derived", "[scb]") {
  const Training<double> training = from_scratch(4, 400, 2, 1);
  const Bigrams<double>& b = training.bigrams;
  Vector<double> solution = Vector<double>::Zero(4 * (4 + b.context));
  solution.head(16) = b.transition.reshaped();
  for (Index k = 0; k < 4; ++k) {
    for (Index i = 2 * k; i < 2 * k + 2; ++i) {
      solution[16 + k * b.context + b.position[static_cast<std::size_t>(i)]] = b.law[i];
    }
  }
  const NoiseLevels derived = noise_at_solution(b);
  const NoiseLevels measured = noise_from_pilot(training, solution, 20'000, 1);
  // The formulas neglect O(1/T); a trace over 20000 heavy-tailed samples is known to about 3 %.
  CHECK(measured.value == Approx(derived.value).epsilon(0.05));
  for (Index k = 0; k < 4; ++k) {
    CHECK(measured.attention[k] == Approx(derived.attention[k]).epsilon(0.05));
  }
  const NoiseLevels at_start =
      noise_from_pilot(training, SequenceSgd<double>(training).initial(), 100, 1);
  CHECK(at_start.value > 0);
  for (const double level : at_start.attention) CHECK(level < 1e-12);
}

TEST_CASE("scb: divergence is said, with quantity and cause", "[scb]") {
  const Training<double> training = from_scratch(3, 200, 2, 1);
  WalkRequest request;
  request.step_size = 20;
  request.steps = 5000;
  request.save_steps = evenly_spread_steps(5000, 50);
  request.batch = 4;
  for (const AnyRung<double>& rung :
       {forget_type(SequenceSgd<double>(training)),
        forget_type(NoisyDescent(training, noise_at_solution(training.bigrams))),
        forget_type(LumpedDescent(training, noise_at_solution(training.bigrams)))}) {
    const Trajectory<double> run = walk(rung, rung.initial, request).front();
    CHECK(run.outcome.ending == Ending::diverged);
    REQUIRE_FALSE(run.outcome.notes.empty());
    CHECK_THAT(run.outcome.notes.back(), Catch::Contains("stable below 2"));
    for (const auto& row : run.rows) {
      for (const double value : row) CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("scb: while V stays the noise of many positions is no divergence", "[scb]") {
  // d = sum mu |a|^2 passes 10^6, which the threshold takes off again.
  Training<double> training = from_scratch(3, 3'000'000, 2, 1);
  training.start = transfer_start(training.bigrams, 0.5, 0.5, 1);
  Schedule schedule;
  schedule.transfer = true;
  schedule.boost_until = 1e300;
  schedule.boost_steps = 3;
  schedule.threshold = 1e3;
  const AnyRung<double> rung =
      forget_type(LumpedThreePart(training, schedule, noise_at_solution(training.bigrams)));
  WalkRequest request;
  request.step_size = 10;
  request.steps = 3;
  request.save_steps = {2, 3};
  request.batch = 1;
  const Trajectory<double> run = walk(rung, rung.initial, request).front();
  REQUIRE(run.rows.size() == 2);
  CHECK(run.rows[0][7] > 1e3);
  CHECK(run.rows[1][8] == 2);
  // A grows where eta <V,V> is above 2.
  request.step_size = 1000;
  request.steps = 100;
  request.save_steps = {100};
  schedule.boost_steps = 1000;
  const Training<double> shorter = [&] {
    Training<double> made = from_scratch(3, 50, 2, 1);
    made.start = transfer_start(made.bigrams, 0.5, 0.5, 1);
    return made;
  }();
  const NoiseLevels levels = noise_at_solution(shorter.bigrams);
  for (const AnyRung<double>& growing :
       {forget_type(LumpedThreePart(shorter, schedule, levels)),
        forget_type(ThreePartDescent(shorter, schedule, levels))}) {
    const Trajectory<double> ended = walk(growing, growing.initial, request).front();
    CHECK(ended.outcome.ending == Ending::diverged);
    REQUIRE_FALSE(ended.outcome.notes.empty());
    CHECK_THAT(ended.outcome.notes.back(), Catch::Contains("<V,V>"));
  }
}

TEST_CASE("scb: a run succeeds where both distances end within the goal", "[scb]") {
  const Training<double> training = from_scratch(4, 60, 3, 1);
  AttemptSetting setting;
  setting.attempt = Attempt::whole;
  setting.levels = no_noise(training.bigrams.tokens());
  setting.schedule.l1_step = 0.05;
  setting.schedule.l1_steps = 300;
  setting.steps = 1500;
  const AnyRung<double> rung =
      forget_type(LumpedThreePart(training, setting.schedule, setting.levels));
  const std::vector<double> row = rows(rung, setting.steps, 0).back();
  const double distance = std::max(row[6], row[7]);
  REQUIRE(distance > 0);
  const auto succeeds = [&](double goal) {
    setting.goal = goal;
    return success_counter(training, setting)(1, 0, 1) == 1;
  };
  CHECK(succeeds(1.001 * distance));
  CHECK_FALSE(succeeds(0.999 * distance));
}

TEST_CASE("scb: a schedule that cannot be met is refused", "[scb]") {
  const Training<double> training = from_scratch(3, 200, 2, 1);
  Schedule schedule;
  schedule.boost_until = 2;
  CHECK_THROWS_WITH(ThreePartDescent(training, schedule), Catch::Contains("--boost_until 2"));
  schedule.boost_until = 0;
  schedule.transfer = true;  // from mu 1', which has no correlation with P
  CHECK_THROWS_WITH(ThreePartDescent(training, schedule), Catch::Contains("<V, P> > 0"));
  schedule.boost_steps = 3;
  CHECK_NOTHROW(ThreePartDescent(training, schedule));
  schedule.boost_steps = 0;
  Training<double> transferred = training;
  transferred.start = transfer_start(training.bigrams, 0.5, 0.2, 1);
  schedule.boost_until = 0.41;  // it settles at correlation/theta
  CHECK_THROWS_WITH(ThreePartDescent(transferred, schedule), Catch::Contains("below 0.4,"));
  Training<double> softmax = training;
  softmax.softmax = true;
  CHECK_THROWS_AS(ThreePartDescent(softmax, Schedule{}), InputError);
}

TEST_CASE("scb: what survives the threshold does not depend on how positions are drawn", "[scb]") {
  // From a million positions on only those are drawn that might survive.
  const auto survivors = [](const char* context) {
    const Parameters p = Parameters::parse(
        "scb",
        std::string(R"({"N": 3, "Q": 2, "algorithm": "three-part", "boost_steps": 30,)") +
            R"("tau": 6e-5, "T": )" + context + "}",
        "test");
    const AnyRung<double> rung = find_model("scb").rung("noisy-lumped", p, 1);
    WalkRequest request;
    request.step_size = 0.05;
    request.steps = 31;
    request.save_steps = {31};
    request.batch = 4;
    request.seed = 1;
    request.first_run = 1;
    return curve(walk(rung, rung.initial, request).front(), "nonzeros").back();
  };
  const double one_by_one = survivors("1000001");
  // A fifth of each token's positions.
  CHECK(one_by_one / 3e6 == Approx(0.2).margin(0.05));
  // Four deviations of 6e5 survivors; mean and norm of the others matter by a hundredth.
  CHECK(survivors("1000003") == Approx(one_by_one).epsilon(4 / std::sqrt(6e5)));
}

TEST_CASE("scb: a schedule made in code has the defaults of the parameters", "[scb]") {
  const Schedule made;
  const std::map<std::string, double> expected{
      {"tau", made.threshold},
      {"eta_2", made.l1_step},
      {"lambda", made.l1_weight},
      {"boost_steps", static_cast<double>(made.boost_steps)},
      {"l1_steps", static_cast<double>(made.l1_steps)}};
  std::size_t found = 0;
  for (const ParameterInfo& info : find_model("scb").parameters()) {
    const auto own = expected.find(info.name);
    if (own == expected.end()) continue;
    INFO(info.name);
    CHECK(from_text<double>(info.default_value) == own->second);
    ++found;
  }
  CHECK(found == expected.size());
}

TEST_CASE("crossing: a known logistic curve is found", "[critical]") {
  // P[success] = 1/(1 + exp(-2 (ln size - ln 500))).
  const CountSuccesses count = [](double size, std::uint32_t first, std::uint32_t runs) {
    const double p = 1 / (1 + std::exp(-2 * std::log(size / 500)));
    std::uint32_t good = 0;
    for (std::uint32_t run = first; run < first + runs; ++run) {
      good += Stream(1, run, 0).uniform() < p ? 1U : 0U;
    }
    return good;
  };
  CrossingRequest request;
  request.runs = 2000;
  const Crossing half = find_crossing(count, request);
  REQUIRE(half.found);
  CHECK(half.low < 500);
  CHECK(half.high > 500);
  CHECK(half.size == Approx(500).epsilon(0.1));
  // 90 %: ln(size/500) = ln(9)/2, so size = 1500.
  CHECK(fit_crossing(half.trials, 0.9).size == Approx(1500).epsilon(0.15));
  request.largest = 100;
  CHECK_FALSE(find_crossing(count, request).found);
}

TEST_CASE("crossing: its interval is as wide as it spreads over repetitions", "[critical]") {
  // Far from the middle of the sizes, where the slope counts as much as the level.
  const std::vector<double> sizes{20, 50, 100, 200, 500};
  constexpr std::uint32_t runs = 400;
  constexpr std::uint32_t repetitions = 400;
  double sum = 0, squares = 0, width = 0;
  for (std::uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<SuccessCount> trials;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      Stream stream(7, repetition, k);
      const double p = 1 / (1 + std::exp(-1.5 * std::log(sizes[k] / 60)));
      SuccessCount trial{sizes[k], runs, 0};
      for (std::uint32_t run = 0; run < runs; ++run) {
        trial.successes += stream.uniform() < p ? 1U : 0U;
      }
      trials.push_back(trial);
    }
    const Crossing crossing = fit_crossing(trials, 0.97);
    REQUIRE(crossing.found);
    const double x = std::log(crossing.size);
    sum += x / repetitions;
    squares += x * x / repetitions;
    width += std::log(crossing.high / crossing.low) / repetitions;
  }
  const double deviation = std::sqrt(squares - sum * sum);
  CHECK(sum == Approx(std::log(60 * std::pow(97.0 / 3, 1 / 1.5))).margin(0.1));
  // 95 %, both sides; a deviation over 400 is known to 3.5 %.
  CHECK(width == Approx(2 * 1.96 * deviation).epsilon(0.12));
}

TEST_CASE("crossing: an exponent is fitted with its interval", "[critical]") {
  const std::vector<double> x{10, 100, 1000};
  std::vector<Crossing> y(3);
  for (std::size_t i = 0; i < 3; ++i) {
    y[i].size = 3 * std::pow(x[i], 1.5);
    y[i].low = y[i].size / 1.1;
    y[i].high = y[i].size * 1.1;
  }
  const Exponent fit = fit_exponent(x, y);
  CHECK(fit.value == Approx(1.5));
  // Weights all alike: half width = ln(1.1) / sqrt(sum (ln x - mean)^2).
  CHECK(fit.half_width == Approx(std::log(1.1) / (std::sqrt(2.0) * std::log(10.0))));
  CHECK(fit.misfit == Approx(0).margin(1e-12));
}

TEST_CASE("crossing: growth as a logarithm is distinguished from a power", "[critical]") {
  const std::vector<double> x{10, 100, 1000, 1e4};
  std::vector<Crossing> y(4);
  const auto widen = [&](double by) {
    for (Crossing& own : y) {
      own.low = own.size / by;
      own.high = own.size * by;
    }
  };
  for (std::size_t i = 0; i < 4; ++i) y[i].size = 2 + 5 * std::log(x[i]);
  widen(1.02);
  const LogarithmicGrowth exact = fit_logarithm(x, y);
  CHECK(exact.start == Approx(2));
  CHECK(exact.slope == Approx(5));
  CHECK(exact.misfit == Approx(0).margin(1e-9));
  CHECK(fit_exponent(x, y).misfit > 100);
  for (std::size_t i = 0; i < 4; ++i) y[i].size = std::sqrt(x[i]);
  widen(1.02);
  CHECK(fit_exponent(x, y).value == Approx(0.5));
  CHECK(fit_exponent(x, y).misfit == Approx(0).margin(1e-9));
  CHECK(fit_logarithm(x, y).misfit > 100);
  // The deviation goes with the fitted value: the same whether y is taken as it is or tenfold.
  for (Crossing& own : y) own.size *= 10;
  widen(1.02);
  CHECK(fit_logarithm(x, y).misfit > 100);
  // Errors of the stated size: the misfit is about n - 2 and the interval covers the slope.
  constexpr std::uint32_t repetitions = 400;
  double misfit = 0;
  std::uint32_t covered = 0;
  for (std::uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < 4; ++i) {
      Stream stream(3, repetition, i);
      y[i].size = (2 + 5 * std::log(x[i])) * std::exp(0.02 * stream.normal());
    }
    widen(std::exp(1.96 * 0.02));
    const LogarithmicGrowth found = fit_logarithm(x, y);
    misfit += found.misfit / repetitions;
    covered += std::fabs(found.slope - 5) <= found.half_width ? 1U : 0U;
  }
  CHECK(misfit == Approx(2).epsilon(0.25));  // five deviations of a mean of chi^2_2 over 400
  CHECK(covered >= 0.92 * repetitions);
}

}  // namespace three_part_test
