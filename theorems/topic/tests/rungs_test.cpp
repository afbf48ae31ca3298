#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/rungs/block_flow.hpp"
#include "theorems/topic/rungs/documents.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/symmetric_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace rungs_test {

using namespace popgrad;
using namespace popgrad::topic;

namespace {

Training small_training() {
  Training t;
  t.law = {4, 2, 3, 0.15, 0.1, 0.1};
  t.key_width = 5;
  t.scale = 0.5;
  t.start = ValueStart::normal;
  return t;
}

Matrix<double> logits_of(const TopicLaw<double>& law, double alpha, double beta) {
  const Index size = law.vocabulary();
  Matrix<double> s = Matrix<double>::Zero(size, size);
  for (Index i = 1; i < size; ++i) {
    for (Index j = 1; j < size; ++j) {
      if (i == j) {
        s(j, i) = std::log(alpha);
      } else if (law.topic_of(i) == law.topic_of(j)) {
        s(j, i) = std::log(beta);
      }
    }
  }
  return s;
}

}  // namespace

TEST_CASE("topic: the fast expectation is the plain one", "[topic]") {
  const Training t = small_training();
  const Effective at = effective(Layout(t), start(t));
  const SubsetExpectation fast(t.law, LossKind::squared);
  const SubsetExpectation plain(t.law, LossKind::squared, true);
  Matrix<double> dv, ds, dv_plain, ds_plain;
  CHECK(fast(at.value, at.logits, &dv, &ds) ==
        Approx(plain(at.value, at.logits, &dv_plain, &ds_plain)).epsilon(1e-14));
  CHECK((dv - dv_plain).cwiseAbs().maxCoeff() < 1e-15);
  CHECK((ds - ds_plain).cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("topic: gradients are those of differences", "[topic]") {
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    for (const Index width : {0, 5}) {
      Training t = small_training();
      t.loss = loss;
      t.embedding_width = width;
      t.penalty = 0.02;
      const PopulationFlow flow(t);
      const Vector<double> x = flow.initial();
      Vector<double> dx(x.size());
      flow.rhs(x, dx, 0.0);
      constexpr double h = 1e-6;
      for (Index i = 0; i < x.size(); i += 11) {
        Vector<double> moved = x;
        moved[i] += h;
        const double up = flow.loss(moved);
        moved[i] -= 2 * h;
        // Rounding 1e-16/h, truncation h^2.
        CHECK(-(up - flow.loss(moved)) / (2 * h) == Approx(dx[i]).margin(1e-8));
      }
    }
  }
}

TEST_CASE("topic: on symmetric matrices the whole model has the loss of the landscape", "[topic]") {
  const TopicLaw<double> law{5, 2, 3, 0.15, 0.1, 0.1};
  const SubsetExpectation expectation(law, LossKind::squared);
  const BlockValue<double> value = mixture_value(law, 0.3);
  CHECK(expectation(expand(law, value), logits_of(law, 2.5, 0.7)) ==
        Approx(landscape(law, value)(2.5, 0.7)).epsilon(1e-14));
  const AttentionByKind attention = expectation.attention(logits_of(law, 2.5, 0.7));
  CHECK(attention.same_word / attention.other_topic == Approx(2.5));
  CHECK(attention.same_topic / attention.other_topic == Approx(0.7));
}

TEST_CASE("topic: the block flow is the whole flow on symmetric matrices", "[topic]") {
  const TopicLaw<double> law{4, 2, 3, 0.15, 0.1, 0.1};
  const SubsetExpectation expectation(law, LossKind::squared);
  const BlockFlow<double> flow(law, {}, true, true);
  Vector<double> x(6);
  x << -0.2, 0.4, 0.3, -0.1, 0.6, -0.2;
  Vector<double> dx(6);
  flow.rhs(x, dx, 0.0);
  Matrix<double> dv, ds;
  expectation(expand<double>(law, {x[0], x[1], x[2], x[3]}),
              logits_of(law, std::exp(x[4]), std::exp(x[5])), &dv, &ds);
  CHECK(-dv(3, 0) == Approx(dx[0]).epsilon(1e-12));
  CHECK(-dv(2, 2) == Approx(dx[1]).epsilon(1e-12));
  CHECK(-dv(2, 3) == Approx(dx[2]).epsilon(1e-12));
  CHECK(-dv(2, 7) == Approx(dx[3]).epsilon(1e-12));
  CHECK(-ds(2, 2) == Approx(dx[4]).epsilon(1e-12));
  CHECK(-ds(3, 2) == Approx(dx[5]).epsilon(1e-12));
}

TEST_CASE("topic: gradients of documents are unbiased as documents grow", "[topic]") {
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    Training t = small_training();
    t.loss = loss;
    t.document = 20'000;
    const PopulationFlow flow(t);
    const Vector<double> x = flow.initial();
    Vector<double> exact(x.size()), dx(x.size());
    flow.rhs(x, exact, 0.0);
    constexpr int rounds = 60;
    Vector<double> mean = Vector<double>::Zero(x.size());
    Vector<double> square = mean;
    for (int i = 0; i < rounds; ++i) {
      Stream stream(3, 0, static_cast<std::uint64_t>(i));
      flow.sample_rhs(x, dx, stream, 4);
      mean += dx / rounds;
      square += dx.cwiseAbs2() / rounds;
    }
    const Vector<double> error = ((square - mean.cwiseAbs2()) / (rounds - 1)).cwiseSqrt();
    // 289 looks at 5 deviations (Student of 59 degrees, 2e-3 in all), and a bias of order 1/N.
    CHECK(((mean - exact).cwiseAbs() - 5 * error).maxCoeff() < 2e-4 * exact.cwiseAbs().maxCoeff());
  }
}

