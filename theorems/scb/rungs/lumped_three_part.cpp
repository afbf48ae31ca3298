#include "theorems/scb/rungs/lumped_three_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <numbers>

#include "popgrad/base/error.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/draws.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {
namespace {

/// Nonzeros that a state may hold: 0.8 GB.
constexpr double most_nonzeros = 1e8;
/// Positions that are drawn one by one.
constexpr Index most_streamed = 1'000'000;
/// A survivor this improbable is not looked for: a billion runs would show one.
constexpr double negligible = 1e-12;

}  // namespace

LumpedThreePart::LumpedThreePart(Training<double> training, Schedule schedule, NoiseLevels levels)
    : training_(training),
      schedule_(schedule),
      levels_(levels),
      boost_(std::move(training), std::move(levels)),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)),
      goal_(boost_goal(schedule_, training_)),
      products_(training_.bigrams) {
  // At the threshold the rest of a^k is drawn around its mean, as noise leaves it.
  const Vector<double> start = boost_.initial();
  for (Index k = 0; k < training_.attention_start.cols(); ++k) {
    const double spread = start[boost_.begin_of(k) + training_.bigrams.support(k) + 1];
    if (spread <= 1e-12) continue;
    reject(fmt::format("scb --algorithm {}", schedule_.transfer ? "transfer" : "three-part"), "A",
           fmt::format("column {}", k),
           "must be equal off the support of q for the lumped rungs gd and noisy-lumped; or take "
           "sgd or noisy");
  }
}

Vector<double> LumpedThreePart::initial() const {
  Vector<double> x(dimension());
  x.head(boost_.dimension()) = boost_.initial();
  set_part(x, Part::boost);
  return x;
}

std::vector<std::string> LumpedThreePart::columns() const {
  return names_of(observables_in_parts());
}

std::vector<std::string> LumpedThreePart::state_names() const {
  return with_part_states(boost_.state_names());
}

void LumpedThreePart::rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const {
  dx.resize(x.size());
  if (part_of(x) == Part::boost) {
    boost_.rhs(x, dx, t);
    dx.tail(2).setZero();
    if (schedule_.transfer) dx.head(training_.start.size()).setZero();
  } else {
    dx.setZero();
  }
}

void LumpedThreePart::sample_step(Vector<double>& x, double step, Stream& stream,
                                  Index batch) const {
  switch (part_of(x)) {
    case Part::normalised:
      return;
    case Part::l1:
      l1_step(x, stream, batch);
      if (count_step(x) == schedule_.l1_steps) normalise(x);
      return;
    case Part::boost:
      break;
  }
  boost_.sample_step(x, step, stream, batch);
  if (schedule_.transfer) x.head(training_.start.size()) = training_.start.reshaped();
  if (count_step(x) == schedule_.boost_steps || boost_.attention_coefficient(x) >= goal_) {
    begin_l1(x, stream);
  }
}

// --- the state of part 2 -------------------------------------------------------------------------

double LumpedThreePart::Attention::rest_mass() const {
  double sum = unlisted * common;
  for (const double value : listed) sum += value;
  return sum;
}

double LumpedThreePart::Attention::rest_size() const {
  double sum = unlisted * common * common;
  for (const double value : listed) sum += value * value;
  return sum;
}

void LumpedThreePart::Attention::divide(double by) {
  support /= by;
  common /= by;
  for (double& value : listed) value /= by;
}

std::vector<LumpedThreePart::Attention> LumpedThreePart::unpack(const Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  std::vector<Attention> attention(static_cast<std::size_t>(b.tokens()));
  Index at = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    Attention& own = attention[static_cast<std::size_t>(k)];
    own.support = x.segment(at, b.support(k));
    at += b.support(k);
    own.common = x[at++];
    const auto count = static_cast<Index>(x[at++]);
    own.listed.assign(x.data() + at, x.data() + at + count);
    own.unlisted = static_cast<double>(b.context - b.support(k) - count);
    at += count;
  }
  return attention;
}

