/// Law: what is drawn at the start has the law that its documentation says, and what is given as a
/// start is the start.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/tests/law.hpp"
#include "theorems/topic/tests/law.hpp"

namespace popgrad::laws::starts_laws {
namespace {

constexpr double six = 6;

Case of(const char* model, const char* rung, Record parameters, std::uint64_t seed = 3) {
  Case made;
  made.model = &find_model(model);
  made.rung = find_rung(*made.model, rung);
  made.parameters = Parameters(model, std::move(parameters));
  made.seed = seed;
  return made;
}

// The parts of the start whose name begins so, over many seeds.
std::vector<double> drawn(Case made, const std::string& prefix, std::uint64_t seeds) {
  std::vector<double> all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    made.seed = seed;
    const AnyRung<double> rung = made.make();
    for (Index i = 0; i < rung.dimension; ++i) {
      if (rung.state_names[static_cast<std::size_t>(i)].starts_with(prefix)) {
        all.push_back(rung.initial[i]);
      }
    }
  }
  return all;
}

double mean_of_powers(const std::vector<double>& values, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

void check_normal(const std::vector<double>& values, double deviation) {
  const auto n = static_cast<double>(values.size());
  REQUIRE(n >= 1000);
  CHECK(std::fabs(mean_of_powers(values, 1)) <= six * deviation / std::sqrt(n));
  CHECK(std::fabs(mean_of_powers(values, 2) / (deviation * deviation) - 1) <=
        six * std::sqrt(2 / n));
  CHECK(std::fabs(mean_of_powers(values, 4) / std::pow(deviation, 4) - 3) <=
        six * std::sqrt(96 / n));
}

void check_uniform(const std::vector<double>& values, double low, double high) {
  const auto n = static_cast<double>(values.size());
  REQUIRE(n >= 1000);
  const double width = high - low;
  std::vector<double> centred;
  for (const double value : values) centred.push_back((value - (low + high) / 2) / width);
  CHECK(*std::max_element(values.begin(), values.end()) <= high);
  CHECK(*std::min_element(values.begin(), values.end()) >= low);
  // Nobody is far from an end among so many.
  CHECK(high - *std::max_element(values.begin(), values.end()) <= 40 * width / n);
  CHECK(*std::min_element(values.begin(), values.end()) - low <= 40 * width / n);
  CHECK(std::fabs(mean_of_powers(centred, 1)) <= six / std::sqrt(12 * n));
  CHECK(std::fabs(mean_of_powers(centred, 2) - 1.0 / 12) <= six * std::sqrt(1.0 / 180 / n));
}

}  // namespace

TEST_CASE("laws: scan-snap's uniform start is 1/sqrt(M) wide to either side", "[law]") {
  const Case made = of("scan-snap", "flow", {{"preset", "syn-medium"}, {"n_last", "2"}});
  const double half = 1 / std::sqrt(56.0);
  check_uniform(drawn(made, "y_", 2), -half, half);
  check_uniform(drawn(made, "z_", 20), -half, half);
}

TEST_CASE("laws: joma's starts are normal of their deviation", "[law]") {
  check_normal(drawn(of("joma", "flow", {}), "v_", 5), 0.01);
  check_normal(drawn(of("joma", "flow", {{"scale", "0.6"}}), "query_", 100), 0.6);
  check_normal(drawn(of("joma", "flow", {}), "z_", 100), 0.01);
}

TEST_CASE("laws: joma's output layer is normal of deviation 1/sqrt(K)", "[law]") {
  Parameters p("joma");
  p.set("phi", "relu");
  p.set("units", "5");
  std::vector<double> all;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Matrix<double> layer = joma::class_instance<double>(p, seed).decoder;
    REQUIRE(layer.rows() == 20);
    REQUIRE(layer.cols() == 5);
    all.insert(all.end(), layer.data(), layer.data() + layer.size());
  }
  check_normal(all, 1 / std::sqrt(5.0));
}

TEST_CASE("laws: joma's random embeddings are independent unit vectors", "[law]") {
  Parameters p("joma");
  p.set("embedding-dimension", "6");
  std::vector<double> cosines;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Matrix<double> gram = joma::class_instance<double>(p, seed).features.gram;
    REQUIRE(gram.rows() == 21);
    for (Index i = 0; i < gram.rows(); ++i) {
      CHECK(gram(i, i) == Approx(1.0));
      for (Index j = 0; j < i; ++j) cosines.push_back(gram(i, j));
    }
  }
  // A cosine of two in d dimensions has variance 1/d and fourth moment 3/(d (d + 2)).
  const auto n = static_cast<double>(cosines.size());
  CHECK(std::fabs(mean_of_powers(cosines, 1)) <= six / std::sqrt(6 * n));
  CHECK(std::fabs(mean_of_powers(cosines, 2) - 1.0 / 6) <= six * std::sqrt(3.0 / 48 / n));
  CHECK(mean_of_powers(cosines, 4) == Approx(3.0 / 48).epsilon(0.2));
}

