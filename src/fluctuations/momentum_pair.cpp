#include "popgrad/fluctuations/momentum_pair.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "popgrad/fluctuations/sampled_draws.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {
namespace {

// The directions of the pair from those of the rung.
class Pair {
 public:
  Pair(AnyRung<double> rung, double momentum, double step_size)
      : rung_(std::move(rung)),
        n_(rung_.dimension),
        kept_(momentum / step_size),
        lost_((1 - momentum) / step_size) {}

  // Calls direction(x, g), then puts the direction of the pair into `image`.
  template <class Direction>
  void apply(const Vector<double>& pair, Vector<double>& image, const Direction& direction) {
    x_ = pair.head(n_);
    g_.resize(n_);
    direction(x_, g_);
    image.resize(2 * n_);
    image.head(n_) = g_ + kept_ * pair.tail(n_);
    image.tail(n_) = g_ - lost_ * pair.tail(n_);
  }

  // From that of the rung at its part of the state, `own`.
  void jacobian(const Matrix<double>& own, Matrix<double>& image) const {
    const Matrix<double> identity = Matrix<double>::Identity(n_, n_);
    image.resize(2 * n_, 2 * n_);
    image << own, kept_ * identity, own, -lost_ * identity;
  }

  // [[Sigma, Sigma], [Sigma, Sigma]] (a, b) = (Sigma (a + b), Sigma (a + b)).
  // `covariance(x, vectors, images)` is that of the rung.
  template <class Covariance>
  void draw_covariance(const Vector<double>& pair, const Matrix<double>& vectors,
                       Matrix<double>& images, const Covariance& covariance) {
    Matrix<double> own;
    covariance(pair.head(n_), vectors.topRows(n_) + vectors.bottomRows(n_), own);
    images.resize(2 * n_, vectors.cols());
    images << own, own;
  }

  [[nodiscard]] const AnyRung<double>& rung() const { return rung_; }
  [[nodiscard]] Index size() const { return n_; }

 private:
  AnyRung<double> rung_;
  Index n_;
  double kept_, lost_;  // of y
  Vector<double> x_, g_;
};

}  // namespace

AnyRung<double> momentum_pair(const AnyRung<double>& sgd, double momentum, double step_size) {
  if (sgd.draws.step) throw std::invalid_argument("momentum_pair: a rung with steps of its own");
  const auto pair = std::make_shared<Pair>(sgd, momentum, step_size);
  const Index n = sgd.dimension;
  AnyRung<double> rung;
  rung.dimension = 2 * n;
  rung.initial = Vector<double>::Zero(2 * n);
  rung.initial.head(n) = sgd.initial;
  if (sgd.field.rates.size() > 0) {
    rung.field.rates.resize(2 * n);
    rung.field.rates << sgd.field.rates, sgd.field.rates;
  }
  rung.observables.columns = sgd.observables.columns;
  rung.state_names = StateNames::made_by([of_sgd = sgd.state_names] {
    std::vector<std::string> names = of_sgd;
    for (const std::string& name : of_sgd) names.push_back("step_" + name);
    return names;
  });
  rung.field.value = [pair](const Vector<double>& at, Vector<double>& image, const double& t) {
    pair->apply(at, image, [&](const Vector<double>& x, Vector<double>& g) {
      pair->rung().field.value(x, g, t);
    });
  };
  rung.observables.read = [pair](const Vector<double>& at, const double& t, std::span<double> row) {
    pair->rung().observables.read(at.head(pair->size()), t, row);
  };
  if (sgd.field.jacobian) {
    rung.field.jacobian = [pair](const Vector<double>& at, Matrix<double>& image, const double& t) {
      Matrix<double> own;
      pair->rung().field.jacobian(at.head(pair->size()), own, t);
      pair->jacobian(own, image);
    };
  }
  if (sgd.draws.sample) {
    rung.draws.sample = [pair](const Vector<double>& at, Vector<double>& image, Stream& stream,
                               Index batch) {
      pair->apply(at, image, [&](const Vector<double>& x, Vector<double>& g) {
        pair->rung().draws.sample(x, g, stream, batch);
      });
    };
  }
  if (sgd.draws.mean) {
    rung.draws.mean = [pair](const Vector<double>& at, Vector<double>& image) {
      pair->apply(at, image, [&](const Vector<double>& x, Vector<double>& g) {
        pair->rung().draws.mean(x, g);
      });
    };
  }
  if (sgd.draws.mean_jacobian) {
    rung.draws.mean_jacobian = [pair](const Vector<double>& at, Matrix<double>& image) {
      Matrix<double> own;
      pair->rung().draws.mean_jacobian(at.head(pair->size()), own);
      pair->jacobian(own, image);
    };
  }
  if (sgd.draws.known_from_nodes()) {
    rung.draws.covariance_of_nodes = [pair](const Vector<double>& at, const Matrix<double>& vectors,
                                            NodeSet nodes, Matrix<double>& images) {
      pair->draw_covariance(
          at, vectors, images,
          [&](const Vector<double>& x, const Matrix<double>& seen, Matrix<double>& made) {
            pair->rung().draws.covariance_of_nodes(x, seen, nodes, made);
          });
    };
  }
  if (sgd.draws.covariance) {
    rung.draws.covariance = [pair](const Vector<double>& at, const Matrix<double>& vectors,
                                   Matrix<double>& images) {
      pair->draw_covariance(at, vectors, images, pair->rung().draws.covariance);
    };
  }
  if (sgd.divergence) {
    rung.divergence = [pair](const Vector<double>& at, double eta, Index batch) {
      return pair->rung().divergence(at.head(pair->size()), eta, batch);
    };
  }
  rung.clone = [sgd, momentum, step_size] {
    AnyRung<double> own = sgd.clone();
    own.initial = sgd.initial;
    return momentum_pair(own, momentum, step_size);
  };
  return rung;
}

}  // namespace popgrad
