#include "popgrad/topic/training.hpp"

#include <fmt/format.h>

#include <cmath>

#include "popgrad/error.hpp"
#include "popgrad/random.hpp"
#include "popgrad/topic/value_optimum.hpp"

namespace popgrad::topic {
namespace {

constexpr const char* where = "topic";
/// Starts draw from streams of their own, so that no training draw repeats one.
constexpr std::uint32_t start_run = 0xFFFFFFFFU;
/// Numbers of one matrix that a run may hold: 800 MB.
constexpr Index most_entries = 100'000'000;

}  // namespace

Layout::Layout(const Training& t)
    : vocabulary(t.law.vocabulary()),
      width(t.embedding_width > 0 ? t.embedding_width : t.law.vocabulary()),
      key_width(t.key_width),
      embedded(t.embedding_width > 0) {}

Effective effective(const Layout& l, const Vector<double>& x) {
  const ConstView keys(x.data() + l.keys(), l.key_width, l.width);
  const ConstView queries(x.data() + l.queries(), l.key_width, l.width);
  const ConstView values(x.data() + l.values(), l.width, l.width);
  const double scale = 1 / std::sqrt(static_cast<double>(l.key_width));
  if (!l.embedded) return {values, scale * keys.transpose() * queries};
  const ConstView embedding(x.data() + l.embedding(), l.width, l.vocabulary);
  const Matrix<double> seen_keys = keys * embedding;
  const Matrix<double> seen_queries = queries * embedding;
  return {embedding.transpose() * (values * embedding),
          scale * seen_keys.transpose() * seen_queries};
}

void chain(const Layout& l, const Vector<double>& x, const Matrix<double>& dvalue,
           const Matrix<double>& dlogits, Vector<double>& dx) {
  const ConstView keys(x.data() + l.keys(), l.key_width, l.width);
  const ConstView queries(x.data() + l.queries(), l.key_width, l.width);
  const ConstView values(x.data() + l.values(), l.width, l.width);
  View dkeys(dx.data() + l.keys(), l.key_width, l.width);
  View dqueries(dx.data() + l.queries(), l.key_width, l.width);
  View dvalues(dx.data() + l.values(), l.width, l.width);
  const double scale = 1 / std::sqrt(static_cast<double>(l.key_width));
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
  return x;
}

namespace {

// A start from the instance file, of the shape that the sizes ask for; empty if there is none.
Matrix<double> given_start(const Parameters& p, const char* name, Index rows, Index cols) {
  if (!p.has(name)) return {};
  Matrix<double> given = p.matrix<double>(name);
  if (given.rows() != rows || given.cols() != cols) {
    reject(where, name, fmt::format("{} x {}", given.rows(), given.cols()),
           fmt::format("must be {} x {}: rows by d_a or d_e, columns by [MASK] and the T v words "
                       "(or by d_e)",
                       rows, cols));
  }
  return given;
}

}  // namespace

Training training(const Parameters& p, std::uint64_t seed) {
  Training t;
  t.law = topic_law<double>(p);
  if (t.law.vocabulary() > most_entries / t.law.vocabulary()) {
    reject(where, "--T", std::to_string(t.law.topics),
           fmt::format("times --v {} words make matrices of more than {} numbers; the rung "
                       "block-reduced does not depend on the size",
                       t.law.words, most_entries));
  }
  const std::vector<std::string> losses{"squared", "cross-entropy"};
  t.loss = p.choice("loss", "squared", losses) == "squared" ? LossKind::squared
                                                            : LossKind::cross_entropy;
  t.key_width = p.count("d_a", 100, 1, 100'000);
  t.embedding_width = p.count("d_e", 0, 0, 100'000);
  t.scale = p.number<double>("sigma", "0.01");
  if (!(t.scale >= 0)) reject(where, "--sigma", to_text(t.scale), "must be >= 0");
  t.penalty = p.number<double>("lambda", "0");
  if (!(t.penalty >= 0)) reject(where, "--lambda", to_text(t.penalty), "must be >= 0");
  t.document = p.count("N", 128, 1, 10'000'000);
  const std::vector<std::string> starts{"zero", "identity", "normal", "block", "diagonal"};
  const std::string value = p.choice("value", "zero", starts);
  if (value == "identity") t.start = ValueStart::identity;
  if (value == "normal") t.start = ValueStart::normal;
  if (value == "block" || value == "diagonal") {
    if (t.embedding_width > 0) {
      reject(where, "--value", value, "is a matrix over words; leave out --d_e");
    }
    t.start = ValueStart::block;
    t.value = value == "block" ? minimum_norm_value(t.law) : diagonal_value(t.law);
  }
  const std::string trained = p.text("train", t.embedding_width > 0 ? "VKQE" : "VKQ");
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
  t.keys = given_start(p, "W_K", sizes.key_width, sizes.width);
  t.queries = given_start(p, "W_Q", sizes.key_width, sizes.width);
  t.values = given_start(p, "W_V", sizes.width, sizes.width);
  if (p.has("corpus")) {
    t.corpus = read_documents(p.text("corpus", ""), t.law.topics * t.law.words);
  }
  t.seed = seed;
  return t;
}

std::vector<ParameterInfo> parameter_infos() {
  const std::vector<std::string> whole{"sgd", "gd", "flow", "two-stage"};
  const std::vector<std::string> scaled{"sgd", "gd", "flow", "two-stage", "symmetric"};
  const std::vector<std::string> sampled{"sgd"};
  const std::vector<std::string> started{"sgd",           "gd",     "flow", "two-stage",
                                         "block-reduced", "optimum"};
  return {
      {"T", "count", "10", "topics, >= 2", {}, {}, true},
      {"tau", "count", "4", "topics of a document, 1 <= tau < T", {}, {}, true},
      {"v", "count", "10", "words of a topic, >= 1", {}, {}, true},
      {"p_m", "number", "0.15", "probability that a position is selected", {}, {}, true},
      {"p_c", "number", "0.1", "probability that a selected one keeps its word", {}, {}, true},
      {"p_r", "number", "0.1", "probability that it becomes a random word", {}, {}, true},
      {"lambda",
       "number",
       "0",
       "weight of |W_V|^2 in the loss, >= 0; optimum: W_V is the penalised one",
       {},
       {"sgd", "gd", "flow", "two-stage", "optimum"},
       true},
      {"loss", "choice", "squared", "loss", {"squared", "cross-entropy"}, whole, true},
      {"d_a", "count", "100", "rows of W_K and W_Q", {}, scaled, true},
      {"d_e", "count", "0", "width of trained embeddings; 0: one-hot", {}, whole, true},
      {"sigma",
       "number",
       "0.01",
       "deviation of the entries of W_K, W_Q, W_E at first",
       {},
       whole,
       true},
      {"value",
       "choice",
       "zero",
       "W_V at first",
       {"zero", "identity", "normal", "block", "diagonal"},
       started,
       true},
      {"W_K", "matrix", "", "W_K at first, d_a rows (default drawn)", {}, whole, false},
      {"W_Q", "matrix", "", "W_Q at first, d_a rows (default drawn)", {}, whole, false},
      {"W_V", "matrix", "", "W_V at first (default as --value)", {}, whole, false},
      {"train",
       "text",
       "VKQ, E with --d_e",
       "matrices that are trained, e.g. KQ",
       {},
       {"sgd", "gd", "flow", "block-reduced"},
       true},
      {"switch",
       "number",
       "10 relaxation times of W_V",
       "time at which stage 2 begins, > 0",
       {},
       {"two-stage"},
       true},
      {"N", "count", "128", "tokens of a sampled document", {}, sampled, true},
      {"corpus",
       "text",
       "",
       "file of documents to sample from: a line of words each",
       {},
       sampled,
       true},
  };
}

}  // namespace popgrad::topic
