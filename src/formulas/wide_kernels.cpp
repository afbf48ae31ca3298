#include "formulas/wide_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "scalars/wide_exp.hpp"

namespace popgrad::formulas {
namespace wide_kernels_cpp {
namespace {

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
template <Index W, class V>
POPGRAD_INLINE double sum_of(const V& v) {
  double total = v[0];
  for (Index i = 1; i < W; ++i) total += v[i];
  return total;
}
template <Index W, class Mask>
POPGRAD_INLINE bool any(const Mask& mask) {
  std::int64_t bits = 0;
  for (Index i = 0; i < W; ++i) bits |= mask[i];
  return bits != 0;
}

// --- functions of one number, on vectors. `outside` marks numbers that are computed by `one` again.

/// Below this exp is 0, and above `least` no number is denormal.
constexpr double nothing = -746, least = -708, most = 709;

struct Exp {
  template <Index W, class V, class Mask>
  static POPGRAD_INLINE void all(V& x, Mask& outside) {
    V y = x;
    wide::exp_bounded<typename Lanes<W>::Bits>(y);
    outside |= (x > most) | ((x < least) & (x > nothing));
    x = x < nothing ? V{} : y;
  }
  static double one(double x) { return std::exp(x); }
};

struct Tanh {
  /// With E = exp(2 |x|) - 1: tanh |x| = E/(E + 2), which keeps small numbers.
  template <Index W, class V, class Mask>
  static POPGRAD_INLINE void all(V& x, Mask& /*outside*/) {
    constexpr double saturated = 40;
    V twice = 2 * (x < 0 ? -x : x);
    twice = twice > saturated ? V{} + saturated : twice;
    V r, tail, power;
    wide::exp_parts<typename Lanes<W>::Bits>(twice, r, tail, power);
    const V growth = power * (r + r * r * tail) + (power - 1);
    const V y = growth / (growth + 2);
    x = x < 0 ? -y : y;
  }
  static double one(double x) { return std::tanh(x); }
};

struct Sigmoid {
  template <Index W, class V, class Mask>
  static POPGRAD_INLINE void all(V& x, Mask& outside) {
    V e = -x;
    Exp::all<W>(e, outside);
    x = 1 / (1 + e);
  }
  static double one(double x) { return logistic(x); }
};

constexpr Index block = 256;

/// count <= block numbers that follow each other.
template <Index W, class Function>
POPGRAD_INLINE void function_block(double* y, const double* x, Index count) {
  using V = typename Lanes<W>::Numbers;
  typename Lanes<W>::Bits outside{};
  Index i = 0;
  for (; i + W <= count; i += W) {
    V v;
    load(v, x + i);
    Function::template all<W>(v, outside);
    store(y + i, v);
  }
  if (i < count) {
    V v{};
    std::memcpy(&v, x + i, static_cast<std::size_t>(count - i) * sizeof(double));
    Function::template all<W>(v, outside);
    std::memcpy(y + i, &v, static_cast<std::size_t>(count - i) * sizeof(double));
  }
  if (any<W>(outside)) {
    for (i = 0; i < count; ++i) y[i] = Function::one(x[i]);
  }
}

template <class Function>
struct Entries {
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    double given[block], found[block];
    for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
      const Index to = lines.loop.stride[0], from = lines.loop.stride[1];
      for (Index begin = 0; begin < lines.loop.extent; begin += block) {
        const Index count = std::min(block, lines.loop.extent - begin);
        double* y = s.out + lines.at[0] + begin * to;
        const double* x = s.in[0] + lines.at[1] + begin * from;
        if (to == 1 && from == 1) {
          function_block<W, Function>(y, x, count);
          continue;
        }
        for (Index i = 0; i < count; ++i) given[i] = x[i * from];
        function_block<W, Function>(found, given, count);
        for (Index i = 0; i < count; ++i) y[i * to] = found[i];
      }
    }
  }
};

struct Power {
  /// The power that power_of takes, of many numbers.
  static POPGRAD_INLINE void whole(double* y, const double* x, Index count, Index exponent) {
    double squares[block];
    for (Index begin = 0; begin < count; begin += block) {
      const Index end = std::min(block, count - begin);
      for (Index i = 0; i < end; ++i) squares[i] = x[begin + i];
      double* to = y + begin;
      for (Index i = 0; i < end; ++i) to[i] = 1;
      for (Index left = std::abs(exponent); left > 0; left /= 2) {
        if (left % 2 == 1) {
          for (Index i = 0; i < end; ++i) to[i] *= squares[i];
        }
        if (left > 1) {
          for (Index i = 0; i < end; ++i) squares[i] *= squares[i];
        }
      }
      if (exponent < 0) {
        for (Index i = 0; i < end; ++i) to[i] = 1 / to[i];
      }
    }
  }
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    constexpr double most_whole = 1024;
    for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
      double* y = s.out + lines.at[0];
      const double* x = s.in[0] + lines.at[1];
      const double* exponents = s.in[1] + lines.at[2];
      const Loop& loop = lines.loop;
      const double e = *exponents;
      if (loop.stride[2] == 0 && loop.stride[0] == 1 && loop.stride[1] == 1 &&
          std::abs(e) <= most_whole && e == std::floor(e)) {
        if (e == 2) {
          for (Index i = 0; i < loop.extent; ++i) y[i] = x[i] * x[i];
        } else {
          whole(y, x, loop.extent, static_cast<Index>(e));
        }
        continue;
      }
      for (Index i = 0; i < loop.extent; ++i)
        y[i * loop.stride[0]] = power_of(x[i * loop.stride[1]], exponents[i * loop.stride[2]]);
    }
  }
};

