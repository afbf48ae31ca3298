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
#include <utility>

#include "formulas/elaborate.hpp"
#include "formulas/gradient.hpp"
#include "formulas/operation.hpp"
#include "learning/entry_error.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::learning {
namespace loss_arrays_cpp {
namespace {

using formulas::FormulaError;
using formulas::syntax::Kind;
using formulas::syntax::Node;
using formulas::syntax::Tree;

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
  Names(const SampleLoss& written, const Parameters& given, LossArrays& arrays)
      : written_(written), given_(given), arrays_(arrays), graph_(*arrays.graph) {}

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
    for (const NamedFormula& d : written_.draws) {
      declare(d.name, "draw", [this, &d] { return with_laws(d.name, d.formula, arrays_.draws); });
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
    for (const NamedFormula& c : written_.constants) forbid(c.name, array(c.name), "draw state t");
    for (const NamedFormula& d : written_.draws) forbid(d.name, array(d.name), "state t");
    for (const Draw& draw : arrays_.draws) {
      if (draw.probabilities) forbid(draw.name(), *draw.probabilities, "state t");
    }
    for (const LossState& s : written_.states) array(s.name);
    for (const NamedFormula& l : written_.loss) forbid(l.name, array(l.name), "t");
    for (const LossState& s : written_.states) arrays_.states.push_back(states_.at(s.name));
    if (has_loss()) make_loss();
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
    if (!added) refuse_entry(entry, fmt::format("is a {} already", known->second.kind));
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
    list(written_.draws);
    list(written_.states);
    list(written_.loss);
    if (has_loss()) list(written_.observables);
  }

