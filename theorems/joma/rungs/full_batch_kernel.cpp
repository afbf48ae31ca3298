#include "theorems/joma/rungs/full_batch_kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "scalars/wide_exp.hpp"

// A function inlined into one of the three instruction sets below; vectors go by reference because
// by value they would be part of an ABI that the baseline does not have.
#define POPGRAD_INLINE __attribute__((always_inline)) inline

namespace popgrad::joma {
namespace {

using Workspace = FullBatchKernel::Workspace;

/// Vectors of W doubles in the compiler's own notation.
template <Index W>
struct Lanes {
  using Numbers __attribute__((vector_size(8 * W))) = double;
  using Bits __attribute__((vector_size(8 * W))) = std::int64_t;
};

template <class V>
POPGRAD_INLINE void load(V& v, const double* from) {
  std::memcpy(&v, from, sizeof v);
}
template <class V>
POPGRAD_INLINE void store(double* to, const V& v) {
  std::memcpy(to, &v, sizeof v);
}

/// R vectors of rows by J columns of A S, kept in registers: A and S by columns, with
/// strides lda and lds.
template <Index W, Index R, Index J>
POPGRAD_INLINE void tile(const double* a, Index lda, const double* s, Index lds, Index inner,
                         double* out, Index ldo, Index rows) {
  using V = typename Lanes<W>::Numbers;
  V sum[R][J];
  for (Index r = 0; r < R; ++r) {
    for (Index j = 0; j < J; ++j) sum[r][j] = V{};
  }
  for (Index i = 0; i < inner; ++i) {
    V column[R];
    for (Index r = 0; r < R; ++r) load(column[r], a + i * lda + r * W);
    for (Index j = 0; j < J; ++j) {
      const double factor = s[i + j * lds];
      for (Index r = 0; r < R; ++r) sum[r][j] += column[r] * factor;
    }
  }
  for (Index r = 0; r < R; ++r) {
    for (Index j = 0; j < J; ++j) {
      double* const to = out + j * ldo + r * W;
      if ((r + 1) * W <= rows) {
        store(to, sum[r][j]);
      } else {
        for (Index l = 0; l < W; ++l) {
          if (r * W + l < rows) to[l] = sum[r][j][l];
        }
      }
    }
  }
}

template <Index W, Index R>
POPGRAD_INLINE void strip(const double* a, Index lda, const double* s, Index lds, Index inner,
                          double* out, Index ldo, Index rows, Index columns) {
  Index j = 0;
  for (; j + 4 <= columns; j += 4) {
    tile<W, R, 4>(a, lda, s + j * lds, lds, inner, out + j * ldo, ldo, rows);
  }
  for (; j < columns; ++j) {
    tile<W, R, 1>(a, lda, s + j * lds, lds, inner, out + j * ldo, ldo, rows);
  }
}

/// out (rows x columns) = A S; A has its rows padded to whole vectors.
template <Index W, Index R>
POPGRAD_INLINE void multiply(const double* a, Index lda, const double* s, Index lds, Index inner,
                             double* out, Index ldo, Index rows, Index columns) {
  Index i = 0;
  for (; i + (R - 1) * W < rows; i += R * W) {
    strip<W, R>(a + i, lda, s, lds, inner, out + i, ldo, rows - i, columns);
  }
  for (; i < rows; i += W) {
    strip<W, 1>(a + i, lda, s, lds, inner, out + i, ldo, rows - i, columns);
  }
}

/// gain <- exp(z/T); of softmax up to the factor that it takes out, so that nothing overflows.
template <Index W>
POPGRAD_INLINE void exponentiate_logits(Workspace& work, const double* z) {
  using V = typename Lanes<W>::Numbers;
  double* const gain = work.gain.data();
  double shift = 0;
  if (work.normalised) {
    shift = z[0];
    for (Index l = 1; l < work.tokens; ++l) shift = z[l] > shift ? z[l] : shift;
  }
  for (Index l = 0; l < work.tokens; ++l) gain[l] = (z[l] - shift) / work.temperature;
  for (Index l = work.tokens; l < work.padded_tokens; ++l) gain[l] = 0;
  const V largest = V{} + 709.0;
  const V infinite = V{} + std::numeric_limits<double>::infinity();
  for (Index l = 0; l < work.padded_tokens; l += W) {
    V argument;
    load(argument, gain + l);
    V g = argument < largest ? argument : largest;
    wide::exp_bounded<typename Lanes<W>::Bits>(g);
    g = argument > largest ? infinite : g;
    g = argument == argument ? g : argument;
    store(gain + l, g);
  }
}

/// b = exp(z/T) o x of every class, or its softmax, by tokens and by classes.
template <Index W>
POPGRAD_INLINE void attend(Workspace& work) {
  using V = typename Lanes<W>::Numbers;
  const double* const gain = work.gain.data();
  const double* const transposed = work.law_transposed.data();
  for (Index c = 0; c < work.padded_classes; c += W) {
    V inverse = V{} + 1.0;
    if (work.normalised) {
      V total{};
      for (Index l = 0; l < work.tokens; ++l) {
        V column;
        load(column, transposed + l * work.padded_classes + c);
        total += column * gain[l];
      }
      inverse = 1.0 / total;
    }
    store(work.scale.data() + c, inverse);
    for (Index l = 0; l < work.tokens; ++l) {
      V column;
      load(column, transposed + l * work.padded_classes + c);
      column *= inverse * gain[l];
      store(work.b_transposed.data() + l * work.padded_classes + c, column);
    }
  }
  for (Index l = 0; l < work.padded_tokens; l += W) {
    V g;
    load(g, gain + l);
    for (Index c = 0; c < work.classes; ++c) {
      V column;
      load(column, work.law.data() + c * work.padded_tokens + l);
      column *= g * work.scale[static_cast<std::size_t>(c)];
      store(work.b.data() + c * work.padded_tokens + l, column);
    }
  }
}

template <Index W, Index R>
POPGRAD_INLINE void evaluate(Workspace& work, const double* x, double* dx) {
  using V = typename Lanes<W>::Numbers;
  const Index tokens = work.tokens;
  const Index classes = work.classes;
  const Index padded_tokens = work.padded_tokens;
  const Index padded_classes = work.padded_classes;
  const Index rows = tokens + 1;
  const double* const b = work.b.data();
  const double* const b_transposed = work.b_transposed.data();
  double* const hidden = work.hidden.data();

  exponentiate_logits<W>(work, x + rows * classes);
  attend<W>(work);

  // V'b for every class and unit, then its softmax over units together with the query's part.
  multiply<W, R>(b_transposed, padded_classes, x, rows, tokens, hidden, padded_classes,
                 padded_classes, classes);
  for (Index c = 0; c < classes; ++c) {
    work.own[static_cast<std::size_t>(c)] = hidden[c + c * padded_classes];
  }
  for (Index c = 0; c < padded_classes; c += W) {
    V shift;
    load(shift, hidden + c);
    shift += x[tokens];
    for (Index k = 1; k < classes; ++k) {
      V h;
      load(h, hidden + k * padded_classes + c);
      h += x[tokens + k * rows];
      shift = h > shift ? h : shift;
    }
    V total{};
    V moment{};
    for (Index k = 0; k < classes; ++k) {
      V h;
      load(h, hidden + k * padded_classes + c);
      V e = (h + x[tokens + k * rows]) - shift;
      wide::exp_bounded<typename Lanes<W>::Bits>(e);
      total += e;
      moment += e * h;
      store(hidden + k * padded_classes + c, e);
    }
    V weight;
    load(weight, work.weight.data() + c);
    V own;
    load(own, work.own.data() + c);
    const V factor = weight / total;
    store(work.mean.data() + c, weight * own - factor * moment);
    for (Index k = 0; k < classes; ++k) {
      V e;
      load(e, hidden + k * padded_classes + c);
      store(hidden + k * padded_classes + c, -factor * e);
    }
  }
  for (Index c = 0; c < classes; ++c) {
    hidden[c + c * padded_classes] += work.weight[static_cast<std::size_t>(c)];
  }

  // v' = B (w g)', its query row the sum over classes.
  multiply<W, R>(b, padded_tokens, hidden, padded_classes, classes, dx, rows, tokens, classes);
  for (Index k = 0; k < classes; ++k) {
    V sums{};
    for (Index c = 0; c < padded_classes; c += W) {
      V g;
      load(g, hidden + k * padded_classes + c);
      sums += g;
    }
    double sum = 0;
    for (Index l = 0; l < W; ++l) sum += sums[l];
    dx[tokens + k * rows] = sum;
  }

  // T z' = sum_k v_k o v_k', less sum_c b_c w_c q_c where attention is normalised.
  double* const dz = dx + rows * classes;
  for (Index l = 0; l < padded_tokens; l += W) {
    V pull{};
    for (Index c = 0; c < (work.normalised ? classes : 0); ++c) {
      V column;
      load(column, b + c * padded_tokens + l);
      pull -= column * work.mean[static_cast<std::size_t>(c)];
    }
    if (l + W <= tokens) {
      for (Index k = 0; k < classes; ++k) {
        V v;
        V dv;
        load(v, x + l + k * rows);
        load(dv, dx + l + k * rows);
        pull += v * dv;
      }
      store(dz + l, pull / work.temperature);
    } else {
      for (Index i = l; i < tokens; ++i) {
        double sum = pull[i - l];
        for (Index k = 0; k < classes; ++k) sum += x[i + k * rows] * dx[i + k * rows];
        dz[i] = sum / work.temperature;
      }
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq,fma"))) void evaluate_avx512(Workspace& work,
                                                                     const double* x, double* dx) {
  evaluate<8, 3>(work, x, dx);
}
__attribute__((target("avx2,fma"))) void evaluate_avx2(Workspace& work, const double* x,
                                                       double* dx) {
  evaluate<4, 2>(work, x, dx);
}
#endif
void evaluate_plain(Workspace& work, const double* x, double* dx) { evaluate<2, 2>(work, x, dx); }

/// An instruction set: its doubles a vector, and the evaluation compiled for it.
struct Variant {
  Index width;
  void (*evaluate)(Workspace&, const double*, double*);
};

std::vector<Variant> variants() {
  std::vector<Variant> available;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    available.push_back({8, evaluate_avx512});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    available.push_back({4, evaluate_avx2});
  }
#endif
  available.push_back({2, evaluate_plain});
  return available;
}

}  // namespace

std::vector<Index> FullBatchKernel::widths() {
  std::vector<Index> found;
  for (const Variant& variant : variants()) found.push_back(variant.width);
  return found;
}

FullBatchKernel::FullBatchKernel(const Matrix<double>& token_law, Attention attention,
                                 double temperature, Index width)
    : evaluate_(nullptr) {
  if (attention == Attention::linear) {
    throw std::invalid_argument("FullBatchKernel: attention is exp or softmax");
  }
  for (const Variant& variant : variants()) {
    if (variant.width == width) evaluate_ = variant.evaluate;
  }
  if (evaluate_ == nullptr) throw std::invalid_argument("FullBatchKernel: no such width here");
  const auto padded = [width](Index n) { return (n + width - 1) / width * width; };
  work_.tokens = token_law.rows();
  work_.classes = token_law.cols();
  work_.padded_tokens = padded(work_.tokens);
  work_.padded_classes = padded(work_.classes);
  work_.temperature = temperature;
  work_.normalised = attention == Attention::softmax;
  const auto zeros = [](Index n, double value = 0) {
    return Buffer(static_cast<std::size_t>(n), value);
  };
  work_.law = zeros(work_.padded_tokens * work_.classes);
  // Classes that pad have a law too where it is normalised; their weight is 0.
  work_.law_transposed = zeros(work_.padded_classes * work_.tokens, work_.normalised ? 1.0 : 0.0);
  for (Index c = 0; c < work_.classes; ++c) {
    for (Index l = 0; l < work_.tokens; ++l) {
      const double x = token_law(l, c);
      work_.law[static_cast<std::size_t>(l + c * work_.padded_tokens)] = x;
      work_.law_transposed[static_cast<std::size_t>(c + l * work_.padded_classes)] = x;
    }
  }
  work_.gain = zeros(work_.padded_tokens);
  work_.b = zeros(work_.padded_tokens * work_.classes);
  work_.b_transposed = zeros(work_.padded_classes * work_.tokens);
  work_.hidden = zeros(work_.padded_classes * work_.classes);
  work_.scale = work_.own = work_.mean = work_.weight = zeros(work_.padded_classes);
}

void FullBatchKernel::rhs(const Vector<double>& x, const Vector<double>& weight,
                          Vector<double>& dx) {
  std::copy(weight.data(), weight.data() + weight.size(), work_.weight.begin());
  evaluate_(work_, x.data(), dx.data());
}

}  // namespace popgrad::joma
