#include "theorems/topic/rungs/landscape.hpp"

#include <omp.h>

#include <algorithm>

#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/wide.hpp"
#include "theorems/topic/rungs/moments.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic {
namespace {

template <class T>
LinearForm<T> scaled(const T& factor, const LinearForm<T>& f) {
  return {{T(factor * f.c[0]), T(factor * f.c[1]), T(factor * f.c[2])}};
}

template <class T>
void add(LinearForm<T>& to, const T& factor, const LinearForm<T>& f) {
  for (std::size_t i = 0; i < 3; ++i) to.c[i] = to.c[i] + factor * f.c[i];
}

template <class T>
void add(QuadraticForm<T>& to, const T& factor, const QuadraticForm<T>& f) {
  for (std::size_t i = 0; i < 6; ++i) to.q[i] = to.q[i] + factor * f.q[i];
}

// f g for linear forms.
template <class T>
QuadraticForm<T> product(const LinearForm<T>& f, const LinearForm<T>& g) {
  const auto cross = [&](std::size_t i, std::size_t j) {
    return T(f.c[i] * g.c[j] + f.c[j] * g.c[i]);
  };
  return {{T(f.c[0] * g.c[0]), cross(0, 1), cross(0, 2), T(f.c[1] * g.c[1]), cross(1, 2),
           T(f.c[2] * g.c[2])}};
}

template <class T, class Count>
LinearForm<T> normaliser(const TopicLaw<T, Count>& law, bool present, const T& mask_weight) {
  const T pi = law.frequency(present);
  const T v = TopicLaw<T, Count>::number(law.words);
  return {{T(T(1) - v * pi + (mask_weight - T(1)) * law.mask()), pi, T((v - T(1)) * pi)}};
}

// Weights of the two kinds of query that see words: its own word kept, or a random word.
template <class T, class Count>
T square_weight(const TopicLaw<T, Count>& law, bool present) {
  const T random = law.random * law.share();
  return present ? T(law.correct + random) : T(law.random - random);
}

}  // namespace

template <class T>
void QuadraticForm<T>::add_square(const T& weight, const LinearForm<T>& f) {
  add(*this, weight, product(f, f));
}

template <class T, class Count>
Landscape<T> landscape(const TopicLaw<T, Count>& law, const BlockValue<T>& w,
                       const MaskWeights<T>& masks) {
  const auto n = [](const Count& count) { return TopicLaw<T, Count>::number(count); };
  const T v = n(law.words);
  const T tau = n(law.active);
  Landscape<T> made;
  // Every kind of query has |e_w|^2 = 1; the [MASK] query attends uniformly to words.
  const T sum = w.diagonal + w.same * (v - T(1));  // of a block
  const auto uniform = [&](bool present) {
    const T pi = law.frequency(present);
    return T(
        (w.mask * masks.of_mask * law.mask() + sum * pi + w.other * (T(1) - law.mask() - v * pi)) /
        (T(1) + (masks.of_mask - T(1)) * law.mask()));
  };
  const T in = uniform(true);
  const T out = uniform(false);
  made.constant = T(1) + law.hidden() * (tau * v * in * in +
                                         n(law.topics - law.active) * v * out * out - T(2) * in);
  for (const bool present : {false, true}) {
    const T pi = law.frequency(present);
    const T base = w.mask * masks.of_words * law.mask() + w.other * (T(1) - law.mask() - v * pi);
    const LinearForm<T> own{{base, T(w.diagonal * pi), T(w.same * (v - T(1)) * pi)}};
    const LinearForm<T> same{{base, T(w.same * pi), T((w.diagonal + w.same * (v - T(2))) * pi)}};
    const auto other = [&](bool y) -> LinearForm<T> {
      const T pi_y = law.frequency(y);
      return {{T(base - w.other * v * pi_y + sum * pi_y), T(w.other * pi),
               T(w.other * (v - T(1)) * pi)}};
    };
    const Count in_document = present ? Count(law.active - 1) : law.active;
    auto& part = made.parts[present ? 1 : 0];
    part.normaliser = normaliser(law, present, masks.of_words);
    QuadraticForm<T> squares;
    squares.add_square(T(1), own);
    squares.add_square(T(v - T(1)), same);
    squares.add_square(T(n(in_document) * v), other(true));
    squares.add_square(T(n(law.topics - 1 - in_document) * v), other(false));
    add(part.square, square_weight(law, present), squares);
    if (present) {
      add(part.linear, T(T(2) * law.correct), own);
      LinearForm<T> hit = scaled(T(T(1) / (tau * v)), own);
      add(hit, T((v - T(1)) / (tau * v)), same);
      add(hit, T((tau - T(1)) / tau), other(true));
      add(part.linear, T(T(2) * law.random * law.share()), hit);
    } else {
      add(part.linear, T(T(2) * law.random * (T(1) - law.share())), other(true));
    }
  }
  return made;
}

