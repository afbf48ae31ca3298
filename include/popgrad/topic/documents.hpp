#pragma once
/// One sampled document: its masked tokens, what was selected, and the gradient of its loss.

#include "popgrad/random.hpp"
#include "popgrad/topic/training.hpp"

namespace popgrad::topic {

class DocumentLoss {
 public:
  explicit DocumentLoss(const Training& training);

  /// Draws a document and its masks.
  void draw(Stream& stream);
  /// Adds weight times the gradient of the loss over its selected positions, over p_m N, which is
  /// their expected number: its mean is the loss per selected position. Returns that loss.
  double add_gradient(const Effective& now, double weight, Matrix<double>& dvalue,
                      Matrix<double>& dlogits);

  /// Frequencies of the masked document, (Tv + 1).
  [[nodiscard]] Vector<double> frequencies() const;
  /// Words of the document before masking.
  [[nodiscard]] const std::vector<Index>& words() const { return words_; }
  /// Mean attention of its positions on others, by kind, over uniform attention; and the numbers of
  /// pairs. For what a trained model does on documents.
  void add_attention(const Effective& now, std::array<double, 3>& sums,
                     std::array<double, 3>& counts) const;

 private:
  const Training& training_;
  std::vector<Index> words_, masked_;
  std::vector<std::pair<Index, Index>> selected_;  ///< token after masking, word before
  std::vector<double> counts_;                     ///< of masked tokens, Tv + 1
  std::vector<Index> present_;                     ///< tokens with counts > 0
};

}  // namespace popgrad::topic
