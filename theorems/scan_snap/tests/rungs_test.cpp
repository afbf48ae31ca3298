#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "problems/log_log_slope.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace rungs_test {

using namespace popgrad;
using namespace popgrad::scan_snap;

namespace {

TrainingInstance<double> small(double ratio = 1) {
  TrainingInstance<double> instance;
  instance.classes = syn_small<double>();
  instance.attention_rate = 1 / ratio;
  return instance;
}

Trajectory<double> flow_to(const AnyRung<double>& rung, double t) {
  SolveRequest<double> request;
  request.end = t;
  request.save_at = {t};
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  request.keep_states = true;
  request.find_events = false;
  return solve(rung, request);
}

double column(const Trajectory<double>& run, const std::string& name) {
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i] == name) return run.rows.back()[i];
  }
  throw std::out_of_range(name);
}

Trajectory<double> momentum_steps(const AnyRung<double>& rung, Optimiser::Rule rule,
                                  std::uint64_t steps) {
  WalkRequest request;
  request.step_size = 1;
  request.steps = steps;
  request.save_steps = {0, steps};
  request.optimiser.rule = rule;
  return walk(rung, rung.initial, request).front();
}

}  // namespace

TEST_CASE("scan-snap: the shared column is what full columns do from a zero start", "[scan_snap]") {
  TrainingInstance<double> instance = small();
  const PopulationFlow<double> shared(instance);
  // A full table started at zero: every token of the vocabulary is some class's next token in a
  // copy without weight.
  TrainingInstance<double> full = instance;
  full.start = Start::uniform;
  const PopulationFlow<double> wide(full);
  REQUIRE(shared.layout().columns() == 3);
  REQUIRE(wide.layout().columns() == 30);
  AnyRung<double> rung = forget_type(wide);
  rung.initial.setZero();
  const Vector<double> a = shared.logits_at(flow_to(forget_type(shared), 50).states.front());
  const Vector<double> b = wide.logits_at(flow_to(rung, 50).states.front());
  CHECK((a - b).norm() / b.norm() < 1e-9);  // two solves at 1e-11
}

TEST_CASE("scan-snap: rows of Y and Z keep their sums", "[scan_snap]") {
  const PopulationFlow<double> flow(small());
  const Trajectory<double> run = flow_to(forget_type(flow), 300);
  const Vector<double>& x = run.states.front();
  const Layout& layout = flow.layout();
  for (Index r = 0; r < layout.rows(); ++r) {
    double sum = 0;
    for (Index c = 0; c < layout.columns(); ++c) {
      sum += static_cast<double>(layout.multiplicity[static_cast<std::size_t>(c)]) *
             x[r * layout.columns() + c];
    }
    CHECK(std::fabs(sum) < 1e-9);
  }
  const Vector<double> z = flow.logits_at(x);
  for (Index q = 0; q < layout.queries(); ++q) {
    const Index begin = layout.pair_first[static_cast<std::size_t>(q)];
    const Index end = layout.pair_first[static_cast<std::size_t>(q + 1)];
    CHECK(std::fabs(z.segment(begin, end - begin).sum()) < 1e-9);
  }
}

TEST_CASE("scan-snap: flow depends on eta_Y/eta_Z and eta_Z t only", "[scan_snap]") {
  TrainingInstance<double> slow = small(4);
  TrainingInstance<double> fast = small(4);
  fast.decoder_rate *= 5;
  fast.attention_rate *= 5;
  const PopulationFlow<double> a(slow), b(fast);
  const Vector<double> za = a.logits_at(flow_to(forget_type(a), 100).states.front());
  const Vector<double> zb = b.logits_at(flow_to(forget_type(b), 20).states.front());
  CHECK((za - zb).norm() / za.norm() < 1e-9);
}

