/// Starts that are given by name, against descent written out matrix by matrix from the same start.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/shell.hpp"
#include "places.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace given_start_test {

using namespace popgrad;
using Json = nlohmann::json;
using Dense = Matrix<double>;
using Column = Vector<double>;

namespace {

/// What a rung and a plain loop may differ by: roundings of some hundred steps.
constexpr double apart = 1e-10;

Dense drawn(Index rows, Index columns, std::uint64_t which, double size = 1) {
  Stream stream(5, 0, which);
  Dense m(rows, columns);
  for (double& entry : m.reshaped()) entry = size * (2 * stream.uniform() - 1);
  return m;
}

Dense drawn_law(Index rows, Index columns, std::uint64_t which) {
  Dense m = drawn(rows, columns, which).cwiseAbs();
  for (Index k = 0; k < columns; ++k) m.col(k) /= m.col(k).sum();
  return m;
}

Json rows_of(const Dense& m) {
  Json rows = Json::array();
  for (Index i = 0; i < m.rows(); ++i) {
    rows.push_back(std::vector<double>(m.row(i).begin(), m.row(i).end()));
  }
  return rows;
}

Parameters parameters(const std::string& model, const Json& instance) {
  return Parameters::parse(model, instance.dump(), "test");
}

AnyRung<double> made(const std::string& model, const std::string& rung, const Json& instance) {
  return find_model(model).rung(rung, parameters(model, instance), 1);
}

using State = std::map<std::string, double>;

State named(const AnyRung<double>& rung, const Column& x) {
  State state;
  for (Index i = 0; i < x.size(); ++i) state[rung.state_names[static_cast<std::size_t>(i)]] = x[i];
  return state;
}

/// Where plain descent ends; the expectation whatever the rung.
State after_steps(const AnyRung<double>& rung, double step, std::uint64_t steps) {
  WalkRequest request;
  request.step_size = step;
  request.steps = steps;
  request.save_steps = {steps};
  return named(rung, walk(rung, rung.initial, request).front().last_state);
}

State after_time(const AnyRung<double>& rung, double end) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = {end};
  request.relative_tolerance = 1e-12;
  request.absolute_tolerance = 1e-14;
  const Trajectory<double> run = solve(rung, request);
  REQUIRE(run.outcome.usable());
  return named(rung, run.last_state);
}

/// x' = f(x) in classical Runge-Kutta steps, fine enough for its error to be below rounding.
template <class Point, class Field>
Point integrated(Point x, const Field& f, double end, int steps) {
  const double h = end / steps;
  for (int i = 0; i < steps; ++i) {
    const Point a = f(x);
    const Point b = f(x + 0.5 * h * a);
    const Point c = f(x + 0.5 * h * b);
    const Point d = f(x + h * c);
    x = x + h / 6 * (a + 2.0 * b + 2.0 * c + d);
  }
  return x;
}

// ---- sparse contextual bigrams -----------------------------------------------------------------

struct Bigram {
  Dense kernel, law, values, attention;  // P, q (T x N), V, A (T x N)
  Column mu;                             // P mu = mu

  [[nodiscard]] Json instance() const {
    return {{"P", rows_of(kernel)},
            {"q", rows_of(law.transpose())},
            {"V", rows_of(values)},
            {"A", rows_of(attention)}};
  }
};

Column stationary(const Dense& kernel) {
  Column mu = Column::Constant(kernel.cols(), 1.0 / static_cast<double>(kernel.cols()));
  for (int i = 0; i < 4000; ++i) mu = kernel * mu;
  return mu / mu.sum();
}

// Three tokens, six positions; A is uneven off the support of q, and its columns sum to 1.
Bigram bigram() {
  Bigram b;
  b.kernel = drawn_law(3, 3, 1);
  b.mu = stationary(b.kernel);
  b.law = Dense::Zero(6, 3);
  b.law.col(0) << 0, 0.25, 0, 0.75, 0, 0;
  b.law.col(1) << 1, 0, 0, 0, 0, 0;
  b.law.col(2) << 0, 0, 0.5, 0, 0.125, 0.375;
  b.values = drawn_law(3, 3, 2);
  b.attention = drawn_law(6, 3, 3);
  return b;
}

