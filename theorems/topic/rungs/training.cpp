#include "theorems/topic/rungs/training.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/sparse_laws.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/topic/rungs/instance_record.hpp"
#include "theorems/topic/rungs/parameters.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic {
namespace {

constexpr const char* where = "topic";
/// Starts draw from streams of their own, so that no training draw repeats one.
constexpr std::uint32_t start_run = 0xFFFFFFFFU;
/// Numbers of one matrix that a run may hold: 800 MB.
constexpr Index most_entries = 100'000'000;

// Of the products that make logits.
double scale_of_logits(const Layout& l) {
  return 1 / (l.temperature * std::sqrt(static_cast<double>(l.key_width)));
}

}  // namespace

Layout::Layout(const Training& t)
    : vocabulary(t.law.vocabulary()),
      width(t.embedding_width > 0 ? t.embedding_width : t.law.vocabulary()),
      key_width(t.key_width),
      temperature(t.temperature),
      embedded(t.embedding_width > 0) {}

Effective effective(const Layout& l, const Vector<double>& x) {
  Effective now;
  make_effective(l, x, now);
  return now;
}

void make_effective(const Layout& l, const Vector<double>& x, Effective& now) {
  const ConstView keys(x.data() + l.keys(), l.key_width, l.width);
  const ConstView queries(x.data() + l.queries(), l.key_width, l.width);
  const ConstView values(x.data() + l.values(), l.width, l.width);
  const double scale = scale_of_logits(l);
  if (!l.embedded) {
    now.value = values;
    now.logits.noalias() = scale * keys.transpose() * queries;
    return;
  }
  const ConstView embedding(x.data() + l.embedding(), l.width, l.vocabulary);
  const Matrix<double> seen_keys = keys * embedding;
  const Matrix<double> seen_queries = queries * embedding;
  now.value = embedding.transpose() * (values * embedding);
  now.logits.noalias() = scale * seen_keys.transpose() * seen_queries;
}

void chain(const Layout& l, const Vector<double>& x, const Matrix<double>& dvalue,
           const Matrix<double>& dlogits, Vector<double>& dx) {
  const ConstView keys(x.data() + l.keys(), l.key_width, l.width);
  const ConstView queries(x.data() + l.queries(), l.key_width, l.width);
  const ConstView values(x.data() + l.values(), l.width, l.width);
  View dkeys(dx.data() + l.keys(), l.key_width, l.width);
  View dqueries(dx.data() + l.queries(), l.key_width, l.width);
  View dvalues(dx.data() + l.values(), l.width, l.width);
  const double scale = scale_of_logits(l);
  if (!l.embedded) {
    dkeys.noalias() += scale * queries * dlogits.transpose();
    dqueries.noalias() += scale * keys * dlogits;
    dvalues += dvalue;
    return;
  }
  const ConstView embedding(x.data() + l.embedding(), l.width, l.vocabulary);
  View dembedding(dx.data() + l.embedding(), l.width, l.vocabulary);
  const Matrix<double> seen_keys = keys * embedding;
  const Matrix<double> seen_queries = queries * embedding;
  const Matrix<double> dseen_keys = scale * seen_queries * dlogits.transpose();
  const Matrix<double> dseen_queries = scale * seen_keys * dlogits;
  dkeys.noalias() += dseen_keys * embedding.transpose();
  dqueries.noalias() += dseen_queries * embedding.transpose();
  const Matrix<double> right = embedding * dvalue.transpose();  // (width x vocabulary)
  const Matrix<double> left = embedding * dvalue;
  dvalues.noalias() += left * embedding.transpose();
  dembedding.noalias() += values * right + values.transpose() * left +
                          keys.transpose() * dseen_keys + queries.transpose() * dseen_queries;
}

