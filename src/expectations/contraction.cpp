#include "expectations/contraction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace popgrad::expectations {
namespace contraction_cpp {
namespace {

using Mask = std::uint64_t;  // of labels, or of factors
constexpr std::size_t most_labels = 64;
constexpr std::size_t most_searched = 12;
/// With more factors those of the same labels are multiplied first: the search takes 3^factors steps.
constexpr std::size_t few_factors = 6;

Mask bit(std::size_t place) { return Mask{1} << place; }

struct Operand {
  Array array;
  std::vector<Label> labels;
};

Mask labels_of(const std::vector<Label>& labels) {
  Mask mask = 0;
  for (const Label label : labels) mask |= bit(label);
  return mask;
}

// One or two operands to the labels of `kept`, in ascending order.
Operand contracted_pair(const std::vector<Operand>& operands, Mask kept) {
  std::string text;
  std::map<Label, char> letters;
  const auto letter = [&](Label label) {
    const auto count = static_cast<int>(letters.size());
    return letters
        .try_emplace(label, static_cast<char>(count < 26 ? 'a' + count : 'A' + count - 26))
        .first->second;
  };
  std::vector<Array> arrays;
  for (const Operand& operand : operands) {
    if (!text.empty()) text += ',';
    for (const Label label : operand.labels) text += letter(label);
    arrays.push_back(operand.array);
  }
  Operand made;
  text += "->";
  for (std::size_t label = 0; label < most_labels; ++label) {
    if ((kept & bit(label)) == 0 || !letters.contains(label)) continue;
    text += letters.at(label);
    made.labels.push_back(label);
  }
  made.array = formulas::einsum(text, arrays);
  return made;
}

class Contraction {
 public:
  Contraction(const Term& term, std::vector<Operand> operands, Mask out)
      : out_(out), operands_(std::move(operands)) {
    for (std::size_t label = 0; label < most_labels; ++label) {
      const auto known = term.dimensions.find(label);
      extents_[label] =
          known == term.dimensions.end() ? 1 : static_cast<double>(known->second.extent);
    }
  }

  Operand result() {
    if (operands_.size() > few_factors) multiply_alike();
    while (operands_.size() > most_searched) contract_cheapest();
    for (const Operand& operand : operands_) labels_.push_back(labels_of(operand.labels));
    const std::size_t count = operands_.size();
    const std::size_t all = (std::size_t{1} << count) - 1;
    best_.resize(all + 1);
    for (std::size_t set = 1; set <= all; ++set) {
      Best& best = best_[set];
      best.kept = kept_labels(set);
      if (std::has_single_bit(set)) continue;
      best.cost = std::numeric_limits<double>::infinity();
      // Halves that have the last factor, so that each pair is met once.
      const std::size_t last = std::bit_floor(set);
      for (std::size_t rest = (set - 1) & set; rest > 0; rest = (rest - 1) & set) {
        if ((rest & last) != 0) continue;
        const Best &x = best_[rest], &y = best_[set ^ rest];
        const double cost = x.cost + y.cost + size_of(x.kept | y.kept) + size_of(best.kept);
        if (cost < best.cost) {
          best.cost = cost;
          best.half = rest;
        }
      }
    }
    return made(all);
  }

 private:
  struct Best {
    double cost = 0;
    std::size_t half = 0;
    Mask kept = 0;
  };

  [[nodiscard]] double size_of(Mask labels) const {
    double size = 1;
    for (; labels != 0; labels &= labels - 1)
      size *= extents_[static_cast<std::size_t>(std::countr_zero(labels))];
    return size;
  }

  // Those of the set that others or the result have too.
  [[nodiscard]] Mask kept_labels(std::size_t set) const {
    Mask own = 0, others = out_;
    for (std::size_t k = 0; k < labels_.size(); ++k)
      ((set >> k & 1) != 0 ? own : others) |= labels_[k];
    return own & others;
  }

  Operand made(std::size_t set) {
    const Best best = best_[set];
    if (std::has_single_bit(set))
      return contracted_pair({operands_[static_cast<std::size_t>(std::countr_zero(set))]},
                             best.kept);
    return contracted_pair({made(best.half), made(set ^ best.half)}, best.kept);
  }

