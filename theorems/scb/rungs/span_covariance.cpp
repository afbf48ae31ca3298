#include "theorems/scb/rungs/span_covariance.hpp"

#include <array>
#include <cmath>

#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb {
namespace {

/// Weights of positions: those of attention itself, along the unit attention, all 1.
enum Weight : std::size_t { own, unit, one };
constexpr std::size_t weights = 3;
using Pairs = std::array<std::array<double, weights>, weights>;

// Expectations at one position whose attention is a + noise of variance `spread`.
struct Position {
  std::array<double, 5> power{};          ///< of the attention
  std::array<double, weights> factor{};   ///< of a power of it
  std::array<std::size_t, weights> by{};  ///< that power

  Position(double a, double spread, double along) {
    power = {1, a, a * a + spread, a * (a * a + 3 * spread),
             a * a * (a * a + 6 * spread) + 3 * spread * spread};
    factor = {1, along, 1};
    by = {1, 0, 0};
  }
  /// E[a^p w].
  [[nodiscard]] double single(std::size_t p, std::size_t w) const {
    return factor[w] * power[p + by[w]];
  }
  /// E[a^p w w'].
  [[nodiscard]] double pair(std::size_t p, std::size_t w, std::size_t v) const {
    return factor[w] * factor[v] * power[p + by[w] + by[v]];
  }
};

// Sums over positions.
struct PowerSums {
  double a = 0, aa = 0, aaa = 0, aaaa = 0, aa_aa = 0;
  std::array<double, weights> aw{};
  Pairs ww{}, aww{}, aaww{};
  Pairs aw_aw{}, aa_ww{};  ///< products of expectations at one position

  void add(const Position& at, double times) {
    a += times * at.power[1];
    aa += times * at.power[2];
    aaa += times * at.power[3];
    aaaa += times * at.power[4];
    aa_aa += times * at.power[2] * at.power[2];
    for (std::size_t w = 0; w < weights; ++w) {
      aw[w] += times * at.single(1, w);
      for (std::size_t v = 0; v < weights; ++v) {
        ww[w][v] += times * at.pair(0, w, v);
        aww[w][v] += times * at.pair(1, w, v);
        aaww[w][v] += times * at.pair(2, w, v);
        aw_aw[w][v] += times * at.single(1, w) * at.single(1, v);
        aa_ww[w][v] += times * at.power[2] * at.pair(0, w, v);
      }
    }
  }
};

}  // namespace

// Factors of the expectations over tokens, for every pair of weights.
struct SpanCovariance::Sums {
  struct Pair {
    double product = 0;                        ///< R R'
    double mixed = 0;                          ///< - R e'N'e, both ways
    double quartic = 0;                        ///< e'Ne e'N'e
    double traces = 0, square = 0;             ///< tr N tr N', tr(N C N' C)
    double swapped = 0;                        ///< tr(N C N''C)
    double first_mean = 0, second_mean = 0;    ///< - R tr N', - R' tr N
    double label = 0, label_mixed = 0;         ///< o'B C B'o, - o'B C N'' e both ways
    double first_chain = 0, second_chain = 0;  ///< - o'B C N' e
    double skew = 0;                           ///< - third moments, both ways
    void add(const Pair& o, double c) {
      product += c * o.product;
      mixed += c * o.mixed;
      quartic += c * o.quartic;
      traces += c * o.traces;
      square += c * o.square;
      swapped += c * o.swapped;
      first_mean += c * o.first_mean;
      second_mean += c * o.second_mean;
      label += c * o.label;
      label_mixed += c * o.label_mixed;
      first_chain += c * o.first_chain;
      second_chain += c * o.second_chain;
      skew += c * o.skew;
    }
  };
  Pair own_own, own_unit, unit_unit, one_one;  ///< the last by q_s, the others by mu_k q_s
  std::array<double, weights> response{}, trace{};
  double seen = 0, rest_square = 0, seen_cube = 0, seen_rest = 0, rest_cube = 0;
  double fourth = 0, squares = 0, size = 0, unit_square = 0;
  // Of attention, by q_s, with N queries in all.
  double attention_seen = 0, attention_square = 0;
};

