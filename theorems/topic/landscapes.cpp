#include "theorems/topic/landscapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file_bytes.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/model.hpp"
#include "theorems/topic/rungs/model.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/parameters.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic {
namespace {

constexpr const char* landscape_command = "popgrad landscape";

Rational fraction(const std::string& option, const std::string& text) {
  try {
    return from_text<Rational>(text);
  } catch (const std::invalid_argument&) {
    reject(landscape_command, option, text,
           "must be a decimal or p/q, 0 or of a size from 1e-50 to 1e50");
  }
}

Matrix<Rational> matrix_from_file(const std::string& path, Index size) {
  const Parameters p = Parameters::parse("topic", bytes_of_file(path), path);
  if (!p.has("W_V")) {
    throw InputError(fmt::format("{}: has no \"W_V\"; give {{\"W_V\": [[...], ...]}}", path));
  }
  Matrix<Rational> value = p.matrix<Rational>("W_V");
  if (value.rows() != size || value.cols() != size) {
    reject(landscape_command, "W_V", fmt::format("{} x {}", value.rows(), value.cols()),
           fmt::format("must be {0} x {0}: [MASK] and T v words", size));
  }
  return value;
}

struct Made {
  TopicLaw<Rational> law;
  std::string value;
  Rational lambda;
  bool block = false;  // as opposed to a whole matrix
  BlockValue<Rational> numbers;
  Matrix<Rational> matrix;
  Landscape<Rational> landscape;
};

Made make(const Parameters& p) {
  Made made;
  made.law = topic_law<Rational>(p);
  made.value = p.text("value", "block");
  made.lambda = read<Rational>(p, parameter::lambda);
  if (made.lambda > 0 && made.value != "block") {
    reject(landscape_command, "--lambda", to_text(made.lambda),
           "gives the penalised W_V; take --value block");
  }
  made.block = true;
  if (made.value == "block") {
    made.numbers = penalised_value(made.law, made.lambda);
  } else if (made.value == "diagonal") {
    made.numbers = diagonal_value(made.law);
  } else if (made.value.starts_with("mixture:")) {
    made.numbers = mixture_value(made.law, fraction("--value mixture", made.value.substr(8)));
  } else if (std::filesystem::exists(made.value)) {
    made.block = false;
    constexpr Index most_words = 2000;
    if (made.law.vocabulary() > most_words) {
      reject(landscape_command, "--T", std::to_string(made.law.topics),
             fmt::format("times --v {} is too large for a matrix from a file; at most {} words",
                         made.law.words, most_words));
    }
    made.matrix = matrix_from_file(made.value, made.law.vocabulary());
  } else {
    reject(landscape_command, "--value", made.value,
           "must be block, diagonal, mixture:THETA or a JSON file with W_V; there is no such file");
  }
  made.landscape =
      made.block ? landscape(made.law, made.numbers) : landscape(made.law, made.matrix);
  return made;
}

Value value_record(const Made& made) {
  if (made.block) {
    return Record{{"w0", to_text(made.numbers.mask)},
                  {"diagonal", to_text(made.numbers.diagonal)},
                  {"same", to_text(made.numbers.same)},
                  {"other", to_text(made.numbers.other)}};
  }
  Value::List rows;
  for (Index i = 0; i < made.matrix.rows(); ++i) {
    Value::List row;
    for (Index j = 0; j < made.matrix.cols(); ++j) row.emplace_back(to_text(made.matrix(i, j)));
    rows.emplace_back(std::move(row));
  }
  return rows;
}

LandscapeBox general(const Box<Rational>& box) {
  return {{box.alpha_low, box.beta_low}, {box.alpha_high, box.beta_high}};
}

LandscapeCertificate certified(const Made& made, const LandscapeBox& box,
                               const Rational& tolerance) {
  const Certificate c = certify_minimum(
      made.law, made.landscape, {box.low[0], box.high[0], box.low[1], box.high[1]}, tolerance);
  LandscapeCertificate own{.lower = c.lower,
                           .upper = c.upper,
                           .point = {c.alpha, c.beta},
                           .box = general(c.box),
                           .minimisers = general(c.minimisers),
                           .boxes = c.boxes};
  if (c.on_line) own.line = Rational(static_cast<int>(made.law.words - 1));
  for (const CertificateLeaf& leaf : c.leaves) own.leaves.push_back({leaf.path, leaf.above});
  return own;
}

LandscapeLoss attention_loss(const Parameters& p) {
  const auto made = std::make_shared<const Made>(make(p));
  const TopicLaw<Rational>& law = made->law;
  const auto far = Rational(20) * Rational(static_cast<int>(law.active * law.words));
  const bool line = made->landscape.depends_on_sum_alone(law.words);
  LandscapeLoss own;
  own.form = "W_V " + made->value;
  Record parameters{{"T", law.topics},
                    {"tau", law.active},
                    {"v", law.words},
                    {"p_m", to_text(law.masked)},
                    {"p_c", to_text(law.correct)},
                    {"p_r", to_text(law.random)}};
  if (made->lambda > 0) {
    parameters["lambda"] = to_text(made->lambda);
    own.form += fmt::format(", lambda = {}", to_text(made->lambda));
  }
  own.title =
      "loss over the weights of the own word (α) and of the other words of its topic (β), " +
      own.form;
  own.caption =
      fmt::format("T = {}, tau = {}, v = {}, p_m = {}, p_c = {}, p_r = {}", law.topics, law.active,
                  law.words, to_text(law.masked), to_text(law.correct), to_text(law.random));
  own.instance = {{"parameters", parameters}, {"value", made->value}};
  own.certified = {{"W_V", value_record(*made)}};
  own.box = {{Rational(0), Rational(0)}, {far, line ? far : Rational(20)}};
  own.value = [made](const Rational& alpha, const Rational& beta) -> std::optional<Rational> {
    for (const auto& part : made->landscape.parts) {
      if (!(part.normaliser(alpha, beta) > 0)) return std::nullopt;
    }
    return made->landscape(alpha, beta);
  };
  own.grid = [made](const std::vector<double>& alphas, const std::vector<double>& betas, int jobs) {
    return on_grid(made->landscape.cast<double>(), alphas, betas, jobs);
  };
  own.curvature = [made](const Rational& alpha, const Rational& beta) {
    LandscapeCurvature at{.gradient = made->landscape.gradient(alpha, beta),
                          .hessian = made->landscape.hessian(alpha, beta)};
    const Inertia signs = inertia(at.hessian);
    at.positive = signs.positive;
    at.zero = signs.zero;
    at.negative = signs.negative;
    return at;
  };
  own.certify = [made](const LandscapeBox& box, const Rational& tolerance) {
    return certified(*made, box, tolerance);
  };
  return own;
}

WholeLoss whole_loss(const Parameters& p, std::uint64_t seed) {
  const auto flow = std::make_shared<const PopulationFlow>(training(p, seed));
  const Layout& layout = flow->layout();
  WholeLoss own;
  own.loss = [flow](const Vector<double>& x) { return flow->loss(x); };
  own.blocks = {{layout.keys(), layout.key_width, layout.width},
                {layout.queries(), layout.key_width, layout.width},
                {layout.values(), layout.width, layout.width}};
  if (layout.embedded) own.blocks.push_back({layout.embedding(), layout.width, layout.vocabulary});
  return own;
}

LossLandscape attention_weights() {
  ParameterInfo value;
  value.name = "value";
  value.kind = "text";
  value.default_value = "block";
  value.help = "W_V: block, diagonal, mixture:THETA, or a JSON file with W_V";
  return {.name = "attention-weights",
          .summary = "the attention weights (alpha, beta)",
          .coordinates = {{{.name = "alpha", .symbol = "α", .usual = "0,20 tau v"},
                           {.name = "beta",
                            .symbol = "β",
                            .usual = "0,20; 0,20 tau v where minimisers form a line",
                            .least_shown = 2}}},
          .range = at_least(0),
          .meaning = "weights are >= 0",
          .undefined = "makes all attention vanish or negative; weights are >= 0",
          .parameters = std::vector{value} + parameter_table(parameter::lambda),
          .at = attention_loss,
          .whole_rungs = {"flow", "two-stage", "gd", "sgd"},
          .whole = whole_loss,
          .check = "python3 theorems/topic/tests/check_certificate.py FILE.json"};
}

}  // namespace

std::vector<LossLandscape> landscapes() { return {attention_weights()}; }

}  // namespace popgrad::topic
