#include "popgrad/scan_snap/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "popgrad/error.hpp"
#include "popgrad/given_start.hpp"
#include "popgrad/scalar/expression.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"
#include "popgrad/scan_snap/corpus.hpp"
#include "scan_snap/parameters.hpp"

namespace popgrad::scan_snap {
namespace {

/// Sums of probabilities may miss 1 by this much; they are then made exact.
constexpr double sum_tolerance = 1e-9;
/// Classes up to which B_n is carried along unless asked otherwise: xi costs K^3 an evaluation.
constexpr Index classes_tracked = 32;

// Classes with `common` shared tokens of one weight and distinct ones of evenly spaced weights
// from 1/10 to 1; tokens: common, distinct by classes, queries, next tokens.
template <class T>
SequenceClasses<T> evenly_weighted(Index classes, Index common, Index distinct,
                                   const T& common_weight, Index tokens) {
  SequenceClasses<T> made;
  made.tokens = tokens;
  made.law.resize(classes * (common + distinct));
  made.weight = Vector<T>::Constant(classes, T(1) / T(static_cast<int>(classes)));
  made.first = {0};
  T total = common_weight * T(static_cast<int>(common));
  std::vector<T> weights;
  for (Index i = 0; i < distinct; ++i) {
    weights.push_back(T(static_cast<int>(distinct - 1 + 9 * i)) /
                      T(static_cast<int>(10 * (distinct - 1))));
    total = total + weights.back();
  }
  for (Index n = 0; n < classes; ++n) {
    for (Index l = 0; l < common; ++l) {
      made.law[made.entries()] = common_weight / total;
      made.token.push_back(l);
    }
    for (Index i = 0; i < distinct; ++i) {
      made.law[made.entries()] = weights[static_cast<std::size_t>(i)] / total;
      made.token.push_back(common + n * distinct + i);
    }
    made.first.push_back(made.entries());
    made.next.push_back(n);
  }
  return made;
}

// Divides by the sum, which must be 1 to the tolerance; names the place otherwise.
template <class T, class Part>
void make_sum_one(Part&& part, const std::string& name, const std::string& where) {
  T sum(0);
  for (Index i = 0; i < part.size(); ++i) {
    if (part[i] < T(0)) {
      reject("scan-snap", name, to_text(T(part[i])),
             where + " is negative; probabilities are >= 0");
    }
    sum = sum + part[i];
  }
  const double defect = to_double(sum) - 1.0;
  if (!(defect <= sum_tolerance && defect >= -sum_tolerance)) {
    reject("scan-snap", name, where,
           fmt::format("sums to {}; it must be 1 (to 1e-9)", to_double(sum)));
  }
  for (Index i = 0; i < part.size(); ++i) part[i] = part[i] / sum;
}

std::vector<Index> token_list(const Parameters& p, std::string_view name, Index count,
                              Index tokens) {
  const Vector<double> given = p.vector<double>(name);
  if (given.size() != count) {
    reject("scan-snap", name, fmt::format("{} numbers", given.size()),
           fmt::format("must have one for each of the {} classes", count));
  }
  std::vector<Index> list;
  for (const double value : given) {
    const auto token = static_cast<Index>(value);
    if (static_cast<double>(token) != value || token < 0 || token >= tokens) {
      reject("scan-snap", name, fmt::format("{}", value),
             fmt::format("must be a whole number from 0 to {}", tokens - 1));
    }
    list.push_back(token);
  }
  return list;
}

template <class T>
SequenceClasses<T> given_classes(const Parameters& p) {
  Matrix<T> law = p.matrix<T>("P");
  const Index tokens = read_or(p, parameter::M, law.cols());
  if (tokens < std::max<Index>(law.cols(), 2)) {
    reject("scan-snap", "--M", std::to_string(tokens),
           fmt::format("must be a whole number from {} to {}", std::max<Index>(law.cols(), 2),
                       parameter::M.high));
  }
  if (law.rows() > tokens) {
    reject("scan-snap", "P", fmt::format("{} rows", law.rows()),
           fmt::format("has more classes than the {} tokens that could be next", tokens));
  }
  for (Index n = 0; n < law.rows(); ++n) {
    make_sum_one<T>(law.row(n), "P", fmt::format("row {}", n));
  }
  const std::vector<Index> query =
      given(p, parameter::psi) ? token_list(p, "psi", law.rows(), tokens)
                               : std::vector<Index>(static_cast<std::size_t>(law.rows()), 0);
  SequenceClasses<T> classes = classes_from_matrix<T>(law, query, tokens);
  if (given(p, parameter::next)) classes.next = token_list(p, "next", law.rows(), tokens);
  if (given(p, parameter::class_law)) {
    classes.weight = p.vector<T>("class_law");
    if (classes.weight.size() != law.rows()) {
      reject("scan-snap", "class_law", fmt::format("{} numbers", classes.weight.size()),
             fmt::format("must have one for each of the {} rows of P", law.rows()));
    }
    make_sum_one<T>(classes.weight, "class_law", "the list");
  }
  return classes;
}

Index whole(std::string_view text, Index most, std::string_view all) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > most) {
    reject(
        "scan-snap", "--watch", all,
        fmt::format("must be class:token pairs such as 0:12,1:3; '{}' is not a whole number from "
                    "0 to {}",
                    text, most));
  }
  return value;
}