SpanCovariance::SpanCovariance(const Bigrams<double>& b, const Vector<double>& level,
                               const std::vector<Matrix<double>>& matrices, double kappa,
                               double rate)
    : bigrams_(b), kappa_(kappa), rate_(rate), matrices_(std::ssize(matrices)) {
  const Vector<double>& mu = b.stationary;
  const Index n = mu.size();
  const Index m = matrices_;
  const Matrix<double> joint = b.transition * mu.asDiagonal();  // of (y, j)
  const Vector<double> label = b.transition * mu;
  const Vector<double> offset = label - level;
  const Vector<double> scaled = mu.cwiseInverse().array() - 1;  // e'D^{-1}e
  std::vector<Matrix<double>> shown, seen;  // R (N x N by y, j), and its product with the joint law
  for (const Matrix<double>& matrix : matrices) {
    shown.emplace_back(matrix.rowwise() - level.transpose() * matrix);
    seen.emplace_back(shown.back().transpose() * joint);
  }
  const auto at = [&](Index i, Index j) { return i * m + j; };
  std::vector<Matrix<double>> grams(static_cast<std::size_t>(m * m));
  Matrix<double> diagonal(n, m * m);  // e'Ne by token
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < m; ++j) {
      const Matrix<double>& left = matrices[static_cast<std::size_t>(i)];
      const Matrix<double>& right = matrices[static_cast<std::size_t>(j)];
      Matrix<double>& gram = grams[static_cast<std::size_t>(at(i, j))];
      if (j < i) {
        gram = grams[static_cast<std::size_t>(at(j, i))].transpose();
      } else {
        gram.noalias() = left.transpose() * right;
      }
      diagonal.col(at(i, j)) = gram.diagonal();
    }
  }
  product_.resize(m, m);
  label_.resize(m, m);
  mixed_.resize(m, m * m);
  chained_.resize(m, m * m);
  response_.resize(m);
  response_scaled_.resize(m);
  skew_scaled_.resize(m);
  skew_.resize(m * m, m);
  square_.resize(m * m, m * m);
  swapped_.resize(m * m, m * m);
  quartic_ = diagonal.transpose() * mu.asDiagonal() * diagonal;
  trace_ = diagonal.transpose() * mu;
  trace_scaled_ = diagonal.transpose() * mu.cwiseProduct(scaled);
  for (Index i = 0; i < m; ++i) {
    const auto own_index = static_cast<std::size_t>(i);
    const Matrix<double>& r = shown[own_index];
    const Matrix<double> weighted = joint.cwiseProduct(r);
    const Vector<double> by_token = weighted.colwise().sum().transpose();
    response_[i] = by_token.sum();
    response_scaled_[i] = by_token.dot(scaled);
    mixed_.row(i) = by_token.transpose() * diagonal;
    const Vector<double> along = mu.cwiseProduct(matrices[own_index].transpose() * offset);
    skew_.col(i) = diagonal.transpose() * along;
    skew_scaled_[i] = along.dot(scaled);
    for (Index j = 0; j < m; ++j) {
      const Matrix<double>& other = shown[static_cast<std::size_t>(j)];
      product_(i, j) = weighted.cwiseProduct(other).sum();
      label_(i, j) = (label.asDiagonal() * r.cwiseProduct(other) * mu).sum();
    }
    for (Index j = 0; j < m * m; ++j) {
      const Matrix<double>& gram = grams[static_cast<std::size_t>(j)];
      chained_(i, j) = (mu.asDiagonal() * seen[own_index].cwiseProduct(gram)).sum();
    }
  }
  for (Index i = 0; i < m * m; ++i) {
    const Matrix<double> scaled_gram =
        mu.asDiagonal() * grams[static_cast<std::size_t>(i)] * mu.asDiagonal();
    for (Index j = 0; j < m * m; ++j) {
      const Matrix<double>& gram = grams[static_cast<std::size_t>(j)];
      swapped_(i, j) = scaled_gram.cwiseProduct(gram).sum();
      square_(i, at(j % m, j / m)) = swapped_(i, j);
    }
  }
  const Vector<double> sizes = (1 + level.squaredNorm() - 2 * level.array()).matrix();  // |o|^2
  label_size_ = label.dot(sizes);
  label_size_scaled_ = sizes.dot(joint * scaled);
  scaled_square_ = mu.dot(scaled.cwiseAbs2());
  // E o o', whose square over its trace is what a direction of this law sees of it.
  Matrix<double> spread =
      level * level.transpose() - label * level.transpose() - level * label.transpose();
  spread.diagonal() += label;
  label_effective_ = spread.squaredNorm() / spread.trace();
  value_numbers_ = static_cast<double>(n - 1) * spread.trace() / label_effective_;
  attention_numbers_ = static_cast<double>(n) * (static_cast<double>(b.context) - 1);
}

