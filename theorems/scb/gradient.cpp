// Theorem    scb.gradient
// Status     proved in source, constraints derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Section 3.1
// Statement  the expected gradients of V and a^k, preconditioned by D^{-1} and 1/mu_k, with and
//            without projection, and the expected loss, are what the population rungs integrate
// Hypotheses H1 mu > 0 sums to 1; H2 the columns of P and q sum to 1
// Check      all sequences of N = T = 2 enumerated, mu, P, q, A, V generic symbols; the mean of
//            sampled directions at N = 3, T = 12
// Controls   the term of V mu left out of the a-gradient; the query weight 1/mu_k left out
// Uses       rungs sgd, flow

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "popgrad/identity.hpp"
#include "popgrad/scb/sequence_sgd.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/scb/knobs.hpp"
#include "theorems/scb/statements.hpp"

namespace popgrad::theorems::scb {
namespace {

using namespace popgrad::scb;

constexpr Knob positions{.name = "positions",
                         .meaning = "positions T of the context",
                         .low = 4,
                         .high = 40,
                         .usual = 12,
                         .spacing = Spacing::whole};
constexpr Knob state_size{.name = "state-size",
                          .meaning = "standard deviation of the entries of V and A",
                          .low = 0.05,
                          .high = 2,
                          .usual = 0.5,
                          .spacing = Spacing::logarithmic};

// Columns (p, 1 - p) of symbols.
Matrix<Expression> two_laws(const std::string& name) {
  const Vector<Expression> p = symbols(name, 2);
  Matrix<Expression> law(2, 2);
  law << p[0], p[1], 1 - p[0], 1 - p[1];
  return law;
}

struct SymbolicSample {
  Training<Expression> training;
  Matrix<Expression> context;  // q (T x N)
};

SymbolicSample symbolic_training(bool project) {
  SymbolicSample s;
  Bigrams<Expression>& b = s.training.bigrams;
  b.transition = two_laws("P");
  const Expression mu = symbol("mu");
  b.stationary.resize(2);
  b.stationary << mu, 1 - mu;
  b.context = 2;
  s.context = two_laws("q");
  b.first = {0, 2, 4};
  b.position = {0, 1, 0, 1};
  b.law = s.context.reshaped();
  s.training.start = Matrix<Expression>::Constant(2, 2, Expression(0));
  s.training.attention_rate = symbol("eta");
  s.training.project = project;
  return s;
}

// The expectation by enumeration of all sequences, queries, sources and labels.
Vector<Expression> enumerated(const SequenceSgd<Expression>& rung, const SymbolicSample& s,
                              const Vector<Expression>& x, Expression& loss) {
  const Bigrams<Expression>& b = s.training.bigrams;
  Vector<Expression> sum = Vector<Expression>::Constant(x.size(), Expression(0));
  loss = 0;
  rung.attend(x);
  const Eigen::Map<const Matrix<Expression>> v(x.data(), 2, 2);
  for (Index first = 0; first < 2; ++first) {
    for (Index second = 0; second < 2; ++second) {
      const std::vector<Index> sequence{first, second};
      for (Index query = 0; query < 2; ++query) {
        for (Index source = 0; source < 2; ++source) {
          for (Index label = 0; label < 2; ++label) {
            const Index seen = sequence[static_cast<std::size_t>(source)];
            const Expression weight = b.stationary[first] * b.stationary[second] *
                                      b.stationary[query] * s.context(source, query) *
                                      b.transition(label, seen);
            rung.add_sample(x, sequence, query, label, weight, sum);
            Expression error = 0;
            for (Index i = 0; i < 2; ++i) {
              const Expression answer =
                  v(i, first) * x[4 + 2 * query] + v(i, second) * x[4 + 2 * query + 1];
              error += GiNaC::pow((i == label ? 1 : 0) - answer, 2) / 2;
            }
            loss += weight * error;
          }
        }
      }
    }
  }
  rung.finish(sum);
  return sum;
}

Truth symbolic_identity(bool project, std::string_view variant) {
  const SymbolicSample s = symbolic_training(project);
  const SequenceSgd<Expression> rung(s.training);
  const Vector<Expression> x = symbols("x", 8);
  Expression loss;
  const Vector<Expression> mean = enumerated(rung, s, x, loss);
  Vector<Expression> claimed(8);
  rung.rhs(x, claimed, Expression(0));
  if (variant == "no-mean-value" && !project) {
    const Eigen::Map<const Matrix<Expression>> v(x.data(), 2, 2);
    const Vector<Expression> mean_value = v * s.training.bigrams.stationary;
    for (Index k = 0; k < 2; ++k) {
      const Expression mass = x[4 + 2 * k] + x[5 + 2 * k];
      for (Index t = 0; t < 2; ++t) {
        claimed[4 + 2 * k + t] += s.training.attention_rate * mass * mean_value.squaredNorm();
      }
    }
  }
  if (variant == "no-query-weight") {
    for (Index k = 0; k < 2; ++k) {
      for (Index t = 0; t < 2; ++t) claimed[4 + 2 * k + t] *= s.training.bigrams.stationary[k];
    }
  }
  const Truth field = vanishes(Matrix<Expression>(mean - claimed));
  if (field != Truth::yes || !variant.empty()) return field;
  std::vector<Expression> row(rung.columns().size());
  rung.observe(x, Expression(0), row);
  return vanishes(Expression(loss - row[4]));
}

constexpr int parts = 50;  // of the samples, whose means are taken to be normal

// Largest deviation of a mean of samples from the expectation, in standard errors.
double sampled_deviation(const Setting& setting, Index samples) {
  const std::uint64_t seed = setting.seed;
  Training<double> training;
  const Index n = setting.count(tokens);
  training.bigrams = random_bigrams(n, setting.count(positions), setting.count(support_knob), seed);
  training.start = Matrix<double>::Zero(n, n);
  const SequenceSgd<double> rung(training);
  Stream start(seed, 0, 1);
  Vector<double> x(rung.dimension());
  for (double& value : x) value = setting.value(state_size) * start.normal();
  Vector<double> expected(x.size());
  rung.rhs(x, expected, 0.0);
  Vector<double> mean = Vector<double>::Zero(x.size());
  Vector<double> square = mean;
  Vector<double> part(x.size());
  for (int i = 0; i < parts; ++i) {
    Stream stream(seed, 1, static_cast<std::uint64_t>(i));
    rung.sample_rhs(x, part, stream, samples / parts);
    mean += part / parts;
    square += part.cwiseAbs2() / parts;
  }
  double worst = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double error = std::sqrt(std::max(0.0, square[i] - mean[i] * mean[i]) / (parts - 1));
    if (error > 0) worst = std::max(worst, std::fabs(mean[i] - expected[i]) / error);
  }
  return worst;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const Index n = setting.count(tokens);
  const Index length = setting.count(positions);
  result.parameters = {
      {"symbols", "N = T = 2"},
      {"sampled", fmt::format("N = {}, T = {}, Q = {}", n, length, setting.count(support_knob))},
      {"state", setting.value(state_size)},
      {"seed", setting.seed}};
  if (!setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "enumerated gradients and loss minus the formulas",
                                       symbolic_identity(false, variant), "32 weighted samples"));
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "the same projected onto the constraints",
                                       symbolic_identity(true, variant), "generic mu, P, q, A, V"));
  }
  if (variant.empty()) {
    const Index samples = setting.full ? 5'000'000 : 250'000;
    const auto looks = static_cast<int>(n * (n + length));
    // Deviations over 50 parts follow Student's law; 1.3 times the normal bound covers its tail
    // down to levels of 1e-7 or so.
    const boost::math::students_t student(parts - 1);
    const double tail = setting.false_alarm / (2 * looks);
    const double bound = std::max(1.3 * two_sided_normal_bound(setting.false_alarm, looks),
                                  boost::math::quantile(boost::math::complement(student, tail)));
    result.evidence.push_back(
        bounded(EvidenceKind::statistical, "mean of sampled directions, in standard errors",
                sampled_deviation(setting, samples), bound,
                fmt::format("{} looks, Student's law of {} degrees", looks, parts - 1),
                fmt::format("{} samples", samples)));
  }
  return result;
}

}  // namespace

Statement gradient() {
  return {.id = "scb.gradient",
          .claim = "expected gradients, loss and projected directions equal those over samples",
          .paper = "arXiv 2410.23438, Section 3.1",
          .status = "proved in source",
          .hypotheses = {"mu > 0 sums to 1", "columns of P and q sum to 1"},
          .reaches = {EvidenceKind::symbolic, EvidenceKind::statistical},
          .controls = {{"no-mean-value", "the term S_k |V mu|^2 left out"},
                       {"no-query-weight", "1/mu_k left out of the attention part"}},
          .knobs = {tokens, positions, support_knob, state_size},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scb
