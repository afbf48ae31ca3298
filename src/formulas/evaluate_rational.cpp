#include "formulas/evaluate.hpp"

namespace popgrad::formulas {

namespace {

/// One end of an instruction: reasons of the entries in its memory.
struct Marks {
  std::vector<std::size_t>& entries;
  Index begin;
  std::size_t& operator[](Index i) const { return entries[static_cast<std::size_t>(begin + i)]; }
};

std::size_t first_of(std::size_t a, std::size_t b) { return a == 0 ? b : a; }

void mark_copies(const Instruction<Rational>& s, const Marks& out, const Marks& in) {
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i)
      out[at[0] + i * loop.stride[0]] = in[at[1] + i * loop.stride[1]];
  });
}

void mark_lines(const Instruction<Rational>& s, bool scans, const Marks& out, const Marks& in) {
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      std::size_t reason = 0;
      for (Index k = 0; k < s.line.extent; ++k)
        reason = first_of(reason, in[at[1] + i * loop.stride[1] + k * s.line.stride[1]]);
      for (Index k = 0; k < (scans ? s.line.extent : 1); ++k)
        out[at[0] + i * loop.stride[0] + k * s.line.stride[0]] = reason;
    }
  });
}

void mark_products(const Instruction<Rational>& s, const Marks& out, const Marks& a,
                   const Marks& b) {
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      std::size_t reason = 0;
      for_each_line(s.sum, [&](const auto& inner, const Loop& line) {
        for (Index k = 0; k < line.extent; ++k) {
          reason = first_of(reason, a[at[1] + i * loop.stride[1] + inner[1] + k * line.stride[1]]);
          reason = first_of(reason, b[at[2] + i * loop.stride[2] + inner[2] + k * line.stride[2]]);
        }
      });
      out[at[0] + i * loop.stride[0]] = reason;
    }
  });
}

}  // namespace

void run_and_mark(const Instruction<Rational>& s) {
  const Operation& op = *s.node->operation;
  std::vector<std::size_t>& marks = s.undefined->entries;
  const Marks out{marks, s.out_place};
  std::size_t reason = 0;
  if (s.run == copy_entries<Rational>) {
    mark_copies(s, out, {marks, s.in_places[0]});
  } else if (op.kind == OperationKind::reduction || op.kind == OperationKind::scan) {
    mark_lines(s, op.kind == OperationKind::scan, out, {marks, s.in_places[0]});
  } else if (op.name == "einsum") {
    mark_products(s, out, {marks, s.in_places[0]}, {marks, s.in_places[1]});
  } else if (op.kind == OperationKind::whole_array) {
    // As a whole.
    for (std::size_t k = 0; k < s.in_places.size(); ++k) {
      const Marks in{marks, s.in_places[k]};
      for (Index i = 0; i < entries(s.arguments[k]->shape); ++i) reason = first_of(reason, in[i]);
    }
  }
  try {
    if (reason == 0) s.run(s);
  } catch (const InputError& error) {
    s.undefined->reasons.emplace_back(error.what());
    reason = s.undefined->reasons.size();
  }
  if (op.kind == OperationKind::whole_array && op.name != "einsum") {
    for (Index i = 0; i < entries(s.node->shape); ++i) out[i] = reason;
  }
}

template class Evaluator<Rational>;

}  // namespace popgrad::formulas
