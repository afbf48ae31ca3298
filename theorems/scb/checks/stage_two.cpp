#include "theorems/scb/checks/stage_two.hpp"

#include <omp.h>

#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks {

Training<double> halfway(Bigrams<double> b) {
  const Index n = b.tokens();
  const double even = 1 / static_cast<double>(b.context);
  Training<double> made;
  made.start = start_of_stage_two * b.transition;
  made.start.colwise() += (1 - start_of_stage_two) * b.stationary;
  double overlap = 0;  // sum_k mu_k q^k.u^k
  for (Index k = 0; k < n; ++k) overlap += b.stationary[k] / static_cast<double>(b.support(k));
  const double beta = start_of_stage_two * (context_size(b) - even) / (overlap - even);
  made.attention_start = Matrix<double>::Constant(b.context, n, (1 - beta) * even);
  for (Index k = 0; k < n; ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      made.attention_start(b.position[static_cast<std::size_t>(e)], k) +=
          beta / static_cast<double>(b.support(k));
    }
  }
  made.attention_rate = context_size(b) / transition_size(b);
  made.bigrams = std::move(b);
  return made;
}

Training<double> with_link(Training<double> linear, Link link) {
  const Bigrams<double>& b = linear.bigrams;
  if (link == Link::softmax) {
    linear.softmax = true;
    linear.attention_start = linear.attention_start.array().log();
    const double positions = static_cast<double>(b.entries()) / static_cast<double>(b.tokens());
    linear.attention_rate *= std::pow(positions / start_of_stage_two, 2);
  }
  if (link == Link::l1) {
    const double least = 1 / static_cast<double>(b.context);
    linear.attention_start =
        (linear.attention_start.array() > least).select(linear.attention_start, 0.0);
    linear.attention_start.array().rowwise() /=
        linear.attention_start.colwise().sum().array().eval();
  }
  return linear;
}

StageTwo::StageTwo(const Bigrams<double>& bigrams, Link link, double step)
    : sampled_(with_link(halfway(bigrams), link)), link_(link), step_(step) {
  constexpr double relaxations = 6;
  steps_ = static_cast<std::uint64_t>(std::ceil(relaxations / (context_size(bigrams) * step)));
}

Index StageTwo::rest_of(Index token) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  Index free = 0;
  for (Index e = b.first[static_cast<std::size_t>(token)];
       e < b.first[static_cast<std::size_t>(token + 1)]; ++e) {
    free += b.position[static_cast<std::size_t>(e)] == free ? 1 : 0;
  }
  return free;
}

Matrix<double> StageTwo::directions() const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  Matrix<double> made = Matrix<double>::Zero(sampled_.dimension(), n * n + b.entries() + n);
  for (Index i = 0; i < n * n; ++i) made(i, i) = 1;
  for (Index k = 0; k < n; ++k) {
    const Index begin = n * n + k * b.context;
    auto rest = made.col(n * n + b.entries() + k);
    rest.segment(begin, b.context).setOnes();
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      const Index at = begin + b.position[static_cast<std::size_t>(e)];
      rest[at] = 0;
      made(at, n * n + e) = 1;
    }
  }
  return made;
}

StageTwo::Shown StageTwo::shown_at(const Vector<double>& x, Index columns) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  Shown made{Matrix<double>::Identity(columns, columns), Vector<double>::Zero(columns),
             Vector<double>::Zero(columns)};
  for (Index k = 0; k < n; ++k) {
    const Vector<double> a = sampled_.attention(x, k);
    std::vector<Index> own;
    std::vector<double> count;
    const auto add = [&](Index column, double value, double positions) {
      own.push_back(column);
      count.push_back(positions);
      made.attention[column] = value;
      made.weight[column] = b.stationary[k] * positions;
    };
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      add(n * n + e, a[b.position[static_cast<std::size_t>(e)]], 1);
    }
    if (link_ != Link::l1) {
      add(columns - n + k, a[rest_of(k)], static_cast<double>(b.context - b.support(k)));
    }
    if (link_ != Link::softmax) continue;
    for (const Index i : own) {
      for (std::size_t j = 0; j < own.size(); ++j) {
        made.by(i, own[j]) =
            made.attention[i] * ((i == own[j] ? 1 : 0) - count[j] * made.attention[own[j]]);
      }
    }
  }
  return made;
}

