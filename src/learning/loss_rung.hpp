#pragma once
/// The rung of a SampleLoss:
///
///   x' = -rate(t) move(E d/dx loss(x, draws))
///
/// Shapes  x: the entries of the states, one state after the other, each row after row.
/// Scalars double, Real, Dual<double>; Rational where the loss has no exponentials and is summed over all values.
/// Columns loss; with samples or quadrature in its expectation loss_error; then the observables as written.

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learning/draw_covariance.hpp"
#include "learning/each_sample.hpp"
#include "learning/loss_arrays.hpp"
#include "learning/time_jumps.hpp"
#include "popgrad/rungs/known_draws.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::learning {

inline constexpr const char* error_column = "loss_error";

/// What all copies of a rung share.
struct LossInstance {
  SampleLoss written;
  Parameters given;
  std::uint64_t seed = 0;
  std::shared_ptr<const StoredSamples> stored;  ///< null without samples
  /// Of one draw where it is derived; else null.
  std::shared_ptr<const DrawCovariance> covariance{};
};
/// Checks and draws the samples. Throws InputError.
std::shared_ptr<const LossInstance> loss_instance(SampleLoss written, Parameters given,
                                                  std::uint64_t seed);

/// An expectation in two parts: what is summed over all values of its finite draws, after the exact expectation over
/// its normal ones where there is one, and what is sampled.
struct ExpectedParts {
  /// Throws EntryError of the entry where there are no samples for what needs them.
  ExpectedParts(const Array& formula, const LossArrays& arrays, const SampleLoss& written,
                const std::string& entry, const std::vector<Array>& states = {});
  Array summed;  ///< the expectation
  /// Its gradient, one for each of `states`; where a summand jumps, the expectation of the gradient.
  std::vector<Array> slopes{};
  std::vector<std::string>
      ways{};  ///< of each summand: how its expectation is had, or why it is sampled
  std::optional<Array> sampled;  ///< of one sample
  std::vector<Draw> draws{};     ///< that `sampled` reads
  /// The summed part less the same by fewer nodes of quadrature, an estimate of its error; none: there is no quadrature.
  std::optional<Array> gap{};
  [[nodiscard]] bool has_error() const { return sampled || gap; }
};

/// Observables with the expectations that they have.
struct ExpectedObservables {
  /// `known` are the expectations of the loss.
  ExpectedObservables(const std::vector<ObservableArray>& observables, LossArrays& arrays,
                      const SampleLoss& written, const ExpectedParts* known);
  std::vector<ObservableArray> shown;  ///< exact expectations as formulas, others as variables
  /// The same by fewer nodes of quadrature, to which differences are estimates of errors; empty: there is no quadrature.
  std::vector<Array> by_fewer{};
  std::vector<std::string>
      ways{};  ///< such as "observable error: exact over normal draws, 3 terms"
  struct Sampled {
    Array variable, formula;  ///< of one sample
    std::vector<Draw> draws;
  };
  std::vector<Sampled> sampled{};
};

struct ExpectedLoss : ExpectedParts {
  ExpectedLoss(LossArrays& arrays, const SampleLoss& written);
  ExpectedObservables observables;
};

template <class T>
class LossFlow {
 public:
  using Scalar = T;
  explicit LossFlow(std::shared_ptr<const LossInstance> instance);
  LossFlow(const LossFlow& other) : LossFlow(other.instance_) {}
  LossFlow(LossFlow&&) noexcept = default;
  LossFlow& operator=(const LossFlow&) = delete;
  LossFlow& operator=(LossFlow&&) noexcept = default;
  ~LossFlow() = default;

  /// Formulas of starts, whose draws the seed gives, one after the other. Throws InputError for what is not defined.
  static Vector<T> drawn_start(const std::vector<Array>& starts, const std::vector<Draw>& draws,
                               const LossArrays& arrays,
                               const std::vector<std::vector<T>>& parameters, std::uint64_t seed);

