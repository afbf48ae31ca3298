#pragma once
/// The evaluator of one scalar; each is compiled in a source of its own.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "formulas/evaluator.hpp"
#include "formulas/instruction.hpp"
#include "formulas/operations.hpp"
#include "formulas/wide_kernels.hpp"
#include "popgrad/base/memory.hpp"

namespace popgrad::formulas {

template <class T, std::size_t... stride_index, class Value>
void entrywise_line(T* y, const std::array<const T*, sizeof...(stride_index)>& x, const Loop& loop,
                    Value value, std::index_sequence<stride_index...>) {
  for (Index i = 0; i < loop.extent; ++i)
    y[i * loop.stride[0]] = value(x[stride_index][i * loop.stride[stride_index + 1]]...);
}

template <class T, class Value, std::size_t arity>
void run_entrywise(const Instruction<T>& s) {
  const Value value{};
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    T* y = s.out + at[0];
    std::array<const T*, arity> x;
    for (std::size_t k = 0; k < arity; ++k) x[k] = s.in[k] + at[k + 1];
    entrywise_line<T>(y, x, loop, value, std::make_index_sequence<arity>());
  });
}

/// Entries that have no value, or are made of such, are marked; `where` reads those that it takes.
template <class Value, std::size_t arity>
void run_where_defined(const Instruction<Rational>& s) {
  constexpr bool selects = arity == 3;
  const Value value{};
  Undefined& undefined = *s.undefined;
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      std::array<const Rational*, arity> x;
      std::size_t reason = 0;
      for (std::size_t k = 0; k < arity; ++k) {
        const Index place = at[k + 1] + i * loop.stride[k + 1];
        x[k] = s.in[k] + place;
        if (reason == 0 && (!selects || k == 0 || (*x[0] == 0) == (k == 2)))
          reason = undefined.entries[static_cast<std::size_t>(s.in_places[k] + place)];
      }
      const Index place = at[0] + i * loop.stride[0];
      if (reason == 0) {
        try {
          s.out[place] =
              std::apply([&](const auto*... entry) { return Rational(value(*entry...)); }, x);
        } catch (const InputError& error) {
          undefined.reasons.emplace_back(error.what());
          reason = undefined.reasons.size();
        }
      }
      undefined.entries[static_cast<std::size_t>(s.out_place + place)] = reason;
    }
  });
}

/// A kernel of lines or of whole arrays: what is made of entries without a value has none.
void run_and_mark(const Instruction<Rational>& s);

// Reductions and scans.
template <class T, class Value>
void run_over_lines(const Instruction<T>& s) {
  for_each_line(s.loops, [&](const auto& at, const Loop& loop) {
    for (Index i = 0; i < loop.extent; ++i) {
      const Line<const T> x{s.in[0] + at[1] + i * loop.stride[1], s.line.extent, s.line.stride[1]};
      Value{}(x, Line<T>{s.out + at[0] + i * loop.stride[0], s.line.extent, s.line.stride[0]});
    }
  });
}

template <class T>
struct Kernel {
  void (*run)(const Instruction<T>&) = nullptr;
  Places (*places)(const GraphNode&, const Strides&) = nullptr;
  typename Instruction<T>::Part part = nullptr;
};

template <class T, OperationKind kind, std::size_t arity, class Value, class Pull>
Kernel<T> kernel_of(const Entry<kind, arity, Value, Pull>& entry) {
  if constexpr (std::is_same_v<Value, std::nullptr_t> ||
                (irrational_value<Value> && !Transcendental<T>)) {
    return {};
  } else if constexpr (kind == OperationKind::entrywise) {
    if constexpr (std::is_same_v<T, double>) {
      const Part function = function_kernel(entry.name);
      return {nullptr, nullptr, function != nullptr ? function : entrywise_kernel<Value, arity>()};
    } else if constexpr (std::is_same_v<T, Rational>) {
      return {run_where_defined<Value, arity>, nullptr};
    } else {
      return {run_entrywise<T, Value, arity>, nullptr};
    }
  } else if constexpr (kind == OperationKind::view || kind == OperationKind::embedding) {
    return {copy_entries<T>, entry.value};
  } else if constexpr (kind == OperationKind::reduction || kind == OperationKind::scan) {
    if constexpr (std::is_same_v<T, double>) {
      return {run_over_lines<T, Value>, nullptr, function_kernel(entry.name)};
    } else {
      return {run_over_lines<T, Value>, nullptr};
    }
  } else {
    return {[](const Instruction<T>& s) { Value{}(s); }, nullptr};
  }
}