  Array array(const std::string& name) {
    if (const auto made = scope_.find(name); made != scope_.end()) return made->second;
    const Maker& maker = makers_.at(name);
    if (std::find(path_.begin(), path_.end(), name) != path_.end()) {
      path_.push_back(name);
      refuse_entry(maker.kind + " " + name,
                   fmt::format("depends on itself: {}", fmt::join(path_, " -> ")));
    }
    path_.push_back(name);
    const formulas::Scope* const own = std::exchange(own_scope_, nullptr);
    try {
      const Array made = maker.make();
      path_.pop_back();
      own_scope_ = own;
      return scope_.emplace(name, made).first->second;
    } catch (const EntryError&) {
      throw;
    } catch (const InputError& error) {
      throw EntryError(written_.name, maker.kind + " " + name, error);
    }
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
    return formulas::elaborate(subtree(tree, tree.nodes.size() - 1), graph_, scope);
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

  // Each call of a law is a draw of its own, which is named as the entry if it is all of the formula.
  Array with_laws(const std::string& name, const std::string& text, std::vector<Draw>& draws) {
    const Tree tree = formulas::syntax::parse(text);
    std::size_t calls = 0;
    return elaborated(tree, [&](const Tree& whole, std::size_t k) -> std::optional<Array> {
      const Node& call = whole.nodes[k];
      const bool all = k + 1 == whole.nodes.size() && call.keywords.empty();
      const std::optional<CalledLaw> made = called_law(
          call, all ? name : fmt::format("{} call {}", name, calls), graph_,
          [&](std::size_t i) { return part_of(whole, call.parts[i]); },
          [&](std::size_t first, std::size_t last) { return shape_of(whole, call, first, last); });
      if (!made) return std::nullopt;
      ++calls;
      draws.push_back(made->draw);
      return made->value;
    });
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
    forbid(s.name, made.rate, "draw state t");
    return made.variable;
  }

  Array observed(const LossObservable& o) {
    return elaborated(formulas::syntax::parse(o.formula),
                      [&](const Tree& tree, std::size_t k) -> std::optional<Array> {
                        const Node& call = tree.nodes[k];
                        if (call.text != "expected") return std::nullopt;
                        if (call.parts.size() != 1 || !call.keywords.empty())
                          throw InputError("expected takes one formula");
                        const Array f = part_of(tree, call.parts[0]);
                        const std::vector<Draw> read = read_draws(f, arrays_.draws);
                        const OverNormals exact = over_normals(f, read);
                        if (!exact.mean)
                          throw InputError("expected: there is no exact expectation: " + exact.way);
                        std::vector<Draw> finite;
                        std::ranges::copy_if(read, std::back_inserter(finite), &Draw::is_finite);
                        return expected(*exact.mean, finite);
                      });
  }

  // --- rungs of their own

  // Reads the text with the states of a rung over the names of the loss.
  template <class Read>
  auto with_own(const formulas::Scope& own, const Read& read) {
    const formulas::Scope* const before = std::exchange(own_scope_, &own);
    try {
      auto made = read();
      own_scope_ = before;
      return made;
    } catch (...) {
      own_scope_ = before;
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
  Array own_formula(const std::string& entry, const formulas::Scope& own, const std::string& text,
                    std::string_view forbidden) {
    const Array made = located(entry, [&] { return with_own(own, [&] { return formula(text); }); });
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
    for (const LossState& s : r.states) made.names.push_back(s.name);
    for (const auto* written : {&r.map, &r.flow, &r.step, &r.closed}) {
      for (const NamedFormula& f : *written) {
        if (std::find(made.names.begin(), made.names.end(), f.name) == made.names.end())
          made.names.push_back(f.name);
      }
    }
    if (made.names.empty()) refuse_entry(entry, "has no states");
    const formulas::Scope finer =
        made.finer ? scope_of(arrays_.own[*made.finer]) : formulas::Scope();
    for (const std::string& name : made.names) {
      const std::string state = fmt::format("{} state {}", entry, name);
      require_free_name(state, name);
      if (const auto known = makers_.find(name); known != makers_.end()) {
        static const std::set<std::string_view> hidden{"state", "draw", "loss step"};
        if (!hidden.contains(known->second.kind))
          refuse_entry(state, fmt::format("is a {} already", known->second.kind));
      }
      add_own_state(r, state, name, finer, made);
    }
    const formulas::Scope own = scope_of(made);
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
    add_law("step", r.step, stepping, "draw state t", made.step);
    if (!r.closed.empty()) add_closed(r, entry, own, made);
    add_lift(r, entry, own, made);
    if (!made.flow.empty() && !made.step.empty())
      refuse_entry(entry, "has a flow and a step; it moves in one of these ways");
    if (!made.step.empty() && !made.closed.empty())
      refuse_entry(entry, "has a step and a closed form; closed forms are of flows");
    const bool steps =
        r.of == "gd" || r.of == "sgd" || (made.finer && !arrays_.own[*made.finer].step.empty());
    if (made.step.empty() && made.finer && steps)
      refuse_entry(entry, fmt::format("is of {}, which steps; give its step", r.of));
    if (!made.step.empty() && is_reduction && !steps)
      refuse_entry(entry, fmt::format("steps, but {} flows; write of = 'gd'", r.of));
    if (!made.has_law() && made.lift.empty() && made.map.empty())
      refuse_entry(entry, "has no law: give flow, step or closed");
    if (!made.has_law() && made.map.empty())
      refuse_entry(entry, "has a lift only; laws left out need a map too in this version");
    if (!made.has_law() && steps)
      refuse_entry(entry, "leaves its law out, which is derived for flows only; give its step");
    if (!made.has_law() && made.finer && arrays_.own[*made.finer].flow.empty() &&
        arrays_.own[*made.finer].has_law())
      refuse_entry(entry, fmt::format("leaves its law out, but {} has no flow", r.of));
    if (!r.time.empty()) {
      if (steps) refuse_entry(entry, "has a time of its own; only flows have");
      const std::string place = entry + " time";
      made.time = own_formula(place, {}, r.time, "draw state");
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
    show_by_name(own, made);
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
      if (f == nullptr) refuse_entry(entry, "has no entry in map");
      map = own_formula(entry, finer, f->formula, "draw t");
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
            with_own(own, [&] { return elaborated(formulas::syntax::parse(f->formula), start); }),
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

  // Observables that read none of the states of the loss when names are of the states here; these may read each other.
  void show_by_name(formulas::Scope own, OwnArrays& made) {
    for (bool found = true; found;) {
      found = false;
      for (const LossObservable& o : written_.observables) {
        if (own.contains(o.name)) continue;
        try {
          const Array shown = with_own(own, [&] { return observed(o); });
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
    return std::none_of(states_.begin(), states_.end(),
                        [&](const auto& s) { return reads(formula, s.second.variable); });
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
        const auto [known, added] = texts.try_emplace(rung.names[k], text);
        if (added) arrays_.observables.push_back({rung.names[k], rung.map[k]});
        if (known->second != text) {
          refuse_entry(fmt::format("rung {} state {}", rung.name, rung.names[k]),
                       fmt::format("has the name of another column, of {}", known->second));
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
    if (of->flow.empty() && of->has_law())
      refuse_entry(entry, fmt::format("is of {}, which does not flow", i.of));
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
      return with_own(scope, [&] {
        return asked.draws ? with_laws(asked.entry, asked.formula, arrays_.asked_draws)
                           : observed({.name = asked.entry, .formula = asked.formula});
      });
    });
    forbid(asked.entry, made, "draw");
    return made;
  }

  // Which kinds of names a formula must not depend on, parted by spaces.
  void forbid(const std::string& name, const Array& formula, std::string_view kinds) {
    const auto refuse = [&](const std::string& kind, const Array& variable) {
      const bool is_named = fmt::format(" {} ", kinds).find(" " + kind + " ") != std::string::npos;
      if (!is_named || !reads(formula, variable)) return;
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
  LossArrays& arrays_;
  formulas::Graph& graph_;
  std::map<std::string, Maker> makers_;
  formulas::Scope scope_;
  const formulas::Scope* handled_scope_ = nullptr;
  const formulas::Scope* own_scope_ = nullptr;  ///< of states of a rung of its own
  std::set<std::string, std::less<>> own_names_;
  std::vector<std::string> path_;
  std::map<std::string, StateArray> states_;
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
                       const std::vector<AskedFormula>& asked_for) {
  loss_arrays_cpp::Names names(written, given, *this);
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

std::vector<Array> LossArrays::parts() const {
  std::vector<Array> parts;
  loss_arrays_cpp::add_parts(loss, false, parts);
  return parts;
}

std::string LossArrays::no_gradient() const {
  static const std::set<std::string_view> jumping{"sign",    "floor",         "less",  "less_equal",
                                                  "greater", "greater_equal", "equal", "not_equal",
                                                  "argmax",  "stop_gradient"};
  const std::vector<bool> needed = formulas::needed_for({loss});
  for (std::size_t k = 0; k <= loss.place; ++k) {
    const formulas::GraphNode& node = graph->node(k);
    if (!needed[k] || !jumping.contains(node.operation->name)) continue;
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
