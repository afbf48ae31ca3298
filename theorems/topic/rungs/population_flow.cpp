#include "theorems/topic/rungs/population_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fluctuations/known_draws.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "theorems/topic/rungs/document_bias.hpp"

namespace popgrad::topic {
namespace {

/// Norms beyond this are never come back from: at the optimum they are of the order of the words.
constexpr double divergence_bound = 1e8;

/// Blocks of numbers that documents have before those of labels: 2^31, half of a stream.
constexpr std::uint32_t groups_before_labels = 1U << 27U;

/// Of the law of one draw with label noise, whose list is longer by T/tau: 24 MB.
constexpr double most_noisy_positions = 1e6;
/// Beyond, documents are too many to run through at any length: of 4000 there are at least
/// as many as positions.
constexpr double most_positions = 4000;
/// Of the mean over documents of middle length: some 10 ms.
constexpr double most_bias_cost = 2e6;

/// What the mean neglects is of order 1/N^2, and adds up over steps while fluctuations grow with their
/// square root: 0.16 of a standard deviation over runs at N = 32 (|W_K|, batch 16, 80 steps).
constexpr Index shortest_sampled = 100;

double bias_cost(const Training& training) {
  const auto size = static_cast<double>(training.law.vocabulary());
  return subset_count(training.law.topics, training.law.active) * size * size * size;
}

// Averages of a symmetric kind over the words.
struct ByKind {
  double diagonal = 0, same = 0, other = 0;
};

ByKind averages(const TopicLaw<double>& law, const Matrix<double>& m) {
  ByKind sum;
  const Index v = law.words;
  for (Index t = 0; t < law.topics; ++t) sum.same += m.block(1 + t * v, 1 + t * v, v, v).sum();
  const double all = m.bottomRightCorner(m.rows() - 1, m.cols() - 1).sum();
  const auto words = static_cast<double>(law.topics * v);
  const auto n = static_cast<double>(v);
  sum.other = (all - sum.same) / (words * (words - n));
  sum.diagonal = m.diagonal().tail(m.rows() - 1).sum();
  sum.same = v > 1 ? (sum.same - sum.diagonal) / (words * (n - 1)) : 0.0;
  sum.diagonal /= words;
  return sum;
}

}  // namespace

PopulationFlow::PopulationFlow(Training training)
    : training_(std::move(training)),
      layout_(training_),
      expectation_(training_.law, training_.loss, false, training_.label_noise) {
  const bool from_law =
      training_.corpus.empty() && training_.longer == 0 &&
      training_.documents == DocumentKind::uniform &&
      (training_.label_noise == 0 || positions_of_law(training_) <= most_noisy_positions);
  if (!from_law) return;
  // Long documents need no list of their positions for that.
  if (training_.document >= shortest_expansion || (positions_of_law(training_) <= most_positions &&
                                                   is_enumerated(document_law(training_).draws))) {
    known_ = KnownDraws::directly;
  } else if (training_.document >= shortest_sampled && training_.loss == LossKind::squared &&
             bias_cost(training_) <= most_bias_cost) {
    known_ = KnownDraws::from_nodes;
  }
}

namespace {

struct Readings {
  using Scalar = double;
  double loss = 0, norm_W_V = 0, norm_W_K = 0, norm_W_Q = 0;
  double attention_same_word = 0, attention_same_topic = 0, attention_other_topic = 0;
  double value_diagonal = 0, value_same_topic = 0, value_other_topic = 0;
  double gram_diagonal = 1, gram_same_topic = 0, gram_other_topic = 0;  ///< as of one-hot words
};

const std::vector<Observable<Readings>>& observable_table() {
  using R = Readings;
  static const std::vector<Observable<R>> table{
      {{"loss", "`L`, with its penalty", "squared: 1 at `W_V = 0`", "loss of a selected position"},
       &R::loss},
      {{"norm_W_V", "Frobenius norm of `W_V`", "`>= 0`", "rises first"}, &R::norm_W_V},
      {{"norm_W_K", "Frobenius norm of `W_K`", "`>= 0`", "moves in stage 2"}, &R::norm_W_K},
      {{"norm_W_Q", "Frobenius norm of `W_Q`", "`>= 0`", "moves in stage 2"}, &R::norm_W_Q},
      {{"attention_same_word", "mean of `exp(s_ii)/Z_i`", "1: uniform",
        "attention per key over that of uniform attention, own word"},
       &R::attention_same_word},
      {{"attention_same_topic", "mean of `exp(s_ji)/Z_i` over `j != i` of the topic",
        "1: uniform; 0 if `v = 1`", "other words of the topic"},
       &R::attention_same_topic},
      {{"attention_other_topic", "`sum pt_j exp(s_ji)/(Z_i sum pt_j)` over `j` of other topics",
        "1: uniform; 0 if there are none", "attention per key on words of other topics"},
       &R::attention_other_topic},
      {{"value_diagonal", "mean of `W_ii`, `i >= 1`; `W = W_V`, or `W_E' W_V W_E`", "real", "`d`"},
       &R::value_diagonal},
      {{"value_same_topic", "mean of `W_ij`, `i != j` of one topic", "real; 0 if `v = 1`", "`s'`"},
       &R::value_same_topic},
      {{"value_other_topic", "mean of `W_ij`, `i`, `j` of different topics", "real", "`u'`"},
       &R::value_other_topic},
      {{"gram_diagonal", "mean of `(W_E' W_E)_ii`, `i >= 1`", "one-hot: 1",
        "squared length of an embedding"},
       &R::gram_diagonal},
      {{"gram_same_topic", "mean of `(W_E' W_E)_ij`, `i != j` of one topic", "one-hot: 0",
        "inner products inside topics"},
       &R::gram_same_topic},
      {{"gram_other_topic", "mean of `(W_E' W_E)_ij`, `i`, `j` of different topics", "one-hot: 0",
        "inner products between topics"},
       &R::gram_other_topic},
  };
  return table;
}

}  // namespace

std::vector<ObservableInfo> PopulationFlow::observables() { return infos_of(observable_table()); }

std::vector<std::string> PopulationFlow::columns() const { return names_of(observables()); }

std::vector<std::string> PopulationFlow::state_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(layout_.size()));
  const auto add = [&](const char* name, Index rows, Index columns) {
    for (Index j = 0; j < columns; ++j) {
      for (Index i = 0; i < rows; ++i) names.push_back(fmt::format("{}_{}_{}", name, i, j));
    }
  };
  add("W_K", layout_.key_width, layout_.width);
  add("W_Q", layout_.key_width, layout_.width);
  add("W_V", layout_.width, layout_.width);
  if (layout_.embedded) add("W_E", layout_.width, layout_.vocabulary);
  return names;
}

