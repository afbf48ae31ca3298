#pragma once
/// The joint dynamics of hidden weights and attention for given back-propagated gradients: the one
/// place where W' and z' are written down, run on numbers by every rung and on symbols by proofs.

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/joma/rungs/attention.hpp"

namespace popgrad::joma {

/// How f is made of b and the query, and in which geometry of the embeddings.
template <class T>
struct FeatureMap {
  bool residual = true;    ///< f = U_C b + u_q rather than U_C b
  bool normalise = false;  ///< f / ((1 - share) + share |f|)
  Matrix<T> gram;          ///< Gram matrix of [U_C, u_q]; empty for orthonormal embeddings
  T share{1};              ///< how far f is normalised: 1 is f / |f|
};

/// Scratch of one evaluation; sizes settle at the first call.
template <class T>
struct JointWorkspace {
  Vector<T> gain, length, norm, weight;
  Matrix<T> b, feature, gram_feature, hidden, pulled, scaled;
};

/// Fills workspace.b (M_C x S), workspace.feature (rows x S; b and, with residual, a row of ones)
/// and workspace.hidden = W'f (K x S).
///
/// Coordinates: v = [U_C, u_q]' W (rows x K) with rows = M_C + 1 with residual, M_C without;
/// f enters only through its coefficients, so the embedding dimension never appears.
/// Cost O(M_C K S).
template <Transcendental T, class Weights, class Columns>
void hidden_preactivations(Attention attention, const FeatureMap<T>& map, const T& temperature,
                           const Weights& v, const Vector<T>& z, const Columns& x,
                           JointWorkspace<T>& work) {
  using std::sqrt;
  attention_gain(attention, z, temperature, work.gain);
  attention_weights(attention, work.gain, x, work.b);
  const Index tokens = x.rows();
  work.feature.resize(v.rows(), x.cols());
  work.feature.topRows(tokens) = work.b;
  if (map.residual) work.feature.row(tokens).setConstant(T(1));
  work.hidden.noalias() = v.transpose() * work.feature;
  if (map.gram.size() > 0) work.gram_feature.noalias() = map.gram * work.feature;
  if (!map.normalise) return;
  const Matrix<T>& image = map.gram.size() > 0 ? work.gram_feature : work.feature;
  work.length.resize(x.cols());
  work.norm.resize(x.cols());
  for (Index s = 0; s < x.cols(); ++s) {
    work.length[s] = sqrt(T(work.feature.col(s).dot(image.col(s))));
    work.norm[s] = (T(1) - map.share) + map.share * work.length[s];
    work.hidden.col(s) /= work.norm[s];
  }
}

/// The expected gradients, given `pulled` = g_k phi'(w_k'f) for every unit and sample (K x S):
///   w_k' = E[g_k phi' f]
///   z'   = E[(db/dz)' U_C' g_f]
///   g_f  = sum_k g_k phi' w_k
/// with the expectation over samples of probabilities `weight`; for normalised f, g_f is projected
/// off f and divided by |f| (in full: FeatureMap::share = 1). Needs hidden_preactivations() of the
/// same point before. `dv` has the shape of v; both are overwritten. Cost O(M_C K S).
/// Source: arXiv 2310.00535, Eqn 2 and Lemma 1.
template <Transcendental T, class Weights, class WeightsOut, class Columns, class VectorOut>
void joint_direction(Attention attention, const FeatureMap<T>& map, const T& temperature,
                     const Weights& v, const Columns& x, const Matrix<T>& pulled,
                     const Vector<T>& weight, JointWorkspace<T>& work, WeightsOut&& dv,
                     VectorOut&& dz) {
  const Index tokens = x.rows();
  const bool orthonormal = map.gram.size() == 0;
  const Matrix<T>& image = orthonormal ? work.feature : work.gram_feature;

  work.scaled = pulled * weight.asDiagonal();
  if (map.normalise) {
    for (Index s = 0; s < x.cols(); ++s) work.scaled.col(s) /= work.norm[s];
  }
  dv.noalias() = image * work.scaled.transpose();

  // U_C' g_f for every sample (M_C x S).
  work.pulled.noalias() = v.topRows(tokens) * pulled;
  if (map.normalise) {
    for (Index s = 0; s < x.cols(); ++s) {
      // share f'g_f / (norm |f|), with hidden already divided by the norm.
      const T along = map.share * work.hidden.col(s).dot(pulled.col(s)) / work.length[s];
      for (Index l = 0; l < tokens; ++l) {
        work.pulled(l, s) = (work.pulled(l, s) - image(l, s) * along) / work.norm[s];
      }
    }
  }
  work.gain.setConstant(tokens, T(0));
  add_attention_pullback(attention, work.b, x, work.pulled, weight, temperature, work.gain);
  dz = work.gain;
}

}  // namespace popgrad::joma
