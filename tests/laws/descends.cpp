/// Law: the field is minus the gradient of the reported loss, in the metric that the theory states;
/// with label noise or a temperature, minus that of the loss that these make of it.
///
/// Here the metrics are written down once more, rung by rung; a rung that descends no loss says why. Of a rung with
/// neither, the loss falls along the field.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "laws/gradient.hpp"
#include "laws/trained_gradient.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"
#include "theorems/scan_snap/tests/law.hpp"
#include "theorems/scb/tests/law.hpp"
#include "theorems/topic/tests/law.hpp"

namespace popgrad::laws::descends_laws {
namespace {

constexpr double unclaimed = std::numeric_limits<double>::quiet_NaN();

/// The direction that a gradient stands for; NaN where no claim is made.
using Direction = std::function<Vector<double>(const Case&, const AnyRung<double>&, const Point&,
                                               const Vector<double>& gradient)>;

// v = U'W, so W' = -dL/dW makes v' = -(U'U) dL/dv.
Vector<double> joma_training(const Case& made, const AnyRung<double>& rung, const Point& /*at*/,
                             const Vector<double>& gradient) {
  const joma::ClassInstance<double> drawn =
      joma::class_instance<double>(made.parameters, made.seed);
  Vector<double> expected = -gradient;
  const Matrix<double>& gram = drawn.features.gram;
  if (gram.size() == 0) return expected;
  const Index rows = gram.rows();
  Index units = 0;
  for (const std::string& name : rung.state_names) units += name.starts_with("z_") ? 0 : 1;
  units /= rows;
  for (Index k = 0; k < units; ++k) {
    expected.segment(k * rows, rows) = -(gram * gradient.segment(k * rows, rows));
  }
  return expected;
}

// All parameters move with their own gradient.
Vector<double> multilayer_training(const Case& /*made*/, const AnyRung<double>& /*rung*/,
                                   const Point& /*at*/, const Vector<double>& gradient) {
  return -gradient;
}

Vector<double> scan_snap_training(const Case& made, const AnyRung<double>& rung,
                                  const Point& /*at*/, const Vector<double>& gradient) {
  const Parameters& p = made.parameters;
  const std::string preset = p.text("preset", "");
  const double rate_y = p.number<double>("eta_Y", preset == "syn-medium" ? "2" : "1");
  const double rate_z = p.number<double>("eta_Z", preset == "growth" ? "0.5" : "1");
  const Index tokens = vocabulary_of(p);
  Index named = 0;  // columns of Y with a name, seen on its first row
  std::string row;
  for (const std::string& name : rung.state_names) {
    if (!name.starts_with("y_")) continue;
    const std::string own = name.substr(0, name.find('_', 2));
    if (row.empty()) row = own;
    if (own == row && !name.ends_with("_other")) ++named;
  }
  Vector<double> expected = gradient;
  for (Index i = 0; i < gradient.size(); ++i) {
    const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
    if (name.starts_with("z_")) {
      expected[i] = -rate_z * gradient[i];
    } else if (name.starts_with("y_") && made.rung.name != "fast-decoder") {
      // A column that stands for many tokens moves as each of them.
      const double many = name.ends_with("_other") ? static_cast<double>(tokens - named) : 1.0;
      expected[i] = -rate_y * gradient[i] / many;
    } else {
      expected[i] = unclaimed;  // B, an integral of xi; Y of fast-decoder, see below
    }
  }
  return expected;
}

// V-gradient times D^{-1}, a^k-gradient over mu_k, both projected unless told otherwise.
Vector<double> scb_training(const Case& made, const AnyRung<double>& rung, const Point& /*at*/,
                            const Vector<double>& gradient) {
  const BigramLaw b = bigram_law(made);
  const Index n = b.tokens();
  const auto positions = static_cast<double>(b.positions());
  const bool softmax = made.parameters.text("attention", "linear") == "softmax";
  const bool project = made.parameters.flag("project", true);
  const double rate = made.parameters.number<double>("eta_A", "1");
  Vector<double> expected = Vector<double>::Constant(gradient.size(), unclaimed);
  Eigen::Map<Matrix<double>> v(expected.data(), n, n);
  for (Index k = 0; k < n; ++k) v.col(k) = -gradient.segment(k * n, n) / b.mu[k];
  if (project) {
    const Matrix<double> rows = Matrix<double>::Identity(n, n) -
                                Matrix<double>::Constant(n, n, 1.0 / static_cast<double>(n));
    const Matrix<double> cols =
        Matrix<double>::Identity(n, n) - b.mu * Vector<double>::Ones(n).transpose();
    v = (rows * v * cols).eval();
  }
  // Part 1, where no step has been made yet: attention descends alone.
  if (made.parameters.text("algorithm", "plain") == "transfer") v.setZero();
  // The positions that each component stands for: 1, or all off the support.
  std::vector<std::vector<Index>> own(static_cast<std::size_t>(n));
  std::vector<double> many(static_cast<std::size_t>(gradient.size()), 0.0);
  for (Index i = n * n; i < gradient.size(); ++i) {
    const std::string& name = rung.state_names[static_cast<std::size_t>(i)];
    const std::size_t cut = name.find('_', 2);
    if (name == "part" || name == "steps_of_part") {
      expected[i] = 0;
      continue;
    }
    const Index k = std::stol(name.substr(2, cut == std::string::npos ? cut : cut - 2));
    const auto rest = static_cast<double>((b.context.col(k).array() == 0).count());
    if (name.starts_with("r_")) {
      expected[i] = -rate * gradient[i] / b.mu[k];
      continue;
    }
    const bool all = name.starts_with("m_") || name.ends_with("_rest");
    many[static_cast<std::size_t>(i)] = all ? rest : 1.0;
    if (many[static_cast<std::size_t>(i)] > 0) own[static_cast<std::size_t>(k)].push_back(i);
  }
  for (Index k = 0; k < n; ++k) {
    double mean = 0;
    for (const Index i : own[static_cast<std::size_t>(k)]) {
      expected[i] = -rate * gradient[i] / (many[static_cast<std::size_t>(i)] * b.mu[k]);
      mean += many[static_cast<std::size_t>(i)] * expected[i] / positions;
    }
    if (softmax || !project) continue;
    for (const Index i : own[static_cast<std::size_t>(k)]) expected[i] -= mean;
  }
  return expected;
}

// On V = mu 1' + alpha_V (P - mu 1') + W the metric is K_P, on A it is K_Q - 1/T; w = <W, W>.
Vector<double> scb_reduced(const Case& made, const AnyRung<double>& /*rung*/, const Point& at,
                           const Vector<double>& gradient) {
  const BigramLaw b = bigram_law(made);
  double of_kernel = -b.mu.squaredNorm();
  double of_context = -1.0 / static_cast<double>(b.positions());
  for (Index k = 0; k < b.tokens(); ++k) {
    of_kernel += b.mu[k] * b.kernel.col(k).squaredNorm();
    of_context += b.mu[k] * b.context.col(k).squaredNorm();
  }
  return Vector<double>{
      {-gradient[0] / of_kernel, -gradient[1] / of_context, -4 * at.x[2] * gradient[2]}};
}

bool trains(const Case& made, char matrix) {
  const bool embedded = made.parameters.count("d_e", 0, 0, 1000) > 0;
  return made.parameters.text("train", embedded ? "VKQE" : "VKQ").find(matrix) != std::string::npos;
}

Vector<double> topic_training(const Case& made, const AnyRung<double>& rung, const Point& /*at*/,
                              const Vector<double>& gradient) {
  Vector<double> expected = -gradient;
  for (Index i = 0; i < gradient.size(); ++i) {
    const char matrix = rung.state_names[static_cast<std::size_t>(i)][2];  // W_K_0_0
    if (!trains(made, matrix)) expected[i] = 0;
  }
  return expected;
}

Vector<double> topic_two_stage(const Case& made, const AnyRung<double>& rung, const Point& at,
                               const Vector<double>& gradient) {
  const bool first = at.t < made.parameters.number<double>("switch", "1000");
  Vector<double> used = gradient;
  if (first) {
    // Uniform attention: both W_K and W_Q at 0.
    Point uniform = at;
    for (Index i = 0; i < at.x.size(); ++i) {
      if (rung.state_names[static_cast<std::size_t>(i)][2] != 'V') uniform.x[i] = 0;
    }
    used = loss_gradient(rung, uniform).value;
  }
  for (Index i = 0; i < at.x.size(); ++i) {
    const bool value = rung.state_names[static_cast<std::size_t>(i)][2] == 'V';
    const bool moves = value == first && trains(made, value ? 'V' : 'K');
    used[i] = moves ? -used[i] : 0.0;
  }
  return used;
}

// Tied entries: one of them moves with their mean gradient.
Vector<double> topic_block(const Case& made, const AnyRung<double>& /*rung*/, const Point& /*at*/,
                           const Vector<double>& gradient) {
  const TopicWorld w = topic_world(made.parameters);
  Vector<double> count = Vector<double>::Zero(6);
  for (Index i = 1; i < w.vocabulary(); ++i) {
    count[0] += 1;
    for (Index j = 1; j < w.vocabulary(); ++j) {
      count[i == j ? 1 : w.topic_of(i) == w.topic_of(j) ? 2 : 3] += 1;
    }
  }
  count[4] = count[1];
  count[5] = count[2];
  Vector<double> expected(6);
  for (Index i = 0; i < 6; ++i) {
    const bool moves = count[i] > 0 && trains(made, i < 4 ? 'V' : 'K');
    expected[i] = moves ? -gradient[i] / count[i] : 0.0;
  }
  return expected;
}

// K' = -(G S' + S G')/sqrt(d_a) and its like, on whole matrices.
Vector<double> topic_symmetric(const Case& made, const AnyRung<double>& rung, const Point& at,
                               const Vector<double>& gradient) {
  const TopicWorld w = topic_world(made.parameters);
  const double root = std::sqrt(made.parameters.number<double>("d_a", "100"));
  const Index size = w.vocabulary();
  const auto kind = [&](Index i, Index j) -> Index {
    if (i == 0 && j == 0) return 0;
    if (i == 0) return 1;
    if (j == 0) return 2;
    return i == j ? 3 : w.topic_of(i) == w.topic_of(j) ? 4 : 5;
  };
  Vector<double> count = Vector<double>::Zero(6);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < size; ++j) count[kind(i, j)] += 1;
  }
  const auto begin_of = [&](const std::string& matrix) {
    Index i = 0;
    while (rung.state_names[static_cast<std::size_t>(i)] != matrix + "_00") ++i;
    return i;
  };
  const auto whole = [&](const Vector<double>& from, Index begin, bool per_entry) {
    Matrix<double> m(size, size);
    for (Index i = 0; i < size; ++i) {
      for (Index j = 0; j < size; ++j) {
        const Index c = kind(i, j);
        m(i, j) = from[begin + c] / (per_entry ? count[c] : 1.0);
      }
    }
    return m;
  };
  const Matrix<double> keys = whole(at.x, begin_of("K"), false);
  const Matrix<double> queries = whole(at.x, begin_of("Q"), false);
  const Matrix<double> both = whole(at.x, begin_of("S"), false);
  // dL/ds with s = S/sqrt(d_a).
  const Matrix<double> g = root * whole(gradient, begin_of("S"), true);
  Vector<double> expected = Vector<double>::Constant(at.x.size(), unclaimed);
  const auto write = [&](const Matrix<double>& m, Index begin) {
    for (Index i = 0; i < size; ++i) {
      for (Index j = 0; j < size; ++j) expected[begin + kind(i, j)] = -m(i, j) / root;
    }
  };
  write(g * both.transpose() + both * g.transpose(), begin_of("K"));
  write(g.transpose() * both + both.transpose() * g, begin_of("Q"));
  write(g * queries + keys * g, begin_of("S"));
  const Vector<double> value = topic_block(made, rung, at, gradient.head(6));
  expected.head(4) = value.head(4);
  return expected;
}