// --- sums over lines

/// Of numbers that follow each other.
template <Index W>
POPGRAD_INLINE double line_sum(const double* x, Index count) {
  using V = typename Lanes<W>::Numbers;
  V a{}, b{};
  Index i = 0;
  for (; i + 2 * W <= count; i += 2 * W) {
    V p, q;
    load(p, x + i);
    load(q, x + i + W);
    a += p;
    b += q;
  }
  double total = i > 0 ? sum_of<W>(V(a + b)) : 0;
  for (; i < count; ++i) total += x[i];
  return total;
}

template <bool mean>
struct Sum {
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    const Index count = s.line.extent, step = s.line.stride[1];
    const double divisor = mean ? static_cast<double>(count) : 1;
    for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
      const Loop& loop = lines.loop;
      double* y = s.out + lines.at[0];
      const double* x = s.in[0] + lines.at[1];
      if (step != 1 && loop.stride[0] == 1 && loop.stride[1] == 1) {
        // Row after row, as many columns at a time as stay in the first cache.
        for (Index begin = 0; begin < loop.extent; begin += block) {
          const Index end = std::min(begin + block, loop.extent);
          for (Index i = begin; i < end; ++i) y[i] = x[i];
          for (Index k = 1; k < count; ++k) {
            const double* row = x + k * step;
            for (Index i = begin; i < end; ++i) y[i] += row[i];
          }
          for (Index i = begin; i < end; ++i) y[i] /= divisor;
        }
        continue;
      }
      for (Index i = 0; i < loop.extent; ++i) {
        const double* line = x + i * loop.stride[1];
        double total = 0;
        if (step == 1) {
          total = line_sum<W>(line, count);
        } else {
          for (Index k = 0; k < count; ++k) total += line[k * step];
        }
        y[i * loop.stride[0]] = total / divisor;
      }
    }
  }
};

enum class Softness { softmax, log_softmax, logsumexp };

template <Softness which>
struct Soft {
  /// exp(x - largest) into y, and their sum.
  template <Index W>
  static POPGRAD_INLINE double exponentials(double* y, const double* x, Index count,
                                            double largest) {
    for (Index i = 0; i < count; ++i) y[i] = x[i] - largest;
    double total = 0;
    for (Index begin = 0; begin < count; begin += block) {
      const Index size = std::min(block, count - begin);
      double shifted[block];
      std::copy_n(y + begin, size, shifted);
      function_block<W, Exp>(y + begin, shifted, size);
      total += line_sum<W>(y + begin, size);
    }
    return total;
  }
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    const Index count = s.line.extent, from = s.line.stride[1], to = s.line.stride[0];
    for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
      for (Index l = 0; l < lines.loop.extent; ++l) {
        double* y = s.out + lines.at[0] + l * lines.loop.stride[0];
        const double* x = s.in[0] + lines.at[1] + l * lines.loop.stride[1];
        double largest = x[0];
        for (Index i = 1; i < count; ++i) largest = largest < x[i * from] ? x[i * from] : largest;
        if (which == Softness::softmax && from == 1 && to == 1) {
          const double total = exponentials<W>(y, x, count, largest);
          for (Index i = 0; i < count; ++i) y[i] /= total;
          continue;
        }
        double total = 0;
        for (Index begin = 0; begin < count; begin += block) {
          const Index size = std::min(block, count - begin);
          double given[block], found[block];
          for (Index i = 0; i < size; ++i) given[i] = x[(begin + i) * from] - largest;
          function_block<W, Exp>(found, given, size);
          total += line_sum<W>(found, size);
          if (which == Softness::softmax) {
            for (Index i = 0; i < size; ++i) y[(begin + i) * to] = found[i];
          }
        }
        if (which == Softness::softmax) {
          for (Index i = 0; i < count; ++i) y[i * to] /= total;
          continue;
        }
        total = largest + std::log(total);
        if (which == Softness::logsumexp) {
          y[0] = total;
        } else {
          for (Index i = 0; i < count; ++i) y[i * to] = x[i * from] - total;
        }
      }
    }
  }
};