  [[nodiscard]] Index dimension() const { return parts_->dimension; }
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> state_names() const {
    return parts_->arrays.state_names();
  }
  [[nodiscard]] std::vector<std::string> columns() const;
  /// Empty where one depends on time: then the rates are a part of what Adam takes for the gradient.
  [[nodiscard]] Vector<T> rates() const { return parts_->rates; }
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  template <class U>
  requires std::same_as<U, Dual<double>> && std::same_as<T, double>  // of Jacobians
  [[nodiscard]] LossFlow<U> cast() const { return LossFlow<U>(instance_); }

  /// Of the rates.
  [[nodiscard]] std::vector<T> jumps(const T& start, const T& end) const
      requires(std::same_as<T, double> || std::same_as<T, Real>) {
    // Clang 14 instantiates this for other scalars, too, where the class is instantiated.
    if constexpr (std::same_as<T, double> || std::same_as<T, Real>)
      return parts_->jumps ? parts_->jumps->between(start, end) : std::vector<T>{};
    return {};
  }

  // --- in double, the random field
  void draw_at(double t) const requires std::same_as<T, double> { parts_->draw_time = t; }
  void sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                  Index batch) const requires std::same_as<T, double> {
    sampled_step(x, dx, stream, batch);
  }
  [[nodiscard]] double batch_loss(const Vector<double>& x, Stream& stream,
                                  Index batch) const requires std::same_as<T, double> {
    Vector<double> dx;
    return sampled_step(x, dx, stream, batch);
  }
  [[nodiscard]] KnownDraws known_draws() const requires std::same_as<T, double> {
    return parts_->exact_covariance ? KnownDraws::directly : parts_->one_sample->known();
  }
  void draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                       Matrix<double>& images) const requires std::same_as<T, double> {
    covariance(x, vectors, NodeSet::both, images);
  }
  void covariance_of_nodes(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                           Matrix<double>& images) const requires std::same_as<T, double> {
    covariance(x, vectors, nodes, images);
  }

  /// Errors of field and loss: standard errors by the samples, and differences to fewer nodes of quadrature; 0 where
  /// there are neither.
  [[nodiscard]] OneSample::Errors errors(
      const Vector<double>& x) const requires std::same_as<T, double> {
    return errors_at(x);
  }

  /// Bounds of those of the field: of a move the sum over the entries that it reads.
  [[nodiscard]] Vector<double> field_errors(const Vector<double>& x, double t) const;

 private:
  struct Parts {
    explicit Parts(const LossInstance& instance);
    LossArrays arrays;
    ExpectedLoss expected;
    Index dimension;
    std::vector<std::vector<T>> parameters;
    Vector<T> rates;  ///< empty where one depends on time
    /// Of gradients and time; where there are moves or a rate depends on time.
    std::optional<formulas::Evaluator<T>> directions;
    std::optional<TimeJumps<T>> jumps;  ///< of rates that depend on time
    std::optional<formulas::Evaluator<T>> summed, observables;
    std::optional<MeanOverSamples<T>> stored;  ///< over the samples that stand for the law
    std::vector<ArrayMean<T>> means;           ///< of expectations in observables
    // In double.
    double draw_time = 0;  ///< of what is drawn next
    std::optional<DrawSampler> sampler;
    std::optional<MeanOverSamples<T>> batch;
    std::optional<OneSample> one_sample, errors;
    std::optional<DrawCovariance::At> exact_covariance;
    std::optional<formulas::Evaluator<double>> gap;  ///< its gradient, one a state, then itself
  };

  // From the gradient to the field, in place.
  void turn(Vector<T>& dx, const T& t) const;
  // d field/d gradient, (n x n).
  Matrix<double> direction_matrix(double t) const;
  // Writes the stored numbers of a draw from the sample `first` on.
  void copy_stored(const Draw& draw, Index first, std::span<T> to) const;
  // Mean loss of the stored samples, whose gradient is added.
  T add_stored(const Vector<T>& x, Vector<T>& gradient) const;
  double sampled_step(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                      Index batch) const;
  void covariance(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                  Matrix<double>& images) const;
  [[nodiscard]] OneSample::Errors errors_at(const Vector<double>& x) const;

  std::shared_ptr<const LossInstance> instance_;
  std::unique_ptr<Parts> parts_;
};

/// The rung, whose field and draws depend on time where rates do.
template <class T>
AnyRung<T> loss_rung(const std::shared_ptr<const LossInstance>& instance);

}  // namespace popgrad::learning
