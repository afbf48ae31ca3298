#pragma once
/// One sampled document: its masked tokens, what was selected, and the gradient of its loss.

#include <span>

#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// What may become of a position of a document: the token after masking, and the label if the position
/// is selected, or -1. The label is the word before, or any word with label noise.
struct Position {
  Index shown = 0, word = -1;
};

/// The law of documents of N tokens: a class each subset of the topics, whose tokens are positions.
struct DocumentLaw {
  DrawLaw draws;
  std::vector<std::vector<Position>> positions;  ///< by class
};
/// Positions that document_law makes, at most: C(T, tau) tau v (T v + 2); with label noise every label may be
/// that of every token, C(T, tau) (tau v + T v (T v + 1)).
double positions_of_law(const Training& training);
/// Cost and memory positions_of_law. For exactly tau topics and N tokens.
DocumentLaw document_law(const Training& training);

class DocumentLoss {
 public:
  explicit DocumentLoss(const Training& training);

  /// Draws a document and its masks; labels are its own words.
  void draw(Stream& stream);
  /// Replaces each label with probability `label_noise`. Takes two numbers a label for any
  /// probability, so that equal streams replace the more labels the larger it is, by equal words.
  void replace_labels(Stream& stream);
  /// Takes a document as the frequencies of its positions.
  void take(std::span<const Position> positions, const Vector<double>& frequencies);
  /// Adds weight times the gradient of the loss over its selected positions, over p_m N, which is
  /// their expected number: its mean is the loss per selected position. Returns that loss.
  double add_gradient(const Effective& now, double weight, Matrix<double>& dvalue,
                      Matrix<double>& dlogits) const;
  /// The same where positions attend to tokens of these frequencies (Tv + 1) in place of its own.
  double add_gradient(const Effective& now, double weight, const Vector<double>& frequencies,
                      Matrix<double>& dvalue, Matrix<double>& dlogits) const;

  /// Positions that are selected, by what they show and their label.
  struct Selected {
    Index shown = 0, word = 0;
    double count = 1;
  };
  /// By `shown`, then `word`.
  [[nodiscard]] const std::vector<Selected>& selected() const { return selected_; }
  /// Positions, in the unit of their counts.
  [[nodiscard]] double length() const { return length_; }
  /// Frequencies of the masked document, (Tv + 1).
  [[nodiscard]] Vector<double> frequencies() const;
  /// Words of the document before masking.
  [[nodiscard]] const std::vector<Index>& words() const { return words_; }
  /// Topics that a drawn document is made of, in no order; none of a corpus or of LDA.
  [[nodiscard]] const std::vector<Index>& topics() const { return topics_; }
  /// Mean attention of its positions on others, by kind, over uniform attention; and the numbers of
  /// pairs. For what a trained model does on documents.
  void add_attention(const Effective& now, std::array<double, 3>& sums,
                     std::array<double, 3>& counts) const;

 private:
  void draw_words(Stream& stream);
  void sort_selected();
  double add_gradient(const Effective& now, double weight, std::span<const Index> present,
                      std::span<const double> counts, Matrix<double>& dvalue,
                      Matrix<double>& dlogits) const;

  const Training& training_;
  std::vector<Index> topics_, words_, masked_;
  std::vector<Selected> selected_;  ///< by shown, then word
  std::vector<double> counts_;      ///< of masked tokens, Tv + 1
  std::vector<Index> present_;      ///< tokens with counts, each once
  double length_ = 0;               ///< sum of counts
  // Scratch of a gradient.
  mutable Vector<double> pull_, out_, slope_;
};

}  // namespace popgrad::topic