void LumpedThreePart::pack(const std::vector<Attention>& attention, Vector<double>& x) const {
  const Index n = training_.bigrams.tokens();
  Index size = n * n + 2;
  for (const Attention& own : attention) {
    size += own.support.size() + 2 + static_cast<Index>(own.listed.size());
  }
  const Eigen::Vector2d tail = x.tail(2);
  Vector<double> packed(size);
  packed.head(n * n) = x.head(n * n);
  Index at = n * n;
  for (const Attention& own : attention) {
    packed.segment(at, own.support.size()) = own.support;
    at += own.support.size();
    packed[at++] = own.common;
    packed[at++] = static_cast<double>(own.listed.size());
    at = std::copy(own.listed.begin(), own.listed.end(), packed.data() + at) - packed.data();
  }
  packed.tail(2) = tail;
  x.swap(packed);
}

// --- parts 2 and 3 -------------------------------------------------------------------------------

std::vector<double> LumpedThreePart::survivors(double m, double r, Index rest,
                                               Stream& stream) const {
  const double threshold = schedule_.threshold;
  const auto n = static_cast<double>(rest);
  std::vector<double> found;
  if (rest == 0) return found;
  if (!(r > 0) || rest == 1) {
    // All equal; with a threshold of 0 they may all be there.
    if (m >= threshold && m != 0) found.assign(static_cast<std::size_t>(rest), m);
    return found;
  }
  const double reach = (threshold - m) / r;  // of u_t
  const double square = reach * reach * n / (n - 1);
  double tail = 0;
  if (reach <= 0) {
    tail = 1;
  } else if (square < 1) {
    tail = rest == 2 ? 0.5 : boost::math::ibetac(0.5, (n - 2) / 2, square) / 2;
  }
  if (n * tail < negligible) return found;
  if (rest > most_streamed) return far_survivors(m, r, n, stream);
  // Two passes over the same draws: mean and norm first, then the entries.
  Stream again = stream;
  double sum = 0;
  double squares = 0;
  for (Index t = 0; t < rest; ++t) {
    const double g = stream.normal();
    sum += g;
    squares += g * g;
  }
  const double mean = sum / n;
  const double norm = std::sqrt(squares - sum * mean);
  for (Index t = 0; t < rest; ++t) {
    const double a = m + r * (again.normal() - mean) / norm;
    if (a >= threshold && a != 0) found.push_back(a);
  }
  return found;
}

// Draws only those z_t that might survive. The sum and the sum of squares of the others, which
// mean and norm need, are drawn as normals of their exact moments up to the second.
std::vector<double> LumpedThreePart::far_survivors(double m, double r, double n,
                                                   Stream& stream) const {
  const double reach = (schedule_.threshold - m) / r;
  // Mean and norm/sqrt(n) are 0 and 1 up to ten deviations 1/sqrt(n).
  const double spread = 10 / std::sqrt(n);
  const double edge = reach * std::sqrt(n) * (1 - spread) - spread;
  if (n * normal_tail(edge) > most_nonzeros) {
    reject("scb noisy-lumped", "--tau", fmt::format("{}", schedule_.threshold),
           fmt::format("leaves about {:.2g} of {:.0f} positions; raise --tau or --batch",
                       n * normal_tail(edge), n));
  }
  const std::int64_t count = binomial(static_cast<std::int64_t>(n), normal_tail(edge), stream);
  std::vector<double> high;
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    high.push_back(edge + excess_over(edge, stream));
    sum += high.back();
    squares += high.back() * high.back();
  }
  // Moments of a standard normal below the edge.
  const double ratio =
      std::exp(-edge * edge / 2) / std::sqrt(2 * std::numbers::pi) / normal_tail(-edge);
  const double first = -ratio;
  const double second = 1 - edge * ratio;
  const double third = -(edge * edge + 2) * ratio;
  const double fourth = 3 - (edge * edge + 3) * edge * ratio;
  const double others = n - static_cast<double>(count);
  const double variance = second - first * first;
  const double covariance = third - first * second;
  const double left = fourth - second * second - covariance * covariance / variance;
  const double g = stream.normal();
  sum += others * first + std::sqrt(others * variance) * g;
  squares += others * second + std::sqrt(others) * (covariance / std::sqrt(variance) * g +
                                                    std::sqrt(left) * stream.normal());
  const double mean = sum / n;
  const double norm = std::sqrt(squares - sum * mean);
  std::vector<double> found;
  for (const double z : high) {
    const double a = m + r * (z - mean) / norm;
    if (a >= schedule_.threshold && a != 0) found.push_back(a);
  }
  return found;
}