const std::map<std::string, Direction>& directions() {
  static const std::map<std::string, Direction> all{
      {"joma sgd", joma_training},
      {"joma gd", joma_training},
      {"joma flow", joma_training},
      {"joma multilayer-sgd", multilayer_training},
      {"joma multilayer-gd", multilayer_training},
      {"joma multilayer-flow", multilayer_training},
      {"scan-snap sgd", scan_snap_training},
      {"scan-snap gd", scan_snap_training},
      {"scan-snap flow", scan_snap_training},
      {"scan-snap fast-decoder", scan_snap_training},
      {"scb sgd", scb_training},
      {"scb noisy", scb_training},
      {"scb noisy-lumped", scb_training},
      {"scb gd", scb_training},
      {"scb flow", scb_training},
      {"scb reduced", scb_reduced},
      {"topic sgd", topic_training},
      {"topic gd", topic_training},
      {"topic flow", topic_training},
      {"topic two-stage", topic_two_stage},
      {"topic block-reduced", topic_block},
      {"topic symmetric", topic_symmetric},
  };
  return all;
}

const std::map<std::string, std::string>& no_descent() {
  static const std::map<std::string, std::string> all{
      {"joma stationary", "expected gradients are frozen: not the gradient of a function of v, z"},
      {"joma reduced", "the same, with z eliminated; has no loss"},
      {"joma attended", "the same, with the field at a o v; has no loss"},
      {"scan-snap quasi-static", "the decoder ignores that features move (Assumption 1c)"},
      {"scan-snap reduced", "the decoder is one number h(t); has no gradient of its own"},
  };
  return all;
}

}  // namespace

