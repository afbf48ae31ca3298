#include "theorems/scb/rungs/lumped_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/observables.hpp"
#include "theorems/scb/rungs/span_covariance.hpp"

namespace popgrad::scb {
namespace {

/// Columns of V(0) sum to 1, and V(0) has a part across P_c, if they do by more than rounding.
constexpr double rounding_of_start = 1e-9;

}  // namespace

struct LumpedMoments::Fixed {
  Vector<double> label;   ///< P mu
  Vector<double> level;   ///< u = V(0) mu
  double share = 0;       ///< 1/T
  double kappa = 0;       ///< |q - 1/T|
  double rate = 0;        ///< eta_A
  double across_gap = 0;  ///< |u - P mu|^2
  SpanCovariance covariance;
};

std::string LumpedMoments::missing(const Training<double>& training) {
  const Bigrams<double>& b = training.bigrams;
  if (training.softmax) return "softmax attention";
  if (!training.project) return "gradients without projection";
  if (training.attention_start.size() > 0) return "a given A(0)";
  const Vector<double> sums = training.start.colwise().sum().transpose();
  if ((sums.array() - 1).abs().maxCoeff() > rounding_of_start)
    return "columns of V(0) that do not sum to 1";
  if (!(context_size(b) * static_cast<double>(b.context) > 1 + rounding_of_start)) {
    return "a q that is uniform over all positions";
  }
  if (!(transition_size(b) > rounding_of_start)) return "a P whose columns are all the same";
  return {};
}

LumpedMoments::LumpedMoments(const Training<double>& training) {
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const double share = 1 / static_cast<double>(b.context);
  const double kappa = std::sqrt(context_size(b) - share);
  const auto centred = [&](const Matrix<double>& matrix) {
    return Matrix<double>(matrix.colwise() - matrix * mu);
  };
  std::vector<Matrix<double>> matrices{centred(b.transition)};
  const double length = std::sqrt(covariance_product(matrices[0], matrices[0], mu));
  matrices[0] /= length;
  const Matrix<double> start = centred(training.start);
  const double first = covariance_product(matrices[0], start, mu);
  Matrix<double> rest = start - first * matrices[0];
  const double second = std::sqrt(covariance_product(rest, rest, mu));
  const bool apart = second > rounding_of_start * length;
  if (apart) matrices.emplace_back(rest / second);
  along_ = length * Vector<double>::Unit(std::ssize(matrices), 0);
  start_ = Vector<double>::Zero(dimension());
  start_[0] = first;
  if (apart) start_[1] = second;
  const Vector<double> label = b.transition * mu;
  const Vector<double> level = training.start * mu;
  fixed_ = std::make_shared<const Fixed>(
      Fixed{label, level, share, kappa, training.attention_rate, (level - label).squaredNorm(),
            SpanCovariance(b, level, matrices, kappa, training.attention_rate)});
}

Vector<double> LumpedMoments::initial() const { return start_; }

std::vector<std::string> LumpedMoments::columns() const { return observable_names(); }

std::vector<std::string> LumpedMoments::state_names() const {
  std::vector<std::string> names{"along_P"};
  if (matrices() > 1) names.emplace_back("along_start");
  names.insert(names.end(), {"along_Q", "across_A", "across_V"});
  return names;
}

void LumpedMoments::set_steps(double eta, Index batch) {
  eta_ = eta;
  noise_ = batch > 0 ? eta / static_cast<double>(batch) : 0.0;
}

SpanCovariance::Law LumpedMoments::law_of_draw(const Vector<double>& x) const {
  const Index m = matrices();
  return fixed_->covariance(x.head(m), x[m], x[m + 1], x[m + 2]);
}

void LumpedMoments::rhs(const Vector<double>& x, Vector<double>& dx, const double& /*t*/) const {
  const Fixed& f = *fixed_;
  const Index m = matrices();
  const auto v = x.head(m);
  const double y = x[m];
  const double overlap = f.share + f.kappa * y;
  const double size = f.share + y * y + x[m + 1];
  const double square = v.squaredNorm() + x[m + 2];
  dx.resize(x.size());
  dx.head(m) = overlap * along_ - size * v;
  dx[m] = f.rate * (f.kappa * along_.dot(v) - square * y);
  // (1 - eta g)^2 = 1 + eta (-2 g + eta g^2).
  const double turn = f.rate * square;
  dx[m + 1] = (-2 * turn + eta_ * turn * turn) * x[m + 1];
  dx[m + 2] = (-2 * size + eta_ * size * size) * x[m + 2];
  if (noise_ > 0) {
    const SpanCovariance::Law law = law_of_draw(x);
    dx[m + 1] += noise_ * law.attention;
    dx[m + 2] += noise_ * law.values;
  }
}

void LumpedMoments::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                    Matrix<double>& images) const {
  const Index m = matrices();
  const SpanCovariance::Law law = law_of_draw(x);
  images = Matrix<double>::Zero(vectors.rows(), vectors.cols());
  images.topRows(m + 1) = law.covariance * vectors.topRows(m + 1);
}

