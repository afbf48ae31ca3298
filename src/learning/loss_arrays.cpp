#include "learning/loss_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "formulas/elaborate.hpp"
#include "formulas/gradient.hpp"
#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "learning/entry_error.hpp"
#include "learning/sample_draws.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::learning {
namespace loss_arrays_cpp {
namespace {

constexpr std::string_view definite = "positive_definite";

using formulas::FormulaError;
using formulas::syntax::Kind;
using formulas::syntax::Node;
using formulas::syntax::Tree;

std::string is_already(const std::string& kind) {
  const bool vowel = std::string_view("aeiou").find(kind.front()) != std::string_view::npos;
  return fmt::format("is {} {} already", vowel ? "an" : "a", kind);
}

// Of the node `root`, its parts before it.
Tree subtree(const Tree& tree, std::size_t root) {
  std::vector<bool> needed(root + 1);
  needed[root] = true;
  for (std::size_t k = root + 1; k-- > 0;) {
    if (!needed[k]) continue;
    for (const std::size_t part : tree.nodes[k].parts) {
      if (part != formulas::syntax::absent) needed[part] = true;
    }
  }
  Tree part;
  std::vector<std::size_t> place(root + 1);
  for (std::size_t k = 0; k <= root; ++k) {
    if (!needed[k]) continue;
    place[k] = part.nodes.size();
    Node node = tree.nodes[k];
    for (std::size_t& p : node.parts) {
      if (p != formulas::syntax::absent) p = place[p];
    }
    part.nodes.push_back(std::move(node));
  }
  return part;
}

// Numbers within lists, and the extents of these.
struct Numbers {
  std::vector<std::string> texts;
  std::vector<Index> extents;
};
void collect(const Value& value, std::size_t depth, Numbers& numbers) {
  const auto* list = value.as<Value::List>();
  if (list == nullptr) {
    if (depth != numbers.extents.size()) throw InputError("has lists of different depths");
    const auto* text = value.as<std::string>();
    numbers.texts.push_back(text == nullptr ? json_text(value) : *text);
    if (const auto why = refusal_of_number(numbers.texts.back(), {}))
      throw InputError(numbers.texts.back() + " " + *why);
    return;
  }
  const Index count = std::ssize(*list);
  if (depth == numbers.extents.size()) {
    if (!numbers.texts.empty()) throw InputError("has lists of different depths");
    numbers.extents.push_back(count);
  } else if (numbers.extents[depth] != count) {
    throw InputError(
        fmt::format("has lists of {} and of {} entries", numbers.extents[depth], count));
  }
  for (const Value& entry : *list) collect(entry, depth + 1, numbers);
}

std::string extents_text(const std::vector<Index>& extents) {
  return fmt::format("({}{})", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
}

// Arrays of all names, each made when it is first needed.
class Names {
 public:
  Names(const SampleLoss& written, const Parameters& given, std::uint64_t seed, LossArrays& arrays)
      : written_(written), given_(given), seed_(seed), arrays_(arrays), graph_(*arrays.graph) {}

  void make_all() {
    for (const LossSize& size : written_.sizes) {
      constexpr double most_size = 1e9;
      const long value =
          given_.count(size.name, size.value, std::lround(std::ceil(std::max(size.range.low, 0.0))),
                       std::lround(std::floor(std::min(size.range.high, most_size))));
      declare(size.name, "size", [this, size, value] { return graph_.size(size.name, value); });
    }
    for (const LossParameter& p : written_.parameters)
      declare(p.name, "parameter", [this, &p] { return parameter(p); });
    for (const NamedFormula& c : written_.constants)
      declare(c.name, "constant", [this, &c] { return formula(c.formula); });
    for (const NamedFormula& f : written_.fixed)
      declare(f.name, "fixed", [this, &f] { return fixed(f); });
    for (const NamedFormula& d : written_.draws) {
      declare(d.name, "draw", [this, &d] {
        const NamedFormula* other = law_ == nullptr ? nullptr : find(law_->law->draws, d.name);
        return with_laws(law_ == nullptr ? d.name : fmt::format("{} {}", law_->law->name, d.name),
                         other == nullptr ? d.formula : other->formula, arrays_.draws);
      });
    }
    for (const LossState& s : written_.states)
      declare(s.name, "state", [this, &s] { return state(s); });
    for (const NamedFormula& l : written_.loss)
      declare(l.name, "loss step", [this, &l] { return formula(l.formula); });
    for (const LossObservable& o : written_.observables)
      declare(o.name, "observable", [this, &o] { return observed(o); });
    makers_.emplace(time_name, Maker{"time", [this] { return graph_.variable(time_name, {}); }});

    for (const LossInvariant& i : written_.invariants)
      declare(i.name, "invariant", [this, &i] { return formula(i.formula); });
    for (const LossParameter& p : written_.parameters) array(p.name);
    for (const LossParameter& p : written_.parameters) add_requirements(p);
    for (const NamedFormula& c : written_.constants) forbid(c.name, array(c.name), "draw state t");
    for (const NamedFormula& f : written_.fixed) forbid(f.name, array(f.name), "draw state t");
    for (const NamedFormula& d : written_.draws) forbid(d.name, array(d.name), "state t");
    for (const Draw& draw : arrays_.draws) {
      if (draw.probabilities) forbid(draw.name(), *draw.probabilities, "state t");
      if (draw.covariance) forbid(draw.name(), *draw.covariance, "state t");
    }
    for (const LossState& s : written_.states) array(s.name);
    for (const NamedFormula& l : written_.loss) forbid(l.name, array(l.name), "t");
    for (const LossState& s : written_.states) arrays_.states.push_back(states_.at(s.name));
    make_moves();
    if (has_loss()) make_loss();
    add_expected();
    for (const LossLaw& law : written_.laws) make_law(law);
    make_rungs();
    for (const LossObservable& o : written_.observables) {
      if (!has_loss()) {
        require_shown(o);
        continue;
      }
      forbid(o.name, array(o.name), "draw");
      arrays_.observables.push_back({o.name, array(o.name)});
    }
    show_maps();
    show_own_maps();
    for (const LossInvariant& i : written_.invariants) check_invariant(i);
    write_out_quadrature();
    list_entries();
  }

  void ask(const AskedFormula& asked) {
    try {
      arrays_.asked.emplace_back(asked_formula(asked));
    } catch (const InputError&) {
      if (!asked.may_fail) throw;
      arrays_.asked.emplace_back();
    }
  }

 private:
  [[nodiscard]] bool has_loss() const {
    return !written_.loss.empty() || !written_.states.empty() || written_.rungs.empty();
  }
  void make_loss() {
    if (!makers_.contains("loss") || makers_.at("loss").kind != "loss step")
      refuse_entry("loss", "no step is called 'loss'; it is the one that is trained");
    arrays_.loss = array("loss");
    if (arrays_.loss.rank() != 0) {
      reject_entry(
          written_.name, "loss step loss",
          fmt::format("has shape {}; the loss is a number", to_text(arrays_.loss.shape())));
    }
  }

  [[noreturn]] void refuse_entry(const std::string& entry, const std::string& reason) const {
    throw EntryError(written_.name, entry, reason);
  }

  struct Maker {
    std::string kind;
    std::function<Array()> make;
  };

  void require_free_name(const std::string& entry, const std::string& name) const {
    static const std::set<std::string, std::less<>> reserved{time_name, "step",  "pi",      "inf",
                                                             "eta",     "batch", "expected"};
    const std::vector<std::string> functions = formulas::function_names();
    if (!formulas::syntax::is_plain_name(name))
      refuse_entry(entry, "is no name: letters, digits and _");
    if (reserved.contains(name) ||
        std::find(functions.begin(), functions.end(), name) != functions.end() ||
        std::find(law_names().begin(), law_names().end(), name) != law_names().end())
      refuse_entry(entry, "is a reserved name");
  }
  void declare(const std::string& name, const std::string& kind, std::function<Array()> make) {
    const std::string entry = kind + " " + name;
    require_free_name(entry, name);
    const auto [known, added] = makers_.emplace(name, Maker{kind, std::move(make)});
    if (!added) refuse_entry(entry, is_already(known->second.kind));
  }

  void list_entries() {
    const auto list = [&](const auto& written) {
      for (const auto& entry : written) {
        if (const auto maker = makers_.find(entry.name); maker != makers_.end())
          arrays_.entries.push_back({maker->second.kind, entry.name, array(entry.name)});
      }
    };
    list(written_.parameters);
    list(written_.constants);
    list(written_.fixed);
    list(written_.draws);
    list(written_.states);
    list(written_.loss);
    if (has_loss()) list(written_.observables);
  }

  // What `make` makes while a variable has another value.
  template <class T, class Make>
  static auto with(T& variable, std::type_identity_t<T> value, const Make& make) {
    T before = std::exchange(variable, std::move(value));
    try {
      auto made = make();
      variable = std::move(before);
      return made;
    } catch (...) {
      variable = std::move(before);
      throw;
    }
  }
  template <class Make>
  auto located(const std::string& entry, const Make& make) const {
    try {
      return make();
    } catch (const EntryError&) {
      throw;
    } catch (const InputError& error) {
      throw EntryError(written_.name, entry, error);
    }
  }

  void add_expected() {
    for (const NamedFormula& e : written_.expected) {
      const std::string entry = "loss " + e.name;
      const Array made = located(entry, [&] { return formula(e.formula); });
      forbid(entry, made, "draw t");
      if (made.rank() != 0)
        refuse_entry(entry,
                     fmt::format("has shape {}; the loss is a number", to_text(made.shape())));
      arrays_.expected.push_back(made);
    }
    if (arrays_.expected.empty()) return;
    if (const std::string jumps = arrays_.jumps(); !jumps.empty()) {
      refuse_entry(
          "loss " + written_.expected.front().name,
          fmt::format("has not the field of sgd for its gradient: {}; leave it out", jumps));
    }
  }

  Array array(const std::string& name) {
    UnderLaw* const under = law_ != nullptr && depends_on_law(*law_, name) ? law_ : nullptr;
    formulas::Scope& scope = under == nullptr ? scope_ : under->scope;
    if (const auto made = scope.find(name); made != scope.end()) return made->second;
    const Maker& maker = makers_.at(name);
    const bool by_law = under != nullptr && find(under->law->draws, name) != nullptr;
    const std::string entry =
        by_law ? fmt::format("law {} {}", under->law->name, name) : maker.kind + " " + name;
    if (std::find(path_.begin(), path_.end(), name) != path_.end()) {
      path_.push_back(name);
      refuse_entry(entry, fmt::format("depends on itself: {}", fmt::join(path_, " -> ")));
    }
    std::vector<std::string> path = path_;
    path.push_back(name);
    const Array made = located(entry, [&] {
      return with(path_, std::move(path), [&] {
        return with(own_scope_, nullptr, [&] { return with(law_, under, maker.make); });
      });
    });
    return scope.emplace(name, made).first->second;
  }

  // --- other laws of draws

  // What depends on the draws that a law replaces, under it.
  struct UnderLaw {
    const LossLaw* law;
    formulas::Scope scope{};
    std::map<std::string, bool> depends{};
  };
  bool depends_on_law(UnderLaw& under, const std::string& name) {
    const auto maker = makers_.find(name);
    if (maker == makers_.end()) return false;
    if (const auto known = under.depends.find(name); known != under.depends.end())
      return known->second;
    bool depends = false;
    if (maker->second.kind == "draw" || maker->second.kind == "loss step") {
      depends = find(under.law->draws, name) != nullptr;
      const NamedFormula* f =
          find(maker->second.kind == "draw" ? written_.draws : written_.loss, name);
      for (const Node& node : formulas::syntax::parse(f->formula).nodes)
        depends = depends || (node.kind == Kind::name && depends_on_law(under, node.text));
    }
    return under.depends.emplace(name, depends).first->second;
  }
  void make_law(const LossLaw& law) {
    const std::string entry = "law " + law.name;
    if (!laws_.emplace(law.name, UnderLaw{&law}).second) refuse_entry(entry, "is there twice");
    for (const NamedFormula& d : law.draws) {
      const std::string place = fmt::format("{} {}", entry, d.name);
      if (find(written_.draws, d.name) == nullptr)
        refuse_entry(place, "replaces no draw; there is none of this name");
      const Array made = with(law_, &laws_.at(law.name), [&] { return array(d.name); });
      if (to_text(made.shape()) != to_text(scope_.at(d.name).shape())) {
        refuse_entry(place, fmt::format("has shape {}; that which it replaces has {}",
                                        to_text(made.shape()), to_text(scope_.at(d.name).shape())));
      }
      forbid(place, made, "state t");
    }
    for (const Draw& draw : arrays_.draws) {
      if (draw.probabilities) forbid(entry, *draw.probabilities, "state t");
      if (draw.covariance) forbid(entry, *draw.covariance, "state t");
    }
  }
  // Of a call of `expected` the argument.
  Array under_law(const Tree& tree, const Node& call) {
    if (call.keywords.empty()) return part_of(tree, call.parts[0]);
    const Node& name = tree.nodes[call.parts[1]];
    const auto law = laws_.find(name.text);
    if (name.kind != Kind::string || law == laws_.end()) {
      throw InputError(
          fmt::format("expected: there is no law {}; write it as in law='shifted', of "
                      "[law.shifted]",
                      name.text));
    }
    return with(law_, &law->second, [&] { return elaborated(subtree(tree, call.parts[0])); });
  }

  using Handler = std::function<std::optional<Array>(const Tree&, std::size_t)>;

  // Calls for which the handler has an array are replaced by it.
  Array elaborated(Tree tree, const Handler& handler = nullptr) {
    formulas::Scope scope;
    const auto add_names = [&](const Tree& part) {
      for (const Node& node : part.nodes) {
        const bool is_own = own_scope_ != nullptr && own_scope_->contains(node.text);
        if (node.kind == Kind::name && !is_own && makers_.contains(node.text)) array(node.text);
      }
    };
    add_names(tree);
    scope = scope_;
    if (law_ != nullptr) {
      for (const auto& [name, array] : law_->scope) scope.insert_or_assign(name, array);
    }
    if (own_scope_ != nullptr) {
      for (const auto& [name, array] : *own_scope_) scope.insert_or_assign(name, array);
    }
    if (handler) {
      for (std::size_t k = 0; k < tree.nodes.size(); ++k) {
        if (tree.nodes[k].kind != Kind::call) continue;
        try {
          handled_scope_ = &scope;
          const std::optional<Array> made = handler(tree, k);
          if (!made) continue;
          const std::string hidden = fmt::format("call {}", k);
          scope.insert_or_assign(hidden, *made);
          Node& node = tree.nodes[k];
          node = {.kind = Kind::name, .place = node.place, .text = hidden};
        } catch (const FormulaError&) {
          throw;
        } catch (const InputError& error) {
          throw FormulaError(tree.nodes[k].place, error.what());
        }
      }
    }
    // Arguments of what was replaced stand before it still; only what the whole needs is elaborated.
    const Tree whole = subtree(tree, tree.nodes.size() - 1);
    for (const Node& node : whole.nodes) {
      if (node.kind == Kind::call &&
          std::find(law_names().begin(), law_names().end(), node.text) != law_names().end())
        throw FormulaError(node.place, fmt::format("{} is a law; it stands in draws, fixed arrays "
                                                   "and starts only",
                                                   node.text));
    }
    return formulas::elaborate(whole, graph_, scope);
  }
  Array formula(const std::string& text) { return elaborated(formulas::syntax::parse(text)); }
  Array part_of(const Tree& tree, std::size_t node) {
    return formulas::elaborate(subtree(tree, node), graph_, *handled_scope_);
  }
  // The shape of zeros(parts from `first` to before `last`).
  Shape shape_of(const Tree& tree, const Node& call, std::size_t first, std::size_t last) {
    if (first == last) return {};
    Tree zeros;
    Node made{.kind = Kind::call, .place = call.place, .text = "zeros"};
    for (std::size_t i = first; i < last; ++i) {
      const Tree part = subtree(tree, call.parts[i]);
      const std::size_t offset = zeros.nodes.size();
      for (Node node : part.nodes) {
        for (std::size_t& p : node.parts) {
          if (p != formulas::syntax::absent) p += offset;
        }
        zeros.nodes.push_back(std::move(node));
      }
      made.parts.push_back(zeros.nodes.size() - 1);
    }
    zeros.nodes.push_back(std::move(made));
    return formulas::elaborate(zeros, graph_, *handled_scope_).shape();
  }
  Shape shape_of(const std::string& text) {
    if (text.find_first_not_of(' ') == std::string::npos) return {};
    try {
      static_cast<void>(formulas::syntax::parse("(" + text + ")"));
      return formula("zeros(" + text + ")").shape();
    } catch (const FormulaError& error) {
      throw InputError(fmt::format("shape \"{}\": {}", text, error.reason()));
    }
  }

  // Each call of a law is a draw of its own, which is named as the entry if it is all of the formula. Those of samples
  // keep their covariance, of which expectations are made.
  Array with_laws(const std::string& name, const std::string& text, std::vector<Draw>& draws) {
    const Tree tree = formulas::syntax::parse(text);
    const bool of_sample = &draws == &arrays_.draws;
    std::size_t calls = 0;
    return elaborated(tree, [&](const Tree& whole, std::size_t k) -> std::optional<Array> {
      const Node& call = whole.nodes[k];
      const bool by_var = !call.keywords.empty() && call.keywords.front() == "var";
      const bool all = k + 1 == whole.nodes.size() && !by_var;
      std::optional<CalledLaw> made = called_law(
          call, all ? name : fmt::format("{} call {}", name, calls), graph_,
          [&](std::size_t i) { return part_of(whole, call.parts[i]); },
          [&](std::size_t first, std::size_t last) { return shape_of(whole, call, first, last); });
      if (!made) {
        require_known(call.text);
        return std::nullopt;
      }
      if (of_sample && made->draw.law == Law::orthogonal)
        throw InputError("orthogonal stands in [fixed] and in starts only");
      ++calls;
      if (!of_sample && made->draw.covariance) {
        made->value = correlated(made->value, *made->draw.covariance);
        made->draw.covariance.reset();
      }
      draws.push_back(made->draw);
      return made->value;
    });
  }

  // Where laws may be called.
  static void require_known(const std::string& call) {
    std::vector<std::string> known = formulas::function_names();
    if (std::find(known.begin(), known.end(), call) != known.end()) return;
    known.insert(known.end(), law_names().begin(), law_names().end());
    throw InputError(fmt::format("unknown function {}{}", call, suggestion(call, known)));
  }

  // Its draws are parameters whose numbers the seed gives.
  Array fixed(const NamedFormula& f) {
    std::vector<Draw> draws;
    const Array made = with_laws(f.name, f.formula, draws);
    // As a number and as a text, in some copies.
    constexpr double bytes_of_number = 100;
    for (const Draw& draw : draws) {
      require_memory(
          bytes_of_number * static_cast<double>(formulas::entries(draw.variable.shape())),
          fmt::format("the numbers of shape {}", to_text(draw.variable.shape())),
          "lower the sizes");
      if (draw.probabilities && !read_draws(*draw.probabilities, draws).empty())
        throw InputError("laws of a fixed array may not depend on its draws");
      const DrawSampler sampler(arrays_, {draw},
                                draw.probabilities ? parameter_values<double>(arrays_)
                                                   : std::vector<std::vector<double>>{});
      std::vector<double> numbers(sampler.entries(0));
      sampler.fill(0, seed_, 0, numbers);
      ParameterArray drawn{.variable = draw.variable};
      for (const double number : numbers) drawn.numbers.push_back(to_text(number));
      arrays_.parameters.push_back(std::move(drawn));
    }
    return made;
  }

  Array parameter(const LossParameter& p) {
    const Value* value = given_.values().find(p.name);
    if (value == nullptr) value = &p.value;
    ParameterArray made{.range = p.range};
    std::optional<Shape> shape;
    if (!p.shape.empty()) shape = shape_of(p.shape);
    const auto* text = value == &p.value ? value->as<std::string>() : nullptr;
    if (text != nullptr) {
      const Array formula = this->formula(*text);
      forbid(p.name, formula, "draw state t");
      made.formula = shape ? broadcast(formula, *shape) : formula;
      made.variable = graph_.variable(p.name, made.formula->shape());
    } else {
      Numbers numbers;
      collect(*value, 0, numbers);
      if (!shape) {
        shape.emplace();
        for (const Index extent : numbers.extents) shape->push_back({extent, {}});
      }
      std::vector<Index> extents;
      for (const Dimension& d : *shape) extents.push_back(d.extent);
      if (extents != numbers.extents) {
        throw InputError(fmt::format("numbers of shape {} are given; it has shape {}",
                                     extents_text(numbers.extents), to_text(*shape)));
      }
      made.variable = graph_.variable(p.name, *shape);
      made.numbers = std::move(numbers.texts);
    }
    arrays_.parameters.push_back(made);
    return made.variable;
  }

  Array state(const LossState& s) {
    const Array start =
        with_laws("start of " + s.name, s.start.empty() ? "0" : s.start, arrays_.start_draws);
    for (const Draw& draw : arrays_.start_draws) {
      if (draw.probabilities && !read_draws(*draw.probabilities, arrays_.start_draws).empty())
        throw InputError("laws of a start may not depend on its draws");
    }
    const Shape shape = s.shape.empty() ? start.shape() : shape_of(s.shape);
    const StateArray made{graph_.variable(s.name, shape), broadcast(start, shape),
                          broadcast(formula(s.rate), shape)};
    states_.emplace(s.name, made);
    forbid(s.name, made.start, "draw state t");
    forbid("rate of " + s.name, made.rate, "draw state");
    return made.variable;
  }

  void make_moves() {
    if (std::all_of(written_.states.begin(), written_.states.end(),
                    [](const LossState& s) { return s.move.empty(); }) &&
        !arrays_.has_timed_rates())
      return;
    for (const LossState& s : written_.states) {
      arrays_.gradients.push_back(
          graph_.variable(fmt::format("grad({})", s.name), states_.at(s.name).variable.shape()));
    }
    for (std::size_t k = 0; k < written_.states.size(); ++k) {
      const LossState& s = written_.states[k];
      if (s.move.empty()) continue;
      try {
        arrays_.states[k].move = move(s);
      } catch (const EntryError&) {
        throw;
      } catch (const InputError& error) {
        throw EntryError(written_.name, "move of " + s.name, error);
      }
    }
  }
  Array move(const LossState& s) {
    const std::string entry = "move of " + s.name;
    const Array made = elaborated(
        formulas::syntax::parse(s.move),
        [&](const Tree& tree, std::size_t k) -> std::optional<Array> {
          const Node& call = tree.nodes[k];
          if (call.text != "grad") return std::nullopt;
          std::vector<std::string> names;
          for (const LossState& state : written_.states) names.push_back(state.name);
          if (call.parts.size() != 1 || tree.nodes[call.parts[0]].kind != Kind::name)
            throw InputError("grad takes the name of a state, as in grad(" + s.name + ")");
          const std::string& name = tree.nodes[call.parts[0]].text;
          const auto at = std::find(names.begin(), names.end(), name);
          if (at == names.end())
            throw InputError(
                fmt::format("grad: there is no state {}{}", name, suggestion(name, names)));
          return arrays_.gradients[static_cast<std::size_t>(at - names.begin())];
        });
    forbid(entry, made, "draw state t");
    const Shape& shape = states_.at(s.name).variable.shape();
    if (!std::ranges::equal(made.shape(), shape, {}, &formulas::Dimension::extent,
                            &formulas::Dimension::extent)) {
      refuse_entry(entry, fmt::format("has shape {}; that of the state is {}",
                                      to_text(made.shape()), to_text(shape)));
    }
    require_linear(entry, made);
    return made;
  }
  // Its derivative reads no gradient, and it is 0 where they are.
  void require_linear(const std::string& entry, const Array& move) const {
    std::vector<Array> along, zeros;
    for (const Array& g : arrays_.gradients) {
      along.push_back(graph_.variable("direction " + g.node().text, g.shape()));
      zeros.push_back(broadcast(graph_.constant(0), g.shape()));
    }
    const Array slope = formulas::derivative_along({move}, arrays_.gradients, along).front();
    const Array rest = formulas::substituted({move}, arrays_.gradients, zeros).front();
    const bool is_linear = std::none_of(arrays_.gradients.begin(), arrays_.gradients.end(),
                                        [&](const Array& g) { return learning::reads(slope, g); });
    if (!is_linear) refuse_entry(entry, "must be linear in the gradients");
    const std::vector<std::vector<double>> values = parameter_values<double>(arrays_);
    for (const double number : evaluated(rest, arrays_, values)) {
      if (number != 0) refuse_entry(entry, "must be linear in the gradients: 0 where they are 0");
    }
  }

  Array observed(const LossObservable& o) {
    return elaborated(
        formulas::syntax::parse(o.formula),
        [&](const Tree& tree, std::size_t k) -> std::optional<Array> {
          const Node& call = tree.nodes[k];
          if (call.text != "expected") return std::nullopt;
          const bool by_law = call.keywords == std::vector<std::string>{"law"};
          if (call.parts.size() != (by_law ? 2 : 1) || call.keywords.empty() == by_law)
            throw InputError("expected takes one formula, and law='NAME'");
          const Array f = under_law(tree, call);
          const std::vector<Draw> read = read_draws(f, arrays_.draws);
          if (read.empty()) return f;
          std::optional<Array> by_quadrature;
          // Rungs of their own ask for observables again.
          auto known_mean = over_normals_.find(f.place);
          if (known_mean == over_normals_.end())
            known_mean = over_normals_.emplace(f.place, over_normals(f, read)).first;
          if (const OverNormals& exact = known_mean->second; exact.mean) {
            const auto [finite, values] = finite_draws(read);
            if (written_.samples == 0 || values <= static_cast<double>(written_.samples)) {
              const Array mean = expected(*exact.mean, finite);
              if (!exact.fewer) return mean;
              by_quadrature = mean;
            }
          }
          for (const ExpectedCall& known : arrays_.expectations) {
            if (known.formula == f) return known.variable;
          }
          const std::string name = fmt::format("expected {}", arrays_.expectations.size());
          arrays_.expectations.push_back(
              {"observable " + o.name, graph_.variable(name, f.shape()), f, by_quadrature});
          return arrays_.expectations.back().variable;
        });
  }

  // --- rungs of their own

  // --- requirements of parameters

  // Comparisons joined by "and"; of one that begins with its sign the parameter is the left side.
  void add_requirements(const LossParameter& p) {
    if (p.require.empty()) return;
    const std::string entry = fmt::format("parameter {} require", p.name);
    const Array own = scope_.at(p.name);
    if (p.require == definite) {
      if (own.rank() != 2 || own.shape()[0].extent != own.shape()[1].extent)
        refuse_entry(entry, "is of matrices that are square");
      arrays_.requirements.push_back({p.name, p.require, own, std::nullopt});
      return;
    }
    constexpr std::string_view joint = " and ";
    for (std::size_t begin = 0; begin <= p.require.size();) {
      const std::size_t end = std::min(p.require.find(joint, begin), p.require.size());
      const std::string rule = p.require.substr(begin, end - begin);
      std::size_t from = std::min(rule.find_first_not_of(' '), rule.size());
      const bool of_itself = from < rule.size() && (rule[from] == '<' || rule[from] == '>');
      const std::size_t after = std::min(rule.find_first_not_of("<>=", from), rule.size());
      const std::string sign = of_itself ? rule.substr(from, after - from) : "";
      if (of_itself) from = after;
      const Array comparison = located(entry, [&] {
        const Array right =
            elaborated(formulas::syntax::parse(rule.substr(from), {}, {1, begin + from + 1}));
        return of_itself ? formulas::apply(formulas::operation_of_sign(sign).name, {own, right})
                         : right;
      });
      forbid(entry, comparison, "draw state t");
      if (comparison.node().type != formulas::Type::truth)
        refuse_entry(entry, "is \"positive_definite\" or a comparison such as \"> 0\"");
      arrays_.requirements.push_back({p.name, rule, own, comparison});
      begin = end + joint.size();
    }
  }

  Array own_formula(const std::string& entry, const formulas::Scope& own, const std::string& text,
                    std::string_view forbidden) {
    const Array made =
        located(entry, [&] { return with(own_scope_, &own, [&] { return formula(text); }); });
    forbid(entry, made, forbidden);
    return made;
  }
  static const NamedFormula* find(const std::vector<NamedFormula>& formulas,
                                  std::string_view name) {
    const auto found = std::find_if(formulas.begin(), formulas.end(),
                                    [&](const NamedFormula& f) { return f.name == name; });
    return found == formulas.end() ? nullptr : &*found;
  }

  void make_rungs() {
    for (const LossRung& r : written_.rungs) {
      const std::string entry = "rung " + r.name;
      static const std::set<std::string_view> of_training{"flow", "gd", "sgd"};
      const bool is_taken = of_training.contains(r.name) || r.name == "moments" ||
                            std::any_of(arrays_.own.begin(), arrays_.own.end(),
                                        [&](const OwnArrays& o) { return o.name == r.name; });
      if (is_taken) refuse_entry(entry, "has the name of another rung");
      if (!formulas::syntax::is_plain_name(r.name))
        refuse_entry(entry, "is no name: letters, digits and _");
      OwnArrays made{.name = r.name};
      if (has_loss() && of_training.contains(r.of)) {
        made.of_loss = true;
      } else if (!r.of.empty()) {
        for (std::size_t k = 0; k < arrays_.own.size(); ++k) {
          if (arrays_.own[k].name == r.of) made.finer = k;
        }
        if (!made.finer) {
          refuse_entry(entry, fmt::format("is of {}, which is no rung before it: {}", r.of,
                                          has_loss() ? "flow, gd, sgd or one of its own"
                                                     : "the first is of nothing"));
        }
      }
      make_rung(r, entry, made);
      arrays_.own.push_back(std::move(made));
    }
  }

  [[nodiscard]] formulas::Scope scope_of(const OwnArrays& rung) const {
    formulas::Scope scope;
    for (std::size_t k = 0; k < rung.names.size(); ++k)
      scope.emplace(rung.names[k], rung.states[k]);
    return scope;
  }
  [[nodiscard]] std::vector<std::string> finer_names(const OwnArrays& rung) const {
    if (rung.finer) return arrays_.own[*rung.finer].names;
    std::vector<std::string> names;
    for (const LossState& s : written_.states) {
      if (rung.of_loss) names.push_back(s.name);
    }
    return names;
  }

  void make_rung(const LossRung& r, const std::string& entry, OwnArrays& made) {
    const bool is_reduction = made.of_loss || made.finer;
    if (!is_reduction && !(r.map.empty() && r.lift.empty() && r.time.empty()))
      refuse_entry(entry, "is of no rung, so it has no map, lift or time");
    made.names = r.state_names();
    if (made.names.empty()) refuse_entry(entry, "has no states");
    const formulas::Scope finer =
        made.finer ? scope_of(arrays_.own[*made.finer]) : formulas::Scope();
    for (const std::string& name : made.names) {
      const std::string state = fmt::format("{} state {}", entry, name);
      require_free_name(state, name);
      if (const auto known = makers_.find(name); known != makers_.end()) {
        static const std::set<std::string_view> hidden{"state", "draw", "loss step", "observable"};
        if (!hidden.contains(known->second.kind))
          refuse_entry(state, is_already(known->second.kind));
      }
      add_own_state(r, state, name, finer, made);
    }
    formulas::Scope own = scope_of(made);
    show_by_name(own, made);
    const auto add_law = [&](const std::string& kind, const std::vector<NamedFormula>& written,
                             const formulas::Scope& scope, std::string_view forbidden,
                             std::vector<Array>& to) {
      for (std::size_t k = 0; k < made.names.size() && !written.empty(); ++k) {
        const NamedFormula* f = find(written, made.names[k]);
        if (f == nullptr)
          refuse_entry(entry, fmt::format("{} has no entry for {}", kind, made.names[k]));
        const std::string place = fmt::format("{} {} {}", entry, kind, f->name);
        to.push_back(located(place, [&] {
          return broadcast(own_formula(place, scope, f->formula, forbidden),
                           made.states[k].shape());
        }));
      }
    };
    add_law("flow", r.flow, own, "draw state", made.flow);
    formulas::Scope stepping = own;
    stepping.emplace(step_size_name, graph_.variable(step_size_name, {}));
    if (r.of == "sgd") stepping.emplace(batch_name, graph_.variable(batch_name, {}));
    add_law("step", r.step, stepping, "draw state t", made.step);
    if (!r.closed.empty()) add_closed(r, entry, own, made);
    add_lift(r, entry, own, made);
    if (!made.flow.empty() && !made.step.empty())
      refuse_entry(entry, "has a flow and a step; it moves in one of these ways");
    if (!made.step.empty() && !made.closed.empty())
      refuse_entry(entry, "has a step and a closed form; closed forms are of flows");
    made.of_sgd = r.of == "sgd";
    made.of_steps = r.of == "gd" || made.of_sgd || (made.finer && arrays_.own[*made.finer].steps());
    if (made.has_law() && made.step.empty() && made.of_steps && made.finer)
      refuse_entry(entry, fmt::format("is of {}, which steps; give its step", r.of));
    if (!made.step.empty() && is_reduction && !made.of_steps)
      refuse_entry(entry, fmt::format("steps, but {} flows; write of = 'gd'", r.of));
    if (!made.has_law() && made.lift.empty() && made.map.empty())
      refuse_entry(entry, "has no law: give flow, step or closed");
    if (!made.has_law() && made.map.empty() && made.of_steps)
      refuse_entry(entry, "leaves its steps out, which are derived from a map; it has a lift only");
    if (!made.has_law() && made.of_steps && arrays_.has_timed_rates())
      refuse_entry(entry, "leaves its steps out, but rates depend on the time; give its step");
    if (!made.has_law() && made.of_sgd && !made.lift.empty())
      refuse_entry(
          entry, "leaves its law out, which of sgd is derived from a map only; leave out the lift");
    if (!made.has_law() && made.finer && !arrays_.own[*made.finer].flows() &&
        !arrays_.own[*made.finer].steps())
      refuse_entry(entry, fmt::format("leaves its law out, but {} has no flow", r.of));
    // Of steps that are derived it is a name only: rungs are compared at equal times of the finer one.
    formulas::Scope of_steps;
    if (made.of_steps) of_steps.emplace(step_size_name, graph_.variable(step_size_name, {}));
    if (!r.time.empty()) {
      if (made.of_steps && made.has_law())
        refuse_entry(entry, "has a time of its own; only flows have");
      const std::string place = entry + " time";
      made.time = own_formula(place, of_steps, r.time, "draw state");
      if (made.time->rank() != 0) refuse_entry(place, "is no number");
      made.time_slope = located(place, [&] {
        return formulas::gradient(*made.time, {graph_.variable(time_name, {})}).front();
      });
    }
    if (!r.domain.empty()) {
      const std::string place = entry + " domain";
      made.domain = own_formula(place, own, r.domain, "draw state t");
      if (made.domain->node().type != formulas::Type::truth)
        refuse_entry(place, "is no comparison, such as v > 0");
    }
  }

  void add_own_state(const LossRung& r, const std::string& entry, const std::string& name,
                     const formulas::Scope& finer, OwnArrays& made) {
    const auto listed = std::find_if(r.states.begin(), r.states.end(),
                                     [&](const LossState& s) { return s.name == name; });
    std::optional<Array> start, map;
    if (listed != r.states.end() && !listed->start.empty()) {
      start = located(entry, [&] {
        return with_laws(fmt::format("start of {}.{}", r.name, name), listed->start,
                         made.start_draws);
      });
      forbid(entry, *start, "draw state t");
    }
    if (!r.map.empty()) {
      const NamedFormula* f = find(r.map, name);
      if (f == nullptr)
        refuse_entry("rung " + r.name, fmt::format("map has no entry for {}", name));
      map = own_formula(fmt::format("rung {} map {}", r.name, name), finer, f->formula, "draw t");
    }
    Shape shape;
    if (listed != r.states.end() && !listed->shape.empty()) {
      shape = located(entry, [&] { return shape_of(listed->shape); });
    } else if (start || map) {
      shape = (map ? *map : *start).shape();
    }
    // Evaluators go by names, so these are of one state each.
    const bool is_free = !makers_.contains(name) && own_names_.insert(name).second;
    made.states.push_back(
        graph_.variable(is_free ? name : fmt::format("{}.{}", r.name, name), shape));
    const auto fitting = [&](const Array& a) {
      return located(entry, [&] { return broadcast(a, shape); });
    };
    made.starts.push_back(start ? std::optional(fitting(*start)) : std::nullopt);
    if (map) made.map.push_back(fitting(*map));
  }

  void add_closed(const LossRung& r, const std::string& entry, const formulas::Scope& own,
                  OwnArrays& made) {
    for (std::size_t k = 0; k < made.names.size(); ++k) {
      made.start_variables.push_back(graph_.variable(
          fmt::format("start({})", made.states[k].node().text), made.states[k].shape()));
    }
    const auto start = [&](const Tree& tree, std::size_t k) -> std::optional<Array> {
      const Node& call = tree.nodes[k];
      if (call.text != "start") return std::nullopt;
      if (call.parts.size() == 1 && tree.nodes[call.parts[0]].kind == Kind::name) {
        for (std::size_t i = 0; i < made.names.size(); ++i) {
          if (made.names[i] == tree.nodes[call.parts[0]].text) return made.start_variables[i];
        }
      }
      throw InputError("start takes the name of a state of this rung");
    };
    for (std::size_t k = 0; k < made.names.size(); ++k) {
      const NamedFormula* f = find(r.closed, made.names[k]);
      if (f == nullptr)
        refuse_entry(entry, fmt::format("closed has no entry for {}", made.names[k]));
      const std::string place = fmt::format("{} closed {}", entry, f->name);
      const Array formula = located(place, [&] {
        return broadcast(
            with(own_scope_, &own,
                 [&] { return elaborated(formulas::syntax::parse(f->formula), start); }),
            made.states[k].shape());
      });
      forbid(place, formula, "draw state");
      for (const Array& state : made.states) {
        if (reads(formula, state)) {
          refuse_entry(place, fmt::format("reads {}, which it is to give; its start is start({})",
                                          f->name, f->name));
        }
      }
      made.closed.push_back(formula);
    }
  }

  void add_lift(const LossRung& r, const std::string& entry, const formulas::Scope& own,
                OwnArrays& made) {
    if (r.lift.empty()) return;
    const std::vector<std::string> names = finer_names(made);
    const std::vector<Array> states = arrays_.finer_states(made);
    for (const NamedFormula& f : r.lift) {
      if (std::find(names.begin(), names.end(), f.name) == names.end())
        refuse_entry(entry, fmt::format("lift {} is no state of {}", f.name, r.of));
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      const NamedFormula* f = find(r.lift, names[k]);
      if (f == nullptr) refuse_entry(entry, fmt::format("lift has no entry for {}", names[k]));
      const std::string place = fmt::format("{} lift {}", entry, names[k]);
      made.lift.push_back(located(place, [&] {
        return broadcast(own_formula(place, own, f->formula, "draw state t"), states[k].shape());
      }));
    }
  }

  // Observables that read none of the states of the loss when names are of the states here; these may read each other,
  // and the laws of the rung them.
  void show_by_name(formulas::Scope& own, OwnArrays& made) {
    for (bool found = true; found;) {
      found = false;
      for (const LossObservable& o : written_.observables) {
        if (own.contains(o.name)) continue;
        try {
          const Array shown = with(own_scope_, &own, [&] { return observed(o); });
          if (is_free_of_training(shown)) {
            made.observables.push_back({o.name, shown});
            own.emplace(o.name, shown);
            found = true;
          }
        } catch (const InputError&) {
          continue;  // of other names; make_all refuses one that no rung has
        }
      }
    }
  }
  bool is_free_of_training(const Array& formula) {
    for (const Draw& draw : arrays_.draws) {
      if (reads(formula, draw.variable)) return false;
    }
    const auto reads_states = [&](const Array& f) {
      return std::any_of(states_.begin(), states_.end(),
                         [&](const auto& s) { return reads(f, s.second.variable); });
    };
    return !reads_states(formula) &&
           std::none_of(arrays_.expectations.begin(), arrays_.expectations.end(),
                        [&](const ExpectedCall& call) {
                          return reads(formula, call.variable) && reads_states(call.formula);
                        });
  }

  // Laws and invariants that read observables by quadrature; their own columns carry its error.
  void refuse_sampled(const std::string& entry, const Array& formula) const {
    for (const ExpectedCall& call : arrays_.expectations) {
      if (!call.by_quadrature && reads(formula, call.variable))
        refuse_entry(entry, "reads an expectation that is sampled; observables only may");
    }
  }
  void write_out_quadrature() {
    std::vector<Array> from, to;
    for (const ExpectedCall& call : arrays_.expectations) {
      if (!call.by_quadrature) continue;
      from.push_back(call.variable);
      to.push_back(*call.by_quadrature);
    }
    for (const OwnArrays& own : arrays_.own) {
      for (const std::vector<Array>* all :
           {&own.map, &own.lift, &own.flow, &own.step, &own.closed}) {
        for (const Array& formula : *all) refuse_sampled("rung " + own.name, formula);
      }
    }
    for (const InvariantArray& i : arrays_.invariants)
      refuse_sampled("invariant " + i.name, i.array);
    if (from.empty()) return;
    for (OwnArrays& own : arrays_.own) {
      for (std::vector<Array>* all : {&own.map, &own.lift, &own.flow, &own.step, &own.closed}) {
        if (!all->empty()) *all = formulas::substituted(*all, from, to);
      }
      for (ObservableArray& o : own.coarser)
        o.array = formulas::substituted({o.array}, from, to).front();
      for (std::optional<Array>* one : {&own.time, &own.time_slope, &own.domain}) {
        if (*one) *one = formulas::substituted({**one}, from, to).front();
      }
    }
    for (InvariantArray& i : arrays_.invariants)
      i.array = formulas::substituted({i.array}, from, to).front();
  }

  void require_shown(const LossObservable& o) const {
    for (const OwnArrays& rung : arrays_.own) {
      for (const ObservableArray& shown : rung.observables) {
        if (shown.name == o.name) return;
      }
    }
    refuse_entry("observable " + o.name, "reads what no rung has");
  }

  // The coarser states as columns of training, where they can be compared.
  void show_maps() {
    std::map<std::string, std::string, std::less<>> texts;
    for (std::size_t r = 0; r < arrays_.own.size(); ++r) {
      const OwnArrays& rung = arrays_.own[r];
      for (std::size_t k = 0; k < rung.map.size() && rung.of_loss; ++k) {
        const std::string& text = find(written_.rungs[r].map, rung.names[k])->formula;
        const std::string& name = rung.names[k];
        const std::string entry = fmt::format("rung {} map {}", rung.name, name);
        const auto [known, added] = texts.try_emplace(name, text);
        if (known->second != text) {
          refuse_entry(entry, fmt::format("has the name of another column, of {}", known->second));
        }
        const auto made = makers_.find(name);
        if (made == makers_.end() || made->second.kind != "observable") {
          if (added) arrays_.observables.push_back({name, rung.map[k]});
        } else if (array(name) != rung.map[k]) {
          refuse_entry(entry, "is an observable already, whose formula is not that of its map");
        }
      }
    }
  }

  // The same of rungs that are coarser than one of their own.
  void show_own_maps() {
    for (const OwnArrays& rung : arrays_.own) {
      for (std::size_t k = 0; k < rung.map.size() && rung.finer; ++k) {
        if (!is_column(arrays_.own[*rung.finer], rung.names[k]))
          arrays_.own[*rung.finer].coarser.push_back({rung.names[k], rung.map[k]});
      }
    }
  }
  [[nodiscard]] bool is_column(const OwnArrays& rung, const std::string& name) const {
    const auto is_among = [&](const std::vector<ObservableArray>& all) {
      return std::any_of(all.begin(), all.end(),
                         [&](const ObservableArray& o) { return o.name == name; });
    };
    if (std::find(rung.names.begin(), rung.names.end(), name) != rung.names.end() ||
        is_among(rung.coarser))
      return true;
    if (rung.lift.empty()) return is_among(rung.observables);
    return rung.finer ? is_column(arrays_.own[*rung.finer], name) : is_among(arrays_.observables);
  }

  void check_invariant(const LossInvariant& i) {
    const std::string entry = "invariant " + i.name;
    if (i.of == "flow" && has_loss()) {
      forbid(entry, array(i.name), "draw t");
      arrays_.invariants.push_back({i.name, std::nullopt, array(i.name)});
      return;
    }
    const auto of = std::find_if(arrays_.own.begin(), arrays_.own.end(),
                                 [&](const OwnArrays& rung) { return rung.name == i.of; });
    if (of == arrays_.own.end())
      refuse_entry(entry, fmt::format("is of {}, which is no rung that flows", i.of));
    if (!of->flows()) refuse_entry(entry, fmt::format("is of {}, which does not flow", i.of));
    const Array made = own_formula(entry, scope_of(*of), i.formula, "state");
    forbid(entry, made, "draw t");
    arrays_.invariants.push_back(
        {i.name, static_cast<std::size_t>(of - arrays_.own.begin()), made});
  }

  // States of the rung hide those of finer ones.
  Array asked_formula(const AskedFormula& asked) {
    formulas::Scope scope{{step_size_name, graph_.variable(step_size_name, {})}};
    for (std::optional<std::size_t> k = arrays_.own_place(asked.rung); k;
         k = arrays_.own[*k].finer) {
      for (const auto& [name, state] : scope_of(arrays_.own[*k])) scope.emplace(name, state);
      for (const ObservableArray& o : arrays_.own[*k].observables) scope.emplace(o.name, o.array);
    }
    const Array made = located(asked.entry, [&] {
      return with(own_scope_, &scope, [&] {
        return asked.draws ? with_laws(asked.entry, asked.formula, arrays_.asked_draws)
                           : observed({.name = asked.entry, .formula = asked.formula});
      });
    });
    forbid(asked.entry, made, "draw");
    for (const ExpectedCall& call : arrays_.expectations) {
      if (reads(made, call.variable) && !call.by_quadrature)
        refuse_entry(asked.entry, "has an expectation that is not exact, but sampled");
    }
    return made;
  }

  // Which kinds of names a formula must not depend on, parted by spaces.
  void forbid(const std::string& name, const Array& formula, std::string_view kinds) {
    // Expectations stand for formulas of states.
    const auto depends_on = [&](const Array& variable) {
      return reads(formula, variable) ||
             std::any_of(arrays_.expectations.begin(), arrays_.expectations.end(),
                         [&](const ExpectedCall& call) {
                           return reads(formula, call.variable) && reads(call.formula, variable);
                         });
    };
    const auto refuse = [&](const std::string& kind, const Array& variable) {
      const bool is_named = fmt::format(" {} ", kinds).find(" " + kind + " ") != std::string::npos;
      if (!is_named || !(kind == "state" ? depends_on(variable) : reads(formula, variable))) return;
      const auto maker = makers_.find(name);
      refuse_entry(maker == makers_.end() ? name : maker->second.kind + " " + name,
                   kind == "t"
                       ? std::string("may not depend on the time t")
                       : fmt::format("may not depend on {} {}", kind, variable.node().text));
    };
    for (const Draw& draw : arrays_.draws) refuse("draw", draw.variable);
    for (const auto& [other, state] : states_) refuse("state", state.variable);
    refuse("t", graph_.variable(time_name, {}));
  }

  const SampleLoss& written_;
  const Parameters& given_;
  std::uint64_t seed_;
  LossArrays& arrays_;
  formulas::Graph& graph_;
  std::map<std::string, Maker> makers_;
  formulas::Scope scope_;
  const formulas::Scope* handled_scope_ = nullptr;
  const formulas::Scope* own_scope_ = nullptr;       ///< of states of a rung of its own
  std::map<std::size_t, OverNormals> over_normals_;  // of expectations in observables, by place
  std::set<std::string, std::less<>> own_names_;
  std::vector<std::string> path_;
  std::map<std::string, StateArray> states_;
  std::map<std::string, UnderLaw, std::less<>> laws_;
  UnderLaw* law_ = nullptr;
};

void add_parts(const Array& formula, bool negative, std::vector<Array>& parts) {
  const std::string_view name = formula.node().operation->name;
  if (name == "add" || name == "subtract") {
    add_parts(formula.input(0), negative, parts);
    add_parts(formula.input(1), negative != (name == "subtract"), parts);
  } else if (name == "negative") {
    add_parts(formula.input(0), !negative, parts);
  } else {
    parts.push_back(negative ? -formula : formula);
  }
}

}  // namespace
}  // namespace loss_arrays_cpp

void reject_entry(const std::string& model, const std::string& entry, const std::string& reason) {
  throw EntryError(model, entry, reason);
}

std::vector<std::string> entry_names(const std::vector<std::string>& names,
                                     const std::vector<Array>& arrays) {
  std::vector<std::string> all;
  for (std::size_t k = 0; k < names.size(); ++k) {
    for (std::string& name : entry_names(names[k], arrays[k].shape()))
      all.push_back(std::move(name));
  }
  return all;
}

std::vector<std::string> entry_names(const std::string& name, const Shape& shape) {
  std::vector<std::string> names{name};
  for (const Dimension& d : shape) {
    std::vector<std::string> longer;
    for (const std::string& begin : names) {
      for (Index i = 0; i < d.extent; ++i) longer.push_back(fmt::format("{}_{}", begin, i));
    }
    names = std::move(longer);
  }
  return names;
}

LossArrays::LossArrays(const SampleLoss& written, const Parameters& given,
                       const std::vector<AskedFormula>& asked_for, std::uint64_t seed) {
  loss_arrays_cpp::Names names(written, given, seed, *this);
  names.make_all();
  for (const AskedFormula& formula : asked_for) names.ask(formula);
}

Index LossArrays::dimension() const {
  return std::accumulate(
      states.begin(), states.end(), Index{0},
      [](Index sum, const StateArray& s) { return sum + formulas::entries(s.variable.shape()); });
}
std::vector<Array> LossArrays::state_variables() const {
  std::vector<Array> variables;
  for (const StateArray& s : states) variables.push_back(s.variable);
  return variables;
}
std::vector<Array> LossArrays::finer_states(const OwnArrays& rung) const {
  if (rung.finer) return own[*rung.finer].states;
  return rung.of_loss ? state_variables() : std::vector<Array>{};
}
std::optional<std::size_t> LossArrays::own_place(std::string_view rung) const {
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k].name == rung || own[k].name + closed_ending == rung) return k;
  }
  return {};
}
std::vector<std::string> LossArrays::state_names() const {
  std::vector<std::string> names;
  for (const StateArray& s : states) names.push_back(s.variable.node().text);
  return entry_names(names, state_variables());
}
std::vector<std::string> LossArrays::columns() const {
  std::vector<std::string> names;
  for (const ObservableArray& o : observables) {
    for (std::string& name : entry_names(o.name, o.array.shape())) names.push_back(std::move(name));
  }
  return names;
}
std::vector<std::string> LossArrays::parameter_names() const {
  std::vector<std::string> names;
  for (const ParameterArray& p : parameters) names.push_back(p.variable.node().text);
  return names;
}