// Both directions, V above A: the expected gradients of 1/2 |e_y - V X a|^2, preconditioned by
// D^{-1} and 1/mu_k, projected onto 1'V = 1', V mu = mu, sum a^k = 1.
Dense bigram_field(const Bigram& b, const Dense& state) {
  const Column& mu = b.mu;
  const Index n = 3;
  const Index length = 6;
  const Dense v = state.topRows(n);
  const Dense a = state.bottomRows(length);
  const Dense c = Dense(mu.asDiagonal()) - mu * mu.transpose();
  const auto inner = [&](const Dense& m, const Dense& l) {
    return (m.transpose() * l * c).trace();
  };
  Dense gradient = Dense::Zero(n, n);
  Dense moved = Dense::Zero(length, n);
  for (Index k = 0; k < n; ++k) {
    const Column own = a.col(k);
    const double mass = own.sum();
    gradient +=
        mu[k] * (b.law.col(k).dot(own) * b.kernel * c + mass * b.kernel * mu * mu.transpose() -
                 own.squaredNorm() * v * c - mass * mass * v * mu * mu.transpose());
    for (Index t = 0; t < length; ++t) {
      moved(t, k) = b.law(t, k) * inner(v, b.kernel) - own[t] * inner(v, v) +
                    mu.dot(v.transpose() * b.kernel * mu) - mass * mu.dot(v.transpose() * v * mu);
    }
  }
  Dense values = gradient * mu.cwiseInverse().asDiagonal();
  values.rowwise() -= values.colwise().mean().eval();
  values -= Column(values * mu) * Column::Ones(n).transpose();
  moved.rowwise() -= moved.colwise().mean().eval();
  Dense both(n + length, n);
  both << values, moved;
  return both;
}

Dense stacked(const Dense& top, const Dense& bottom) {
  Dense both(top.rows() + bottom.rows(), top.cols());
  both << top, bottom;
  return both;
}

double distance_to(const Dense& expected, const State& state) {
  double worst = 0;
  for (Index k = 0; k < 3; ++k) {
    for (Index i = 0; i < 3; ++i) {
      worst = std::max(worst, std::fabs(state.at(fmt::format("V_{}_{}", i, k)) - expected(i, k)));
    }
    for (Index t = 0; t < 6; ++t) {
      const auto found = state.find(fmt::format("a_{}_{}", k, t));
      const double a = found != state.end() ? found->second : state.at(fmt::format("a_{}_rest", k));
      worst = std::max(worst, std::fabs(a - expected(3 + t, k)));
    }
  }
  return worst;
}

// ---- scan and snap -----------------------------------------------------------------------------

struct Snap {
  Dense law = drawn_law(6, 3, 11).transpose();  // P (K x M)
  std::vector<Index> query{5, 5, 4}, next{0, 2, 2};
  Column weight{{0.5, 0.2, 0.3}};
  Dense decoder = drawn(6, 6, 12), logits = drawn(6, 6, 13);
  double decoder_rate = 1.3, attention_rate = 0.4;

  [[nodiscard]] Json instance() const {
    return {
        {"P", rows_of(law)},     {"psi", query},
        {"next", next},          {"class_law", std::vector<double>(weight.begin(), weight.end())},
        {"eta_Y", decoder_rate}, {"eta_Z", attention_rate},
        {"Y", rows_of(decoder)}, {"Z", rows_of(logits)}};
  }
};

// Y above Z, (2 M x M).
Dense snap_field(const Snap& s, const Dense& state) {
  const Index m = 6;
  const Dense y = state.topRows(m);
  const Dense z = state.bottomRows(m);
  Dense field = Dense::Zero(2 * m, m);
  for (Index n = 0; n < 3; ++n) {
    const Index query = s.query[static_cast<std::size_t>(n)];
    Column f =
        s.law.row(n).transpose().cwiseProduct(z.row(query).transpose().array().exp().matrix());
    f /= f.norm();
    Column residual = -(y.transpose() * f).array().exp().matrix();
    residual /= -residual.sum();
    residual[s.next[static_cast<std::size_t>(n)]] += 1;
    field.topRows(m) += s.decoder_rate * s.weight[n] * f * residual.transpose();
    const Column pull = y * residual;
    field.row(m + query) +=
        s.attention_rate * s.weight[n] * f.cwiseProduct(pull - f * f.dot(pull)).transpose();
  }
  return field;
}