  void multiply_alike() {
    std::vector<Operand> products;
    for (const Operand& operand : operands_) {
      const Mask labels = labels_of(operand.labels);
      const auto alike = std::find_if(products.begin(), products.end(), [&](const Operand& p) {
        return labels_of(p.labels) == labels;
      });
      if (alike == products.end()) {
        products.push_back(operand);
      } else {
        *alike = contracted_pair({*alike, operand}, labels);
      }
    }
    operands_ = std::move(products);
  }

  void contract_cheapest() {
    double least = std::numeric_limits<double>::infinity();
    std::pair<std::size_t, std::size_t> pair;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      for (std::size_t k = i + 1; k < operands_.size(); ++k) {
        const double cost =
            size_of(labels_of(operands_[i].labels) | labels_of(operands_[k].labels));
        if (cost < least) {
          least = cost;
          pair = {i, k};
        }
      }
    }
    Mask others = out_;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (k != pair.first && k != pair.second) others |= labels_of(operands_[k].labels);
    }
    operands_[pair.first] =
        contracted_pair({operands_[pair.first], operands_[pair.second]}, others);
    operands_.erase(operands_.begin() + static_cast<Index>(pair.second));
  }

  std::array<double, most_labels> extents_{};
  Mask out_;
  std::vector<Operand> operands_;
  std::vector<Mask> labels_;
  std::vector<Best> best_;
};

}  // namespace
}  // namespace contraction_cpp

Array contracted(const Term& term, formulas::Graph& graph) {
  using namespace contraction_cpp;
  Term own = term;
  // The result has each label once, and each is one of a factor.
  std::vector<Label> out;
  for (const Label label : term.out) {
    Label fresh = label;
    if (std::find(out.begin(), out.end(), label) != out.end()) {
      fresh = own.add_label(own.dimensions.at(label));
      const Dimension& d = own.dimensions.at(label);
      own.factors.push_back({graph.eye(d, d), {label, fresh}});
    } else if (std::none_of(own.factors.begin(), own.factors.end(), [&](const Factor& factor) {
                 return std::find(factor.labels.begin(), factor.labels.end(), label) !=
                        factor.labels.end();
               })) {
      own.factors.push_back(
          {broadcast(graph.constant(1), Shape{own.dimensions.at(label)}), {label}});
    }
    out.push_back(fresh);
  }
  if (!own.dimensions.empty() && own.dimensions.rbegin()->first >= most_labels)
    throw NotHandled("a term has more than 64 indices");
  const Mask out_mask = labels_of(out);
  // Components one after the other; what is a number of its own multiplies the rest.
  std::vector<bool> seen(own.factors.size());
  std::vector<Operand> parts;
  for (std::size_t first = 0; first < seen.size(); ++first) {
    if (seen[first]) continue;
    std::vector<Operand> operands;
    Mask labels = labels_of(own.factors[first].labels) & ~out_mask;
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t k = first; k < seen.size(); ++k) {
        const Mask of_factor = labels_of(own.factors[k].labels);
        if (seen[k] || (k != first && (of_factor & labels) == 0)) continue;
        seen[k] = grown = true;
        labels |= of_factor & ~out_mask;
      }
    }
    for (std::size_t k = first; k < seen.size(); ++k) {
      const Mask of_factor = labels_of(own.factors[k].labels);
      if (k == first || (of_factor & labels) != 0)
        operands.push_back({own.factors[k].array, own.factors[k].labels});
    }
    parts.push_back(Contraction(own, std::move(operands), out_mask).result());
  }
  std::optional<Array> scalar;
  std::vector<Operand> with_axes;
  for (const Operand& part : parts) {
    if (!part.labels.empty()) {
      with_axes.push_back(part);
    } else {
      scalar = scalar ? *scalar * part.array : part.array;
    }
  }
  Array made = scalar ? *scalar : graph.constant(1);
  if (!with_axes.empty()) {
    const Operand whole = Contraction(own, with_axes, out_mask).result();
    std::vector<Index> axes;
    for (const Label label : out)
      axes.push_back(std::find(whole.labels.begin(), whole.labels.end(), label) -
                     whole.labels.begin());
    made = made * transpose(whole.array, axes);
  }
  return made * own.coefficient.array(graph);
}

Array sum_of(const std::vector<Term>& terms, const Shape& shape, formulas::Graph& graph) {
  Array sum = broadcast(graph.constant(0), shape);
  for (const Term& term : terms) sum = sum + contracted(term, graph);
  return sum;
}

}  // namespace popgrad::expectations