Effective chain_adjoint(const Layout& l, const Vector<double>& x, const Vector<double>& direction) {
  const auto part = [&](const Vector<double>& of, Index begin, Index rows) {
    return ConstView(of.data() + begin, rows, l.width);
  };
  const ConstView keys = part(x, l.keys(), l.key_width);
  const ConstView queries = part(x, l.queries(), l.key_width);
  const ConstView of_keys = part(direction, l.keys(), l.key_width);
  const ConstView of_queries = part(direction, l.queries(), l.key_width);
  const ConstView of_values = part(direction, l.values(), l.width);
  const double scale = scale_of_logits(l);
  if (!l.embedded) {
    return {of_values, scale * (of_keys.transpose() * queries + keys.transpose() * of_queries)};
  }
  const ConstView values = part(x, l.values(), l.width);
  const ConstView embedding(x.data() + l.embedding(), l.width, l.vocabulary);
  const ConstView of_embedding(direction.data() + l.embedding(), l.width, l.vocabulary);
  const Matrix<double> seen_keys = keys * embedding;
  const Matrix<double> seen_queries = queries * embedding;
  return {embedding.transpose() * (of_values * embedding + values * of_embedding) +
              of_embedding.transpose() * (values * embedding),
          scale * ((of_keys * embedding + keys * of_embedding).transpose() * seen_queries +
                   seen_keys.transpose() * (of_queries * embedding + queries * of_embedding))};
}

Vector<double> start(const Training& t) {
  const Layout l(t);
  Vector<double> x = Vector<double>::Zero(l.size());
  const auto normal = [&](Index begin, Index count, std::uint64_t which) {
    Stream stream(t.seed, start_run, which);
    for (Index i = 0; i < count; ++i) x[begin + i] = t.scale * stream.normal();
  };
  normal(l.keys(), l.key_width * l.width, 0);
  normal(l.queries(), l.key_width * l.width, 1);
  View values(x.data() + l.values(), l.width, l.width);
  switch (t.start) {
    case ValueStart::zero:
      break;
    case ValueStart::identity:
      values.setIdentity();
      break;
    case ValueStart::normal:
      normal(l.values(), l.width * l.width, 2);
      break;
    case ValueStart::block:
      values = expand(t.law, t.value);
      break;
  }
  if (l.embedded) normal(l.embedding(), l.width * l.vocabulary, 3);
  if (t.keys.size() > 0) View(x.data() + l.keys(), l.key_width, l.width) = t.keys;
  if (t.queries.size() > 0) View(x.data() + l.queries(), l.key_width, l.width) = t.queries;
  if (t.values.size() > 0) values = t.values;
  if (t.embedding.size() > 0) View(x.data() + l.embedding(), l.width, l.vocabulary) = t.embedding;
  return x;
}