std::vector<Array> summands(const Array& formula) {
  std::vector<Array> parts;
  loss_arrays_cpp::add_parts(formula, false, parts);
  return parts;
}
std::vector<Array> LossArrays::parts() const { return summands(loss); }
std::vector<Draw> LossArrays::draws_of(const std::vector<Array>& formulas) const {
  std::set<std::size_t> places;
  for (const Array& f : formulas) {
    for (const Draw& draw : read_draws(f, draws)) places.insert(draw.variable.place);
  }
  std::vector<Draw> found;
  for (const Draw& draw : draws) {
    if (places.contains(draw.variable.place)) found.push_back(draw);
  }
  return found;
}

void require_parameters(const SampleLoss& written, const LossArrays& arrays,
                        const std::vector<std::vector<double>>& parameters) {
  for (const Requirement& r : arrays.requirements) {
    const std::string entry = "parameter " + r.name;
    if (r.comparison) {
      const std::vector<double> holds = evaluated(*r.comparison, arrays, parameters);
      if (std::find(holds.begin(), holds.end(), 0.0) != holds.end())
        reject_entry(written.name, entry, fmt::format("does not meet its requirement: {}", r.rule));
      continue;
    }
    const Array turned = transpose(r.parameter);
    const auto largest = [](const Array& a) { return reduce("max", formulas::apply("abs", {a})); };
    const auto value = [&](const Array& a) { return evaluated(a, arrays, parameters).front(); };
    constexpr double asymmetry = 1e-9, rounding = 1e-14;
    const double size = value(largest(r.parameter));
    if (value(largest(r.parameter - turned)) > asymmetry * size)
      reject_entry(written.name, entry, "must be symmetric");
    const double least = value(reduce("min", formulas::of_square_matrix("eigvalsh", r.parameter)));
    if (least <= rounding * size) {
      reject_entry(written.name, entry,
                   fmt::format("must be positive definite; its least eigenvalue is {:.6g}", least));
    }
  }
}