double PopulationFlow::penalty(const Vector<double>& x) const {
  return training_.penalty *
         x.segment(layout_.values(), layout_.width * layout_.width).squaredNorm();
}

double PopulationFlow::loss(const Vector<double>& x) const {
  const Effective now = effective(layout_, x);
  return expectation_(now.value, now.logits) + penalty(x);
}

void PopulationFlow::descend(const Vector<double>& x, const Matrix<double>& dvalue,
                             const Matrix<double>& dlogits, Moving moving,
                             Vector<double>& dx) const {
  dx.setZero(layout_.size());
  chain(layout_, x, dvalue, dlogits, dx);
  const Index values = layout_.width * layout_.width;
  if (training_.penalty > 0) {
    dx.segment(layout_.values(), values) +=
        2 * training_.penalty * x.segment(layout_.values(), values);
  }
  hold_untrained(moving, dx);
  dx = -dx;
}

void PopulationFlow::hold_untrained(Moving moving, Vector<double>& dx) const {
  if (!training_.train_attention || moving == Moving::value_under_uniform_attention) {
    dx.head(layout_.values()).setZero();
  }
  if (!training_.train_value || moving == Moving::attention) {
    dx.segment(layout_.values(), layout_.width * layout_.width).setZero();
  }
  if (layout_.embedded && !training_.train_embedding) {
    dx.tail(layout_.width * layout_.vocabulary).setZero();
  }
}

void PopulationFlow::move(const Vector<double>& x, Vector<double>& dx, Moving moving) const {
  make_effective(layout_, x, now_);
  if (moving == Moving::value_under_uniform_attention) now_.logits.setZero();
  expectation_(now_.value, now_.logits, &dvalue_, &dlogits_);
  descend(x, dvalue_, dlogits_, moving, dx);
}

void PopulationFlow::rhs(const Vector<double>& x, Vector<double>& dx, const double& /*t*/) const {
  move(x, dx, Moving::all);
}

double PopulationFlow::add_batch(const Vector<double>& x, Stream& stream, Index batch) const {
  make_effective(layout_, x, now_);
  const Index size = layout_.vocabulary;
  dvalue_.setZero(size, size);
  dlogits_.setZero(size, size);
  if (!document_.of_this) document_.of_this.emplace(training_);
  DocumentLoss& documents = *document_.of_this;
  Stream labels = stream.skip(groups_before_labels);
  double loss = 0;
  for (Index i = 0; i < batch; ++i) {
    throw_if_step_stopped(i);
    documents.draw(stream);
    if (training_.label_noise > 0) documents.replace_labels(labels);
    loss += documents.add_gradient(now_, 1 / static_cast<double>(batch), dvalue_, dlogits_);
  }
  return loss;
}