TEST_CASE("laws: joma's data laws are those of the authors", "[law]") {
  for (const bool gaussian : {true, false}) {
    std::vector<double> uniform;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      Parameters p("joma");
      p.set("law", gaussian ? "gaussian" : "uniform");
      const Matrix<double> x = joma::class_instance<double>(p, seed).token_law;
      for (Index i = 0; i < x.cols(); ++i) {
        CHECK(x.col(i).sum() == Approx(1.0));
        // The ratio to a known entry undoes the normalisation.
        const double own =
            gaussian ? std::exp(-std::pow(10.0 * static_cast<double>(i) / 20, 2) / 30) : 1.0;
        const double scale = gaussian ? own / x(0, i) : 1.0;
        for (Index l = 0; gaussian && l < 10; ++l) {
          const double distance = static_cast<double>(l) - 10.0 * static_cast<double>(i) / 20;
          CHECK(x(l, i) * scale == Approx(std::exp(-distance * distance / 30)));
        }
        for (Index l = 10; gaussian && l < 20; ++l) uniform.push_back(x(l, i) * scale);
      }
    }
    if (gaussian) check_uniform(uniform, 0.0, 0.5);
  }
  std::vector<double> targets;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const joma::ReducedInstance<double> made = joma::entropy_instance(seed);
    CHECK(std::is_sorted(made.target.data(), made.target.data() + made.target.size()));
    CHECK(made.start == Matrix<double>::Constant(10, 1, 0.05));
    CHECK(made.tau == 3.0);
    targets.insert(targets.end(), made.target.data(), made.target.data() + made.target.size());
  }
  check_uniform(targets, 1.0, 4.0);
}

TEST_CASE("laws: topic's starts are normal of deviation sigma", "[law]") {
  const Record size{{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"d_a", "4"}, {"sigma", "0.3"}};
  for (const char* matrix : {"W_K", "W_Q"}) {
    check_normal(drawn(of("topic", "flow", size), matrix, 30), 0.3);
  }
  Record normal = size;
  normal["value"] = "normal";
  check_normal(drawn(of("topic", "flow", normal), "W_V", 10), 0.3);
  Record embedded = size;
  embedded["d_e"] = "5";
  check_normal(drawn(of("topic", "flow", embedded), "W_E", 20), 0.3);
}

TEST_CASE("laws: topic's symmetric start is that of W_K and W_Q on average", "[law]") {
  const Record size{{"T", "3"}, {"tau", "2"}, {"v", "2"}, {"d_a", "5"}, {"sigma", "0.3"}};
  const AnyRung<double> symmetric = of("topic", "symmetric", size).make();
  const std::map<std::string, double> start = by_name(symmetric, symmetric.initial);
  // E[W_K'W_K] = sigma^2 d_a I.
  for (const char* name : {"K_00", "K_diagonal", "Q_00", "Q_diagonal"}) {
    CHECK(start.at(name) == Approx(0.3 * 0.3 * 5));
  }
  for (const char* name : {"K_0w", "K_w0", "K_same", "K_other", "Q_same", "S_00", "S_diagonal"}) {
    CHECK(start.at(name) == 0.0);
  }
}

TEST_CASE("laws: topic's value starts are the optimum under uniform attention", "[law]") {
  // Both map every document to the law of its words, so W_V has no gradient there.
  for (const char* value : {"block", "diagonal"}) {
    const Record size{{"T", "4"},       {"tau", "2"},   {"v", "3"},  {"p_r", "0.25"},
                      {"value", value}, {"sigma", "0"}, {"d_a", "2"}};
    const AnyRung<double> rung = of("topic", "flow", size).make();
    Vector<double> field(rung.dimension);
    rung.field.value(rung.initial, field, 0.0);
    INFO(value);
    CHECK(field.cwiseAbs().maxCoeff() < 1e-12);
  }
  const Record size{{"T", "4"}, {"tau", "2"}, {"v", "3"}, {"value", "identity"}};
  const AnyRung<double> rung = of("topic", "flow", size).make();
  CHECK(rung.initial.tail(13 * 13) ==
        Vector<double>(Matrix<double>(Matrix<double>::Identity(13, 13)).reshaped()));
}

