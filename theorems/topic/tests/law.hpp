#pragma once
/// The topic model written out: every document, position, mask and key.

#include <vector>

#include "laws/cases.hpp"

namespace popgrad::laws {

struct TopicWorld {
  Index topics = 10, active = 4, words = 10;
  double masked = 0.15, correct = 0.1, random = 0.1;
  double label_noise = 0;
  bool cross_entropy = false;
  [[nodiscard]] Index vocabulary() const { return topics * words + 1; }
  [[nodiscard]] Index topic_of(Index word) const { return (word - 1) / words; }
};
TopicWorld topic_world(const Parameters& p);

/// Every choice of topics of a document: a flag each.
std::vector<std::vector<bool>> documents(const TopicWorld& w);

/// What attention and values are in whole, ([MASK] and words) square, rows keys: out = W sum_j A_j e_j
/// with A_j proportional to the frequency of j times exp(logits(j, query)).
struct WholeLayer {
  Matrix<double> value, logits;
};

/// Loss of an output for a target word: |out - e|^2 or -ln softmax. Without label noise.
double loss_of_output(const TopicWorld& w, const Vector<double>& out, Index target);

/// Loss per selected position, without penalty.
double enumerated_loss(const TopicWorld& w, const WholeLayer& layer);

/// W_V, W_K, W_Q and W_E (empty for one-hot) of a state of the rungs on whole matrices.
struct Weights {
  Matrix<double> keys, queries, values, embedding;
  double temperature = 1;
};
Weights weights_of(const Case& made, const AnyRung<double>& rung, const Vector<double>& x);
WholeLayer layer_of(const Weights& weights);
/// Of a state of block-reduced, optimum or symmetric.
WholeLayer symmetric_layer(const Case& made, const AnyRung<double>& rung, const Vector<double>& x);

}  // namespace popgrad::laws