std::vector<std::pair<Index, Index>> watched_pairs(const std::string& all, Index classes,
                                                   Index tokens) {
  std::vector<std::pair<Index, Index>> pairs;
  std::stringstream in(all);
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) {
      reject("scan-snap", "--watch", all, "must be class:token pairs such as 0:12,1:3");
    }
    pairs.emplace_back(whole(std::string_view(part).substr(0, colon), classes - 1, all),
                       whole(std::string_view(part).substr(colon + 1), tokens - 1, all));
  }
  return pairs;
}

}  // namespace

template <class T>
SequenceClasses<T> classes_from_matrix(const Matrix<T>& law, const std::vector<Index>& query,
                                       Index tokens) {
  SequenceClasses<T> classes;
  classes.tokens = tokens;
  classes.query = query;
  classes.first = {0};
  classes.weight = Vector<T>::Constant(law.rows(), T(1) / T(static_cast<int>(law.rows())));
  std::vector<T> values;
  for (Index n = 0; n < law.rows(); ++n) {
    classes.next.push_back(n);
    for (Index l = 0; l < law.cols(); ++l) {
      if (law(n, l) == T(0)) continue;
      classes.token.push_back(l);
      values.push_back(law(n, l));
    }
    classes.first.push_back(classes.entries());
  }
  classes.law = Eigen::Map<const Vector<T>>(values.data(), static_cast<Index>(values.size()));
  return classes;
}

template <class T>
SequenceClasses<T> syn_small() {
  SequenceClasses<T> classes = evenly_weighted<T>(2, 10, 10, T(1), 30);
  classes.query = {0, 1};
  return classes;
}

template <class T>
SequenceClasses<T> syn_medium(Index queries) {
  const Index k = 2 * queries;
  const Index contextual = 10 + 10 * k;
  SequenceClasses<T> classes = evenly_weighted<T>(k, 10, 10, T(1), contextual + queries + k);
  for (Index n = 0; n < k; ++n) {
    classes.query.push_back(contextual + n / 2);
    classes.next[static_cast<std::size_t>(n)] = contextual + queries + n;
  }
  return classes;
}

template <class T>
SequenceClasses<T> growth_classes() {
  SequenceClasses<T> classes = evenly_weighted<T>(10, 1, 99, T(7) / T(10), 1000);
  classes.query.assign(10, 999);
  return classes;
}