void PopulationFlow::sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                                Index batch) const {
  add_batch(x, stream, batch);
  descend(x, dvalue_, dlogits_, Moving::all, dx);
}

double PopulationFlow::batch_loss(const Vector<double>& x, Stream& stream, Index batch) const {
  return add_batch(x, stream, batch) + penalty(x);
}

const DocumentLaw& PopulationFlow::documents() const {
  if (!documents_) documents_ = document_law(training_);
  return *documents_;
}

DrawField PopulationFlow::field_of_document(const Vector<double>& x) const {
  return [this, x, now = effective(layout_, x), document = DocumentLoss(training_)](
             Index cls, const Vector<double>& frequencies, Vector<double>& direction) mutable {
    const Index size = layout_.vocabulary;
    Matrix<double> dvalue = Matrix<double>::Zero(size, size);
    Matrix<double> dlogits = Matrix<double>::Zero(size, size);
    document.take(documents().positions[static_cast<std::size_t>(cls)], frequencies);
    document.add_gradient(now, 1, dvalue, dlogits);
    descend(x, dvalue, dlogits, Moving::all, direction);
  };
}

std::string PopulationFlow::why_not_known() const {
  if (!training_.corpus.empty()) return "documents are those of a corpus";
  if (training_.documents != DocumentKind::uniform) return "documents are drawn by LDA";
  if (training_.longer > 0) return "documents have several lengths (--longer)";
  if (training_.label_noise > 0 && positions_of_law(training_) > most_noisy_positions) {
    return "with --label_noise there are too many positions of a document; lower --T or --v";
  }
  if (training_.document >= shortest_expansion) return {};
  if (training_.document < shortest_sampled) {
    return fmt::format(
        "documents of --N {} tokens are too many to run through, and too short for the mean over "
        "them to be known well enough; give --N {} or more",
        training_.document, shortest_sampled);
  }
  if (bias_cost(training_) <= most_bias_cost) {
    return "of documents of fewer than 1000 tokens (--N) the mean is known only for --loss "
           "squared";
  }
  return fmt::format(
      "the mean over documents of --N {} tokens takes C(T, tau) (Tv + 1)^3 = {:.2g} operations a "
      "step, more than {:g}; lower --T, --tau or --v",
      training_.document, bias_cost(training_), most_bias_cost);
}

void PopulationFlow::draw_mean(const Vector<double>& x, Vector<double>& dx) const {
  if (known_ != KnownDraws::from_nodes &&
      (training_.loss != LossKind::squared || is_enumerated(documents().draws))) {
    // What follows from a gradient of W_V and the logits is linear in it: once, for their mean.
    const Index square = layout_.vocabulary * layout_.vocabulary;
    DocumentLoss document(training_);
    Matrix<double> dvalue(layout_.vocabulary, layout_.vocabulary);
    Matrix<double> dlogits = dvalue;
    const Vector<double> mean = popgrad::draw_mean(
        documents().draws, 2 * square,
        [&, now = effective(layout_, x)](Index cls, const Vector<double>& frequencies,
                                         Vector<double>& gradient) {
          dvalue.setZero();
          dlogits.setZero();
          document.take(documents().positions[static_cast<std::size_t>(cls)], frequencies);
          document.add_gradient(now, 1, dvalue, dlogits);
          gradient << dvalue.reshaped(), dlogits.reshaped();
        });
    dvalue = mean.head(square).reshaped(layout_.vocabulary, layout_.vocabulary);
    dlogits = mean.tail(square).reshaped(layout_.vocabulary, layout_.vocabulary);
    descend(x, dvalue, dlogits, Moving::all, dx);
    return;
  }
  const Effective now = effective(layout_, x);
  Matrix<double> dvalue;
  Matrix<double> dlogits;
  expectation_(now.value, now.logits, &dvalue, &dlogits);
  add_document_bias(training_.law, now, true, 1 / static_cast<double>(training_.document), dvalue,
                    dlogits, training_.label_noise);
  descend(x, dvalue, dlogits, Moving::all, dx);
}

void PopulationFlow::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                     Matrix<double>& images) const {
  if (known_ == KnownDraws::from_nodes) {
    covariance_of_nodes(x, vectors, NodeSet::both, images);
  } else {
    images = popgrad::draw_covariance(documents().draws, field_of_document(x), vectors);
  }
}