bool LossArrays::has_timed_rates() const {
  const Array time = graph->variable(time_name, {});
  return std::any_of(states.begin(), states.end(),
                     [&](const StateArray& s) { return reads(s.rate, time); });
}

std::vector<Array> LossArrays::directions(const std::vector<Array>& slopes) const {
  std::vector<Array> made;
  for (std::size_t k = 0; k < states.size(); ++k) {
    const StateArray& s = states[k];
    const Array moved =
        s.move ? formulas::substituted({*s.move}, gradients, slopes).front() : slopes[k];
    made.push_back(-(s.rate * moved));
  }
  return made;
}

std::string LossArrays::no_gradient() const {
  for (const StateArray& s : states) {
    if (s.move) return fmt::format("{} moves along another direction", s.variable.node().text);
  }
  return jumps();
}

std::string LossArrays::jumps() const {
  const std::vector<bool> needed = formulas::needed_for({loss});
  for (std::size_t k = 0; k <= loss.place; ++k) {
    const formulas::GraphNode& node = graph->node(k);
    if (!needed[k] || node.operation->pull != nullptr) continue;
    for (const std::size_t input : node.inputs) {
      for (const StateArray& state : states) {
        if (!reads({graph.get(), input}, state.variable)) continue;
        return fmt::format("the loss has {} of what depends on {}, whose slope is taken as 0",
                           node.operation->name, state.variable.node().text);
      }
    }
  }
  return {};
}