double distance_to_tables(const Dense& expected, const State& state) {
  double worst = 0;
  int compared = 0;
  for (const auto& [name, value] : state) {
    if (name[0] != 'y' && name[0] != 'z') continue;
    const Index row = name[2] - '0';
    const Index column = name[4] - '0';
    const double other = expected(row + (name[0] == 'z' ? 6 : 0), column);
    worst = std::max(worst, std::fabs(value - other));
    ++compared;
  }
  REQUIRE(compared == 6 * 6 + 2 * 6);
  return worst;
}

// ---- JoMA --------------------------------------------------------------------------------------

struct Mixture {
  Dense law = drawn_law(4, 3, 21);  // X (M_C x C)
  Column classes{{0.5, 0.3, 0.2}};
  Dense weights = drawn(5, 2, 22), decoder = drawn(3, 2, 23);
  Column logits = drawn(4, 1, 24);
  double temperature = 0.7;

  [[nodiscard]] Json instance() const {
    return {{"X", rows_of(law)},
            {"class_law", std::vector<double>(classes.begin(), classes.end())},
            {"W0", rows_of(weights)},
            {"z0", std::vector<double>(logits.begin(), logits.end())},
            {"decoder", rows_of(decoder)},
            {"temperature", temperature}};
  }
};

// Weights by columns, then logits: exp attention b = x e^{z/T}, f = (b, 1), scores O W'f.
Column mixture_field(const Mixture& m, const Column& state) {
  const Dense w = state.head(10).reshaped(5, 2);
  const Column z = state.tail(4);
  Dense of_weights = Dense::Zero(5, 2);
  Column of_logits = Column::Zero(4);
  for (Index c = 0; c < 3; ++c) {
    Column f(5);
    f << m.law.col(c).cwiseProduct((z / m.temperature).array().exp().matrix()), 1;
    Column residual = -(m.decoder * (w.transpose() * f)).array().exp().matrix();
    residual /= -residual.sum();
    residual[c] += 1;
    const Column pull = m.decoder.transpose() * residual;
    of_weights += m.classes[c] * f * pull.transpose();
    of_logits += m.classes[c] / m.temperature * f.head(4).cwiseProduct((w * pull).head(4));
  }
  Column field(14);
  field << of_weights.reshaped(), of_logits;
  return field;
}

// ---- topics ------------------------------------------------------------------------------------

struct Topics {
  Index topics = 3, active = 2, words = 2, size = 7, width = 4;
  double selected = 0.3, kept = 0.2, swapped = 0.1;
  Dense keys = drawn(4, 7, 31), queries = drawn(4, 7, 32), values = drawn(7, 7, 33);

  [[nodiscard]] Json instance() const {
    return {{"T", topics},           {"tau", active},        {"v", words},
            {"p_m", selected},       {"p_c", kept},          {"p_r", swapped},
            {"d_a", width},          {"W_K", rows_of(keys)}, {"W_Q", rows_of(queries)},
            {"W_V", rows_of(values)}};
  }
};

// W_K, W_Q, W_V by columns: minus the gradient of the loss per selected position on infinitely long
// documents, document by document (which topics), query by query.
Column topics_field(const Topics& t, const Column& state) {
  const Index count = t.width * t.size;
  const Dense k = state.head(count).reshaped(t.width, t.size);
  const Dense q = state.segment(count, count).reshaped(t.width, t.size);
  const Dense v = state.tail(t.size * t.size).reshaped(t.size, t.size);
  const double root = std::sqrt(static_cast<double>(t.width));
  const Dense s = k.transpose() * q / root;
  Dense of_values = Dense::Zero(t.size, t.size);
  Dense of_scores = of_values;
  const double vocabulary = static_cast<double>(t.topics * t.words);
  const double present = static_cast<double>(t.active * t.words);
  for (Index missing = 0; missing < t.topics; ++missing) {  // two of three topics
    const auto in_document = [&](Index word) { return (word - 1) / t.words != missing; };
    Column seen(t.size);
    seen[0] = t.selected * (1 - t.kept - t.swapped);
    for (Index w = 1; w < t.size; ++w) {
      seen[w] = t.selected * t.swapped / vocabulary;
      if (in_document(w)) seen[w] += (1 - t.selected + t.selected * t.kept) / present;
    }
    for (Index i = 0; i < t.size; ++i) {
      // The law of the word behind a selected position that shows token i, with its probability.
      Column wanted = Column::Zero(t.size);
      for (Index y = 1; y < t.size; ++y) {
        if (!in_document(y)) continue;
        const double shows =
            i == 0 ? 1 - t.kept - t.swapped : (i == y ? t.kept : 0.0) + t.swapped / vocabulary;
        wanted[y] = shows / present;
      }
      Column a = seen.cwiseProduct(s.col(i).array().exp().matrix());
      a /= a.sum();
      const Column slope = 2.0 / 3.0 * (wanted.sum() * (v * a) - wanted);
      of_values += slope * a.transpose();
      const Column of_attention = v.transpose() * slope;
      of_scores.col(i) += a.cwiseProduct((of_attention.array() - a.dot(of_attention)).matrix());
    }
  }
  Column field(state.size());
  field << -(q * of_scores.transpose() / root).reshaped(), -(k * of_scores / root).reshaped(),
      -of_values.reshaped();
  return field;
}

}  // namespace

