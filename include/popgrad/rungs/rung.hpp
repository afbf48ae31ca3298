#pragma once
/// A rung of the reduction ladder: a law of motion with named observables.
///
/// A `Flow` can be integrated; a `Walk` is a flow that can also draw its field at random, one
/// minibatch at a time. One class serves gradient flow, gradient descent and SGD: descent is the
/// Euler rule on `rhs` with the learning rate as step, SGD the same rule on `sample_rhs`.

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/event.hpp"
#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/rungs/state_names.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// x' = rhs(x, t) on vectors of `dimension()` numbers, with observables in the order of
/// `columns()`. A rung may keep scratch space, so it is copied for every thread;
/// `rhs` allocates nothing.
template <class F>
concept Flow = requires(const F flow, const Vector<typename F::Scalar>& x,
                        Vector<typename F::Scalar>& dx, const typename F::Scalar& t,
                        std::span<typename F::Scalar> row) {
  { flow.dimension() } -> std::convertible_to<Index>;
  { flow.initial() } -> std::convertible_to<Vector<typename F::Scalar>>;
  { flow.columns() } -> std::convertible_to<std::vector<std::string>>;
  { flow.state_names() } -> std::convertible_to<std::vector<std::string>>;
  flow.rhs(x, dx, t);
  flow.observe(x, t, row);
};

/// A flow whose field is the mean of `sample_rhs` over the draws of a stream.
template <class F>
concept Walk = Flow<F> && requires(const F walk, const Vector<typename F::Scalar>& x,
                                   Vector<typename F::Scalar>& dx, Stream& stream, Index batch) {
  walk.sample_rhs(x, dx, stream, batch);
};

/// How a state moves.
template <class T>
struct Field {
  /// x' at (x, t); empty for a closed form.
  std::function<void(const Vector<T>& x, Vector<T>& slope, const T& t)> value;
  /// d x'_i / d x_j, exact by dual numbers, O(dimension) evaluations; may be empty, and is for any
  /// scalar but double.
  std::function<void(const Vector<T>& x, Matrix<T>& jacobian, const T& t)> jacobian;
  /// Learning rates that the value already contains, a component each (Adam takes them out again);
  /// empty: all 1.
  Vector<T> rates;
  /// State at time t without integration; empty unless the rung is a closed form.
  std::function<Vector<T>(const T& t)> state_at;
  /// Times in (start, end], ascending, at which the value jumps as a function of time: a solver ends a step there.
  /// Empty where it does not.
  std::function<std::vector<T>(const T& start, const T& end)> jumps;
};

/// What is seen of a state.
template <class T>
struct Observables {
  std::vector<std::string> columns;
  std::function<void(const Vector<T>& x, const T& t, std::span<T> row)> read;
  /// The same for observables that are wanted, the others left as they are: for those that cost more than
  /// a step. May be empty.
  std::function<void(const Vector<T>& x, const T& t, std::span<T> row,
                     const std::vector<bool>& wanted)>
      read_some;
};

/// The field at random. All empty if the rung is not random.
template <class T>
struct Draws {
  /// Mean of the field over one minibatch of the given size.
  std::function<void(const Vector<T>& x, Vector<T>& slope, Stream& stream, Index batch)> sample;
  /// Sets the time of what `sample` draws next. Empty where that does not depend on time.
  std::function<void(double t)> at_time;
  /// Mean loss of the minibatch that `sample` draws from an equal stream, as training code logs it before the
  /// step. Empty where nothing is sampled.
  std::function<double(const Vector<T>& x, Stream& stream, Index batch)> loss;
  /// Share of that minibatch whose likeliest answer is right, ties by lot. Empty where there are no answers.
  std::function<double(const Vector<T>& x, Stream& stream, Index batch)> accuracy;
  /// Expectation of `sample`, where it is not the field: finite sequences bias a field that is not
  /// linear in them. Empty where it is, and for any scalar but double.
  std::function<void(const Vector<T>& x, Vector<T>& slope)> mean;
  /// Covariance of one draw of `sample` (batch 1) at a state, applied to the columns of a matrix
  /// (n x m). A batch of B divides it by B. Empty if it is not known without drawing, and for
  /// any scalar but double.
  std::function<void(const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images)> covariance;
  /// The same from one set of nodes; empty unless the law is known from nodes.
  std::function<void(const Vector<T>& x, const Matrix<T>& vectors, NodeSet nodes,
                     Matrix<T>& images)>
      covariance_of_nodes;
  /// d mean_i / d x_j, (n x n), where that is cheaper than n differences; may be empty.
  std::function<void(const Vector<T>& x, Matrix<T>& jacobian)> mean_jacobian;
  /// One step of a size in place, for rungs whose law is not that of an added field (batch 0: the
  /// expectation). Empty for the others; plain steps only.
  std::function<void(Vector<T>& x, double step, Stream& stream, Index batch)> step;