template <class T>
std::vector<std::vector<T>> parameter_values(const LossArrays& arrays) {
  std::vector<std::vector<T>> values;
  for (const ParameterArray& p : arrays.parameters) {
    std::vector<T> numbers;
    if (p.formula) {
      numbers = evaluated(*p.formula, arrays, values);
    } else {
      for (const std::string& text : p.numbers) {
        if constexpr (std::is_same_v<T, Dual<double>>) {
          numbers.emplace_back(from_text<double>(text));
        } else {
          numbers.push_back(from_text<T>(text));
        }
      }
    }
    for (const T& x : numbers) {
      if (allows(p.range, to_double(x))) continue;
      throw InputError(
          fmt::format("{}: {} must be {}", p.variable.node().text, to_double(x), rule_of(p.range)));
    }
    values.push_back(std::move(numbers));
  }
  return values;
}

template <class T>
void set_parameters(formulas::Evaluator<T>& evaluator, const LossArrays& arrays,
                    const std::vector<std::vector<T>>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::span<T> to = evaluator.variable(arrays.parameters[k].variable.node().text);
    if (!to.empty()) std::copy(values[k].begin(), values[k].end(), to.begin());
  }
  evaluator.prepare();
}

template std::vector<std::vector<double>> parameter_values(const LossArrays&);
template std::vector<std::vector<Real>> parameter_values(const LossArrays&);
template std::vector<std::vector<Rational>> parameter_values(const LossArrays&);
template std::vector<std::vector<Dual<double>>> parameter_values(const LossArrays&);
template void set_parameters(formulas::Evaluator<double>&, const LossArrays&,
                             const std::vector<std::vector<double>>&);
template void set_parameters(formulas::Evaluator<Real>&, const LossArrays&,
                             const std::vector<std::vector<Real>>&);
template void set_parameters(formulas::Evaluator<Rational>&, const LossArrays&,
                             const std::vector<std::vector<Rational>>&);
template void set_parameters(formulas::Evaluator<Dual<double>>&, const LossArrays&,
                             const std::vector<std::vector<Dual<double>>>&);

}  // namespace popgrad::learning