/// Where a node lies.
struct Layout {
  Index place = -1;
  Strides strides;
};

enum class Stage : std::size_t { constant, steady, changing };

template <class T>
struct Evaluator<T>::Tape {
  std::array<std::vector<Instruction<T>>, 3> instructions;
  std::vector<T> memory;
  std::map<std::string, std::pair<Index, Index>, std::less<>> variables;  // place and entries
  std::vector<std::pair<Index, Index>> outputs;
  std::map<std::size_t, Layout> layouts;
  Graph* graph = nullptr;
  std::vector<std::size_t> ends;

  std::map<std::size_t, Layout> copies;
  std::map<std::size_t, Stage> stages;
  double taken = 0;
  mutable Undefined undefined;

  Index take_memory(Index count) {
    const auto place = static_cast<Index>(taken);
    taken += static_cast<double>(count);
    require_memory_for_tape();
    return place;
  }
  void require_memory_for_tape() const {
    constexpr double small = 1e6;
    if (taken > small)
      require_memory(taken * sizeof(T), "the arrays of these formulas", "lower the sizes");
  }

  static bool follow_each_other(const Strides& strides, const Shape& shape) {
    const Strides rows = strides_of(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].extent != 1 && strides[i] != rows[i]) return false;
    }
    return true;
  }

  Instruction<T>& append(Stage stage, std::size_t node, const Kernel<T>& kernel, Index out) {
    Instruction<T> instruction;
    instruction.run = kernel.run;
    instruction.part = kernel.part;
    instruction.node = &graph->node(node);
    instruction.out_place = out;
    for (const std::size_t input : instruction.node->inputs)
      instruction.arguments.push_back(&graph->node(input));
    return instructions[static_cast<std::size_t>(stage)].emplace_back(std::move(instruction));
  }

  /// Of the node row after row: itself, or a copy.
  Layout rows_of(std::size_t node) {
    const Layout& own = layouts.at(node);
    const Shape& shape = graph->node(node).shape;
    if (follow_each_other(own.strides, shape)) return own;
    if (const auto known = copies.find(node); known != copies.end()) return known->second;
    const Layout copy{take_memory(entries(shape)), strides_of(shape)};
    Instruction<T>& s = append(stages.at(node), node, {copy_entries<T>}, copy.place);
    s.in_places = {own.place};
    s.loops = loops_of(shape, copy.strides, {own.strides});
    return copies.emplace(node, copy).first->second;
  }

  static std::vector<Loop> loops_of(const Shape& shape, const Strides& out,
                                    const std::vector<Strides>& in) {
    std::vector<Loop> loops;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      Loop loop{shape[i].extent, {out[i]}};
      for (std::size_t k = 0; k < in.size(); ++k) loop.stride[k + 1] = in[k][i];
      loops.push_back(loop);
    }
    return joined(loops);
  }

  /// Strides of an argument at the axes of a result that it is stretched to.
  Strides stretched(std::size_t node, const Shape& to) const {
    const Shape& shape = graph->node(node).shape;
    const Layout& layout = layouts.at(node);
    Strides strides(to.size(), 0);
    for (std::size_t back = 1; back <= shape.size(); ++back) {
      const Dimension& d = shape[shape.size() - back];
      if (d.extent != 1) strides[to.size() - back] = layout.strides[shape.size() - back];
    }
    return strides;
  }

  void add(std::size_t place) {
    const GraphNode& node = graph->node(place);
    const Operation& op = *node.operation;
    static const std::vector<Kernel<T>> kernels = std::apply(
        [](const auto&... entry) { return std::vector<Kernel<T>>{kernel_of<T>(entry)...}; }, table);
    const Kernel<T>& kernel = kernels[place_of(op)];
    const Stage stage = stages.at(place);
    const Strides rows = strides_of(node.shape);
    if (!op.exact && !Transcendental<T>) {
      throw InputError(
          fmt::format("{} has no rational values; evaluate the formula in decimals", op.name));
    }
    if (op.kind == OperationKind::view) {
      if (op.name == "reshape") {
        layouts[place] = {rows_of(node.inputs[0]).place, rows};
      } else {
        const Layout& input = layouts.at(node.inputs[0]);
        Places places = op.name == "broadcast" ? Places{0, stretched(node.inputs[0], node.shape)}
                                               : kernel.places(node, input.strides);
        layouts[place] = {input.place + places.offset, std::move(places.strides)};
      }
      return;
    }
    const Index own = take_memory(entries(node.shape));
    layouts[place] = {own, rows};
    if (entries(node.shape) == 0 || (op.kind == OperationKind::leaf && kernel.run == nullptr))
      return;
    if (op.kind == OperationKind::whole_array && op.name != "einsum") {
      std::vector<Index> in;
      for (const std::size_t input : node.inputs) in.push_back(rows_of(input).place);
      const bool solves = op.name == "solve";
      const Index scratch = solves ? take_memory(entries(graph->node(node.inputs[0]).shape)) : 0;
      Instruction<T>& s = append(stage, place, kernel, own);
      s.in_places = std::move(in);
      s.scratch_place = scratch;
      return;
    }
    if (op.kind == OperationKind::reduction || op.kind == OperationKind::scan) {
      add_over_lines(place, kernel, own);
      return;
    }
    Instruction<T>& s = append(stage, place, kernel, own);
    for (const std::size_t input : node.inputs) s.in_places.push_back(layouts.at(input).place);
    if (op.kind == OperationKind::entrywise) {
      std::vector<Strides> in;
      for (const std::size_t input : node.inputs) in.push_back(stretched(input, node.shape));
      s.loops = loops_of(node.shape, rows, in);
    } else if (op.kind == OperationKind::embedding) {
      const Places places = kernel.places(node, rows);
      s.out_place += places.offset;
      s.loops = loops_of(graph->node(node.inputs[0]).shape, places.strides,
                         {layouts.at(node.inputs[0]).strides});
    } else if (op.name == "einsum") {
      add_contraction(s, rows);
    }
  }

  void add_over_lines(std::size_t place, const Kernel<T>& kernel, Index own) {
    const GraphNode& node = graph->node(place);
    const std::size_t input = node.inputs[0];
    const Shape& shape = graph->node(input).shape;
    const Strides rows = strides_of(node.shape);
    const bool scans = node.operation->kind == OperationKind::scan;
    const auto first = static_cast<std::size_t>(node.numbers[0]);
    const std::size_t count = scans ? 1 : static_cast<std::size_t>(node.numbers[1]);
    const auto lines_of = [&](const Strides& strides) {
      std::vector<Loop> lines;
      for (std::size_t i = first; i < first + count; ++i) {
        lines.push_back({shape[i].extent, {scans ? rows[i] : 0, strides[i]}});
      }
      // The result of a reduction has no place along the line, so loops join by the argument.
      return joined(lines);
    };
    Layout layout = layouts.at(input);
    std::vector<Loop> lines = lines_of(layout.strides);
    if (lines.size() > 1) {
      layout = rows_of(input);
      lines = lines_of(layout.strides);
    }
    Instruction<T>& s = append(stages.at(place), place, kernel, own);
    s.in_places = {layout.place};
    s.line = lines.empty() ? Loop{} : lines.front();
    std::vector<Loop> loops;
    for (std::size_t i = 0, o = 0; i < shape.size(); ++i) {
      const bool inside = i >= first && i < first + count;
      if (!inside) loops.push_back({shape[i].extent, {rows[o], layout.strides[i]}});
      if (!inside || scans) ++o;
    }
    s.loops = joined(loops);
  }

  void add_contraction(Instruction<T>& s, const Strides& rows) {
    const EinsumLabels labels(s.node->text);
    std::map<char, Loop> loops;
    for (std::size_t k = 0; k < 2; ++k) {
      const Layout& layout = layouts.at(s.node->inputs[k]);
      for (std::size_t i = 0; i < labels.operand[k].size(); ++i) {
        Loop& loop = loops[labels.operand[k][i]];
        loop.extent = s.arguments[k]->shape[i].extent;
        loop.stride[k + 1] = layout.strides[i];
      }
    }
    std::vector<Loop> outer, sum;
    for (std::size_t i = 0; i < labels.out.size(); ++i) {
      Loop& loop = loops[labels.out[i]];
      loop.stride[0] = rows[i];
      outer.push_back(loop);
      loops.erase(labels.out[i]);
    }
    // In the order of the first argument, so that its loops may join.
    for (const char label : labels.operand[0]) {
      if (loops.contains(label)) sum.push_back(loops[label]);
    }
    s.loops = joined(outer);
    s.sum = joined(sum);
    if constexpr (std::is_same_v<T, double>) choose_contraction(s);
  }

  void build(const std::vector<Array>& given, const std::vector<std::string>& steady) {
    graph = given.front().graph;
    for (const Array& a : given) ends.push_back(a.place);
    const std::vector<bool> needed = needed_for(given);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      if (!needed[k]) continue;
      const GraphNode& node = graph->node(k);
      Stage stage = Stage::constant;
      for (const std::size_t input : node.inputs) stage = std::max(stage, stages.at(input));
      if (node.operation->name == "variable") {
        stage = std::find(steady.begin(), steady.end(), node.text) == steady.end() ? Stage::changing
                                                                                   : Stage::steady;
      }
      stages[k] = stage;
      add(k);
      if (node.operation->name == "variable")
        variables[node.text] = {layouts[k].place, entries(node.shape)};
    }
    for (const std::size_t k : ends)
      outputs.emplace_back(rows_of(k).place, entries(graph->node(k).shape));
    memory.assign(static_cast<std::size_t>(taken), T(0));
    for (const auto& [k, layout] : layouts) {
      const GraphNode& node = graph->node(k);
      if (node.operation->name == "constant")
        memory[static_cast<std::size_t>(layout.place)] = number(node.value);
      if constexpr (Transcendental<T>) {
        if (node.operation->name == "pi")
          memory[static_cast<std::size_t>(layout.place)] = popgrad::pi<T>();
      }
    }
    for (std::vector<Instruction<T>>& list : instructions) {
      for (Instruction<T>& s : list) {
        s.out = memory.data() + s.out_place;
        s.scratch = memory.data() + s.scratch_place;
        for (const Index place : s.in_places) s.in.push_back(memory.data() + place);
        if constexpr (std::is_same_v<T, double>) choose_parts(s);
        if constexpr (std::is_same_v<T, Rational>) s.undefined = &undefined;
      }
    }
    if constexpr (std::is_same_v<T, Rational>) undefined.entries.assign(memory.size(), 0);
    run(Stage::constant);
    require_values(Stage::constant);
    run(Stage::steady);
  }

  static T number(const Rational& value) {
    if constexpr (std::is_same_v<T, Rational>) {
      return value;
    } else if constexpr (std::is_same_v<T, Real>) {
      return Real(numerator(value)) / Real(denominator(value));
    } else {
      return T(nearest_double(value));
    }
  }

  /// Throws InputError with the reason for which an output up to this stage has no value.
  void require_values([[maybe_unused]] Stage stage) const {
    if constexpr (std::is_same_v<T, Rational>) {
      for (std::size_t k = 0; k < ends.size() && !undefined.reasons.empty(); ++k) {
        if (stages.at(ends[k]) > stage) continue;
        const auto [place, count] = outputs[k];
        for (Index i = place; i < place + count; ++i) {
          const std::size_t reason = undefined.entries[static_cast<std::size_t>(i)];
          if (reason > 0) throw InputError(undefined.reasons[reason - 1]);
        }
      }
    }
  }

  void run(Stage stage) const {
    const auto k = static_cast<std::size_t>(stage);
    if constexpr (std::is_same_v<T, Rational>) {
      undefined.reasons.resize(k == 0 ? 0 : undefined.counts[k - 1]);
      for (const Instruction<T>& s : instructions[k]) run_and_mark(s);
      undefined.counts[k] = undefined.reasons.size();
      return;
    }
    for (const Instruction<T>& s : instructions[k]) {
      if (s.part == nullptr) {
        s.run(s);
      } else if (s.step == 0) {
        s.part(s, 0, s.count);
      } else {
#pragma omp parallel for schedule(dynamic, 1)
        for (Index first = 0; first < s.count; first += s.step)
          s.part(s, first, std::min(first + s.step, s.count));
      }
    }
  }

  [[nodiscard]] std::optional<std::size_t> undefined_entry(std::size_t k) const {
    const Shape& shape = graph->node(k).shape;
    const Layout& layout = layouts.at(k);
    std::optional<std::size_t> found;
    if (entries(shape) == 0) return found;
    const T* data = memory.data() + layout.place;
    std::size_t count = 0;
    // Row after row, in loops that are not joined.
    std::vector<Index> index(shape.size());
    while (true) {
      Index at = 0;
      for (std::size_t i = 0; i < shape.size(); ++i) at += index[i] * layout.strides[i];
      if (!std::isfinite(to_double(data[at]))) return count;
      ++count;
      std::size_t i = shape.size();
      while (i > 0 && ++index[i - 1] == shape[i - 1].extent) index[--i] = 0;
      if (i == 0) return found;
    }
  }
};