void LumpedMoments::observe(const Vector<double>& x, const double& /*t*/,
                            std::span<double> row) const {
  const Fixed& f = *fixed_;
  const Index m = matrices();
  const auto v = x.head(m);
  const double y = x[m];
  const double overlap = f.share + f.kappa * y;
  const double size = f.share + y * y + x[m + 1];
  const double product = along_.dot(v);
  const double square = v.squaredNorm() + x[m + 2];
  Readings<double> read;
  read.alpha_V = product / along_.squaredNorm();
  read.alpha_A = y / f.kappa;
  read.dist_P = std::sqrt(std::max(0.0, f.across_gap + (v - along_).squaredNorm() + x[m + 2]));
  read.dist_Q = std::sqrt(std::max(0.0, (y - f.kappa) * (y - f.kappa) + x[m + 1]));
  read.loss =
      0.5 - overlap * product - f.level.dot(f.label) + (size * square + f.level.squaredNorm()) / 2;
  // Of a^k that sum to 1.
  read.S_mean = 1;
  read.dist_P_normalised = read.dist_P;
  read.dist_Q_normalised = read.dist_Q;
  write_row(observable_table<double>(), read, row);
}

std::string LumpedMoments::divergence(const Vector<double>& x, double step, Index batch) const {
  const Index m = matrices();
  const double square = x.head(m).squaredNorm() + x[m + 2];
  return divergence_of(square, fixed_->share + x[m] * x[m] + x[m + 1], square, step, fixed_->rate,
                       batch);
}

Vector<double> LumpedMoments::variance_across(const Vector<double>& x) const {
  const Index m = matrices();
  const auto columns = static_cast<Index>(observable_names().size());
  const auto observed = [&](const Vector<double>& at) {
    Vector<double> row(columns);
    observe(at, 0.0, {row.data(), static_cast<std::size_t>(columns)});
    return row;
  };
  Vector<double> variance = Vector<double>::Zero(columns);
  const auto add = [&](Index component, double numbers) {
    const double deviation = std::sqrt(2 / numbers) * x[component];
    if (!(deviation > 0)) return;
    Vector<double> ahead = x, behind = x;
    ahead[component] += deviation / 2;
    behind[component] -= deviation / 2;
    variance += (observed(ahead) - observed(behind)).cwiseAbs2();
  };
  add(m + 1, attention_numbers());
  add(m + 2, value_numbers());
  return variance;
}

double LumpedMoments::neglected_across(const Vector<double>& x) const {
  const Index m = matrices();
  const double size = fixed_->share + x[m] * x[m] + x[m + 1];
  const double square = x.head(m).squaredNorm() + x[m + 2] + along_.squaredNorm();
  return std::max(std::sqrt(2 / attention_numbers()) * x[m + 1] / size,
                  std::sqrt(2 / value_numbers()) * x[m + 2] / square);
}

double LumpedMoments::attention_numbers() const {
  return std::max(2.0, fixed_->covariance.attention_numbers());
}

double LumpedMoments::value_numbers() const {
  return std::max(2.0, fixed_->covariance.value_numbers());
}

namespace {

FollowedSteps steps_of(const LumpedMoments& given) {
  const auto law = std::make_shared<LumpedMoments>(given);
  AnyRung<double> span;
  span.dimension = law->dimension();
  span.initial = law->initial();
  span.observables.columns = law->columns();
  span.state_names = StateNames::made_by([law] { return law->state_names(); });
  span.field.value = [law](const Vector<double>& x, Vector<double>& dx, const double& t) {
    law->rhs(x, dx, t);
  };
  span.draws.covariance = [law](const Vector<double>& x, const Matrix<double>& vectors,
                                Matrix<double>& images) {
    law->draw_covariance(x, vectors, images);
  };
  span.observables.read = [law](const Vector<double>& x, const double& t, std::span<double> row) {
    law->observe(x, t, row);
  };
  span.divergence = [law](const Vector<double>& x, double step, Index batch) {
    return law->divergence(x, step, batch);
  };
  return {span, [law](double eta, Index batch) { law->set_steps(eta, batch); },
          [law](const Vector<double>& mean, std::span<double> row) {
            row.back() = std::max(row.back(), law->neglected_across(mean));
            const Vector<double> across = law->variance_across(mean);
            for (Index k = 0; k < across.size(); ++k) {
              double& deviation = row[static_cast<std::size_t>(across.size() + k)];
              deviation = std::sqrt(deviation * deviation + across[k]);
            }
          }};
}

}  // namespace

Prediction lumped_moments(const Training<double>& training) {
  const std::string missing = LumpedMoments::missing(training);
  if (!missing.empty()) {
    const Index n = training.bigrams.tokens();
    throw InputError(fmt::format(
        "scb moments: the state has {} numbers, and above 512 moments are followed for linear "
        "attention, projected, from a^k = 1/T, not for {}; give a smaller instance, or take an "
        "ensemble: the rung sgd with --runs 200",
        n * (n + training.bigrams.context), missing));
  }
  return predict_in_blocks([law = LumpedMoments(training)] { return steps_of(law); });
}

}  // namespace popgrad::scb