TEST_CASE("laws: given starts are the starts", "[law]") {
  using List = Value::List;
  const auto table = [](Index rows, Index cols, double from) {
    List all;
    for (Index i = 0; i < rows; ++i) {
      List row;
      for (Index j = 0; j < cols; ++j) {
        row.emplace_back(
            to_text(from + 0.1 * static_cast<double>(i) - 0.07 * static_cast<double>(j)));
      }
      all.emplace_back(std::move(row));
    }
    return Value(std::move(all));
  };
  const Case topic = of("topic", "flow",
                        {{"T", "3"},
                         {"tau", "2"},
                         {"v", "2"},
                         {"d_a", "2"},
                         {"W_K", table(2, 7, 0.3)},
                         {"W_Q", table(2, 7, -0.2)},
                         {"W_V", table(7, 7, 0.1)}});
  const AnyRung<double> rung = topic.make();
  const Weights start = weights_of(topic, rung, rung.initial);
  CHECK(start.keys == topic.parameters.matrix<double>("W_K"));
  CHECK(start.queries == topic.parameters.matrix<double>("W_Q"));
  CHECK(start.values == topic.parameters.matrix<double>("W_V"));

  const Case joma = of("joma", "flow",
                       {{"X", List{List{"0.5", "0.2"}, List{"0.5", "0.8"}}},
                        {"W0", table(3, 2, 0.2)},
                        {"z0", List{"0.4", "-0.3"}}});
  const AnyRung<double> flow = joma.make();
  const std::map<std::string, double> v = by_name(flow, flow.initial);
  const Matrix<double> given = joma.parameters.matrix<double>("W0");
  for (Index k = 0; k < 2; ++k) {
    CHECK(v.at("v_0_" + std::to_string(k)) == given(0, k));
    CHECK(v.at("v_1_" + std::to_string(k)) == given(1, k));
    CHECK(v.at("query_" + std::to_string(k)) == given(2, k));
  }
  CHECK(v.at("z_0") == 0.4);
  CHECK(v.at("z_1") == -0.3);
}

TEST_CASE("laws: scb's random instances are what they say", "[law]") {
  std::vector<double> ratios;
  std::vector<double> places(5, 0.0);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const scb::Bigrams<double> b = scb::random_bigrams(3, 5, 2, seed);
    CHECK((b.transition.colwise().sum().array() - 1).abs().maxCoeff() < 1e-14);
    CHECK((b.transition * b.stationary - b.stationary).norm() < 1e-13);
    CHECK(b.stationary.sum() == Approx(1.0));
    for (Index k = 0; k < 3; ++k) {
      CHECK(b.law.segment(2 * k, 2).sum() == Approx(1.0));
      CHECK(b.position[static_cast<std::size_t>(2 * k)] <
            b.position[static_cast<std::size_t>(2 * k + 1)]);
      for (Index e = 2 * k; e < 2 * k + 2; ++e) {
        places[static_cast<std::size_t>(b.position[static_cast<std::size_t>(e)])] += 1;
      }
      // Of uniform u, v: min/max is uniform on (0, 1).
      for (const auto& [u, v] : {std::pair{b.law[2 * k], b.law[2 * k + 1]},
                                 std::pair{b.transition(0, k), b.transition(2, k)}}) {
        ratios.push_back(std::min(u, v) / std::max(u, v));
      }
    }
  }
  check_uniform(ratios, 0.0, 1.0);
  // 400 * 3 pairs of 5 places.
  for (const double count : places) CHECK(std::fabs(count - 480) <= six * std::sqrt(480 * 0.6));
}

TEST_CASE("laws: scb's starts are mu 1', 11'/N or a correlated kernel, attention 1/T", "[law]") {
  for (const Case& made : cases()) {
    if (!made.is("scb", "sgd") && !made.is("scb", "flow") && !made.is("scb", "noisy-lumped"))
      continue;
    const AnyRung<double> rung = made.make();
    const BigramLaw b = bigram_law(made);
    const Whole start = whole(made, b, rung, rung.initial);
    const Index n = b.tokens();
    INFO(made.text());
    CHECK((start.attention.array() - 1 / static_cast<double>(b.positions())).abs().maxCoeff() <
          1e-15);
    const std::string kind = made.parameters.text("start", "stationary");
    const Matrix<double> ground = b.mu * Vector<double>::Ones(n).transpose();
    if (kind == "stationary") CHECK((start.values - ground).norm() < 1e-12);
    if (kind == "uniform") {
      CHECK((start.values.array() - 1 / static_cast<double>(n)).abs().maxCoeff() < 1e-15);
    }
    if (kind != "transfer") continue;
    CHECK((start.values * b.mu - b.mu).norm() < 1e-12);
    CHECK((start.values.colwise().sum().array() - 1).abs().maxCoeff() < 1e-12);
    const auto inner = [&](const Matrix<double>& left, const Matrix<double>& right) {
      double sum = 0;
      for (Index k = 0; k < n; ++k) sum += b.mu[k] * left.col(k).dot(right.col(k));
      return sum;
    };
    const Matrix<double> moved = start.values - ground;
    const Matrix<double> target = b.kernel - ground;
    const double theta = made.parameters.number<double>("theta", "0.5");
    const double correlation = made.parameters.number<double>("correlation", "0.5");
    CHECK(std::sqrt(inner(moved, moved) / inner(target, target)) == Approx(theta));
    CHECK(inner(moved, target) / std::sqrt(inner(moved, moved) * inner(target, target)) ==
          Approx(correlation));
  }
}