// --- contractions. The first operand has the rows, the second the columns, which follow each other in the result.

struct Operand {
  const double* data;
  Index outer, inner;  // strides of rows or columns, and of what is summed over
};

/// R rows by J vectors of columns of the result, kept in registers; the last `columns` are written.
template <Index W, Index R, Index J>
POPGRAD_INLINE void tile(const Operand& a, const double* b, Index b_step, Index inner, double* out,
                         Index out_step, Index columns, bool adds) {
  using V = typename Lanes<W>::Numbers;
  V sum[R][J];
  for (Index r = 0; r < R; ++r) {
    for (Index j = 0; j < J; ++j) sum[r][j] = V{};
  }
  const double* from = a.data;
  for (Index k = 0; k < inner; ++k) {
    V row[J];
    for (Index j = 0; j < J; ++j) load(row[j], b + k * b_step + j * W);
    for (Index r = 0; r < R; ++r) {
      const double factor = from[r * a.outer];
      for (Index j = 0; j < J; ++j) sum[r][j] += row[j] * factor;
    }
    from += a.inner;
  }
  for (Index r = 0; r < R; ++r) {
    double* to = out + r * out_step;
    for (Index j = 0; j < J; ++j) {
      if ((j + 1) * W <= columns) {
        V total = sum[r][j];
        if (adds) {
          V before;
          load(before, to + j * W);
          total += before;
        }
        store(to + j * W, total);
      } else {
        for (Index l = 0; j * W + l < columns; ++l)
          to[j * W + l] = adds ? to[j * W + l] + sum[r][j][l] : sum[r][j][l];
      }
    }
  }
}

template <Index W, Index J>
POPGRAD_INLINE void column_of_tiles(Operand a, const double* b, Index b_step, Index inner,
                                    double* out, Index out_step, Index rows, Index columns,
                                    bool adds) {
  constexpr Index most_rows = W == 8 ? 8 : 4;
  Index i = 0;
  const auto* data = a.data;
  for (; i + most_rows <= rows; i += most_rows) {
    a.data = data + i * a.outer;
    tile<W, most_rows, J>(a, b, b_step, inner, out + i * out_step, out_step, columns, adds);
  }
  for (; i + 2 <= rows; i += 2) {
    a.data = data + i * a.outer;
    tile<W, 2, J>(a, b, b_step, inner, out + i * out_step, out_step, columns, adds);
  }
  if (i < rows) {
    a.data = data + i * a.outer;
    tile<W, 1, J>(a, b, b_step, inner, out + i * out_step, out_step, columns, adds);
  }
}

/// Summed over at a time: their rows of the second operand stay in the first cache.
constexpr Index inner_block = 256;

template <Index W>
POPGRAD_INLINE void product(const Operand& a, const Operand& b, Index inner, double* out,
                            Index out_step, Index rows, Index columns, bool adds) {
  constexpr Index vectors = 2;
  double packed[inner_block * vectors * W];
  for (Index k = 0; k < inner; k += inner_block) {
    const Index depth = std::min(inner_block, inner - k);
    const Operand left{a.data + k * a.inner, a.outer, a.inner};
    for (Index j = 0; j < columns; j += vectors * W) {
      const Index width = std::min(vectors * W, columns - j);
      const double* from = b.data + k * b.inner + j * b.outer;
      Index step = b.inner;
      const Index padded = width > W ? vectors * W : W;
      if (b.outer != 1 || width != padded) {
        step = padded;
        for (Index q = 0; q < depth; ++q) {
          for (Index l = 0; l < width; ++l) packed[q * step + l] = from[q * b.inner + l * b.outer];
          for (Index l = width; l < padded; ++l) packed[q * step + l] = 0;
        }
        from = packed;
      }
      if (padded > W) {
        column_of_tiles<W, vectors>(left, from, step, depth, out + j, out_step, rows, width,
                                    adds || k > 0);
      } else {
        column_of_tiles<W, 1>(left, from, step, depth, out + j, out_step, rows, width,
                              adds || k > 0);
      }
    }
  }
}

