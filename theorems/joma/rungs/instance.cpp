#include "theorems/joma/rungs/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/sparse_laws.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/joma/rungs/enumerations.hpp"
#include "theorems/joma/rungs/instance_record.hpp"
#include "theorems/joma/rungs/parameters.hpp"

namespace popgrad::joma {
namespace {

/// Instances draw from streams of their own, so that no training draw repeats one.
constexpr std::uint32_t instance_run = 0xFFFFFFFFU;
enum InstanceStream : std::uint64_t {
  law_stream,
  weight_stream,
  logit_stream,
  decoder_stream,
  embedding_stream,
  target_stream
};

constexpr Index default_tokens = 20;
constexpr double start_deviation = 0.01;

Matrix<double> normal_matrix(Index rows, Index cols, double deviation, std::uint64_t seed,
                             std::uint64_t which) {
  Stream stream(seed, instance_run, which);
  Matrix<double> m(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) m(i, j) = deviation * stream.normal();
  }
  return m;
}

Matrix<double> authors_law(TokenLaw law, std::uint64_t seed) {
  Stream stream(seed, instance_run, law_stream);
  Matrix<double> x(default_tokens, default_tokens);
  for (Index i = 0; i < x.cols(); ++i) {
    for (Index l = 0; l < x.rows(); ++l) {
      const double noise = 0.5 * stream.uniform();
      const double distance = static_cast<double>(l) - 10.0 * static_cast<double>(i) / 20.0;
      x(l, i) = law == TokenLaw::gaussian && l < 10 ? std::exp(-distance * distance / 30.0) : noise;
    }
    x.col(i) /= x.col(i).sum();
  }
  return x;
}

/// Gram matrix of i.i.d. unit vectors of R^dimension.
Matrix<double> random_gram(Index count, Index dimension, std::uint64_t seed) {
  Matrix<double> u = normal_matrix(dimension, count, 1.0, seed, embedding_stream);
  u.colwise().normalize();
  return u.transpose() * u;
}

template <class T>
void check_law(Matrix<T>& law, const char* name) {
  for (Index c = 0; c < law.cols(); ++c) {
    for (Index l = 0; l < law.rows(); ++l) {
      if (law(l, c) < T(0)) {
        reject("joma", name, std::to_string(to_double(law(l, c))),
               "in row " + std::to_string(l) + ", column " + std::to_string(c) +
                   " is negative; probabilities must be >= 0");
      }
    }
    const T sum = law.col(c).sum();
    if (!(std::fabs(to_double(sum) - 1.0) <= sum_tolerance)) {
      reject("joma", name, "column " + std::to_string(c),
             "sums to " + std::to_string(to_double(sum)) +
                 "; every column must be a distribution (sum 1 to 1e-9)");
    }
    if (!is_rounded_one(sum, law.rows())) law.col(c) /= sum;
  }
}

template <class T>
Matrix<T> from_double(const Matrix<double>& m) {
  return m.template cast<T>();
}

std::string shape(Index rows, Index cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

// tau = 2 T^2 under either name; both only if they agree.
template <class T>
T tau_of(const Parameters& p, std::string_view when) {
  if (!given(p, parameter::temperature)) return read<T>(p, parameter::tau, when);
  const T temperature = read<T>(p, parameter::temperature);
  const T tau = T(2) * temperature * temperature;
  if (given(p, parameter::tau)) {
    const T own = read<T>(p, parameter::tau);
    if (std::fabs(to_double(T(own / tau)) - 1.0) > sum_tolerance) {
      reject("joma", "--tau", std::to_string(to_double(own)),
             "contradicts --temperature " + std::to_string(to_double(temperature)) +
                 " (tau = 2 temperature^2); give one of the two");
    }
  }
  return tau;
}

// What only a data law has.
void refuse_of_law(const Parameters& p) {
  const auto refuse = [&](const auto&... of_law) {
    (refuse_given(p, "joma", of_law, "is about a data law; give X as well"), ...);
  };
  using namespace parameter;
  refuse(phi, residual, normalise, units, scale, embedding_dimension, class_law, W0, decoder);
}

// A list a unit (units x tokens) as (tokens x units).
template <class T>
Matrix<T> by_unit(const Parameters& p, const ListParameter& parameter) {
  return p.matrix<T>(parameter.name).transpose();
}

}  // namespace

ClassInstance<double> invariant_instance(TokenLaw law, std::uint64_t seed) {
  Parameters p("joma");
  p.set("law", law == TokenLaw::gaussian ? "gaussian" : "uniform");
  p.set("attention", "softmax");
  p.set("temperature", "0.5");
  return class_instance<double>(p, seed);
}

ReducedInstance<double> entropy_instance(std::uint64_t seed) {
  constexpr Index d = 10;
  Stream stream(seed, instance_run, target_stream);
  ReducedInstance<double> instance;
  instance.target.resize(d, 1);
  for (Index l = 0; l < d; ++l) instance.target(l, 0) = 1.0 + 3.0 * stream.uniform();
  std::sort(instance.target.data(), instance.target.data() + d);
  instance.nonlinear = true;
  instance.start = Matrix<double>::Constant(d, 1, 0.05);
  instance.logits = Vector<double>::Zero(d);
  instance.tau = 3.0;
  instance.attention = Attention::softmax;
  return instance;
}

template <class T>
ClassInstance<T> class_instance(const Parameters& p, std::uint64_t seed) {
  ClassInstance<T> instance;
  if (given(p, parameter::X)) {
    refuse_given(p, "joma", parameter::law,
                 "contradicts X of the instance file; give one of the two");
    instance.token_law = p.matrix<T>("X");
    check_law(instance.token_law, "X");
  } else {
    const bool gaussian = read(p, parameter::law) == "gaussian";
    instance.token_law =
        from_double<T>(authors_law(gaussian ? TokenLaw::gaussian : TokenLaw::uniform, seed));
  }
  const Index tokens = instance.tokens();
  const Index classes = instance.classes();
  if (given(p, parameter::class_law)) {
    Matrix<T> law = p.vector<T>("class_law");
    if (law.rows() != classes) {
      reject("joma", "class_law", std::to_string(law.rows()) + " numbers",
             "must have one for each of the " + std::to_string(classes) + " columns of X");
    }
    check_law(law, "class_law");
    instance.class_law = law;
  } else {
    instance.class_law = Vector<T>::Constant(classes, T(1) / T(static_cast<int>(classes)));
  }
  instance.temperature = read<T>(p, parameter::temperature);
  instance.label_noise = read<T>(p, parameter::label_noise);
  instance.attention = attention_of(p);
  instance.phi = phi_of(p);
  instance.features.residual = read(p, parameter::residual);
  instance.features.normalise = read(p, parameter::normalise);
  instance.length = read(p, parameter::length);

  const Index rows = tokens + (instance.features.residual ? 1 : 0);
  Index units = classes;
  if (given(p, parameter::W0)) {
    const Matrix<T> given = p.matrix<T>("W0");
    if (given.rows() < rows) {
      reject("joma", "W0", shape(given.rows(), given.cols()),
             "must have at least " + std::to_string(rows) +
                 " rows, one a contextual token and one for the query (--residual)");
    }
    units = given.cols();
    instance.weights = given.topRows(rows);
  } else {
    units = read_or(p, parameter::units, classes);
    require_memory(static_cast<double>(rows) * static_cast<double>(units) * sizeof(double),
                   fmt::format("the weights of {} units", units), "lower --units");
    const auto deviation = read<double>(p, parameter::scale);
    instance.weights = from_double<T>(normal_matrix(rows, units, deviation, seed, weight_stream));
  }
  if (given(p, parameter::z0)) {
    instance.logits = p.vector<T>("z0");
    if (instance.logits.size() != tokens) {
      reject("joma", "z0", std::to_string(instance.logits.size()) + " numbers",
             "must have one for each of the " + std::to_string(tokens) + " rows of X");
    }
  } else {
    instance.logits = from_double<T>(normal_matrix(tokens, 1, start_deviation, seed, logit_stream));
  }
  // Linear phi: hidden units are the class logits. Otherwise a fixed random output
  // layer reads them.
  if (given(p, parameter::decoder)) {
    instance.decoder = given_block<T>(p, parameter::decoder, classes, units);
  } else if (instance.phi != Activation::linear || units != classes) {
    const double deviation = 1.0 / std::sqrt(static_cast<double>(units));
    instance.decoder =
        from_double<T>(normal_matrix(classes, units, deviation, seed, decoder_stream));
  }
  const Index dimension = read(p, parameter::embedding_dimension);
  if (dimension > 0) {
    instance.features.gram = from_double<T>(random_gram(rows, dimension, seed));
  }
  return instance;
}

template <class T>
ReducedInstance<T> reduced_instance(const Parameters& p, std::uint64_t seed) {
  ReducedInstance<T> instance;
  instance.attention = attention_of(p);
  const bool has_mu = given(p, parameter::mu);
  const bool has_delta = given(p, parameter::delta);
  if (has_mu && has_delta) {
    reject("joma", "mu", "and delta",
           "exclude each other: delta is for linear phi, mu for nonlinear");
  }
  const bool from_law = given(p, parameter::X);
  if (from_law && (has_mu || has_delta)) {
    reject("joma", "X", "and " + std::string(has_mu ? "mu" : "delta"),
           "exclude each other: X makes its own gradients");
  }
  if (from_law) {
    refuse_given(p, "joma", parameter::tau, "is of mu or delta; with X give --temperature");
    refuse_given(p, "joma", parameter::v0, "is of mu or delta; with X give W0");
    // Delta of the data law at its start: Assumption 1.
    if constexpr (Ordered<T>) {
      instance.target = initial_mean_gradient(class_instance<T>(p, seed));
      const ClassInstance<T> classes = class_instance<T>(p, seed);
      instance.start = classes.weights.topRows(classes.tokens());
      instance.logits = classes.logits;
      instance.tau = T(2) * classes.temperature * classes.temperature;
      return instance;
    }
  } else {
    refuse_of_law(p);
  }
  instance.nonlinear = !has_delta;
  const bool standard = !has_mu && !has_delta;
  if (standard) {
    const char* const mu[] = {"1.2", "1.5", "1.8", "2", "2.3", "2.6", "2.9", "3.2", "3.5", "3.8"};
    instance.target.resize(static_cast<Index>(std::size(mu)), 1);
    for (Index l = 0; l < instance.target.rows(); ++l) {
      instance.target(l, 0) = from_text<T>(mu[l]);
    }
  } else {
    instance.target = by_unit<T>(p, has_mu ? parameter::mu : parameter::delta);
  }
  const Index d = instance.tokens();
  const Index units = instance.units();
  instance.start = Matrix<T>::Constant(d, units, standard ? from_text<T>("0.05") : T(0));
  if (given(p, parameter::v0)) {
    const Matrix<T> given = by_unit<T>(p, parameter::v0);
    if (given.rows() == 1 && given.cols() == 1) {
      instance.start.setConstant(given(0, 0));
    } else if (given.rows() == d && given.cols() == units) {
      instance.start = given;
    } else {
      reject("joma", "v0", shape(given.cols(), given.rows()),
             "must be one number, or have the shape of mu or delta, " + shape(units, d));
    }
  }
  instance.tau = tau_of<T>(p, standard ? "without mu and delta" : "");
  instance.logits = Vector<T>::Constant(d, T(0));
  if (given(p, parameter::z0)) {
    const Vector<T> given = p.vector<T>("z0");
    if (given.size() == 1) {
      instance.logits.setConstant(given[0]);
    } else if (given.size() == d) {
      instance.logits = given;
    } else {
      reject("joma", "z0", std::to_string(given.size()) + " numbers",
             "must be one number or " + std::to_string(d) + ", one a token");
    }
  }
  return instance;
}

Record record_of(const ClassInstance<double>& instance) {
  Record record{{"X", rows_of(instance.token_law)},
                {"class_law", list_of(instance.class_law)},
                {"W0", rows_of(instance.weights)},
                {"z0", list_of(instance.logits)},
                {"temperature", instance.temperature},
                {"attention", name_of(instance.attention)},
                {"phi", name_of(instance.phi)},
                {"residual", instance.features.residual},
                {"normalise", instance.features.normalise},
                {"label_noise", instance.label_noise},
                {"length", instance.length}};
  if (instance.decoder.size() > 0) record["decoder"] = rows_of(instance.decoder);
  return record;
}

Record record_of(const ReducedInstance<double>& instance) {
  Record record{{instance.nonlinear ? "mu" : "delta", rows_of(instance.target.transpose())},
                {"v0", rows_of(instance.start.transpose())},
                {"tau", instance.tau},
                {"attention", name_of(instance.attention)}};
  // Other attention refuses z0 on the rung reduced, where z follows from v.
  if (!instance.logits.isZero(0)) record["z0"] = list_of(instance.logits);
  return record;
}

template ClassInstance<double> class_instance<double>(const Parameters&, std::uint64_t);
template ClassInstance<Real> class_instance<Real>(const Parameters&, std::uint64_t);
template ReducedInstance<double> reduced_instance<double>(const Parameters&, std::uint64_t);
template ReducedInstance<Real> reduced_instance<Real>(const Parameters&, std::uint64_t);

}  // namespace popgrad::joma