TEST_CASE("laws: every rung with a field has a loss, or says why it descends none", "[law]") {
  for (const Theory& theory : theories()) {
    const auto& model = theory.model;
    for (const Rung& rung : model->table()) {
      if (rung.info.kind == RungKind::closed_form || rung.info.kind == RungKind::moments) continue;
      const std::string name = model->name() + " " + rung.info.name;
      // A model made of one law names its columns and does not describe them.
      const bool has_loss =
          rung.observables.empty() ||
          std::any_of(rung.observables.begin(), rung.observables.end(),
                      [](const ObservableInfo& column) { return column.name == "loss"; });
      INFO(name << ": has no loss; give a reason in tests/laws/descends.cpp");
      CHECK((has_loss || no_descent().contains(name)));
      CHECK_FALSE((directions().contains(name) && no_descent().contains(name)));
    }
  }
}

namespace {

// The loss of scb that is reported is that of true labels, of a free query, and of linear attention
// without temperature; the law of one step has the fields.
bool loss_is_of_another_training(const Case& made) {
  if (made.model->name() != "scb") return false;
  const bool linear = made.parameters.text("attention", "linear") == "linear";
  return made.parameters.has("label_noise") || made.parameters.has("query_position") ||
         (linear && made.parameters.has("temperature"));
}

}  // namespace