TEST_CASE("scan-snap: entropies of Syn-Small as published with the model", "[scan_snap]") {
  // 2.1513 at the start; 1.976 and 2.098 after 100 steps of momentum descent.
  const AnyRung<double> equal = forget_type(PopulationFlow<double>(small()));
  const Trajectory<double> run = momentum_steps(equal, Optimiser::Rule::momentum, 100);
  CHECK(run.rows.front()[3] == Approx(2.1513).margin(5e-5));
  CHECK(column(run, "distinct_entropy_0") == Approx(1.976).margin(5e-4));
  TrainingInstance<double> ten = small();
  ten.decoder_rate = 10;
  const Trajectory<double> other =
      momentum_steps(forget_type(PopulationFlow<double>(ten)), Optimiser::Rule::momentum, 100);
  CHECK(column(other, "distinct_entropy_1") == Approx(2.098).margin(5e-4));
}

TEST_CASE("scan-snap: the quasi-static flow approaches the flow, the decoder its fast form",
          "[scan_snap]") {
  std::vector<double> rates, first, last;
  for (const double ratio : {100.0, 1000.0}) {
    const TrainingInstance<double> instance = small(ratio);
    const auto end = [&](const auto& rung) {
      return Vector<double>(rung.logits_at(flow_to(forget_type(rung), 200).states.front()));
    };
    const Vector<double> flow = end(PopulationFlow<double>(instance));
    const Vector<double> quasi = end(QuasiStaticFlow<double>(instance));
    const Vector<double> fast = end(PopulationFlow<double>(instance, DecoderRule::fast));
    const Vector<double> reduced = end(ReducedFlow<double>(instance));
    rates.push_back(1 / ratio);
    first.push_back((flow - quasi).norm() / quasi.norm());
    last.push_back((fast - reduced).norm() / reduced.norm());
  }
  CHECK(log_log_slope(rates, first) == Approx(1).margin(0.1));
  CHECK(log_log_slope(rates, last) == Approx(1).margin(0.1));
}

TEST_CASE("scan-snap: the field at 50 digits agrees with double", "[scan_snap]") {
  const DigitsScope scope(50);
  TrainingInstance<double> plain = small();
  plain.track_growth = true;
  TrainingInstance<Real> precise;
  precise.classes = syn_small<Real>();
  precise.track_growth = true;
  const auto compare = [](const auto& ours, const auto& exact) {
    Stream stream(5, 0, 0);
    Vector<double> x(ours.dimension());
    for (double& value : x) value = 0.3 * stream.uniform();
    Vector<double> dx(x.size());
    ours.rhs(x, dx, 0.0);
    const Vector<Real> wide = x.template cast<Real>();
    Vector<Real> dwide(x.size());
    exact.rhs(wide, dwide, Real(0));
    double worst = 0;
    for (Index i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::fabs(dx[i] - to_double(dwide[i])));
    }
    CHECK(worst / dx.cwiseAbs().maxCoeff() < 1e-12);
  };
  compare(PopulationFlow<double>(plain), PopulationFlow<Real>(precise));
  compare(PopulationFlow<double>(plain, DecoderRule::fast),
          PopulationFlow<Real>(precise, DecoderRule::fast));
  compare(QuasiStaticFlow<double>(plain), QuasiStaticFlow<Real>(precise));
  compare(ReducedFlow<double>(plain), ReducedFlow<Real>(precise));
}