template <class T>
Landscape<T> landscape(const TopicLaw<T>& law, const Matrix<T>& value) {
  const auto n = [](Index count) { return TopicLaw<T>::number(count); };
  const Index size = law.vocabulary();
  const Index topics = law.topics;
  const Index v = law.words;
  const T words = n(topics * v);
  const T rise = law.kept() / n(law.active * v);  // Delta
  const T stray = law.stray();
  // Columns summed over topics, their products, and what they put on the rows of a topic.
  const auto zeros = [](Index rows, Index cols) { return Matrix<T>::Constant(rows, cols, T(0)); };
  Matrix<T> block = zeros(size, topics);
  for (Index j = 1; j < size; ++j) block.col(law.topic_of(j)) += value.col(j);
  Matrix<T> onto = zeros(topics, topics);
  for (Index r = 1; r < size; ++r) onto.row(law.topic_of(r)) += block.row(r);
  const Matrix<T> gram = block.transpose() * block;
  const Vector<T> total = block.rowwise().sum();
  Landscape<T> made;
  made.constant = law.correct + law.random + law.hidden() * uniform_loss(law, value);
  for (const bool present : {false, true}) {
    auto& part = made.parts[present ? 1 : 0];
    part.normaliser = normaliser(law, present, T(1));
    const T pi = law.frequency(present);
    const OtherTopics<T> moments = other_topics(law, present);
    const T random = law.random * (present ? law.share() : T(T(1) - law.share())) / words;
    for (Index i = 1; i < size; ++i) {
      throw_if_stopped();
      const Index own_topic = law.topic_of(i);
      const Vector<T> rest = total - block.col(own_topic);
      // The numerator is h + Delta sum of the present ones of the other topics.
      const std::array<Vector<T>, 3> h{Vector<T>(law.mask() * value.col(0) + stray * rest),
                                       Vector<T>(pi * value.col(i)),
                                       Vector<T>(pi * (block.col(own_topic) - value.col(i)))};
      QuadraticForm<T> squares;
      const auto dot = [&](std::size_t p, std::size_t q) { return T(h[p].dot(h[q])); };
      squares.q = {dot(0, 0), T(T(2) * dot(0, 1)), T(T(2) * dot(0, 2)),
                   dot(1, 1), T(T(2) * dot(1, 2)), dot(2, 2)};
      const T pull = T(2) * rise * moments.one;
      for (std::size_t p = 0; p < 3; ++p) squares.q[p] = squares.q[p] + pull * h[p].dot(rest);
      T alike(0);
      T all(0);
      for (Index t = 0; t < topics; ++t) {
        if (t == own_topic) continue;
        alike = alike + gram(t, t);
        for (Index s = 0; s < topics; ++s) {
          if (s != own_topic) all = all + gram(t, s);
        }
      }
      squares.q[0] =
          squares.q[0] + rise * rise * (moments.one * alike + moments.two * (all - alike));
      const T correct = present ? T(law.correct / words) : T(0);
      add(part.square, T(correct + random), squares);
      LinearForm<T> kept{{T(h[0][i] + rise * moments.one * rest[i]), h[1][i], h[2][i]}};
      add(part.linear, T(T(2) * correct), kept);
      // A random query: its target is any word of the document.
      LinearForm<T> hit;
      for (Index t = 0; t < topics; ++t) {
        const bool own = t == own_topic;
        if (own && !present) continue;
        const T weight = own ? T(1) : moments.one;
        for (std::size_t p = 0; p < 3; ++p) {
          hit.c[p] = hit.c[p] + weight * h[p].segment(1 + t * v, v).sum();
        }
        for (Index s = 0; s < topics; ++s) {
          if (s == own_topic) continue;
          const T both = own ? moments.one : s == t ? moments.one : moments.two;
          hit.c[0] = hit.c[0] + rise * both * onto(t, s);
        }
      }
      add(part.linear, T(T(2) * random / n(law.active * v)), hit);
    }
  }
  return made;
}