void PopulationFlow::covariance_of_nodes(const Vector<double>& x, const Matrix<double>& vectors,
                                         NodeSet nodes, Matrix<double>& images) const {
  if (!sampled_) sampled_ = std::make_shared<const SampledDocuments>(training_);
  const Index size = layout_.vocabulary;
  Matrix<double> seen(2 * size * size, vectors.cols());
  for (Index k = 0; k < vectors.cols(); ++k) {
    Vector<double> direction = vectors.col(k);
    hold_untrained(Moving::all, direction);
    const Effective own = chain_adjoint(layout_, x, direction);
    seen.col(k) << own.value.reshaped(), own.logits.reshaped();
  }
  seen = sampled_->covariance(effective(layout_, x), seen, nodes);
  images.resize(dimension(), vectors.cols());
  for (Index k = 0; k < vectors.cols(); ++k) {
    Vector<double> image = Vector<double>::Zero(dimension());
    chain(layout_, x, seen.col(k).head(size * size).reshaped(size, size),
          seen.col(k).tail(size * size).reshaped(size, size), image);
    hold_untrained(Moving::all, image);
    images.col(k) = image;
  }
}

std::string PopulationFlow::divergence(const Vector<double>& x, double step, Index batch) const {
  const double size = x.squaredNorm();
  if (std::isfinite(size) && size < divergence_bound) return {};
  const auto norm = [&](Index begin, Index count) {
    const double n = x.segment(begin, count).norm();
    return std::isfinite(n) ? fmt::format("{:.3g}", n) : std::string("beyond 1e154");
  };
  const Index keys = layout_.key_width * layout_.width;
  return fmt::format(
      "|W_K| = {}, |W_Q| = {}, |W_V| = {} at eta = {:g}: the step overshoots; {}lower "
      "--eta",
      norm(layout_.keys(), keys), norm(layout_.queries(), keys),
      norm(layout_.values(), layout_.width * layout_.width), step,
      batch > 0 ? "raise --batch or " : "");
}

void PopulationFlow::observe(const Vector<double>& x, const double& /*t*/,
                             std::span<double> row) const {
  const Effective now = effective(layout_, x);
  const Index keys = layout_.key_width * layout_.width;
  const Vector<double> values = x.segment(layout_.values(), layout_.width * layout_.width);
  Readings read;
  read.loss = expectation_(now.value, now.logits) + training_.penalty * values.squaredNorm();
  read.norm_W_V = values.norm();
  read.norm_W_K = x.segment(layout_.keys(), keys).norm();
  read.norm_W_Q = x.segment(layout_.queries(), keys).norm();
  const AttentionByKind attention = expectation_.attention(now.logits);
  read.attention_same_word = attention.same_word;
  read.attention_same_topic = attention.same_topic;
  read.attention_other_topic = attention.other_topic;
  const ByKind value = averages(training_.law, now.value);
  read.value_diagonal = value.diagonal;
  read.value_same_topic = value.same;
  read.value_other_topic = value.other;
  if (layout_.embedded) {
    const ConstView embedding(x.data() + layout_.embedding(), layout_.width, layout_.vocabulary);
    const ByKind gram = averages(training_.law, embedding.transpose() * embedding);
    read.gram_diagonal = gram.diagonal;
    read.gram_same_topic = gram.same;
    read.gram_other_topic = gram.other;
  }
  write_row(observable_table(), read, row);
}

TwoStageFlow::TwoStageFlow(Training training, double switch_time)
    : flow_(std::move(training)), switch_time_(switch_time) {}

void TwoStageFlow::rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const {
  flow_.move(x, dx,
             t < switch_time_ ? PopulationFlow::Moving::value_under_uniform_attention
                              : PopulationFlow::Moving::attention);
}

void TwoStageFlow::observe(const Vector<double>& x, const double& t, std::span<double> row) const {
  flow_.observe(x, t, row);
}

double value_rate(const TopicLaw<double>& law) {
  const auto topics = static_cast<double>(law.topics);
  const auto active = static_cast<double>(law.active);
  const double a = law.kept();
  return 2 * a * a * (topics - active) /
         (active * static_cast<double>(law.words) * topics * (topics - 1));
}

double attention_rate(const TopicLaw<double>& law, Index key_width) {
  const auto active = static_cast<double>(law.active);
  return 2 * law.correct * law.frequency(true) * (active - 1) /
         (law.kept() * static_cast<double>(law.words) * active *
          static_cast<double>(law.topics - 1) * std::sqrt(static_cast<double>(key_width)));
}

}  // namespace popgrad::topic