TEST_CASE("scan-snap: sampled fields of two tokens average to their enumeration", "[scan_snap]") {
  // T = 2: one contextual token l, so f is a unit vector and all draws are (class, token) pairs.
  TrainingInstance<double> instance;
  Matrix<double> law(2, 3);
  law << 0.5, 0.5, 0, 0.3, 0, 0.7;
  instance.classes = classes_from_matrix<double>(law, {0, 0}, 4);
  instance.length = 2;
  const PopulationFlow<double> flow(instance);
  Stream start(6, 0, 0);
  Vector<double> x(flow.dimension());
  for (double& value : x) value = start.normal();
  Vector<double> expected = Vector<double>::Zero(x.size());
  for (Index n = 0; n < 2; ++n) {
    for (Index l = 0; l < 3; ++l) {
      if (law(n, l) == 0) continue;
      // The other class keeps its rows and pairs so that layouts agree; its weight is 0.
      TrainingInstance<double> one = instance;
      one.classes.weight = Vector<double>::Zero(2);
      one.classes.weight[n] = 1;
      for (Index e = 0; e < one.classes.entries(); ++e) {
        const bool here = e >= one.classes.first[static_cast<std::size_t>(n)] &&
                          e < one.classes.first[static_cast<std::size_t>(n + 1)];
        if (here) one.classes.law[e] = one.classes.token[static_cast<std::size_t>(e)] == l ? 1 : 0;
      }
      Vector<double> field(x.size());
      PopulationFlow<double>(one).rhs(x, field, 0.0);
      expected += 0.5 * law(n, l) * field;
    }
  }
  Vector<double> mean(x.size());
  Stream stream(7, 0, 0);
  constexpr Index draws = 400'000;
  flow.sample_rhs(x, mean, stream, draws);
  // Components are of size 1: five standard deviations of a mean.
  CHECK((mean - expected).cwiseAbs().maxCoeff() < 5 * 1.0 / std::sqrt(double(draws)));
}

TEST_CASE("scan-snap: the SGD mean approaches the flow in eta and in T",
          "[scan_snap][unsanitized]") {
  constexpr double horizon = 8;
  const auto mean_logits = [&](double eta, Index length, Index batch, std::uint32_t runs) {
    TrainingInstance<double> instance = small();
    instance.length = length;
    const PopulationFlow<double> flow(instance);
    const AnyRung<double> rung = forget_type(flow);
    WalkRequest request;
    request.step_size = eta;
    request.steps = static_cast<std::uint64_t>(std::lround(horizon / eta));
    request.save_steps = {request.steps};
    request.batch = batch;
    request.runs = runs;
    request.keep_states = true;
    Vector<double> mean = Vector<double>::Zero(rung.dimension);
    double variance = 0;
    const auto all = walk(rung, rung.initial, request);
    for (const auto& run : all) mean += run.states.front() / runs;
    for (const auto& run : all) variance += (run.states.front() - mean).squaredNorm() / (runs - 1);
    return std::pair{mean, variance};
  };
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(small()));
  const Vector<double> limit = flow_to(rung, horizon).states.front();
  // Step size: descent is the mean of SGD with long sequences and a large batch.
  std::vector<double> etas{1, 0.5, 0.25}, errors;
  for (const double eta : etas) {
    WalkRequest request;
    request.step_size = eta;
    request.steps = static_cast<std::uint64_t>(std::lround(horizon / eta));
    request.save_steps = {request.steps};
    request.keep_states = true;
    errors.push_back((walk(rung, rung.initial, request).front().states.front() - limit).norm());
  }
  CHECK(log_log_slope(etas, errors) == Approx(1).margin(0.1));
  // Batch: variance in proportion to 1/B.
  std::vector<double> batches{8, 32, 128}, variances;
  for (const double batch : batches) {
    variances.push_back(mean_logits(0.5, 64, static_cast<Index>(batch), 200).second);
  }
  CHECK(log_log_slope(batches, variances) == Approx(-1).margin(0.15));
  // Sequence length: |f|^2 of frequencies exceeds its limit 0.06 by 1/T, so T must exceed 1/0.06.
  // The mean at a large batch against the same steps on the expectation.
  WalkRequest request;
  request.step_size = 0.5;
  request.steps = 16;
  request.save_steps = {16};
  request.keep_states = true;
  const Vector<double> descent = walk(rung, rung.initial, request).front().states.front();
  std::vector<double> lengths, biases;
  for (const Index length : {65, 129, 257}) {
    lengths.push_back(static_cast<double>(length - 1));
    biases.push_back((mean_logits(0.5, length, 2000, 20).first - descent).norm());
  }
  CHECK(log_log_slope(lengths, biases) == Approx(-1).margin(0.2));
}

