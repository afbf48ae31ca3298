#include "theorems/topic/rungs/linear_documents.hpp"

#include <utility>

namespace popgrad::topic {
namespace {

// Of a frequency, which is 1/V or so.
constexpr double relative_difference = 1e-4;

// Of W_V and the logits, as one vector.
void stack(const Matrix<double>& dvalue, const Matrix<double>& dlogits, Vector<double>& made) {
  made.resize(dvalue.size() + dlogits.size());
  made << dvalue.reshaped(), dlogits.reshaped();
}

}  // namespace

LinearDocuments::LinearDocuments(const Training& training, const DocumentLaw& law, Effective now)
    : training_(training), now_(std::move(now)), size_(training.law.vocabulary()) {
  classes_.reserve(law.positions.size());
  for (std::size_t c = 0; c < law.positions.size(); ++c) {
    classes_.push_back(class_of(law.draws.classes[c], law.positions[c]));
  }
}

LinearDocuments::Class LinearDocuments::class_of(const DrawClass& draws,
                                                 std::span<const Position> positions) const {
  Class made;
  made.probability = draws.probability;
  DocumentLoss document(training_);
  document.take(positions, draws.tokens);
  made.frequencies = document.frequencies();

  Matrix<double> dvalue(size_, size_), dlogits(size_, size_);
  const auto gradient_at = [&](const Vector<double>& frequencies, Vector<double>& gradient) {
    dvalue.setZero();
    dlogits.setZero();
    document.add_gradient(now_, 1, frequencies, dvalue, dlogits);
    stack(dvalue, dlogits, gradient);
  };
  gradient_at(made.frequencies, made.mean);
  made.by_frequencies.setZero(2 * size_ * size_, size_);
  Vector<double> ahead, behind, near = made.frequencies;
  for (Index token = 0; token < size_; ++token) {
    const double own = made.frequencies[token];
    if (!(own > 0)) continue;
    near[token] = own * (1 + relative_difference);
    gradient_at(near, ahead);
    near[token] = own * (1 - relative_difference);
    gradient_at(near, behind);
    near[token] = own;
    made.by_frequencies.col(token) = (ahead - behind) / (2 * relative_difference * own);
  }

  Matrix<double> selected = Matrix<double>::Zero(size_, size_);  // by word and token
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto& [shown, word] = positions[i];
    if (word >= 0) selected(word, shown) += draws.tokens[static_cast<Index>(i)];
  }
  for (Index token = 0; token < size_; ++token) {
    made.queries.push_back(query_of(token, made, selected.col(token)));
  }
  return made;
}

// The slope of a position of label w is 2 (output - e_w) over p_m.
LinearDocuments::Query LinearDocuments::query_of(Index token, const Class& of,
                                                 const Vector<double>& selected) const {
  Query made;
  made.shown = of.frequencies[token];
  const auto logits = now_.logits.col(token);
  made.attention = of.frequencies.array() * (logits.array() - logits.maxCoeff()).exp();
  made.attention /= made.attention.sum();
  made.output = now_.value * made.attention;
  const Vector<double>& output = made.output;
  made.logit_slopes = (now_.value.colwise() - output) * made.attention.asDiagonal();
  const double scale = 2 / training_.law.masked;
  const double mass = selected.sum();
  made.mean_slope = scale * (mass * output - selected);
  made.square_slopes = mass * output * output.transpose() - output * selected.transpose() -
                       selected * output.transpose();
  made.square_slopes.diagonal() += selected;
  made.square_slopes *= scale * scale;
  return made;
}

// A position that shows a adds D_a, and where it is selected with slope s
//   attention_k s              to column k of W_V
//   logit_slopes_k . s         to entry (k, a) of the logits
void LinearDocuments::gradient(const DocumentLoss& document, std::size_t cls,
                               Vector<double>& made) const {
  const Class& of = classes_[cls];
  const std::vector<DocumentLoss::Selected>& selected = document.selected();
  const double scale = 2 / (training_.law.masked * document.length());
  made.noalias() = of.by_frequencies * (document.frequencies() - of.frequencies);
  auto values = made.head(size_ * size_).reshaped(size_, size_);
  auto logits = made.tail(size_ * size_).reshaped(size_, size_);
  Vector<double> slope(size_);
  for (auto position = selected.begin(); position != selected.end();) {
    const Index token = position->shown;
    const Query& query = of.queries[static_cast<std::size_t>(token)];
    double mass = 0;
    slope.setZero();
    for (; position != selected.end() && position->shown == token; ++position) {
      mass += position->count;
      slope[position->word] -= position->count;
    }
    slope = scale * (slope + mass * query.output);
    values.noalias() += slope * query.attention.transpose();
    logits.col(token).noalias() += query.logit_slopes.transpose() * slope;
  }
}

void LinearDocuments::add_covariance(const Class& of, const Matrix<double>& vectors, double weight,
                                     Matrix<double>& images) const {
  const Index square = size_ * size_;
  const Matrix<double> along = of.by_frequencies.transpose() * vectors;  // (V x m)
  Matrix<double> coefficients(size_, vectors.cols());
  for (Index token = 0; token < size_; ++token) {
    const Query& query = of.queries[static_cast<std::size_t>(token)];
    const auto own = square + token * size_;
    Matrix<double> seen = query.logit_slopes * vectors.middleRows(own, size_);
    for (Index k = 0; k < size_; ++k) {
      if (query.attention[k] > 0) {
        seen += query.attention[k] * vectors.middleRows(k * size_, size_);
      }
    }
    coefficients.row(token) = query.shown * along.row(token) + query.mean_slope.transpose() * seen;
    const Matrix<double> slopes =
        weight * (query.square_slopes * seen + query.mean_slope * along.row(token));
    for (Index k = 0; k < size_; ++k) {
      if (query.attention[k] > 0) {
        images.middleRows(k * size_, size_) += query.attention[k] * slopes;
      }
    }
    images.middleRows(own, size_).noalias() += query.logit_slopes.transpose() * slopes;
  }
  images.noalias() += of.by_frequencies * (weight * coefficients);
  const Vector<double> mean = of.mean + of.by_frequencies * of.frequencies;
  images.noalias() -= mean * (weight * (mean.transpose() * vectors));
}

Matrix<double> LinearDocuments::covariance(const Matrix<double>& vectors) const {
  Matrix<double> images = Matrix<double>::Zero(vectors.rows(), vectors.cols());
  Vector<double> mean = Vector<double>::Zero(vectors.rows());
  for (const Class& of : classes_) {
    add_covariance(of, vectors, of.probability / static_cast<double>(training_.document), images);
    images.noalias() += of.mean * (of.probability * (of.mean.transpose() * vectors));
    mean += of.probability * of.mean;
  }
  images.noalias() -= mean * (mean.transpose() * vectors);
  return images;
}

}  // namespace popgrad::topic
