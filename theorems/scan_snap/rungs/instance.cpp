#include "theorems/scan_snap/rungs/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/sparse_laws.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/corpus.hpp"
#include "theorems/scan_snap/rungs/instance_record.hpp"
#include "theorems/scan_snap/rungs/parameters.hpp"

namespace popgrad::scan_snap {
namespace {

constexpr const char* of_instance = "scan-snap";
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

std::vector<Index> token_list(const Parameters& p, std::string_view name, Index count,
                              Index tokens) {
  const Vector<double> given = p.vector<double>(name);
  if (given.size() != count) {
    reject(of_instance, name, fmt::format("{} numbers", given.size()),
           fmt::format("must have one for each of the {} classes", count));
  }
  std::vector<Index> list;
  for (const double value : given) {
    const auto token = static_cast<Index>(value);
    if (static_cast<double>(token) != value || token < 0 || token >= tokens) {
      reject(of_instance, name, fmt::format("{}", value),
             fmt::format("must be a whole number from 0 to {}", tokens - 1));
    }
    list.push_back(token);
  }
  return list;
}

// K equally likely classes, next token n for class n.
template <class T>
SequenceClasses<T> classes_of_laws(SparseLaws<T> laws, const std::vector<Index>& query,
                                   Index tokens) {
  const Index count = laws.laws();
  SequenceClasses<T> classes;
  classes.tokens = tokens;
  classes.query = query;
  classes.first = std::move(laws.first);
  classes.token = std::move(laws.category);
  classes.law = std::move(laws.weight);
  classes.weight = Vector<T>::Constant(count, T(1) / T(static_cast<int>(count)));
  for (Index n = 0; n < count; ++n) classes.next.push_back(n);
  return classes;
}

// From dense rows or from lists; `least` is the smallest vocabulary that they fit in.
template <class T>
SparseLaws<T> token_laws(const Parameters& p, Index& least) {
  if (!given(p, parameter::P_tokens) && !given(p, parameter::P_weights)) {
    Matrix<T> rows = p.matrix<T>("P");
    for (Index n = 0; n < rows.rows(); ++n) {
      make_sum_one<T>(rows.row(n), of_instance, "P", fmt::format("row {}", n));
    }
    least = rows.cols();
    return sparse_rows(rows);
  }
  if (given(p, parameter::P)) {
    reject(of_instance, "P", "and P_tokens",
           "exclude each other: both are the laws of the classes");
  }
  SparseLaws<T> laws =
      sparse_laws<T>(p, parameter::P_tokens, parameter::P_weights, parameter::M.high);
  const auto last = std::max_element(laws.category.begin(), laws.category.end());
  least = *last + 1;
  return laws;
}

template <class T>
SequenceClasses<T> given_classes(const Parameters& p) {
  Index least = 2;
  SparseLaws<T> laws = token_laws<T>(p, least);
  const Index tokens = read_or(p, parameter::M, least);
  if (tokens < std::max<Index>(least, 2)) {
    reject(of_instance, "--M", std::to_string(tokens),
           fmt::format("must be a whole number from {} to {}", std::max<Index>(least, 2),
                       parameter::M.high));
  }
  const Index count = laws.laws();
  if (count > tokens) {
    reject(of_instance, "P", fmt::format("{} rows", count),
           fmt::format("has more classes than the {} tokens that could be next", tokens));
  }
  SequenceClasses<T> classes = classes_of_laws(
      std::move(laws),
      given(p, parameter::psi) ? token_list(p, "psi", count, tokens)
                               : std::vector<Index>(static_cast<std::size_t>(count), 0),
      tokens);
  if (given(p, parameter::next)) classes.next = token_list(p, "next", count, tokens);
  if (given(p, parameter::class_law)) {
    classes.weight = p.vector<T>("class_law");
    if (classes.weight.size() != count) {
      reject(of_instance, "class_law", fmt::format("{} numbers", classes.weight.size()),
             fmt::format("must have one for each of the {} rows of P", count));
    }
    make_sum_one<T>(classes.weight, of_instance, "class_law", "the list");
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
      reject(of_instance, "--watch", all, "must be class:token pairs such as 0:12,1:3");
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
  return classes_of_laws(sparse_rows(law), query, tokens);
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
  constexpr double tokens_of_a_class = 20;
  require_memory(static_cast<double>(k) * tokens_of_a_class * (sizeof(T) + sizeof(Index)),
                 fmt::format("the classes of {} queries", queries), "lower --n_last");
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
  const bool from_law = given(p, parameter::P) || given(p, parameter::P_tokens);
  const bool from_text = given(p, parameter::corpus);
  const bool named = given(p, parameter::preset);
  if (int{from_law} + int{from_text} + int{named} > 1) {
    reject(of_instance, named ? "--preset" : "P",
           named ? read(p, parameter::preset) : "of the instance file",
           "contradicts another data law; give one of P, --corpus, --preset");
  }
  if (!from_law) {
    for (const std::string_view name :
         {parameter::psi.name, parameter::next.name, parameter::class_law.name, parameter::M.name,
          parameter::P_weights.name}) {
      if (!p.has(name)) continue;
      reject(of_instance, name, "without P", "describes P of an instance file; give P as well");
    }
  }
  if (!from_text) {
    constexpr const char* rule = "is about a text; give --corpus as well";
    refuse_given(p, of_instance, parameter::window, rule);
    refuse_given(p, of_instance, parameter::min_count, rule);
    refuse_given(p, of_instance, parameter::classes, rule);
  }
  const std::string preset = read(p, parameter::preset);
  if (preset != "syn-medium") {
    refuse_given(p, of_instance, parameter::n_last, "belongs to --preset syn-medium");
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
    refuse_given(p, of_instance, parameter::start,
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

Record record_of(const TrainingInstance<double>& instance) {
  const SequenceClasses<double>& classes = instance.classes;
  Record record{{"P_tokens", support_lists(classes.first, classes.token)},
                {"P_weights", weight_lists(classes.first, classes.law)},
                {"psi", Value::List(classes.query.begin(), classes.query.end())},
                {"next", Value::List(classes.next.begin(), classes.next.end())},
                {"class_law", list_of(classes.weight)},
                {"M", classes.tokens},
                {"eta_Y", instance.decoder_rate},
                {"eta_Z", instance.attention_rate},
                {"T", instance.length},
                {"reading", instance.clock == Clock::paper ? "paper" : "consistent"},
                {"track-growth", instance.track_growth},
                {"label_noise", instance.label_noise},
                {"temperature", instance.temperature}};
  const bool has_decoder = instance.decoder_start.size() > 0;
  const bool has_logits = instance.logit_start.size() > 0;
  if (has_decoder) record["Y"] = rows_of(instance.decoder_start);
  if (has_logits) record["Z"] = rows_of(instance.logit_start);
  if (!has_decoder || !has_logits) {
    record["start"] = instance.start == Start::zero ? "zero" : "uniform";
  }
  return record;
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