TEST_CASE("topic: two stages conserve what they should", "[topic]") {
  Training t = small_training();
  t.scale = 0.1;
  t.start = ValueStart::zero;
  const PopulationFlow flow(t);
  SolveRequest<double> request;
  request.end = 3000;
  request.save_at = {0, 1300, 1700, 3000};
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-13;
  request.keep_states = true;
  const Trajectory<double> run = solve(forget_type(PopulationFlow(t)), request);
  REQUIRE(run.outcome.usable());
  const auto difference = [&](const Vector<double>& x) {
    const ConstView keys(x.data(), t.key_width, t.law.vocabulary());
    const ConstView queries(x.data() + flow.layout().queries(), t.key_width, t.law.vocabulary());
    return Matrix<double>(keys * keys.transpose() - queries * queries.transpose());
  };
  const Matrix<double> before = difference(run.states.front());
  CHECK((difference(run.states.back()) - before).cwiseAbs().maxCoeff() < 1e-8);
  const Trajectory<double> staged = solve(forget_type(TwoStageFlow(t, 1500)), request);
  const Index keys = flow.layout().values();
  // Dense output rounds what does not move.
  CHECK((staged.states[0].head(keys) - staged.states[1].head(keys)).cwiseAbs().maxCoeff() < 1e-14);
  CHECK((staged.states[3].tail(169) - staged.states[2].tail(169)).cwiseAbs().maxCoeff() < 1e-14);
  CHECK(staged.rows[3][0] < staged.rows[1][0]);
}

TEST_CASE("topic: SGD does not depend on threads, and its divergence is reported", "[topic]") {
  const AnyRung<double> rung = forget_type(PopulationFlow(small_training()));
  WalkRequest request;
  request.step_size = 0.5;
  request.steps = 30;
  request.save_steps = {10, 30};
  request.batch = 3;
  request.runs = 4;
  request.jobs = 1;
  const auto one = walk(rung, rung.initial, request);
  request.jobs = 2;
  const auto two = walk(rung, rung.initial, request);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].rows == two[i].rows);
  request.step_size = 1e4;
  const auto far = walk(rung, rung.initial, request);
  CHECK(far.front().outcome.ending == Ending::diverged);
  CHECK_THAT(far.front().outcome.notes.back(), Catch::Contains("lower --eta"));
}

