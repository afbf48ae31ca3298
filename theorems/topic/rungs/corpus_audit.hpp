#pragma once
/// What trained matrices do on documents of a file, and which hypotheses these documents break.

#include <optional>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// ln(P[i and j in a document]/(P[i] P[j])) for words 1..`words` at rows and columns 0..words - 1,
/// half a document added to each count; 0 on the diagonal. Cost documents * (distinct words)^2.
Matrix<double> pointwise_information(const std::vector<std::vector<Index>>& corpus, Index words);

/// Least-squares slopes of y in two regressors, with a constant; none if these are collinear. All of one
/// length.
struct Slopes {
  double first = 0, second = 0;
};
std::optional<Slopes> regression(const std::vector<double>& y, const std::vector<double>& first,
                                 const std::vector<double>& second);

/// Hypotheses of the theory on the corpus: documents of tau topics, of equal shares, uniform words;
/// words whose topic is w // v. Conclusions at a state: attention and inner products of words of
/// one topic above those of others, with intervals over documents or words; and whether attention
/// goes with the topic once co-occurrence is held, by a regression for each query. Cost that
/// of 500 documents.
Examination audit_corpus(const Training& training, const Vector<double>& state);

}  // namespace popgrad::topic