Training training(const Parameters& p, std::uint64_t seed) {
  Training t;
  t.law = topic_law<double>(p);
  if (t.law.vocabulary() > most_entries / t.law.vocabulary()) {
    reject(where, "--T", std::to_string(t.law.topics),
           fmt::format("times --v {} words make matrices of more than {} numbers; the rung "
                       "block-reduced does not depend on the size",
                       t.law.words, most_entries));
  }
  t.loss = read(p, parameter::loss) == "squared" ? LossKind::squared : LossKind::cross_entropy;
  t.key_width = read(p, parameter::d_a);
  t.temperature = read<double>(p, parameter::temperature);
  t.embedding_width = read(p, parameter::d_e);
  t.scale = read<double>(p, parameter::sigma);
  t.penalty = read<double>(p, parameter::lambda);
  t.document = read(p, parameter::N);
  t.label_noise = read<double>(p, parameter::label_noise);
  const std::string value = read(p, parameter::value);
  if (value == "identity") t.start = ValueStart::identity;
  if (value == "normal") t.start = ValueStart::normal;
  if (value == "block" || value == "diagonal") {
    if (t.embedding_width > 0) {
      reject(where, "--value", value, "is a matrix over words; leave out --d_e");
    }
    t.start = ValueStart::block;
    t.value = value == "block" ? minimum_norm_value(t.law) : diagonal_value(t.law);
  }
  const std::string trained = read_or(p, parameter::train, t.embedding_width > 0 ? "VKQE" : "VKQ");
  const auto has = [&](char c) { return trained.find(c) != std::string::npos; };
  if (trained.empty() || trained.find_first_not_of("VKQE") != std::string::npos ||
      has('K') != has('Q') || (has('E') && t.embedding_width == 0)) {
    reject(where, "--train", trained,
           t.embedding_width == 0 && has('E')
               ? "names W_E, which one-hot embeddings have not; give --d_e"
               : "must name some of V, K and Q together, and E, e.g. VKQ, KQ, E");
  }
  t.train_value = has('V');
  t.train_attention = has('K');
  t.train_embedding = has('E');
  const Layout sizes(t);
  t.keys = given_block<double>(p, parameter::W_K, sizes.key_width, sizes.width);
  t.queries = given_block<double>(p, parameter::W_Q, sizes.key_width, sizes.width);
  t.values = given_block<double>(p, parameter::W_V, sizes.width, sizes.width);
  if (given(p, parameter::W_V)) {
    refuse_given(p, where, parameter::value,
                 "contradicts W_V of the instance file; give one of the two");
  }
  if (sizes.embedded) {
    t.embedding = given_block<double>(p, parameter::W_E, sizes.width, sizes.vocabulary);
  } else if (given(p, parameter::W_E)) {
    reject(where, "W_E", "given", "is of trained embeddings; give --d_e as well");
  }
  t.longer = read(p, parameter::longer);
  if (read(p, parameter::documents) == "lda") {
    t.documents = DocumentKind::lda;
    t.concentration = read<double>(p, parameter::concentration);
  } else {
    refuse_given(p, where, parameter::concentration,
                 "is of documents drawn by LDA; give --documents lda");
  }
  if (given(p, parameter::corpus)) {
    constexpr const char* rule =
        "is of drawn documents, and --corpus reads them; give one of the two";
    refuse_given(p, where, parameter::longer, rule);
    refuse_given(p, where, parameter::documents, rule);
    t.corpus = read_documents(read_or(p, parameter::corpus, ""), t.law.topics * t.law.words);
  }
  t.seed = seed;
  return t;
}

Record record_of(const TopicLaw<Rational>& law) {
  return {{"T", law.topics},
          {"tau", law.active},
          {"v", law.words},
          {"p_m", to_text(law.masked)},
          {"p_c", to_text(law.correct)},
          {"p_r", to_text(law.random)}};
}

Record record_of(const Training& t) {
  const bool squared = t.loss == LossKind::squared;
  Record record{{"T", t.law.topics},
                {"tau", t.law.active},
                {"v", t.law.words},
                {"p_m", t.law.masked},
                {"p_c", t.law.correct},
                {"p_r", t.law.random},
                {"loss", squared ? "squared" : "cross-entropy"},
                {"d_a", t.key_width},
                {"temperature", t.temperature},
                {"d_e", t.embedding_width},
                {"sigma", t.scale},
                {"lambda", t.penalty},
                {"N", t.document},
                {"label_noise", t.label_noise}};
  record["train"] = std::string(t.train_value ? "V" : "") + (t.train_attention ? "KQ" : "") +
                    (t.train_embedding && t.embedding_width > 0 ? "E" : "");
  if (t.keys.size() > 0) record["W_K"] = rows_of(t.keys);
  if (t.queries.size() > 0) record["W_Q"] = rows_of(t.queries);
  if (t.embedding.size() > 0) record["W_E"] = rows_of(t.embedding);
  if (t.values.size() > 0) {
    record["W_V"] = rows_of(t.values);
  } else if (t.start == ValueStart::block) {
    record["W_V"] = rows_of(expand(t.law, t.value));
  } else {
    record["value"] = t.start == ValueStart::zero       ? "zero"
                      : t.start == ValueStart::identity ? "identity"
                                                        : "normal";
  }
  if (!t.corpus.empty()) return record;
  record["longer"] = t.longer;
  record["documents"] = t.documents == DocumentKind::lda ? "lda" : "uniform";
  if (t.documents == DocumentKind::lda) record["concentration"] = t.concentration;
  return record;
}

}  // namespace popgrad::topic