TEST_CASE("walk: Adam's first step is the learning rate times the sign", "[walk]") {
  const PopulationFlow<double> flow(small());
  AnyRung<double> rung = forget_type(flow);
  Stream stream(8, 0, 0);
  for (double& value : rung.initial) value = stream.normal();
  WalkRequest request;
  request.step_size = 0.1;
  request.steps = 1;
  request.save_steps = {1};
  request.keep_states = true;
  request.optimiser.rule = Optimiser::Rule::adam;
  const Vector<double> after = walk(rung, rung.initial, request).front().states.front();
  Vector<double> field(rung.dimension);
  flow.rhs(rung.initial, field, 0.0);
  for (Index i = 0; i < rung.dimension; ++i) {
    const double gradient = field[i] / rung.field.rates[i];
    // m/(sqrt v + epsilon) = g/(|g| + epsilon) after one step.
    CHECK(
        after[i] - rung.initial[i] ==
        Approx(0.1 * rung.field.rates[i] * gradient / (std::fabs(gradient) + 1e-8)).margin(1e-12));
  }
}

TEST_CASE("walk: momentum goes on from its memory as if never stopped", "[walk]") {
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(small()));
  for (const auto rule : {Optimiser::Rule::momentum, Optimiser::Rule::adam}) {
    WalkRequest request;
    request.step_size = 0.5;
    request.steps = 40;
    request.save_steps = {40};
    request.batch = 4;
    request.optimiser.rule = rule;
    const Vector<double> whole = walk(rung, rung.initial, request).front().last_state;
    request.steps = 15;
    const Trajectory<double> part = walk(rung, rung.initial, request).front();
    request.start_step = 15;
    request.start_memory = part.last_memory;
    request.steps = 40;
    CHECK(walk(rung, part.last_state, request).front().last_state == whole);
  }
}

TEST_CASE("scan-snap: bad instances are named", "[scan_snap]") {
  const Model& model = find_model("scan-snap");
  const auto rung = [&](const char* json, const char* name = "flow") {
    return model.rung(name, Parameters::parse("scan-snap", json, "test"), 1);
  };
  CHECK_THROWS_WITH(rung(R"({"P":[[0.5,0.4]]})"),
                    Catch::Contains("row 0") && Catch::Contains("0.9"));
  CHECK_THROWS_WITH(rung(R"({"P":[[1.5,-0.5]]})"), Catch::Contains("negative"));
  CHECK_THROWS_WITH(rung(R"({"P":[[1,0]],"psi":[0,1]})"), Catch::Contains("psi"));
  CHECK_THROWS_WITH(rung(R"({"P":[[1,0]],"psi":[7]})"), Catch::Contains("0 to 1"));
  CHECK_THROWS_WITH(rung(R"({"psi":[0]})"), Catch::Contains("without P"));
  CHECK_THROWS_WITH(rung(R"({"eta_Y":-1})"), Catch::Contains("eta_Y") && Catch::Contains("> 0"));
  CHECK_THROWS_WITH(rung(R"({"preset":"syn-smal"})"), Catch::Contains("syn-small"));
  CHECK_THROWS_WITH(rung(R"({"watch":"0"})"), Catch::Contains("class:token"));
  CHECK_THROWS_WITH(rung(R"({"watch":"0:25"})"), Catch::Contains("does not have"));
  CHECK_THROWS_WITH(rung(R"({"window":3})"), Catch::Contains("corpus"));
  CHECK_THROWS_WITH(rung(R"({"preset":"syn-small"})", "closed-form"), Catch::Contains("common"));
  CHECK_THROWS_WITH(rung(R"({"start":"uniform"})", "reduced"), Catch::Contains("zero"));
}

}  // namespace rungs_test