TEST_CASE("start: descent and SGD's mean from V and A are the plain loop", "[start][scb]") {
  const Bigram b = bigram();
  Dense x = stacked(b.values, b.attention);
  for (int i = 0; i < 200; ++i) x += 0.05 * bigram_field(b, x);
  CHECK(distance_to(x, after_steps(made("scb", "gd", b.instance()), 0.05, 200)) < apart);
  CHECK(distance_to(x, after_steps(made("scb", "sgd", b.instance()), 0.05, 200)) < apart);
  CHECK(distance_to(x, after_steps(made("scb", "noisy", b.instance()), 0.05, 200)) < apart);
  const Dense y = integrated(
      stacked(b.values, b.attention), [&](const Dense& at) { return bigram_field(b, at); }, 8,
      4000);
  CHECK(distance_to(y, after_time(made("scb", "flow", b.instance()), 8)) < apart);
}

// Made by tests/recorded/given_start.py, which writes down objectives and no gradient.
TEST_CASE("start: descent from V and A, and from Y and Z, ends where a NumPy loop does",
          "[start][scb][scan-snap]") {
  std::ifstream file(places::sources() + "/tests/recorded/data/given_start.json");
  const Json recorded = Json::parse(file);
  REQUIRE(recorded.at("runs").size() == 2);
  for (const Json& run : recorded.at("runs")) {
    const AnyRung<double> rung = made(run.at("model"), "gd", run.at("instance"));
    INFO(run.at("model"));
    const State first = named(rung, rung.initial);
    const State last = after_steps(rung, run.at("eta"), run.at("steps"));
    for (const auto& [name, value] : run.at("last").items()) {
      INFO(name);
      CHECK(std::fabs(last.at(name) - value.get<double>()) < apart);
      CHECK(std::fabs(last.at(name) - first.at(name)) > 1e-6);
    }
  }
}

TEST_CASE("start: the lumped state of V and A moves as the dense one", "[start][scb]") {
  const Bigram b = bigram();
  Dense x = stacked(b.values, b.attention);
  for (int i = 0; i < 100; ++i) x += 0.05 * bigram_field(b, x);
  const State lumped = after_steps(made("scb", "noisy-lumped", b.instance()), 0.05, 100);
  for (Index k = 0; k < 3; ++k) {
    std::vector<double> rest;
    for (Index t = 0; t < 6; ++t) {
      if (b.law(t, k) == 0) {
        rest.push_back(x(3 + t, k));
      } else {
        CHECK(lumped.at(fmt::format("a_{}_{}", k, t)) == Approx(x(3 + t, k)).margin(apart));
      }
    }
    const Eigen::Map<const Column> others(rest.data(), std::ssize(rest));
    CHECK(lumped.at(fmt::format("m_{}", k)) == Approx(others.mean()).margin(apart));
    CHECK(lumped.at(fmt::format("r_{}", k)) ==
          Approx((others.array() - others.mean()).matrix().norm()).margin(apart));
  }
}