TEST_CASE("laws: scb's noise levels are those of one sample at the solution", "[law]") {
  // Exact for V; for the attention up to O(1/T), which halves from T = 5 to T = 10.
  std::vector<double> misses;
  for (const char* positions : {"5", "10"}) {
    const Case made = of("scb", "sgd", {{"N", "2"}, {"T", positions}, {"Q", "2"}});
    const BigramLaw b = bigram_law(made);
    const Index n = b.tokens();
    const Matrix<double> rows = Matrix<double>::Identity(n, n) -
                                Matrix<double>::Constant(n, n, 1.0 / static_cast<double>(n));
    const Matrix<double> cols =
        Matrix<double>::Identity(n, n) - b.mu * Vector<double>::Ones(n).transpose();
    double values = 0;
    Vector<double> attention = Vector<double>::Zero(n);
    for_each_sample(b, [&](const std::vector<Index>& x, Index query, Index label, double chance) {
      Vector<double> seen = Vector<double>::Zero(n);
      for (Index t = 0; t < b.positions(); ++t) {
        seen[x[static_cast<std::size_t>(t)]] += b.context(t, query);
      }
      Vector<double> miss = -(b.kernel * seen);
      miss[label] += 1;
      const Matrix<double> dv =
          rows * miss * seen.transpose() * b.mu.cwiseInverse().asDiagonal() * cols;
      values += chance * dv.squaredNorm();
      Vector<double> da(b.positions());
      for (Index t = 0; t < b.positions(); ++t) {
        da[t] = miss.dot(b.kernel.col(x[static_cast<std::size_t>(t)])) / b.mu[query];
      }
      const double level = da.mean();
      attention[query] += chance * (da.array() - level).matrix().squaredNorm();
    });
    const scb::Training<double> training = scb::training<double>(made.parameters, made.seed);
    const scb::NoiseLevels levels = scb::noise_at_solution(training.bigrams);
    const auto count = static_cast<double>(n);
    const double expected =
        std::sqrt(values / ((count - 1) * (count - 2 + count * b.mu.squaredNorm())));
    CHECK(levels.value == Approx(expected).epsilon(1e-10));
    double worst = 0;
    for (Index k = 0; k < n; ++k) {
      const double level = std::sqrt(attention[k] / static_cast<double>(b.positions() - 1));
      worst = std::max(worst, std::fabs(levels.attention[k] / level - 1));
    }
    misses.push_back(worst);
  }
  CHECK(misses[0] < 0.5);
  CHECK(misses[1] < 0.65 * misses[0]);
}

TEST_CASE("laws: a pilot measures the covariance of one sample", "[law]") {
  for (const char* rate : {"1", "1.7"}) {
    const Case made = of("scb", "sgd", {{"N", "3"}, {"T", "4"}, {"Q", "2"}, {"eta_A", rate}});
    const AnyRung<double> rung = made.make();
    const Point at = points(made, rung)[1];
    const BigramLaw b = bigram_law(made);
    const scb::Training<double> training = scb::training<double>(made.parameters, made.seed);
    const scb::NoiseLevels levels = scb::noise_from_pilot(training, at.x, 40'000, 5);
    // From draws of the rung itself, which one_step.cpp holds to its law.
    const Index n = b.tokens();
    constexpr std::uint64_t draws = 40'000;
    Vector<double> sum = Vector<double>::Zero(at.x.size()), squares = sum, draw = sum;
    for (std::uint64_t i = 0; i < draws; ++i) {
      Stream stream(77, 1, i);
      rung.draws.sample(at.x, draw, stream, 1);
      sum += draw;
      squares += draw.cwiseAbs2();
    }
    const Vector<double> variance = squares / draws - (sum / draws).cwiseAbs2();
    const auto count = static_cast<double>(n);
    const double value = std::sqrt(variance.head(n * n).sum() /
                                   ((count - 1) * (count - 2 + count * b.mu.squaredNorm())));
    CHECK(levels.value == Approx(value).epsilon(0.05));
    for (Index k = 0; k < n; ++k) {
      const double level =
          std::sqrt(variance.segment(n * n + k * 4, 4).sum() / 3) / std::stod(rate);
      CHECK(levels.attention[k] == Approx(level).epsilon(0.08));
    }
  }
}

}  // namespace popgrad::laws::starts_laws