template <class T>
Vector<T> Landscape<T>::gradient(const T& alpha, const T& beta) const {
  Vector<T> sum = Vector<T>::Constant(2, T(0));
  for (const Part& part : parts) {
    const T n = part.normaliser(alpha, beta);
    const T q = part.square(alpha, beta);
    const T p = part.linear(alpha, beta);
    const std::array<T, 2> dq = part.square.gradient(alpha, beta);
    for (int i = 0; i < 2; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const T& dn = part.normaliser.c[k + 1];
      sum[i] =
          sum[i] + (dq[k] - T(2) * q * dn / n) / (n * n) - (part.linear.c[k + 1] - p * dn / n) / n;
    }
  }
  return sum;
}

template <class T>
Matrix<T> Landscape<T>::hessian(const T& alpha, const T& beta) const {
  Matrix<T> sum = Matrix<T>::Constant(2, 2, T(0));
  for (const Part& part : parts) {
    const T n = part.normaliser(alpha, beta);
    const T q = part.square(alpha, beta);
    const T p = part.linear(alpha, beta);
    const std::array<T, 2> dq = part.square.gradient(alpha, beta);
    const auto& s = part.square.q;
    const std::array<T, 3> ddq{T(T(2) * s[3]), s[4], T(T(2) * s[5])};
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const auto k = static_cast<std::size_t>(i);
        const auto l = static_cast<std::size_t>(j);
        const T& nk = part.normaliser.c[k + 1];
        const T& nl = part.normaliser.c[l + 1];
        const T& pk = part.linear.c[k + 1];
        const T& pl = part.linear.c[l + 1];
        sum(i, j) = sum(i, j) +
                    (ddq[k + l] - (T(2) * (dq[k] * nl + dq[l] * nk) - T(6) * q * nk * nl / n) / n) /
                        (n * n) +
                    (pk * nl + pl * nk - T(2) * p * nk * nl / n) / (n * n);
      }
    }
  }
  return sum;
}

template <class T>
bool Landscape<T>::depends_on_sum_alone(Index words) const {
  const T v = TopicLaw<T>::number(words - 1);
  const auto linear = [&](const LinearForm<T>& f) { return f.c[2] == v * f.c[1]; };
  for (const Part& part : parts) {
    const auto& q = part.square.q;
    if (!linear(part.linear) || !linear(part.normaliser) || q[2] != v * q[1] ||
        q[4] != T(2) * v * q[3] || q[5] != v * v * q[3]) {
      return false;
    }
  }
  return true;
}

template <class T>
template <class U>
Landscape<U> Landscape<T>::cast() const {
  Landscape<U> made;
  made.constant = U(constant);
  for (std::size_t x = 0; x < 2; ++x) {
    for (std::size_t i = 0; i < 6; ++i) made.parts[x].square.q[i] = U(parts[x].square.q[i]);
    for (std::size_t i = 0; i < 3; ++i) {
      made.parts[x].linear.c[i] = U(parts[x].linear.c[i]);
      made.parts[x].normaliser.c[i] = U(parts[x].normaliser.c[i]);
    }
  }
  return made;
}