SpanCovariance::Sums SpanCovariance::sums(double y, double attention_spread) const {
  const Bigrams<double>& b = bigrams_;
  const Vector<double>& mu = b.stationary;
  const auto context = static_cast<double>(b.context);
  const double share = 1 / context;
  const auto queries = static_cast<double>(mu.size());
  const std::array<std::pair<std::size_t, std::size_t>, 4> pairs{
      {{own, own}, {own, unit}, {unit, unit}, {one, one}}};
  Sums found;
  for (Index k = 0; k < mu.size(); ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    const Index count = b.support(k);
    const double spread = attention_spread / (queries * mu[k] * context);
    const auto position = [&](double law) {
      const double along = (law - share) / kappa_;
      return Position(share + y * along, spread, rate_ * along);
    };
    PowerSums all;
    all.add(position(0), context - static_cast<double>(count));
    for (Index e = begin; e < begin + count; ++e) all.add(position(b.law[e]), 1);
    for (Index e = begin; e < begin + count; ++e) {
      const Position at = position(b.law[e]);
      PowerSums rest = all;
      rest.add(at, -1);
      const double chance = mu[k] * b.law[e];
      for (const auto& [w, v] : pairs) {
        Sums::Pair now;
        const double both_w = rest.aw[w], both_v = rest.aw[v];
        const double lines = both_w * both_v - rest.aw_aw[w][v];
        const double apart = rest.aa * rest.ww[w][v] - rest.aa_ww[w][v];
        now.product = at.pair(0, w, v);
        now.mixed = at.pair(1, w, v);
        now.quartic = at.pair(2, w, v) + rest.aaww[w][v];
        now.traces = lines + at.single(1, w) * both_v + at.single(1, v) * both_w;
        now.square = lines + both_w * at.single(1, v) + both_v * at.single(1, w);
        now.swapped = apart + rest.ww[w][v] * at.power[2] + rest.aa * at.pair(0, w, v);
        now.first_mean = at.single(0, w) * both_v;
        now.second_mean = at.single(0, v) * both_w;
        now.label = rest.ww[w][v];
        now.label_mixed = rest.ww[w][v] * at.power[1];
        now.first_chain = both_w * at.single(0, v);
        now.second_chain = both_v * at.single(0, w);
        now.skew = rest.aww[w][v];
        Sums::Pair& sum = w == one   ? found.one_one
                          : v == own ? found.own_own
                          : w == own ? found.own_unit
                                     : found.unit_unit;
        sum.add(now, w == one ? b.law[e] : chance);
      }
      for (const std::size_t w : {own, unit}) found.response[w] += chance * at.single(0, w);
      found.seen += chance * at.power[2];
      found.rest_square += chance * rest.aa;
      found.seen_cube += chance * at.power[3];
      found.seen_rest += chance * at.power[1] * rest.aa;
      found.rest_cube += chance * rest.aaa;
      found.attention_seen += b.law[e] * at.power[1];
    }
    for (const std::size_t w : {own, unit}) found.trace[w] += mu[k] * all.aw[w];
    found.fourth += mu[k] * all.aaaa;
    found.squares += mu[k] * (all.aa * all.aa - all.aa_aa);
    found.size += mu[k] * all.aa;
    found.unit_square += mu[k] * all.ww[unit][unit];
    found.attention_square += all.aa;
  }
  return found;
}