/// Rows that one thread takes.
Index row_block(Index rows) {
  constexpr Index unit = 8, parts = 8, most_rows = 128;
  const Index share = (rows + parts - 1) / parts;
  return std::min((share + unit - 1) / unit * unit, most_rows);
}

struct Product {
  // Of `loops` the last two are rows and columns; a part is a block of rows at one place of the others.
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    const std::size_t outer = s.loops.size() - 2;
    const Loop &rows = s.loops[outer], &columns = s.loops[outer + 1];
    const Index height = row_block(rows.extent), blocks = (rows.extent + height - 1) / height;
    for (Index part = first; part < last; ++part) {
      const Index row = part % blocks * height;
      std::array<Index, 3> at{row * rows.stride[0], row * rows.stride[1], 0};
      Index place = part / blocks;
      for (std::size_t l = outer; l-- > 0;) {
        const Index i = place % s.loops[l].extent;
        place /= s.loops[l].extent;
        for (std::size_t k = 0; k < at.size(); ++k) at[k] += i * s.loops[l].stride[k];
      }
      bool adds = false;
      for (Lines sum(s.sum, 0, s.sum.empty() ? 1 : s.sum[0].extent); sum.more(); sum.next()) {
        for (Index i = 0; i < sum.loop.extent; ++i) {
          const Operand a{s.in[0] + at[1] + sum.at[1] + i * sum.loop.stride[1], rows.stride[1],
                          s.line.stride[1]};
          const Operand b{s.in[1] + at[2] + sum.at[2] + i * sum.loop.stride[2], columns.stride[2],
                          s.line.stride[2]};
          product<W>(a, b, s.line.extent, s.out + at[0], rows.stride[0],
                     std::min(height, rows.extent - row), columns.extent, adds);
          adds = true;
        }
      }
    }
  }
};

/// Sums of products along lines that follow each other in both operands.
struct Dots {
  template <Index W>
  static POPGRAD_INLINE double dot(const double* x, const double* y, Index count) {
    using V = typename Lanes<W>::Numbers;
    V a{}, b{};
    Index i = 0;
    for (; i + 2 * W <= count; i += 2 * W) {
      V p, q, u, v;
      load(p, x + i);
      load(q, y + i);
      load(u, x + i + W);
      load(v, y + i + W);
      a += p * q;
      b += u * v;
    }
    double total = i > 0 ? sum_of<W>(V(a + b)) : 0;
    for (; i < count; ++i) total += x[i] * y[i];
    return total;
  }
  template <Index W>
  static POPGRAD_INLINE void run(const Instruction<double>& s, Index first, Index last) {
    for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
      for (Index l = 0; l < lines.loop.extent; ++l) {
        const double* x = s.in[0] + lines.at[1] + l * lines.loop.stride[1];
        const double* y = s.in[1] + lines.at[2] + l * lines.loop.stride[2];
        double total = 0;
        for (Lines sum(s.sum, 0, s.sum.empty() ? 1 : s.sum[0].extent); sum.more(); sum.next()) {
          for (Index i = 0; i < sum.loop.extent; ++i)
            total += dot<W>(x + sum.at[1] + i * sum.loop.stride[1],
                            y + sum.at[2] + i * sum.loop.stride[2], s.line.extent);
        }
        s.out[lines.at[0] + l * lines.loop.stride[0]] = total;
      }
    }
  }
};

// `most` lanes at most, as few columns have no use for more.
template <class Work, Index most>
POPGRAD_AVX512 void on_avx512(const Instruction<double>& s, Index first, Index last) {
  Work::template run<std::min<Index>(most, 8)>(s, first, last);
}
template <class Work, Index most>
POPGRAD_AVX2 void on_avx2(const Instruction<double>& s, Index first, Index last) {
  Work::template run<std::min<Index>(most, 4)>(s, first, last);
}
template <class Work, Index most>
void on_any(const Instruction<double>& s, Index first, Index last) {
  Work::template run<std::min<Index>(most, 2)>(s, first, last);
}
template <class Work, Index most = 8>
Part kernel() {
  return widest(on_avx512<Work, most>, on_avx2<Work, most>, on_any<Work, most>);
}

Part product_kernel(Index columns) {
  if (columns == 8 || columns >= 16) return kernel<Product>();
  return columns > 8 ? kernel<Product, 4>() : kernel<Product, 2>();
}
bool is_product(Part part) {
  return part == kernel<Product>() || part == kernel<Product, 4>() || part == kernel<Product, 2>();
}