TEST_CASE("topic: documents from a file", "[topic]") {
  std::string name = (std::filesystem::temp_directory_path() / "popgrad-corpus-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  const auto read = [&](const char* text) {
    std::ofstream(folder / "documents") << text;
    return read_documents((folder / "documents").string(), 12);
  };
  const auto documents = read("0 3 3 END\n11 END\n\n5 4\n");
  CHECK(documents == std::vector<std::vector<Index>>{{1, 4, 4}, {12}, {6, 5}});
  CHECK_THROWS_WITH(read("0 1 END\n3 12 END\n"), Catch::Contains("line 2, word 2: '12'"));
  CHECK_THROWS_WITH(read("0 x1 END\n"), Catch::Contains("line 1, word 2"));
  CHECK_THROWS_WITH(read("\n"), Catch::Contains("no documents"));
  CHECK_THROWS_AS(read_documents((folder / "none").string(), 12), InputError);
  Training t = small_training();
  t.corpus = {{1, 2, 3}, {7, 7}};
  DocumentLoss drawn(t);
  Stream stream(1, 0, 0);
  for (int i = 0; i < 20; ++i) {
    drawn.draw(stream);
    CHECK((drawn.words() == t.corpus[0] || drawn.words() == t.corpus[1]));
    CHECK(drawn.frequencies().sum() == Approx(1));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("topic: the optimum in digits is that in double", "[topic]") {
  const Model& model = find_model("topic");
  for (const char* value : {"block", "diagonal"}) {
    Parameters p("topic");
    p.set("T", "5");
    p.set("tau", "2");
    p.set("v", "3");
    p.set("value", value);
    const AnyRung<double> plain = model.rung("optimum", p, 1);
    const DigitsScope digits(40);
    const AnyRung<Real> fine = model.rung_in_digits("optimum", p, 1);
    std::vector<double> row(plain.observables.columns.size());
    std::vector<Real> fine_row(fine.observables.columns.size());
    plain.observables.read(plain.field.state_at(0), 0, row);
    fine.observables.read(fine.field.state_at(0), 0, fine_row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      CHECK(to_double(fine_row[i]) == Approx(row[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("topic: the optimum is the least of the landscape, at weights of 0 to infinity",
          "[topic]") {
  const auto weights = [](int decades, int a_decade) {
    std::vector<double> w{0};
    for (int i = -4 * a_decade; i <= decades * a_decade; ++i) {
      w.push_back(std::pow(10.0, static_cast<double>(i) / a_decade));
    }
    return w;
  };
  const std::vector<double> on_line = weights(12, 20);
  const std::vector<double> in_plane = weights(5, 12);
  int at_0 = 0, between = 0, infinite = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    Stream stream(7, 0, draw);
    const bool diagonal = draw % 4 == 0;
    const std::uint32_t topics = 2 + stream.index(10);
    double correct = stream.uniform();
    double random = draw % 10 == 1 ? 0 : stream.uniform();
    if (correct + random > 1) {
      correct = 1 - correct;
      random = 1 - random;
    }
    const std::uint32_t active = 1 + stream.index(topics - 1);
    Parameters p("topic", Record{{"T", static_cast<int>(topics)},
                                 {"tau", static_cast<int>(active)},
                                 {"v", static_cast<int>(1 + stream.index(7))},
                                 {"p_m", 0.01 + 0.99 * stream.uniform()},
                                 {"p_c", correct},
                                 {"p_r", random},
                                 {"value", diagonal ? "diagonal" : "block"}});
    if (!diagonal) p.set("lambda", std::pow(10.0, 8 * stream.uniform() - 6));
    const AnyRung<double> rung = find_model("topic").rung("optimum", p, 1);
    const Vector<double> x = rung.initial;
    std::vector<double> row(rung.observables.columns.size());
    rung.observables.read(x, 0, row);
    const double found = row[0];
    const auto law = topic_law<double>(p);
    const Landscape<double> made = landscape(law, BlockValue<double>{x[0], x[1], x[2], x[3]});
    std::vector<double> scanned =
        diagonal ? on_grid(made, in_plane, in_plane, 1) : on_grid(made, on_line, {0.0}, 1);
    scanned.push_back(loss_at_infinity(made));
    INFO("draw " << draw << ", alpha " << row[8] << ", beta " << row[9]);
    // A few roundings of a loss of order 1, or of (1/a)^2.
    const double rounding = 1e-14 / law.kept() / law.kept();
    CHECK(found <= *std::min_element(scanned.begin(), scanned.end()) + rounding);
    if (x[6] > 0) CHECK(found == made(x[4], x[5]));
    // What the search for diagonal W_V rests on.
    const auto words = static_cast<double>(law.active * law.words);
    if (diagonal) CHECK(x[4] < words / (1 - law.kept()));
    ++(x[6] == 0 ? infinite : x[4] == 0 || x[5] == 0 ? at_0 : between);
  }
  CHECK(at_0 > 10);
  CHECK(between > 50);
  CHECK(infinite > 5);
}

TEST_CASE("topic: the optimum is refused where all attention has the same loss", "[topic]") {
  const auto made = [](const Record& record) {
    return find_model("topic").rung("optimum", Parameters("topic", record), 1);
  };
  CHECK_THROWS_WITH(made({{"p_c", 0}, {"p_r", 0}}), Catch::Contains("the same loss"));
  CHECK_THROWS_WITH(made({{"value", "zero"}}), Catch::Contains("the same loss"));
}

TEST_CASE("topic: the symmetric flow is the whole flow from symmetric products", "[topic]") {
  // W_K and W_Q on rows of their own: K = Q = kappa I, S = 0 exactly.
  Training t;
  t.law = {4, 2, 3, 0.15, 0.1, 0.1};
  const Index size = t.law.vocabulary();
  t.key_width = 2 * size;
  constexpr double sigma = 0.15;
  const PopulationFlow flow(t);
  AnyRung<double> whole = forget_type(PopulationFlow(t));
  whole.initial.setZero();
  const double entry = sigma * std::sqrt(static_cast<double>(t.key_width));
  for (Index j = 0; j < size; ++j) {
    whole.initial[j * t.key_width + j] = entry;
    whole.initial[flow.layout().queries() + j * t.key_width + size + j] = entry;
  }
  SolveRequest<double> request;
  request.end = 6000;
  request.save_at = equally_spaced(0.0, request.end, 13);
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-13;
  const Trajectory<double> all = solve(whole, request);
  const Trajectory<double> few =
      solve(forget_type(SymmetricFlow<double>(t.law, {}, t.key_width, sigma)), request);
  REQUIRE(all.outcome.usable());
  REQUIRE(few.outcome.usable());
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    for (std::size_t c = 0; c < 10; ++c) {
      INFO("row " << i << ", column " << all.columns[c]);
      CHECK(few.columns[c] == all.columns[c]);
      CHECK(few.rows[i][c] == Approx(all.rows[i][c]).epsilon(1e-6).margin(1e-9));
    }
  }
  // Attention has moved, or this would show nothing.
  CHECK(few.rows.back()[10] > 1.5);
}

}  // namespace rungs_test