void LumpedThreePart::begin_l1(Vector<double>& x, Stream& stream) const {
  const Bigrams<double>& b = training_.bigrams;
  std::vector<Attention> attention(static_cast<std::size_t>(b.tokens()));
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = boost_.begin_of(k);
    const Index count = b.support(k);
    Attention& own = attention[static_cast<std::size_t>(k)];
    own.support = x.segment(begin, count);
    own.support = (own.support.array() < schedule_.threshold).select(0.0, own.support);
    own.listed = survivors(x[begin + count], x[begin + count + 1], b.context - count, stream);
    const double mass = own.mass();
    if (mass > 0) own.divide(mass);
  }
  set_part(x, Part::l1);
  pack(attention, x);
}

void LumpedThreePart::l1_step(Vector<double>& x, Stream& stream, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  std::vector<Attention> attention = unpack(x);
  Eigen::Map<Matrix<double>> v(x.data(), n, n);
  const auto [product, square] = products_.of(v, b);
  double overlap = 0;
  double size = 0;
  for (Index k = 0; k < n; ++k) {
    const Attention& own = attention[static_cast<std::size_t>(k)];
    overlap += b.stationary[k] * own.support.dot(law_of(b, k));
    size += b.stationary[k] * (own.support.squaredNorm() + own.rest_size());
  }
  const NoiseScale scale =
      noise_scale(levels_.shape, batch, size, square, transition_size_, context_size_);
  const double step = schedule_.l1_step * training_.attention_rate;
  const double threshold = step * schedule_.l1_weight;
  const double kept = 1 - step * square;  // rho
  std::vector<double> z;
  for (Index k = 0; k < n; ++k) {
    Attention& own = attention[static_cast<std::size_t>(k)];
    const double s = step * scale.attention * levels_.attention[k];
    const double shift = -step * (product - own.mass() * square) / static_cast<double>(b.context);
    const auto law = law_of(b, k);
    z.assign(static_cast<std::size_t>(own.support.size()) + own.listed.size(), 0.0);
    if (s > 0) stream.normals(z);
    const double* noise = z.data();
    for (Index i = 0; i < own.support.size(); ++i) {
      own.support[i] = soft_threshold(
          kept * own.support[i] + step * law[i] * product + shift + s * *noise++, threshold);
    }
    const double zeros = own.unlisted;
    for (double& value : own.listed) {
      value = soft_threshold(kept * value + shift + s * *noise++, threshold);
    }
    std::erase(own.listed, 0.0);
    const double common = kept * own.common + shift;
    if (!(s > 0)) {
      own.common = soft_threshold(common, threshold);
      continue;
    }
    own.common = 0;
    const double above = (threshold - common) / s;  // hu
    const double below = (threshold + common) / s;  // hl
    if (zeros * (normal_tail(above) + normal_tail(below)) > most_nonzeros) {
      reject("scb noisy-lumped", "--lambda", fmt::format("{}", schedule_.l1_weight),
             fmt::format("lets about {:.2g} of {} positions leave zero in one step; raise --lambda "
                         "or --batch until lambda sqrt(B)/sigma_A exceeds sqrt(2 ln T)",
                         zeros * (normal_tail(above) + normal_tail(below)), b.context));
    }
    const auto others = static_cast<std::int64_t>(zeros);
    const std::int64_t risen = binomial(others, normal_tail(above), stream);
    for (std::int64_t i = 0; i < risen; ++i) own.listed.push_back(s * excess_over(above, stream));
    const std::int64_t fallen =
        binomial(others - risen, normal_tail(below) / normal_tail(-above), stream);
    for (std::int64_t i = 0; i < fallen; ++i) own.listed.push_back(-s * excess_over(below, stream));
  }
  mean_value_.noalias() = v * b.stationary;
  if (scale.value > 0) noise_.draw(b, stream);
  for (Index k = 0; k < n; ++k) {
    auto column = v.col(k);
    const auto field =
        overlap * (b.transition.col(k) - b.stationary) - size * (column - mean_value_);
    if (scale.value > 0) {
      column += schedule_.l1_step * (field + scale.value * levels_.value * noise_.column(k));
    } else {
      column += schedule_.l1_step * field;
    }
  }
  pack(attention, x);
}