  [[nodiscard]] bool known_from_nodes() const { return static_cast<bool>(covariance_of_nodes); }
  /// What a flow knows of one draw: all that it has functions for, or as much as its `known_draws()` says.
  template <class F>
  void add_law_of(const std::shared_ptr<F>& flow);
};

template <class T>
template <class F>
void Draws<T>::add_law_of(const std::shared_ptr<F>& flow) {
  KnownDraws known = KnownDraws::directly;
  if constexpr (requires { flow->known_draws(); }) known = flow->known_draws();
  if (known == KnownDraws::not_at_all) return;
  if constexpr (requires(const Vector<T>& x, Vector<T>& slope) { flow->draw_mean(x, slope); }) {
    mean = [flow](const Vector<T>& x, Vector<T>& slope) { flow->draw_mean(x, slope); };
  }
  if constexpr (requires(const Vector<T>& x, Matrix<T>& images) {
                  flow->draw_covariance(x, images, images);
                }) {
    covariance = [flow](const Vector<T>& x, const Matrix<T>& vectors, Matrix<T>& images) {
      flow->draw_covariance(x, vectors, images);
    };
  }
  if constexpr (requires(const Vector<T>& x, Matrix<T>& images) {
                  flow->covariance_of_nodes(x, images, NodeSet::both, images);
                }) {
    if (known != KnownDraws::from_nodes) return;
    covariance_of_nodes = [flow](const Vector<T>& x, const Matrix<T>& vectors, NodeSet nodes,
                                 Matrix<T>& images) {
      flow->covariance_of_nodes(x, vectors, nodes, images);
    };
    if constexpr (requires(const Vector<T>& x, Matrix<T>& jacobian) {
                    flow->mean_jacobian(x, jacobian);
                  }) {
      if (!flow->has_mean_jacobian()) return;
      mean_jacobian = [flow](const Vector<T>& x, Matrix<T>& jacobian) {
        flow->mean_jacobian(x, jacobian);
      };
    }
  }
}

/// A rung with its type forgotten: what solvers, commands and reports need of it.
template <class T>
struct AnyRung {
  Index dimension = 0;
  Vector<T> initial;
  StateNames state_names;
  /// The length of the state changes on the way, so that its components have no fixed names.
  bool varying_length = false;
  Field<T> field;
  Observables<T> observables;
  Draws<T> draws;
  std::vector<EventFinder<T>> events;
  /// Why a walk that got here has diverged: quantity, its value, likely cause and remedy. Nothing
  /// if it has not. State, step size, batch.
  std::function<std::string(const Vector<T>&, double, Index)> divergence;
  /// An independent copy for another thread; plain copies share their scratch space.
  std::function<AnyRung<T>()> clone;
};

/// One observable at a state, by the name of its column, of a flow or of a rung whose type is forgotten.
/// Throws std::logic_error for a name that is none. Cost: all observables.
template <Flow F>
typename F::Scalar observed_at(const F& flow, const Vector<typename F::Scalar>& x,
                               std::string_view name) {
  using T = typename F::Scalar;
  const std::vector<std::string> columns = flow.columns();
  std::vector<T> row(columns.size());
  flow.observe(x, T(0), row);
  return row[place_of(columns, name)];
}
template <class T>
T observed_at(const AnyRung<T>& rung, const Vector<T>& x, std::string_view name) {
  std::vector<T> row(rung.observables.columns.size());
  rung.observables.read(x, T(0), row);
  return row[place_of(rung.observables.columns, name)];
}