template <class T>
Evaluator<T>::Evaluator(const std::vector<Array>& outputs, const std::vector<std::string>& steady)
    : tape_(std::make_unique<Tape>()) {
  tape_->build(outputs, steady);
}
template <class T>
Evaluator<T>::~Evaluator() = default;
template <class T>
Evaluator<T>::Evaluator(Evaluator&&) noexcept = default;
template <class T>
Evaluator<T>& Evaluator<T>::operator=(Evaluator&&) noexcept = default;

template <class T>
std::span<T> Evaluator<T>::variable(std::string_view name) {
  const auto found = tape_->variables.find(name);
  if (found == tape_->variables.end()) return {};
  const auto [place, count] = found->second;
  return {tape_->memory.data() + place, static_cast<std::size_t>(count)};
}

template <class T>
void Evaluator<T>::prepare() {
  tape_->run(Stage::steady);
}
template <class T>
void Evaluator<T>::run() {
  tape_->run(Stage::changing);
  tape_->require_values(Stage::changing);
}
template <class T>
std::span<const T> Evaluator<T>::output(std::size_t k) const {
  const auto [place, count] = tape_->outputs[k];
  return {tape_->memory.data() + place, static_cast<std::size_t>(count)};
}

template <class T>
std::optional<std::size_t> Evaluator<T>::undefined_node() const {
  for (std::size_t k : tape_->ends) {
    if (!tape_->undefined_entry(k)) continue;
    while (true) {
      const std::vector<std::size_t>& inputs = tape_->graph->node(k).inputs;
      const auto before = std::find_if(inputs.begin(), inputs.end(), [&](std::size_t input) {
        return tape_->undefined_entry(input).has_value();
      });
      if (before == inputs.end()) return k;
      k = *before;
    }
  }
  return std::nullopt;
}

template <class T>
void Evaluator<T>::require_defined() const {
  const std::optional<std::size_t> k = undefined_node();
  if (!k) return;
  const GraphNode& node = tape_->graph->node(*k);
  std::string arguments;
  for (const std::size_t input : node.inputs) {
    if (!arguments.empty()) arguments += ", ";
    const GraphNode& argument = tape_->graph->node(input);
    const Strides strides = tape_->stretched(
        input, node.shape.size() < argument.shape.size() ? argument.shape : node.shape);
    Index at = tape_->layouts.at(input).place;
    if (node.operation->kind == OperationKind::entrywise) {
      auto entry = static_cast<Index>(*tape_->undefined_entry(*k));
      for (std::size_t i = strides.size(); i-- > 0;) {
        at += entry % node.shape[i].extent * strides[i];
        entry /= node.shape[i].extent;
      }
      arguments += fmt::format("{:.6g}", to_double(tape_->memory[static_cast<std::size_t>(at)]));
    } else {
      arguments += "array of shape " + to_text(argument.shape);
    }
  }
  throw InputError(fmt::format("{}({}) is no finite number", node.operation->name, arguments));
}

}  // namespace popgrad::formulas