double product_of_extents(const std::vector<Loop>& loops) {
  double product = 1;
  for (const Loop& l : loops) product *= static_cast<double>(l.extent);
  return product;
}

}  // namespace
}  // namespace wide_kernels_cpp

Part widest([[maybe_unused]] Part avx512, [[maybe_unused]] Part avx2, Part plain) {
#if defined(__x86_64__) && !POPGRAD_ADDRESS_SANITIZER
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
  return plain;
}

Part function_kernel(std::string_view operation) {
  using namespace wide_kernels_cpp;
  static const std::array<std::pair<std::string_view, Part>, 9> kernels{{
      {"exp", kernel<Entries<Exp>>()},
      {"tanh", kernel<Entries<Tanh>>()},
      {"sigmoid", kernel<Entries<Sigmoid>>()},
      {"power", kernel<Power>()},
      {"sum", kernel<Sum<false>>()},
      {"mean", kernel<Sum<true>>()},
      {"softmax", kernel<Soft<Softness::softmax>>()},
      {"log_softmax", kernel<Soft<Softness::log_softmax>>()},
      {"logsumexp", kernel<Soft<Softness::logsumexp>>()},
  }};
  for (const auto& [name, part] : kernels) {
    if (name == operation) return part;
  }
  return nullptr;
}

void choose_contraction(Instruction<double>& s) {
  using namespace wide_kernels_cpp;
  // With fewer multiplications plain loops are as fast.
  constexpr double least_products = 12;
  if (product_of_extents(s.loops) * product_of_extents(s.sum) < least_products) return;
  const auto longest = [](std::vector<Loop>& loops, const auto& fits) {
    auto found = loops.end();
    for (auto l = loops.begin(); l != loops.end(); ++l) {
      if (fits(*l) && (found == loops.end() || l->extent > found->extent)) found = l;
    }
    Loop loop{1, {}};
    if (found != loops.end()) {
      loop = *found;
      loops.erase(found);
    }
    return loop;
  };
  const auto first_only = [](const Loop& l) { return l.stride[1] != 0 && l.stride[2] == 0; };
  std::vector<Loop> outer = s.loops, sum = s.sum;
  Loop inner = longest(sum, [](const Loop&) { return true; });
  const bool lines = inner.stride[1] == 1 && inner.stride[2] == 1;
  const bool columns_follow = !outer.empty() && outer.back().stride[0] == 1 &&
                              (outer.back().stride[1] == 0) != (outer.back().stride[2] == 0);
  if (columns_follow) {
    if (outer.back().stride[2] == 0) {
      std::swap(s.in_places[0], s.in_places[1]);
      std::swap(inner.stride[1], inner.stride[2]);
      for (std::vector<Loop>* loops : {&outer, &sum, &s.loops, &s.sum}) {
        for (Loop& l : *loops) std::swap(l.stride[1], l.stride[2]);
      }
    }
    const Loop columns = outer.back();
    outer.pop_back();
    const Loop rows = longest(outer, first_only);
    // Fewer rows do not pay for columns that are put next to each other.
    constexpr Index least_rows = 4;
    if (!lines || columns.stride[2] == 1 || rows.extent >= least_rows) {
      outer.push_back(rows);
      outer.push_back(columns);
      s.loops = std::move(outer);
      s.sum = std::move(sum);
      s.line = inner;
      s.part = product_kernel(columns.extent);
      return;
    }
  }
  if (lines) {
    s.sum = std::move(sum);
    s.line = inner;
    s.part = kernel<Dots>();
  }
}

void choose_parts(Instruction<double>& s) {
  using namespace wide_kernels_cpp;
  if (s.part == nullptr) return;
  s.count = s.loops.empty() ? 1 : s.loops[0].extent;
  double work =
      product_of_extents(s.loops) * product_of_extents(s.sum) * static_cast<double>(s.line.extent);
  if (is_product(s.part)) {
    const Index rows = s.loops[s.loops.size() - 2].extent, height = row_block(rows);
    const double places = product_of_extents(s.loops) / static_cast<double>(rows) /
                          static_cast<double>(s.loops.back().extent);
    s.count = static_cast<Index>(places) * ((rows + height - 1) / height);
    // A multiplication of a product takes a tenth of an entry of other kernels.
    constexpr double cost = 0.1;
    work *= cost;
  }
  constexpr double least_work = 5e4, work_of_part = 1e4;
  if (work < least_work || s.count < 2) return;
  const double parts = std::min(work / work_of_part, static_cast<double>(s.count));
  s.step = static_cast<Index>(std::ceil(static_cast<double>(s.count) / parts));
}

}  // namespace popgrad::formulas