template <class T>
TrainingInstance<T> training_instance(const Parameters& p, std::uint64_t seed) {
  TrainingInstance<T> instance;
  instance.seed = seed;
  const bool from_law = given(p, parameter::P);
  const bool from_text = given(p, parameter::corpus);
  const bool named = given(p, parameter::preset);
  if (int{from_law} + int{from_text} + int{named} > 1) {
    reject("scan-snap", named ? "--preset" : "P",
           named ? read(p, parameter::preset) : "of the instance file",
           "contradicts another data law; give one of P, --corpus, --preset");
  }
  if (!from_law) {
    for (const std::string_view name : {parameter::psi.name, parameter::next.name,
                                        parameter::class_law.name, parameter::M.name}) {
      if (!p.has(name)) continue;
      reject("scan-snap", name, "without P", "describes P of an instance file; give P as well");
    }
  }
  if (!from_text) {
    constexpr const char* rule = "is about a text; give --corpus as well";
    refuse_given(p, "scan-snap", parameter::window, rule);
    refuse_given(p, "scan-snap", parameter::min_count, rule);
    refuse_given(p, "scan-snap", parameter::classes, rule);
  }
  const std::string preset = read(p, parameter::preset);
  if (preset != "syn-medium") {
    refuse_given(p, "scan-snap", parameter::n_last, "belongs to --preset syn-medium");
  }
  std::string_view of_decoder, of_attention, of_start;
  if (from_law) {
    instance.classes = given_classes<T>(p);
  } else if (from_text) {
    CorpusRequest request;
    request.file = read_or(p, parameter::corpus, "");
    request.window = read(p, parameter::window);
    request.min_count = read(p, parameter::min_count);
    request.classes = read(p, parameter::classes);
    instance.classes = read_corpus(request).classes.template cast<T>();
    of_decoder = "for a text";
  } else if (preset == "syn-medium") {
    instance.classes = syn_medium<T>(read(p, parameter::n_last));
    of_start = of_decoder = "for syn-medium";
  } else if (preset == "growth") {
    instance.classes = growth_classes<T>();
    of_attention = "for growth";
  } else {
    instance.classes = syn_small<T>();
  }
  instance.decoder_rate = read<T>(p, parameter::eta_Y, of_decoder);
  instance.attention_rate = read<T>(p, parameter::eta_Z, of_attention);
  instance.length = read(p, parameter::T);
  instance.start = read(p, parameter::start, of_start) == "zero" ? Start::zero : Start::uniform;
  const Index m = instance.classes.tokens;
  instance.decoder_start = given_block<T>(p, parameter::Y, m, m);
  instance.logit_start = given_block<T>(p, parameter::Z, m, m);
  if (given(p, parameter::Y) && given(p, parameter::Z)) {
    refuse_given(p, "scan-snap", parameter::start,
                 "contradicts Y and Z of the instance file; leave it out");
  }
  instance.clock = read(p, parameter::reading) == "paper" ? Clock::paper : Clock::consistent;
  instance.watched = watched_pairs(read_or(p, parameter::watch, ""), instance.classes.classes(),
                                   instance.classes.tokens);
  instance.label_noise = read<T>(p, parameter::label_noise);
  instance.temperature = read<T>(p, parameter::temperature);
  instance.track_growth =
      read_or(p, parameter::track_growth,
              instance.classes.classes() <= classes_tracked && instance.shares_column());
  return instance;
}

std::vector<ParameterInfo> parameter_infos() {
  using namespace parameter;
  return parameter_table(preset, n_last, eta_Y, eta_Z, T, label_noise, temperature, start, reading,
                         watch, track_growth, corpus, window, min_count, classes, P, psi, next,
                         class_law, M, Y, Z, state);
}

template SequenceClasses<double> classes_from_matrix(const Matrix<double>&,
                                                     const std::vector<Index>&, Index);
template SequenceClasses<Real> classes_from_matrix(const Matrix<Real>&, const std::vector<Index>&,
                                                   Index);
template SequenceClasses<double> syn_small();
template SequenceClasses<Real> syn_small();
template SequenceClasses<double> syn_medium(Index);
template SequenceClasses<Real> syn_medium(Index);
template SequenceClasses<double> growth_classes();
template SequenceClasses<Real> growth_classes();
template TrainingInstance<double> training_instance(const Parameters&, std::uint64_t);
template TrainingInstance<Real> training_instance(const Parameters&, std::uint64_t);

}  // namespace popgrad::scan_snap