/// Forgets the type of a flow. `Flow::cast<U>()`, where present, gives the same rung over another
/// scalar; dual numbers over it make the Jacobian.
template <Flow F>
AnyRung<typename F::Scalar> forget_type(F flow) {
  using T = typename F::Scalar;
  AnyRung<T> any;
  any.dimension = flow.dimension();
  any.initial = flow.initial();
  if constexpr (requires { flow.rates(); }) any.field.rates = flow.rates();
  any.observables.columns = flow.columns();
  if constexpr (requires { flow.events(); }) any.events = flow.events();
  // One copy for all of these; the dual one, twice as large, is made when it is first asked for.
  const auto shared = std::make_shared<F>(std::move(flow));
  any.state_names = StateNames::made_by([shared] { return shared->state_names(); });
  any.field.value = [shared](const Vector<T>& x, Vector<T>& dx, const T& t) {
    shared->rhs(x, dx, t);
  };
  if constexpr (requires(const T& t) {
                  { shared->jumps(t, t) } -> std::same_as<std::vector<T>>;
                }) {
    any.field.jumps = [shared](const T& start, const T& end) { return shared->jumps(start, end); };
  }
  any.observables.read = [shared](const Vector<T>& x, const T& t, std::span<T> row) {
    shared->observe(x, t, row);
  };
  if constexpr (requires(const Vector<T>& x, const T& t, std::span<T> row,
                         const std::vector<bool>& wanted) {
                  shared->observe_some(x, t, row, wanted);
                }) {
    any.observables.read_some = [shared](const Vector<T>& x, const T& t, std::span<T> row,
                                         const std::vector<bool>& wanted) {
      shared->observe_some(x, t, row, wanted);
    };
  }
  // Rosenbrock's steps and the laws of fluctuations, which ask for it, run in double.
  if constexpr (requires { shared->template cast<Dual<T>>(); } && std::same_as<T, double>) {
    using DualFlow = decltype(shared->template cast<Dual<T>>());
    any.field.jacobian = [shared, dual = std::shared_ptr<DualFlow>()](
                             const Vector<T>& x, Matrix<T>& jacobian, const T& t) mutable {
      if (!dual) dual = std::make_shared<DualFlow>(shared->template cast<Dual<T>>());
      const Index n = x.size();
      Vector<Dual<T>> point = x.template cast<Dual<T>>();
      Vector<Dual<T>> image(n);
      jacobian.resize(n, n);
      for (Index j = 0; j < n; ++j) {
        point[j].slope = T(1);
        dual->rhs(point, image, Dual<T>(t));
        point[j].slope = T(0);
        for (Index i = 0; i < n; ++i) jacobian(i, j) = image[i].slope;
      }
    };
  }
  if constexpr (Walk<F>) {
    any.draws.sample = [shared](const Vector<T>& x, Vector<T>& dx, Stream& stream, Index batch) {
      shared->sample_rhs(x, dx, stream, batch);
    };
    if constexpr (requires { shared->draw_at(0.0); }) {
      any.draws.at_time = [shared](double t) { shared->draw_at(t); };
    }
  }
  if constexpr (std::same_as<T, double> && requires(const Vector<T>& x, Stream& stream) {
                  { shared->batch_loss(x, stream, Index{1}) } -> std::convertible_to<double>;
                }) {
    any.draws.loss = [shared](const Vector<T>& x, Stream& stream, Index batch) {
      return shared->batch_loss(x, stream, batch);
    };
  }
  if constexpr (std::same_as<T, double> && requires(const Vector<T>& x, Stream& stream) {
                  { shared->batch_accuracy(x, stream, Index{1}) } -> std::same_as<double>;
                }) {
    any.draws.accuracy = [shared](const Vector<T>& x, Stream& stream, Index batch) {
      return shared->batch_accuracy(x, stream, batch);
    };
  }
  if constexpr (std::same_as<T, double>) any.draws.add_law_of(shared);
  if constexpr (requires(Vector<T> & x, Stream & stream) {
                  shared->sample_step(x, 0.0, stream, Index{1});
                }) {
    any.draws.step = [shared](Vector<T>& x, double step, Stream& stream, Index batch) {
      shared->sample_step(x, step, stream, batch);
    };
  }
  if constexpr (requires(const Vector<T>& x) {
                  { shared->divergence(x, 0.0, Index{1}) } -> std::same_as<std::string>;
                }) {
    any.divergence = [shared](const Vector<T>& x, double step, Index batch) {
      return shared->divergence(x, step, batch);
    };
  }
  if constexpr (requires { F::varying_length; }) any.varying_length = F::varying_length;
  any.clone = [shared] { return forget_type(F(*shared)); };
  return any;
}

/// The expectation by itself: a rung that draws nothing.
template <class T>
AnyRung<T> without_draws(AnyRung<T> rung) {
  rung.draws = {};
  rung.clone = [clone = rung.clone] { return without_draws(clone()); };
  return rung;
}

}  // namespace popgrad