void LumpedThreePart::normalise(Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  std::vector<Attention> attention = unpack(x);
  double mean_mass = 0;
  for (Index k = 0; k < n; ++k) {
    Attention& own = attention[static_cast<std::size_t>(k)];
    const double mass = own.mass();
    mean_mass += b.stationary[k] * mass;
    if (mass != 0) own.divide(mass);
  }
  Eigen::Map<Matrix<double>> v(x.data(), n, n);
  v = (mean_mass * (v.colwise() - b.stationary)).colwise() + b.stationary;
  set_part(x, Part::normalised);
  pack(attention, x);
}

void LumpedThreePart::observe(const Vector<double>& x, const double& t,
                              std::span<double> row) const {
  const Bigrams<double>& b = training_.bigrams;
  const std::span<double> base = row.first(row.size() - 2);
  double nonzeros = static_cast<double>(b.context) * static_cast<double>(b.tokens());
  if (part_of(x) == Part::boost) {
    boost_.observe(x, t, base);
  } else {
    const std::vector<Attention> attention = unpack(x);
    std::vector<AttentionSums<double>> sums;
    nonzeros = 0;
    for (Index k = 0; k < b.tokens(); ++k) {
      const Attention& own = attention[static_cast<std::size_t>(k)];
      sums.push_back(
          attention_sums<double>(own.support, law_of(b, k), own.rest_mass(), own.rest_size()));
      nonzeros += static_cast<double>((own.support.array() != 0).count()) +
                  static_cast<double>(own.listed.size()) + (own.common != 0 ? own.unlisted : 0.0);
    }
    const Eigen::Map<const Matrix<double>> v(x.data(), b.tokens(), b.tokens());
    write_row(observable_table<double>(),
              read_observables<double>(b, v, products_, sums, transition_size_, context_size_),
              base);
  }
  row[row.size() - 2] = static_cast<double>(part_of(x));
  row[row.size() - 1] = nonzeros;
}

std::string LumpedThreePart::divergence(const Vector<double>& x, double step, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  if (part_of(x) == Part::boost) {
    return schedule_.transfer
               ? divergence_while_values_stay(v.squaredNorm(), boost_.attention_size(x), b.context,
                                              products_.of(v, b).square, step,
                                              training_.attention_rate, batch)
               : boost_.divergence(x, step, batch);
  }
  const std::vector<Attention> attention = unpack(x);
  double size = 0;
  for (Index k = 0; k < n; ++k) {
    const Attention& own = attention[static_cast<std::size_t>(k)];
    size += b.stationary[k] * (own.support.squaredNorm() + own.rest_size());
  }
  return divergence_of(v.squaredNorm(), size, products_.of(v, b).square, schedule_.l1_step,
                       training_.attention_rate, batch);
}

}  // namespace popgrad::scb