double StageTwo::derived() const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Index n = b.tokens();
  const Matrix<double> lift = directions();
  const Index kept = link_ == Link::l1 ? lift.cols() - n : lift.cols();  // l1: the rest stays 0
  const Matrix<double> move = lift.leftCols(kept);
  const Vector<double> squares = move.colwise().squaredNorm();  // once, and not for every entry
  const Matrix<double> mean = move * squares.cwiseInverse().asDiagonal();
  Matrix<double> vectors = Matrix<double>::Zero(lift.rows(), kept + n);
  vectors.leftCols(kept) = mean;
  for (Index k = 0; k < n; ++k) vectors(n * n + k * b.context + rest_of(k), kept + k) = 1;
  Matrix<double> covariance_of_means = Matrix<double>::Zero(kept, kept);
  Vector<double> about_means = Vector<double>::Zero(n);
  Vector<double> x = sampled_.initial();
  Matrix<double> images;
  Vector<double> ahead(x.size()), behind(x.size());
  constexpr double difference = 1e-6;  // central: the field is smooth
  const auto slope = [&](const Vector<double>& direction) {
    sampled_.rhs(x + difference * direction, ahead, 0.0);
    sampled_.rhs(x - difference * direction, behind, 0.0);
    return Vector<double>((ahead - behind) / (2 * difference));
  };
  for (std::uint64_t i = 0; i < steps_; ++i) {
    throw_if_stopped();
    Matrix<double> growth = Matrix<double>::Identity(kept, kept);
    for (Index j = 0; j < kept; ++j) {
      growth.col(j) += step_ * mean.transpose() * slope(move.col(j));
    }
    sampled_.draw_covariance(x, vectors, images);
    const Matrix<double> noise = mean.transpose() * images.leftCols(kept);
    covariance_of_means = growth * covariance_of_means * growth.transpose() + step_ * step_ * noise;
    for (Index k = 0; k < n && link_ != Link::l1; ++k) {
      const Index position = n * n + k * b.context + rest_of(k);
      const auto rest = static_cast<double>(b.context - b.support(k));
      // Rest positions differ in no other way than against their mean: any other column of the rest
      // with the opposite sign would do.
      Vector<double> own = -lift.col(lift.cols() - n + k) / rest;
      own[position] += 1;
      const double decay = slope(own).dot(own) / own.squaredNorm();
      const Index j = kept - n + k;
      about_means[k] = std::pow(1 + step_ * decay, 2) * about_means[k] +
                       step_ * step_ * rest * (images(position, kept + k) - noise(j, j));
    }
    sampled_.rhs(x, ahead, 0.0);
    x += step_ * ahead;
  }
  const Shown shown = shown_at(x, kept);
  const Matrix<double> of_attention = shown.by * covariance_of_means * shown.by.transpose();
  double sum = shown.weight.dot(of_attention.diagonal());
  for (Index k = 0; k < n && link_ != Link::l1; ++k) {
    const double scale = link_ == Link::softmax ? shown.attention[kept - n + k] : 1;
    sum += b.stationary[k] * scale * scale * about_means[k];
  }
  return sum;
}

Vector<double> StageTwo::end() const {
  Vector<double> x = sampled_.initial();
  Vector<double> dx(x.size());
  for (std::uint64_t i = 0; i < steps_; ++i) {
    throw_if_stopped();
    sampled_.rhs(x, dx, 0.0);
    x += step_ * dx;
  }
  return x;
}

double StageTwo::quiet_distance() const { return observed_at(sampled_, end(), "dist_Q"); }

Matrix<double> StageTwo::squares(Index batch, std::uint32_t runs, std::uint32_t first_run,
                                 const Setting& setting) const {
  const Bigrams<double>& b = sampled_.training().bigrams;
  const Vector<double> quiet = end();
  Matrix<double> found = Matrix<double>::Zero(runs, 1);
  const std::uint64_t seed = setting.draw_seed();  // threads do not see a refinement
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
#pragma omp parallel num_threads(jobs)
  {
    const SequenceSgd<double> own = sampled_;
#pragma omp for schedule(dynamic, 1)
    for (std::uint32_t run = 0; run < runs; ++run) {
      Vector<double> x = own.initial();
      Vector<double> dx(x.size());
      for (std::uint64_t i = 0; i < steps_ && !stop_asked(); ++i) {
        Stream stream(seed, first_run + run, i);
        own.sample_rhs(x, dx, stream, batch);
        x += step_ * dx;
      }
      for (Index k = 0; k < b.tokens(); ++k) {
        found(run, 0) +=
            b.stationary[k] * (own.attention(x, k) - own.attention(quiet, k)).squaredNorm();
      }
    }
  }
  throw_if_stopped();
  return found;
}

}  // namespace popgrad::scb::checks
