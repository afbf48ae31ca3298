#include "theorems/scb/rungs/sequence_covariance.hpp"

#include <cmath>
#include <utility>

namespace popgrad::scb {
namespace {

// E_i[f(i)] over tokens i of law mu.
template <class F>
auto over_tokens(const Vector<double>& mu, const F& f) {
  auto sum = f(Index{0});
  sum *= mu[0];
  for (Index i = 1; i < mu.size(); ++i) sum += mu[i] * f(i);
  return sum;
}

// Of the label after token i.
Matrix<double> label_covariance(const Bigrams<double>& b, Index i) {
  return token_covariance(b.transition.col(i));
}

}  // namespace

SequenceCovariance::SequenceCovariance(const Bigrams<double>& b, const Matrix<double>& values,
                                       const Matrix<double>& attention, double rate,
                                       bool query_last)
    : tokens_(b.tokens()), context_(b.context), query_last_(query_last) {
  const Vector<double>& mu = b.stationary;
  const Index n = tokens_;
  const Vector<double> ones = Vector<double>::Ones(n);
  centred_ = Matrix<double>::Zero(query_last ? n + 1 : n, n);
  centred_.topRows(n) = Matrix<double>::Identity(n, n) - mu * ones.transpose();
  mean_ = values * mu;
  moved_ = values - mean_ * ones.transpose();
  // P mu = mu up to rounding of the instance; exact for what it is.
  next_ = b.transition - (b.transition * mu) * ones.transpose();
  scale_.resize(n * n);
  for (Index m = 0; m < n; ++m) scale_.segment(m * n, n).setConstant(1 / mu[m]);
  values_ = Matrix<double>::Zero(n * n, n * n);
  mean_rh_ = Vector<double>::Zero(n * n);
  for (Index k = 0; k < n; ++k) {
    for (Query& query : queries_of(b, attention, rate, k)) {
      set_up_attention(b, values, query);
      set_up_mixed(b, values, query);
      add_values(b, values, query);
      queries_.push_back(std::move(query));
    }
  }
}

std::vector<SequenceCovariance::Query> SequenceCovariance::queries_of(
    const Bigrams<double>& b, const Matrix<double>& attention, double rate, Index k) const {
  const Vector<double>& mu = b.stationary;
  const Index n = tokens_;
  Query query;
  query.token = k;
  query.weight = mu[k];
  query.scale = rate / mu[k];
  query.attention = attention.col(k);
  query.label = b.transition * mu;
  query.label_spread = token_covariance(query.label);
  const Index begin = b.first[static_cast<std::size_t>(k)];
  query.law = b.law.segment(begin, b.support(k));
  for (Index i = 0; i < b.support(k); ++i) {
    query.position.push_back(b.position[static_cast<std::size_t>(begin + i)]);
  }
  if (!query_last_) {
    query.seen = query.attention.sum() * mu;
    return {std::move(query)};
  }
  query.attention[context_ - 1] = 0;
  query.seen = Vector<double>::Ones(n + 1);
  query.seen.head(n) = query.attention.sum() * mu;
  query.seen[k] += attention(context_ - 1, k);
  if (query.position.back() != context_ - 1) return {std::move(query)};
  const double of_last = query.law[query.law.size() - 1];
  Query itself = query;
  itself.weight *= of_last;
  itself.position.clear();
  itself.law.resize(0);
  itself.label = b.transition.col(k);
  itself.label_spread = label_covariance(b, k);
  query.position.pop_back();
  if (query.position.empty()) return {std::move(itself)};
  query.weight *= 1 - of_last;
  query.law = (query.law.head(query.law.size() - 1) / (1 - of_last)).eval();
  return {std::move(query), std::move(itself)};
}

void SequenceCovariance::set_up_attention(const Bigrams<double>& b, const Matrix<double>& v,
                                          Query& query) const {
  const Vector<double>& mu = b.stationary;
  const Vector<double>& a = query.attention;
  const Matrix<double>& w = moved_;
  const Vector<double>& u = mean_;
  const double second = a.squaredNorm();
  const Vector<double> offset = query.label - v * query.seen.head(tokens_);  // E r
  const Matrix<double>& label_spread = query.label_spread;
  const Matrix<double> spread = w * mu.asDiagonal() * w.transpose();    // V C V'
  const Matrix<double> half = w * mu.asDiagonal() * next_.transpose();  // V C P'
  const Matrix<double> coupling = half + half.transpose();
  const auto mean_of = [&](const auto& f) { return over_tokens(mu, f); };
  // Of token i: V_i'(E r), V_i'w_i, V_i'(P e_i).
  const auto at_rest = [&](Index i) { return v.col(i).dot(offset); };
  const auto own_move = [&](Index i) { return v.col(i).dot(w.col(i)); };
  const auto own_label = [&](Index i) { return v.col(i).dot(next_.col(i)); };
  const auto on_support = [&](Index i) { return at_rest(i) + own_label(i); };
  const auto along = [&](Index i) { return u.dot(w.col(i)); };
  const auto label_along = [&](Index i) { return u.dot(next_.col(i)); };
  const auto product_of = [](const auto& f, const auto& g) {
    return [&f, &g](Index i) { return f(i) * g(i); };
  };
  const double rest = mean_of(at_rest);
  const double rest_support = mean_of(on_support);
  const double move = mean_of(own_move);
  const double rest_along = mean_of(product_of(at_rest, along));
  const double move_along = mean_of(product_of(own_move, along));
  const double spread_along = u.dot(spread * u);
  const double coupling_along = u.dot(coupling * u);
  double seen = 0;  // E a_s
  for (std::size_t i = 0; i < query.position.size(); ++i) {
    seen += query.law[static_cast<Index>(i)] * a[query.position[i]];
  }
  query.product = move * move + spread.squaredNorm();
  query.square = move_along - spread_along;
  query.linear = -rest * move - rest_along;
  const double off = rest * rest + u.dot(label_spread * u) + second * spread_along;
  query.constant = off - seen * coupling_along;
  const double on = mean_of([&](Index i) { return v.col(i).dot(label_covariance(b, i) * u); }) +
                    second * spread_along + rest_support * rest +
                    mean_of(product_of(on_support, label_along));
  query.on = on - off;
  query.own = -mean_of(product_of(on_support, along)) - move * rest -
              mean_of(product_of(own_move, label_along)) - query.linear + coupling_along;
  query.other = -rest_support * move - rest_along - mean_of([&](Index i) {
    return w.col(i).dot(spread * next_.col(i));
  }) - query.linear;

  // E g_t and E g_t^2 away from the support, in powers of a_t.
  const double variance_rest = mean_of([&](Index i) -> double {
    const Vector<double> vi = v.col(i);
    return vi.dot((label_spread - seen * coupling + second * spread) * vi) +
           at_rest(i) * at_rest(i);
  });
  const double cross = mean_of(product_of(at_rest, own_move));
  const double variance_square = mean_of([&](Index i) -> double {
    return own_move(i) * own_move(i) - v.col(i).dot(spread * v.col(i));
  });
  const auto line = [&](double x, double q) {
    return query.constant + 2 * query.linear * x + (query.product + 2 * query.square) * x * x +
           2 * q * (query.on + (query.own + query.other) * x);
  };
  query.mean = (rest - move * a.array()).matrix();
  query.diagonal.resize(a.size());
  for (Index t = 0; t < a.size(); ++t) {
    const double x = a[t];
    query.diagonal[t] = variance_rest - 2 * cross * x + variance_square * x * x - line(x, 0);
  }
  const double coupled =
      mean_of([&](Index i) -> double { return v.col(i).dot(coupling * v.col(i)); });
  for (std::size_t i = 0; i < query.position.size(); ++i) {
    const Index t = query.position[i];
    const double q = query.law[static_cast<Index>(i)];
    const double x = a[t];
    const double shown = mean_of(on_support) - move * x;
    query.mean[t] = (1 - q) * (rest - move * x) + q * shown;
    // The label of x_t itself with probability q, of another of the support else.
    const double itself = mean_of([&](Index j) -> double {
      const Vector<double> vj = v.col(j);
      const double direct = on_support(j) - x * own_move(j);
      return vj.dot((label_covariance(b, j) + (second - x * x) * spread) * vj) + direct * direct;
    });
    const double elsewhere = variance_rest - 2 * cross * x + variance_square * x * x;
    // `elsewhere` has the mean of a_s over the whole support, here it is over the others.
    query.diagonal[t] =
        (1 - q) * elsewhere + q * itself - line(x, q) + ((1 - q) * seen - (seen - q * x)) * coupled;
  }
}

void SequenceCovariance::set_up_mixed(const Bigrams<double>& b, const Matrix<double>& v,
                                      Query& query) const {
  const Vector<double>& mu = b.stationary;
  const Vector<double>& a = query.attention;
  const Matrix<double>& w = moved_;
  const Index n = tokens_;
  const Index rows = centred_.rows();
  const double second = a.squaredNorm();
  const double third = a.array().cube().sum();
  const Vector<double> offset = query.label - v * query.seen.head(n);
  const Matrix<double>& label_spread = query.label_spread;
  const Matrix<double> spread = w * mu.asDiagonal() * w.transpose();
  const Matrix<double> half = w * mu.asDiagonal() * next_.transpose();
  const Matrix<double> coupling = half + half.transpose();
  const Matrix<double> seen_next = next_ * mu.asDiagonal() * centred_.transpose();  // P C
  const Matrix<double> seen_moved = w * mu.asDiagonal() * centred_.transpose();     // V C
  const auto mean_of = [&](const auto& f) { return over_tokens(mu, f); };
  // Third moments of one token, contracted with V mu.
  const Matrix<double> moved_thrice = mean_of([&](Index j) -> Matrix<double> {
    return w.col(j).dot(mean_) * w.col(j) * centred_.col(j).transpose();
  });
  const Matrix<double> labels_once = mean_of([&](Index j) -> Matrix<double> {
    const Vector<double> move =
        label_covariance(b, j) * mean_ + next_.col(j).dot(mean_) * next_.col(j);
    return move * centred_.col(j).transpose();
  });
  const Matrix<double> labels_twice = mean_of([&](Index j) -> Matrix<double> {
    const Vector<double> move =
        w.col(j).dot(mean_) * next_.col(j) + next_.col(j).dot(mean_) * w.col(j);
    return move * centred_.col(j).transpose();
  });
  // E[r h' g_t] where a_t = x and the label is of another position, of attention y.
  const auto apart = [&](double x, double y) -> Matrix<double> {
    const Matrix<double> noise = label_spread - y * coupling + (second - x * x) * spread;
    const Matrix<double> mixed = y * seen_next - (second - x * x) * seen_moved;
    const Matrix<double> skewed = y * labels_once - y * y * labels_twice +
                                  y * y * y * moved_thrice +
                                  (third - x * x * x - y * y * y) * moved_thrice;
    return skewed + mean_of([&](Index i) -> Matrix<double> {
             const Vector<double> m = query.seen + x * centred_.col(i);
             const Vector<double> rest = offset - x * w.col(i);
             const double along = rest.dot(v.col(i));
             return (rest * along + noise * v.col(i)) * m.transpose() +
                    rest * (v.col(i).transpose() * mixed) + along * mixed;
           });
  };
  // ... and where it is of this position.
  const auto itself = [&](double x) -> Matrix<double> {
    const Matrix<double> mixed = -(second - x * x) * seen_moved;
    return (third - x * x * x) * moved_thrice + mean_of([&](Index i) -> Matrix<double> {
             const Vector<double> m = query.seen + x * centred_.col(i);
             const Vector<double> rest = offset + next_.col(i) - x * w.col(i);
             const double along = rest.dot(v.col(i));
             const Matrix<double> noise = label_covariance(b, i) + (second - x * x) * spread;
             return (rest * along + noise * v.col(i)) * m.transpose() +
                    rest * (v.col(i).transpose() * mixed) + along * mixed;
           });
  };
  const auto averaged = [&](double x) -> Vector<double> {
    // Of a token that is fixed: as of one without attention.
    if (query.position.empty()) return apart(x, 0).reshaped();
    Vector<double> sum = Vector<double>::Zero(n * rows);
    for (std::size_t i = 0; i < query.position.size(); ++i) {
      sum += query.law[static_cast<Index>(i)] * apart(x, a[query.position[i]]).reshaped();
    }
    return sum;
  };
  // A cubic through its values at 0, 1, -1 and 2.
  const Vector<double> zero = averaged(0), one = averaged(1), minus = averaged(-1),
                       two = averaged(2);
  query.powers[0] = zero;
  query.powers[2] = (one + minus) / 2 - zero;
  const Vector<double> odd = (one - minus) / 2;  // c_1 + c_3
  query.powers[3] = (two - zero - 4 * query.powers[2] - 2 * odd) / 6;
  query.powers[1] = odd - query.powers[3];
  for (std::size_t i = 0; i < query.position.size(); ++i) {
    const double x = a[query.position[i]];
    query.extra.emplace_back(query.law[static_cast<Index>(i)] *
                             (itself(x) - apart(x, x)).reshaped());
  }
  if (!query_last_) return;
  const auto own = v.col(query.token);
  for (std::size_t j = 0; j < query.powers.size(); ++j) {
    query.last_powers[j] = own.dot(query.powers[j].tail(n));
    query.powers[j].conservativeResize(n * n);
  }
  for (Vector<double>& extra : query.extra) {
    query.last_extra.push_back(own.dot(extra.tail(n)));
    extra.conservativeResize(n * n);
  }
}

void SequenceCovariance::add_values(const Bigrams<double>& b, const Matrix<double>& v,
                                    Query& query) {
  const Vector<double>& mu = b.stationary;
  const Vector<double>& a = query.attention;
  const Index n = tokens_;
  const Index rows = centred_.rows();
  // One token moves (r, h) by z = (-w, e).
  Matrix<double> z(n + rows, n);
  z << -moved_, centred_;
  const Matrix<double> square = z * mu.asDiagonal() * z.transpose();
  Matrix<double> all = Matrix<double>::Zero(n * rows, n * rows);
  Matrix<double> mean = Matrix<double>::Zero(n, rows);
  const bool of_fixed = query.position.empty();  // the token that the label is of
  for (std::size_t s = 0; s < (of_fixed ? 1 : query.position.size()); ++s) {
    const double y = of_fixed ? 0 : a[query.position[s]];
    const double second = a.squaredNorm() - y * y;
    const double third = a.array().cube().sum() - y * y * y;
    const double fourth = a.array().square().square().sum() - y * y * y * y;
    const double pairs = second * second - fourth;
    // Moments of the constant part (rho, m) over the token at s.
    Vector<double> level = Vector<double>::Zero(n + rows);
    Matrix<double> levels = Matrix<double>::Zero(n + rows, n + rows);
    Matrix<double> label_and_h = Matrix<double>::Zero(n * rows, n * rows);
    Matrix<double> products = Matrix<double>::Zero(n * rows, n * rows);
    const double chance = of_fixed ? 1 : query.law[static_cast<Index>(s)];
    for (Index j = 0; j < n; ++j) {
      const Index source = of_fixed ? query.token : j;
      Vector<double> center(n + rows);
      center.tail(rows) = query.seen + y * centred_.col(j);
      center.head(n) = b.transition.col(source) - v * center.segment(n, n);
      level += mu[j] * center;
      levels += mu[j] * center * center.transpose();
      const Matrix<double> label = label_covariance(b, source);
      const Matrix<double> h = center.tail(rows) * center.tail(rows).transpose() +
                               second * square.bottomRightCorner(rows, rows);
      const Vector<double> rh = (center.head(n) * center.tail(rows).transpose()).reshaped();
      products += mu[j] * rh * rh.transpose();
      for (Index q = 0; q < rows; ++q) {
        for (Index m = 0; m < rows; ++m) {
          label_and_h.block(m * n, q * n, n, n) += mu[j] * h(m, q) * label;
        }
      }
    }
    const auto cube = [&](Index i, Index j, Index k) {
      double sum = 0;
      for (Index t = 0; t < n; ++t) sum += mu[t] * z(i, t) * z(j, t) * z(k, t);
      return sum;
    };
    for (Index h2 = n; h2 < n + rows; ++h2) {
      for (Index r2 = 0; r2 < n; ++r2) {
        for (Index h1 = n; h1 < n + rows; ++h1) {
          for (Index r1 = 0; r1 < n; ++r1) {
            double quartic = 0;
            for (Index t = 0; t < n; ++t)
              quartic += mu[t] * z(r1, t) * z(h1, t) * z(r2, t) * z(h2, t);
            const double of_pairs =
                square(r1, h1) * levels(r2, h2) + square(r1, r2) * levels(h1, h2) +
                square(r1, h2) * levels(h1, r2) + square(h1, r2) * levels(r1, h2) +
                square(h1, h2) * levels(r1, r2) + square(r2, h2) * levels(r1, h1);
            const double of_cubes = cube(r1, h1, r2) * level[h2] + cube(r1, h1, h2) * level[r2] +
                                    cube(r1, r2, h2) * level[h1] + cube(h1, r2, h2) * level[r1];
            products(r1 + n * (h1 - n), r2 + n * (h2 - n)) +=
                second * of_pairs + third * of_cubes + fourth * quartic +
                pairs * (square(r1, h1) * square(r2, h2) + square(r1, r2) * square(h1, h2) +
                         square(r1, h2) * square(h1, r2));
          }
        }
      }
    }
    all += chance * (products + label_and_h);
    mean += chance * (levels.topRightCorner(n, rows) + second * square.topRightCorner(n, rows));
  }
  values_ += query.weight * all.topLeftCorner(n * n, n * n);
  mean_rh_ += query.weight * mean.leftCols(n).reshaped();
  if (!query_last_) return;
  const auto own = v.col(query.token);
  query.mean[context_ - 1] = own.dot(mean.col(n));
  query.diagonal[context_ - 1] = 0;
  query.last_mixed = all.topRightCorner(n * n, n) * own;
  query.last_square = own.dot(all.bottomRightCorner(n, n) * own);
}

Vector<double> SequenceCovariance::operator()(const Vector<double>& vector) const {
  const Index size = tokens_ * tokens_;
  const Vector<double> values = vector.head(size).cwiseProduct(scale_);
  Vector<double> of_values = values_ * values;
  Vector<double> image = Vector<double>::Zero(vector.size());
  double along_mean = mean_rh_.dot(values);
  for (const Query& query : queries_) {
    const Index begin = size + query.token * context_;
    Vector<double> x = vector.segment(begin, context_);
    const auto a = query.attention.array();
    const double in = query.weight * query.scale;
    along_mean += in * query.mean.dot(x);
    // What is fixed moves only with r.
    const double last = query_last_ ? std::exchange(x[context_ - 1], 0.0) : 0;
    // Sums over u of x, a x, a^2 x, and on the support q x, q a x.
    const double sum = x.sum();
    const double first = (a * x.array()).sum();
    const double second = (a.square() * x.array()).sum();
    double law = 0, law_first = 0;
    for (std::size_t i = 0; i < query.position.size(); ++i) {
      const Index t = query.position[i];
      law += query.law[static_cast<Index>(i)] * x[t];
      law_first += query.law[static_cast<Index>(i)] * query.attention[t] * x[t];
    }
    const double constant = query.constant * sum + query.linear * first + query.square * second +
                            query.on * law + query.own * law_first;
    const double linear = query.linear * sum + query.product * first + query.other * law;
    Vector<double> out = (constant + linear * a + query.square * sum * a.square()).matrix() +
                         query.diagonal.cwiseProduct(x);
    for (std::size_t i = 0; i < query.position.size(); ++i) {
      const Index t = query.position[i];
      out[t] += query.law[static_cast<Index>(i)] *
                (query.on * sum + query.own * query.attention[t] * sum + query.other * first);
    }
    out *= in * query.scale;
    // Together with V.
    const std::array<double, 4> sums{sum, first, second, (a.cube() * x.array()).sum()};
    std::array<double, 4> along{};
    for (std::size_t j = 0; j < 4; ++j) {
      of_values += in * sums[j] * query.powers[j];
      along[j] = query.powers[j].dot(values);
    }
    double of_others = 0;
    if (query_last_) {
      for (std::size_t j = 0; j < 4; ++j) {
        of_others += query.last_powers[j] * sums[j];
        along[j] += query.scale * last * query.last_powers[j];
      }
      for (std::size_t i = 0; i < query.position.size(); ++i) {
        const Index t = query.position[i];
        of_others += query.last_extra[i] * x[t];
        out[t] += in * query.scale * last * query.last_extra[i];
      }
    }
    out += in * (along[0] + a * (along[1] + a * (along[2] + a * along[3]))).matrix();
    if (query_last_) {
      out[context_ - 1] = in * (query.scale * (of_others + query.last_square * last) +
                                query.last_mixed.dot(values));
      of_values += in * last * query.last_mixed;
    }
    for (std::size_t i = 0; i < query.position.size(); ++i) {
      const Index t = query.position[i];
      of_values += in * x[t] * query.extra[i];
      out[t] += in * query.extra[i].dot(values);
    }
    image.segment(begin, context_) += out;
  }
  for (const Query& query : queries_) {
    image.segment(size + query.token * context_, context_) -=
        query.weight * query.scale * along_mean * query.mean;
  }
  image.head(size) = scale_.cwiseProduct(of_values - along_mean * mean_rh_);
  return image;
}

}  // namespace popgrad::scb