namespace {

// One row of the grid: beta fixed, a plain loop over alpha that wide vectors take.
POPGRAD_WIDE void one_row(const Landscape<double>& made, double beta, const double* alphas,
                          Index count, double* values) {
  std::array<double, 2> q0{}, q1{}, q2{}, p0{}, p1{}, n0{}, n1{};
  for (std::size_t x = 0; x < 2; ++x) {
    const auto& part = made.parts[x];
    q0[x] = part.square.q[0] + beta * (part.square.q[2] + part.square.q[5] * beta);
    q1[x] = part.square.q[1] + part.square.q[4] * beta;
    q2[x] = part.square.q[3];
    p0[x] = part.linear.c[0] + part.linear.c[2] * beta;
    p1[x] = part.linear.c[1];
    n0[x] = part.normaliser.c[0] + part.normaliser.c[2] * beta;
    n1[x] = part.normaliser.c[1];
  }
  const double constant = made.constant;
#pragma omp simd
  for (Index i = 0; i < count; ++i) {
    const double a = alphas[i];
    const double r0 = 1 / (n0[0] + n1[0] * a);
    const double r1 = 1 / (n0[1] + n1[1] * a);
    const double s0 = (q0[0] + a * (q1[0] + a * q2[0])) * r0 - (p0[0] + a * p1[0]);
    const double s1 = (q0[1] + a * (q1[1] + a * q2[1])) * r1 - (p0[1] + a * p1[1]);
    values[i] = constant + s0 * r0 + s1 * r1;
  }
}

}  // namespace

// After a request to stop the first rows.
std::vector<double> on_grid(const Landscape<double>& made, const std::vector<double>& alphas,
                            const std::vector<double>& betas, int jobs) {
  const auto columns = static_cast<Index>(alphas.size());
  const auto rows = static_cast<Index>(betas.size());
  std::vector<double> values(alphas.size() * betas.size());
  std::vector<char> there(betas.size(), 0);
  const int threads = jobs > 0 ? jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
  for (Index i = 0; i < rows; ++i) {
    if (stop_asked()) continue;
    there[static_cast<std::size_t>(i)] = 1;
    one_row(made, betas[static_cast<std::size_t>(i)], alphas.data(), columns,
            values.data() + i * columns);
  }
  const auto whole = std::find(there.begin(), there.end(), 0) - there.begin();
  values.resize(static_cast<std::size_t>(whole) * alphas.size());
  return values;
}

#define POPGRAD_INSTANTIATE(T)                                              \
  template struct QuadraticForm<T>;                                         \
  template struct Landscape<T>;                                             \
  template Landscape<T> landscape(const TopicLaw<T>&, const BlockValue<T>&, \
                                  const MaskWeights<T>&);                   \
  template Landscape<T> landscape(const TopicLaw<T>&, const Matrix<T>&);
POPGRAD_INSTANTIATE(double)
POPGRAD_INSTANTIATE(Real)
POPGRAD_INSTANTIATE(Rational)
#undef POPGRAD_INSTANTIATE
template struct Landscape<Dual<double>>;
template struct Landscape<Dual<Real>>;
template Landscape<Dual<double>> landscape(const TopicLaw<Dual<double>>&,
                                           const BlockValue<Dual<double>>&,
                                           const MaskWeights<Dual<double>>&);
template Landscape<Dual<Real>> landscape(const TopicLaw<Dual<Real>>&, const BlockValue<Dual<Real>>&,
                                         const MaskWeights<Dual<Real>>&);
template Landscape<Expression> landscape(const TopicLaw<Expression>&, const BlockValue<Expression>&,
                                         const MaskWeights<Expression>&);
template Landscape<Rational> landscape(const TopicLaw<Rational, Rational>&,
                                       const BlockValue<Rational>&, const MaskWeights<Rational>&);
template Landscape<Expression> landscape(const TopicLaw<Expression, Expression>&,
                                         const BlockValue<Expression>&,
                                         const MaskWeights<Expression>&);
template Vector<Expression> Landscape<Expression>::gradient(const Expression&,
                                                            const Expression&) const;
template Landscape<double> Landscape<Rational>::cast<double>() const;
template Landscape<Real> Landscape<Rational>::cast<Real>() const;

}  // namespace popgrad::topic
