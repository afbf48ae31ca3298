#pragma once
/// The gradient of one document to first order in the frequencies of its positions, about those that its
/// topics S expect, and the exact covariance of that.
///
/// Squared loss. With frequencies f of masked tokens and q of selected positions, the gradient
/// g(q, f) is linear in q; with their means p_S and q_S
///   L = g(q, p_S) + sum_a (f_a - p_S,a) D_a,   D_a = dg/df_a (q_S, p_S)
/// is a sum over positions, which are independent: its covariance needs no sampling. Sampled documents
/// then only have to give Cov[g] - Cov[L], which is small: at N = 100 tokens L leaves 1 % of the
/// variance out, and the error of a deviation is a quarter of what it is without
/// (theorems/topic/tests/sampled_documents_test.cpp). Nothing here rests on D being exact.

#include <span>
#include <vector>

#include "theorems/topic/rungs/documents.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

class LinearDocuments {
 public:
  /// At W_V and logits (V x V each), V = T v + 1. Cost O(C(T, tau) V^4).
  LinearDocuments(const Training& training, const DocumentLaw& law, Effective now);

  /// L of a document whose topics are class `cls` of the law: gradients of W_V and the logits as one
  /// vector, (2 V^2). Cost 2 V^2 multiply-adds for each token that a selected position shows, and 2 V^3.
  void gradient(const DocumentLoss& document, std::size_t cls, Vector<double>& made) const;

  /// Cov[L] times the columns of `vectors` (2 V^2 x m). Cost O(C(T, tau) V^3 m).
  [[nodiscard]] Matrix<double> covariance(const Matrix<double>& vectors) const;

 private:
  // Of selected positions that show a token: slopes of their loss in the outputs, per position.
  struct Query {
    Vector<double> attention;      // on each key, (V)
    Vector<double> output;         // (V)
    Matrix<double> logit_slopes;   // attention on k times W_V's column k less the output, (V x V)
    Vector<double> mean_slope;     // of the slope over all positions, (V)
    Matrix<double> square_slopes;  // of its square, (V x V)
    double shown = 0;              // frequency of the token
  };
  struct Class {
    double probability = 0;
    Vector<double> frequencies;     // of masked tokens, (V)
    Vector<double> mean;            // g(q_S, p_S), (2 V^2)
    Matrix<double> by_frequencies;  // D, (2 V^2 x V)
    std::vector<Query> queries;     // by token
  };
  [[nodiscard]] Class class_of(const DrawClass& draws, std::span<const Position> positions) const;
  [[nodiscard]] Query query_of(Index token, const Class& of, const Vector<double>& selected) const;
  void add_covariance(const Class& of, const Matrix<double>& vectors, double weight,
                      Matrix<double>& images) const;

  const Training& training_;
  Effective now_;
  Index size_ = 0;
  std::vector<Class> classes_;
};

}  // namespace popgrad::topic