TEST_CASE("start: the numbers of the reduced rung come from V and A, or by name", "[start][scb]") {
  Bigram b = bigram();
  const double share = 1.0 / 6;
  b.attention = Dense::Constant(6, 3, share) + 0.3 * (b.law - Dense::Constant(6, 3, share));
  const Column& mu = b.mu;
  const Dense ground = mu * Column::Ones(3).transpose();
  b.values = ground + 0.4 * (b.kernel - ground);
  const State from_matrices =
      named(made("scb", "reduced", b.instance()), made("scb", "reduced", b.instance()).initial);
  CHECK(from_matrices.at("alpha_V") == Approx(0.4).epsilon(1e-12));
  CHECK(from_matrices.at("alpha_A") == Approx(0.3).epsilon(1e-12));
  CHECK(from_matrices.at("w") == Approx(0).margin(1e-14));
  Json by_name{{"P", rows_of(b.kernel)}, {"q", rows_of(b.law.transpose())}};
  by_name["state"] = {{"alpha_V", 0.4}, {"alpha_A", 0.3}};
  const State few = after_time(made("scb", "reduced", by_name), 6);
  const State all = after_time(made("scb", "flow", b.instance()), 6);
  CHECK(few.at("alpha_V") ==
        Approx((all.at("V_0_1") - mu[0]) / (b.kernel(0, 1) - mu[0])).margin(apart));
  CHECK(few.at("alpha_A") == Approx((all.at("a_0_3") - share) / (0.75 - share)).margin(apart));
}

TEST_CASE("start: descent and flow from Y and Z are the plain loop", "[start][scan-snap]") {
  const Snap s;
  Dense x = stacked(s.decoder, s.logits);
  for (int i = 0; i < 200; ++i) x += 0.1 * snap_field(s, x);
  CHECK(distance_to_tables(x, after_steps(made("scan-snap", "gd", s.instance()), 0.1, 200)) <
        apart);
  const Dense y = integrated(
      stacked(s.decoder, s.logits), [&](const Dense& at) { return snap_field(s, at); }, 10, 2000);
  CHECK(distance_to_tables(y, after_time(made("scan-snap", "flow", s.instance()), 10)) < apart);
  // Long sequences are the expectation; short ones begin at the same tables.
  CHECK(distance_to_tables(stacked(s.decoder, s.logits),
                           named(made("scan-snap", "sgd", s.instance()),
                                 made("scan-snap", "sgd", s.instance()).initial)) == 0);
}

TEST_CASE("start: h and S by name go on where the run was", "[start][scan-snap]") {
  for (const std::string rung : {"reduced", "quasi-static"}) {
    const AnyRung<double> whole = made("scan-snap", rung, Json::object());
    const State half = after_time(whole, 20);
    // The second half, from the components and from Z.
    Json later{{"Z", rows_of(Dense::Zero(30, 30))}};
    for (const auto& [name, value] : half) {
      if (name[0] != 'z') {
        later["state"][name] = value;
        continue;
      }
      const std::size_t mark = name.find('_', 2);
      const auto query = static_cast<std::size_t>(std::stoul(name.substr(2, mark - 2)));
      later["Z"][query][static_cast<std::size_t>(std::stoul(name.substr(mark + 1)))] = value;
    }
    const State end = after_time(whole, 40);
    for (const auto& [name, value] : after_time(made("scan-snap", rung, later), 20)) {
      INFO(rung << " " << name);
      CHECK(value == Approx(end.at(name)).margin(apart));
    }
  }
}

TEST_CASE("start: descent and flow from W0, z0 and an output layer are the plain loop",
          "[start][joma]") {
  const Mixture m;
  Column start(14);
  start << m.weights.reshaped(), m.logits;
  Column x = start;
  for (int i = 0; i < 200; ++i) x += 0.1 * mixture_field(m, x);
  const auto compare = [](const Column& expected, const State& state) {
    for (Index i = 0; i < 14; ++i) {
      const std::string name = i >= 10      ? fmt::format("z_{}", i - 10)
                               : i % 5 == 4 ? fmt::format("query_{}", i / 5)
                                            : fmt::format("v_{}_{}", i % 5, i / 5);
      INFO(name);
      CHECK(state.at(name) == Approx(expected[i]).margin(apart));
    }
  };
  compare(x, after_steps(made("joma", "gd", m.instance()), 0.1, 200));
  compare(x, after_steps(made("joma", "sgd", m.instance()), 0.1, 200));
  const Column y = integrated(
      start, [&](const Column& at) { return mixture_field(m, at); }, 10.0, 2000);
  compare(y, after_time(made("joma", "flow", m.instance()), 10));
}