SpanCovariance::Law SpanCovariance::operator()(const Vector<double>& v, double y,
                                               double attention_spread, double value_spread) const {
  const Index m = matrices_;
  const Sums s = sums(y, attention_spread);
  // X as a sum of the B, V_c'X as one of the N.
  std::vector<Vector<double>> x, gram;
  for (Index i = 0; i <= m; ++i) {
    x.push_back(i < m ? Vector<double>(Vector<double>::Unit(m, i)) : v);
    gram.emplace_back((x.back() * v.transpose()).reshaped());
  }
  // N' as one of the N.
  const auto turned = [&](const Vector<double>& of) {
    return Vector<double>(of.reshaped(m, m).transpose().reshaped());
  };
  const auto second_moment = [&](const Sums::Pair& c, std::size_t i, std::size_t j) {
    const Vector<double>& a = x[i];
    const Vector<double>& b = x[j];
    const Vector<double>& k = gram[i];
    const Vector<double>& l = gram[j];
    return c.product * a.dot(product_ * b) - c.mixed * (a.dot(mixed_ * l) + b.dot(mixed_ * k)) +
           c.quartic * k.dot(quartic_ * l) + c.traces * trace_.dot(k) * trace_.dot(l) +
           c.square * k.dot(square_ * l) + c.swapped * k.dot(swapped_ * l) -
           c.first_mean * response_.dot(a) * trace_.dot(l) -
           c.second_mean * response_.dot(b) * trace_.dot(k) + c.label * a.dot(label_ * b) -
           c.label_mixed * (a.dot(chained_ * turned(l)) + b.dot(chained_ * turned(k))) -
           c.first_chain * a.dot(chained_ * l) - c.second_chain * b.dot(chained_ * k) -
           c.skew * (l.dot(skew_ * a) + k.dot(skew_ * b));
  };
  Law law;
  law.mean.resize(m + 1);
  law.covariance.resize(m + 1, m + 1);
  for (Index i = 0; i <= m; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::size_t w = i < m ? own : unit;
    law.mean[i] = s.response[w] * response_.dot(x[at]) - s.trace[w] * trace_.dot(gram[at]);
    for (Index j = 0; j <= i; ++j) {
      const auto to = static_cast<std::size_t>(j);
      law.covariance(i, j) = i < m   ? second_moment(s.own_own, to, at)
                             : j < m ? second_moment(s.own_unit, to, at)
                                     : second_moment(s.unit_unit, to, at);
      law.covariance(j, i) = law.covariance(i, j);
    }
  }
  law.covariance(m, m) += value_spread * label_effective_ * s.unit_square;
  law.covariance -= law.mean * law.mean.transpose();

  const Vector<double>& gram_of_values = gram.back();
  const auto tokens = static_cast<double>(bigrams_.tokens());
  const double size = trace_.dot(gram_of_values);  // |V_c|_mu^2
  const double values =
      s.seen * label_size_scaled_ + s.rest_square * label_size_ * (tokens - 1) -
      2 * (s.seen_cube * response_scaled_.dot(v) + s.seen_rest * (tokens + 1) * response_.dot(v) +
           s.rest_cube * skew_scaled_.dot(v)) +
      s.fourth * trace_scaled_.dot(gram_of_values) + s.squares * size * (tokens + 1) +
      value_spread * (s.fourth * scaled_square_ / (tokens - 1) + s.squares * (tokens + 1));
  law.values = values - law.mean.head(m).squaredNorm() - law.covariance.topLeftCorner(m, m).trace();

  const double others = static_cast<double>(bigrams_.context) - 1;
  const double label = v.dot(label_ * v);
  const double chain = v.dot(chained_ * gram_of_values);
  const double attention =
      others * (tokens * label - 2 * s.attention_seen * chain) +
      others * s.attention_square * gram_of_values.dot(square_ * gram_of_values) +
      s.attention_square * gram_of_values.dot(quartic_ * gram_of_values) -
      2 * (tokens - s.attention_seen) * gram_of_values.dot(skew_ * v) +
      tokens * v.dot(product_ * v) - 2 * s.attention_seen * v.dot(mixed_ * gram_of_values) -
      second_moment(s.one_one, x.size() - 1, x.size() - 1) / (others + 1) +
      others * tokens * value_spread * label_effective_;
  law.attention = rate_ * rate_ * attention - law.mean[m] * law.mean[m] - law.covariance(m, m);
  return law;
}

}  // namespace popgrad::scb
