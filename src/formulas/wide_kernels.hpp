#pragma once
/// Kernels of double for the widest vectors of the processor: each is compiled for three instruction sets.

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "formulas/instruction.hpp"
#include "scalars/wide.hpp"

#if defined(__x86_64__) && !POPGRAD_ADDRESS_SANITIZER
#define POPGRAD_AVX512 __attribute__((target("avx512f,avx512dq,fma")))
#define POPGRAD_AVX2 __attribute__((target("avx2,fma")))
#else
#define POPGRAD_AVX512
#define POPGRAD_AVX2
#endif
// What is inlined into each of them; a lambda would be compiled for the baseline.
#define POPGRAD_INLINE __attribute__((always_inline)) inline
// One vector a turn: arrays of a few numbers are as common as long ones, and a rest is computed number by number.
#if defined(__clang__)
#define POPGRAD_SHORT_LOOP _Pragma("clang loop interleave_count(1)")
#else
#define POPGRAD_SHORT_LOOP
#endif

namespace popgrad::formulas {

using Part = Instruction<double>::Part;

/// The widest of one kernel that the processor runs.
Part widest(Part avx512, Part avx2, Part plain);

/// Of exp, tanh, sums and the like, on vectors; null for other operations.
Part function_kernel(std::string_view operation);
/// Takes a kernel for a contraction, and puts its loops into the order of that.
void choose_contraction(Instruction<double>& s);
/// Parts for threads, of what takes longer than to wake them up.
void choose_parts(Instruction<double>& s);

/// The innermost loop at every place of the outer ones; the outermost loop runs from `first` to before `last`.
class Lines {
 public:
  POPGRAD_INLINE Lines(const std::vector<Loop>& loops, Index first, Index last)
      : loops_(loops.data()), depth_(loops.empty() ? 0 : loops.size() - 1) {
    more_ = first < last;
    for (const Loop& l : loops) more_ = more_ && l.extent > 0;
    if (loops.empty()) return;
    loop = loops.back();
    if (depth_ == 0) {
      loop.extent = last - first;
    } else {
      left_[0] = last - first;
      for (std::size_t k = 1; k < depth_; ++k) left_[k] = loops_[k].extent;
    }
    for (std::size_t j = 0; j < at.size(); ++j) at[j] = first * loops_[0].stride[j];
  }
  [[nodiscard]] POPGRAD_INLINE bool more() const { return more_; }
  POPGRAD_INLINE void next() {
    for (std::size_t k = depth_; k-- > 0;) {
      const Loop& outer = loops_[k];
      for (std::size_t j = 0; j < at.size(); ++j) at[j] += outer.stride[j];
      if (--left_[k] > 0) return;
      if (k == 0) break;
      for (std::size_t j = 0; j < at.size(); ++j) at[j] -= outer.extent * outer.stride[j];
      left_[k] = outer.extent;
    }
    more_ = false;
  }

  std::array<Index, 4> at{};
  Loop loop;

 private:
  static constexpr std::size_t most = 32;
  const Loop* loops_;
  std::size_t depth_;
  std::array<Index, most> left_;
  bool more_;
};

template <class Value>
POPGRAD_INLINE void entries_1(double* y, const double* x, const Loop& loop) {
  const Value value{};
  const Index n = loop.extent;
  if (loop.stride[0] == 1 && loop.stride[1] == 1) {
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i] = value(x[i]);
  } else {
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i * loop.stride[0]] = value(x[i * loop.stride[1]]);
  }
}

template <class Value>
POPGRAD_INLINE void entries_2(double* y, const double* a, const double* b, const Loop& loop) {
  const Value value{};
  const Index n = loop.extent, p = loop.stride[1], q = loop.stride[2];
  // Numbers that follow each other, or the same number: what a compiler makes wide loops of.
  if (loop.stride[0] == 1 && p == 1 && q == 1) {
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i] = value(a[i], b[i]);
  } else if (loop.stride[0] == 1 && p == 0 && q == 1) {
    const double first = *a;
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i] = value(first, b[i]);
  } else if (loop.stride[0] == 1 && p == 1 && q == 0) {
    const double second = *b;
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i] = value(a[i], second);
  } else {
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i * loop.stride[0]] = value(a[i * p], b[i * q]);
  }
}

template <class Value>
POPGRAD_INLINE void entries_3(double* y, const double* a, const double* b, const double* c,
                              const Loop& loop) {
  const Value value{};
  const Index n = loop.extent, p = loop.stride[1], q = loop.stride[2], r = loop.stride[3];
  if (loop.stride[0] == 1 && p == 1 && q == 1 && r == 0) {
    const double third = *c;
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i] = value(a[i], b[i], third);
  } else {
    POPGRAD_SHORT_LOOP
    for (Index i = 0; i < n; ++i) y[i * loop.stride[0]] = value(a[i * p], b[i * q], c[i * r]);
  }
}

template <class Value, std::size_t arity>
POPGRAD_INLINE void entrywise_lines(const Instruction<double>& s, Index first, Index last) {
  const double* const* in = s.in.data();
  for (Lines lines(s.loops, first, last); lines.more(); lines.next()) {
    const auto& at = lines.at;
    double* y = s.out + at[0];
    if constexpr (arity == 1) {
      entries_1<Value>(y, in[0] + at[1], lines.loop);
    } else if constexpr (arity == 2) {
      entries_2<Value>(y, in[0] + at[1], in[1] + at[2], lines.loop);
    } else {
      entries_3<Value>(y, in[0] + at[1], in[1] + at[2], in[2] + at[3], lines.loop);
    }
  }
}

template <class Value, std::size_t arity>
POPGRAD_AVX512 void entrywise_avx512(const Instruction<double>& s, Index first, Index last) {
  entrywise_lines<Value, arity>(s, first, last);
}
template <class Value, std::size_t arity>
POPGRAD_AVX2 void entrywise_avx2(const Instruction<double>& s, Index first, Index last) {
  entrywise_lines<Value, arity>(s, first, last);
}
template <class Value, std::size_t arity>
void entrywise_plain(const Instruction<double>& s, Index first, Index last) {
  entrywise_lines<Value, arity>(s, first, last);
}

template <class Value, std::size_t arity>
Part entrywise_kernel() {
  return widest(entrywise_avx512<Value, arity>, entrywise_avx2<Value, arity>,
                entrywise_plain<Value, arity>);
}

}  // namespace popgrad::formulas