TEST_CASE("start: descent and flow from W_K, W_Q and W_V are the plain loop", "[start][topic]") {
  const Topics t;
  Column start(2 * 28 + 49);
  start << t.keys.reshaped(), t.queries.reshaped(), t.values.reshaped();
  Column x = start;
  for (int i = 0; i < 100; ++i) x += 0.2 * topics_field(t, x);
  const auto worst = [](const Column& expected, const AnyRung<double>& rung, const State& state) {
    double found = 0;
    for (Index i = 0; i < expected.size(); ++i) {
      found = std::max(
          found, std::fabs(expected[i] - state.at(rung.state_names[static_cast<std::size_t>(i)])));
    }
    return found;
  };
  const AnyRung<double> descent = made("topic", "gd", t.instance());
  CHECK(worst(x, descent, after_steps(descent, 0.2, 100)) < apart);
  const AnyRung<double> flow = made("topic", "flow", t.instance());
  const Column y = integrated(
      start, [&](const Column& at) { return topics_field(t, at); }, 10.0, 1000);
  CHECK(worst(y, flow, after_time(flow, 10)) < apart);
}

TEST_CASE("start: trained embeddings and the numbers of the block flow", "[start][topic]") {
  const Dense embedding = drawn(3, 7, 41);
  const Json small{{"T", 3}, {"tau", 2}, {"v", 2}, {"d_a", 4}};
  Json wide = small;
  wide["d_e"] = 3;
  wide["W_E"] = rows_of(embedding);
  const State state = named(made("topic", "gd", wide), made("topic", "gd", wide).initial);
  CHECK(state.at("W_E_2_5") == embedding(2, 5));
  Json block = small;
  block["state"] = {{"ln_alpha", 0.5}, {"d", -1}};
  const AnyRung<double> rung = made("topic", "block-reduced", block);
  const State few = named(rung, rung.initial);
  CHECK(few.at("ln_alpha") == 0.5);
  CHECK(few.at("d") == -1);
  CHECK(few.at("ln_beta") == 0);
  Json symmetric = small;
  symmetric["state"] = {{"K", {1, 2, 3, 4, 5, 6}}};
  const AnyRung<double> flow = made("topic", "symmetric", symmetric);
  CHECK(named(flow, flow.initial).at("K_same") == 5);
  const DigitsScope digits(40);
  block["state"]["d"] = "1/3";
  const AnyRung<Real> fine =
      find_model("topic").rung_in_digits("block-reduced", parameters("topic", block), 1);
  CHECK(abs(Real(fine.initial[1] * Real(3) - Real(1))) < Real("1e-38"));
}