TEST_CASE("laws: fields are minus the gradient of the reported loss", "[law][unsanitized]") {
  std::size_t compared = 0;
  std::size_t falling = 0;
  std::map<std::string, std::size_t> not_clean;
  for (const Case& made : cases()) {
    const std::string rung_name = made.model->name() + " " + made.rung.name;
    if (made.rung.kind == RungKind::closed_form || no_descent().contains(rung_name)) continue;
    if (loss_is_of_another_training(made)) continue;
    const auto direction = directions().find(rung_name);
    const AnyRung<double> rung = made.make();
    for (const Point& at : points(made, rung)) {
      // Where the metric is diagonal some components are enough.
      const bool diagonal =
          made.model->name() == "scan-snap" || made.rung.name.starts_with("multilayer");
      const Index most = diagonal ? 80 : 1000;
      // Between the kinks of many units there is little room.
      const double step = made.parameters.text("phi", "linear") == "relu" ? 1e-6 : 1e-3;
      const Gradient gradient = trained_gradient(made, rung, at, most, step);
      Vector<double> field(at.x.size());
      rung.field.value(at.x, field, at.t);
      if (!gradient.value.hasNaN()) {
        ++falling;
        INFO(made.text() << " at t = " << at.t << ": the loss falls");
        CHECK(gradient.value.dot(field) <= (1e-8 + 20 * gradient.error) * (1 + field.lpNorm<1>()));
      }
      if (direction == directions().end()) continue;
      const Vector<double> expected = direction->second(made, rung, at, gradient.value);
      // Metrics multiply by at most 1/mu_k and a rate.
      const double size =
          1 + expected.array().isNaN().select(0.0, expected.array()).abs().maxCoeff();
      for (Index i = 0; i < field.size(); ++i) {
        if (std::isnan(expected[i])) continue;
        ++compared;
        for (const char* name : {"label_noise", "temperature"}) {
          if (made.parameters.has(name)) ++not_clean[made.model->name() + " " + name];
        }
        INFO(made.text() << " at t = " << at.t << ": "
                         << rung.state_names[static_cast<std::size_t>(i)]);
        if (!(std::fabs(field[i] - expected[i]) <= 1e-8 * size + 20 * gradient.error)) {
          CHECK(field[i] == expected[i]);
        }
      }
    }
  }
  CHECK(compared > 10'000);
  CHECK(falling > 300);
  for (const char* name : {"joma label_noise", "scan-snap label_noise", "scan-snap temperature"}) {
    INFO(name);
    CHECK(not_clean[name] > 100);
  }
}

}  // namespace popgrad::laws::descends_laws