TEST_CASE("start: bad starts are one line and status 2", "[start][cli]") {
  using namespace command_line;
  const Folder folder;
  const std::string scb = R"("P":[[0.5,0.3],[0.5,0.7]],"q":[[1,0,0],[0,0.5,0.5]])";
  const std::string third = "0.33333333333333333";
  const std::string even = fmt::format("[[{0},{0}],[{0},{0}],[{0},{0}]]", third);
  int number = 0;
  const auto file = [&](const std::string& text) {
    return folder.file(fmt::format("{}.json", ++number), text);
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"run scb flow --instance " + file("{" + scb + R"(,"V":[[0.5,0.5]]})"),
       "V 1 x 2 must be 2 x 2"},
      {"run scb flow --instance " + file("{" + scb + R"(,"A":[[1,0,0],[0,1,0]]})"),
       "A 2 x 3 must be 3 x 2"},
      {"run scb flow --instance " + file("{" + scb + R"(,"V":[[0.5,0.5],[0.6,0.5]]})"),
       "V column 0 sums to 1.1"},
      {"run scb flow --start uniform --instance " +
           file("{" + scb + R"(,"V":[[0.5,0.5],[0.5,0.5]]})"),
       "contradicts V"},
      {"run scb reduced --instance " + file("{" + scb + R"(,"A":[[1,0],[0,0],[0,1]]})"),
       "the only form that this rung has"},
      {"run scb closed-form --instance " + file("{" + scb + ",\"A\":" + even + "}"),
       "A begins at 1/T"},
      {"run scb noisy --instance " + file("{" + scb + R"(,"A":[[1,0],[1,0],[0,1]]})"),
       "A column 0 sums to 2"},
      {"run scb flow --instance " + file("{" + scb + R"(,"B":[[1]]})"), "B is not known"},
      {"run scb reduced --instance " + file("{" + scb + R"(,"state":{"alfa_V":1}})"),
       "component alfa_V is not known; did you mean 'alpha_V'"},
      {"run scb reduced --instance " + file("{" + scb + R"(,"state":{"w":[1,2]}})"),
       "with 2 numbers must have 1"},
      {"run scb reduced --instance " + file("{" + scb + R"(,"state":3})"), "must be an object"},
      {"run scb flow --instance " + file("{" + scb + R"(,"state":{"V_0_0":3}})"),
       "not read by this rung"},
      {"compare scb flow reduced --instance " + file("{" + scb + R"(,"state":{"V_0_0":3}})"),
       "give the whole of it as \"V\""},
      {"run scan-snap flow --instance " + file(R"({"P":[[0.5,0.5],[1,0]],"Y":[[1]]})"),
       "Y 1 x 1 must be 2 x 2"},
      {"run scan-snap reduced --instance " + file(R"({"P":[[0.5,0.5],[1,0]],"Y":[[1,0],[0,1]]})"),
       "not read by this rung"},
      {"run scan-snap closed-form --instance " + file(R"({"state":{"h":1}})"),
       "not read by this rung"},
      {"run scan-snap flow --instance " + file(R"({"state":{"z_0_1":1}})"),
       "give the whole of it as \"Z\""},
      {"run joma flow --instance " + file(R"({"decoder":[[1,2]]})"), "decoder 1 x 2 must be 20 x"},
      {"run topic flow --instance " + file(R"({"W_E":[[1,2]]})"), "give --d_e"},
      {"run topic flow --instance " + file(R"({"W_K":[[1,2]]})"), "W_K 1 x 2 must be 100 x 101"},
      {"run topic optimum --instance " + file(R"({"state":{"d":1}})"), "not read by this rung"},
      {"verify scb.gradient --instance " + file("{" + scb + ",\"A\":" + even + "}"),
       "is not read by this statement"},
      {"verify scan-snap.fates --instance " + file(R"({"preset":"growth","Z":[[0]]})"),
       "is not read by this statement"},
      {"verify scb.convergence --instance " + file("{" + scb + R"(,"state":{"w":1}})"),
       "is ignored by statements"},
  };
  for (const auto& [words, expected] : cases) {
    const Answer answer = command_line::run_popgrad(words);
    CAPTURE(words, answer.out);
    CHECK(answer.status == 2);
    CHECK(answer.out.find(expected) != std::string::npos);
    CHECK(std::count(answer.out.begin(), answer.out.end(), '\n') == 1);
  }
}

TEST_CASE("start: comparisons and many digits begin at a given start", "[start][cli]") {
  using namespace command_line;
  const Folder folder;
  const std::string instance = folder.file("start.json", Json(bigram().instance()).dump());
  const std::string words = "scb flow --t1 5 --save 6 --instance " + instance + " -q -o ";
  REQUIRE(command_line::run_popgrad("run " + words + folder.file("all.csv")).status == 0);
  const std::string compare = "compare scb gd flow --eta 0.01 --t1 5 -q --instance " + instance;
  const Answer both = command_line::run_popgrad(compare);
  CAPTURE(both.out);
  CHECK(both.status == 0);
  const std::string digits = "run " + words + folder.file("fine.csv") + " --digits 30";
  REQUIRE(command_line::run_popgrad(digits).status == 0);
  // The first row is the start itself: loss and distances are not those of mu 1' and 1/T.
  std::istringstream plain(content(folder.file("all.csv"))), fine(content(folder.file("fine.csv")));
  std::string line, other;
  std::getline(plain, line);
  std::getline(fine, other);
  CHECK(line == other);
  for (int row = 0; row < 6; ++row) {
    REQUIRE(std::getline(plain, line));
    REQUIRE(std::getline(fine, other));
    std::istringstream a(line), b(other);
    for (std::string left, right; std::getline(a, left, ',') && std::getline(b, right, ',');) {
      CHECK(std::stod(left) == Approx(std::stod(right)).margin(1e-9));
    }
  }
}

}  // namespace given_start_test
