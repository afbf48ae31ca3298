#include "theory_files/theory_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "io/input_files.hpp"
#include "io/npz.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::theory_files {
namespace theory_file_cpp {
namespace {

using Kind = TomlNode::Kind;

// Sections that no command reads yet.
const std::vector<std::string> later_sections{"figure"};

class FileReader : private EntryReader {
 public:
  explicit FileReader(const std::string& file) : EntryReader(file, made_.places) {
    made_.file = made_.loss.file = file;
  }

  TheoryFile read(const TomlNode& root) {
    if (const TomlNode* theory = root.find("theory");
        theory != nullptr && theory->find("of") != nullptr)
      return read_about(root, *theory, *theory->find("of"));
    check_keys(root, "",
               {"format", "theory", "sizes", "parameters", "constants", "fixed", "draw", "law",
                "state", "loss", "training", "observables", "invariants", "rung", "statement",
                "landscape", "figure"});
    if (const TomlNode* format = root.find("format"); format != nullptr && format->text != "1")
      refuse_value(*format, "format", "must be 1, the only one that there is");
    read_theory(root.find("theory"));
    each(root, "sizes", [&](const TomlNode& e, const std::string& at) { add_size(e, at); });
    each(root, "parameters",
         [&](const TomlNode& e, const std::string& at) { add_parameter(e, at); });
    add_formulas(root, "constants", "constant", made_.loss.constants);
    add_formulas(root, "fixed", "fixed", made_.loss.fixed);
    add_formulas(root, "draw", "draw", made_.loss.draws);
    each(root, "law", [&](const TomlNode& e, const std::string& at) { add_law(e, at); });
    each(root, "state", [&](const TomlNode& e, const std::string& at) {
      made_.loss.states.push_back(state(e, at, "state " + e.key));
    });
    each(root, "loss", [&](const TomlNode& e, const std::string& at) {
      const bool expected = e.key == "expected";
      add_formula(e, at, expected ? "loss" : "loss step",
                  expected ? made_.loss.expected : made_.loss.loss);
    });
    if (const TomlNode* loss = root.find("loss"))
      made_.places.insert_or_assign("loss", PlacedFormula{"loss", *loss});
    if (const TomlNode* training = root.find("training")) read_training(*training);
    each(root, "observables",
         [&](const TomlNode& e, const std::string& at) { add_observable(e, at); });
    each(root, "invariants",
         [&](const TomlNode& e, const std::string& at) { add_invariant(e, at); });
    each(root, "rung", [&](const TomlNode& e, const std::string& at) { add_rung(e, at); });
    each(root, "landscape",
         [&](const TomlNode& e, const std::string& at) { add_landscape(e, at); });
    read_statements(root, made_.file, made_);
    for (const std::string& section : later_sections) {
      each(root, section.c_str(),
           [&](const TomlNode& /*e*/, const std::string& at) { made_.unread.push_back(at); });
    }
    return std::move(made_);
  }

 private:
  void read_statements(const TomlNode& root, const std::string& file, TheoryFile& to) const {
    each(root, "statement", [&](const TomlNode& e, const std::string& at) {
      if (std::optional<StatementText> read = read_statement(file, e, to.places)) {
        to.statements.push_back(std::move(*read));
      } else {
        to.unread.push_back(at);
      }
    });
  }

  // Statements about a theory that another file of the folder has.
  TheoryFile read_about(const TomlNode& root, const TomlNode& theory, const TomlNode& of) const {
    namespace fs = std::filesystem;
    check_keys(root, "", {"format", "theory", "statement"});
    check_keys(theory, "theory", {"of"});
    if (!of.is(Kind::text) || of.text != fs::path(of.text).filename() ||
        !of.text.ends_with(".toml"))
      refuse(of, "theory.of", "must be the name of a .toml in the folder of this file");
    const fs::path path = fs::path(made_.file).parent_path() / of.text;
    if (fs::is_symlink(path)) refuse(of, "theory.of", "is a link; give a file of this folder");
    std::string text;
    try {
      text = read_file(path.string());
    } catch (const InputError& error) {
      refuse(of, "theory.of", error.what());
    }
    const TomlNode other = parse_toml(text, path.string());
    if (const TomlNode* own = other.find("theory"); own != nullptr && own->find("of") != nullptr)
      refuse(of, "theory.of", "has statements about another file itself; give that one");
    TheoryFile made = FileReader(path.string()).read(other);
    made.about = made.loss.file = made_.file;
    made.statements.clear();
    read_statements(root, made_.file, made);
    return made;
  }

  void read_theory(const TomlNode* table) {
    SampleLoss& loss = made_.loss;
    loss.name = std::filesystem::path(made_.file).stem().string();
    if (table != nullptr) {
      require_kind(*table, "theory", Kind::table);
      check_keys(*table, "theory", {"name", "title", "paper"});
      made_.title = text(*table, "title", "theory");
      loss.paper = text(*table, "paper", "theory");
      if (const TomlNode* name = table->find("name")) {
        loss.name = text(*table, "name", "theory");
        if (!is_theory_name(loss.name))
          refuse_value(*name, "theory.name",
                       "must begin with a letter and have letters, digits, - and _");
      }
    }
    if (!is_theory_name(loss.name)) loss.name = "theory";
    if (loss.paper.empty()) loss.paper = made_.title.empty() ? made_.file : made_.title;
  }

  void add_size(const TomlNode& node, const std::string& entry) {
    LossSize size{.name = node.key};
    const TomlNode* value = &node;
    if (node.is(Kind::table)) {
      check_keys(node, entry, {"value", "meaning", "require"});
      value = node.find("value");
      if (value == nullptr) refuse(node, entry, "has no value; give one, as in { value = 3 }");
      size.meaning = text(node, "meaning", entry);
    }
    size.value = whole(*value, entry, 1);
    size.range = at_least(1);
    if (node.is(Kind::table) && node.find("require") != nullptr) {
      const std::optional<Range> range = range_of(text(node, "require", entry), size.range);
      if (!range)
        refuse_value(*node.find("require"), entry,
                     "must be a bound such as \">= 2\" or \">= 2 and <= 9\"");
      size.range = *range;
    }
    keep_place("size " + node.key, entry, *value);
    made_.loss.sizes.push_back(std::move(size));
  }

  // "> 0", ">= 0 and <= 1"; nothing for what is no comparison with a number.
  static std::optional<Range> range_of(std::string_view text, Range range) {
    const auto trimmed = [](std::string_view t) {
      while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
      while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
      return t;
    };
    for (std::size_t begin = 0; begin <= text.size();) {
      constexpr std::string_view conjunction = " and ";
      const std::size_t end = std::min(text.find(conjunction, begin), text.size());
      std::string_view part = trimmed(text.substr(begin, end - begin));
      begin = end + conjunction.size();
      if (part.empty() || (part[0] != '<' && part[0] != '>')) return std::nullopt;
      const bool low = part[0] == '>', open = part.size() < 2 || part[1] != '=';
      part = trimmed(part.substr(open ? 1 : 2));
      if (refusal_of_number(part, {})) return std::nullopt;
      const FractionText fraction = parse_number(part);
      const double bound = std::stod(fraction.numerator) / std::stod(fraction.denominator);
      if (low) {
        range.low = bound == 0 && open ? least_positive : bound;
        range.without_low = open && bound != 0;
      } else {
        range.high = bound;
        range.without_high = open;
      }
    }
    return range;
  }

  // Lists of numbers, as the file writes them.
  Value numbers(const TomlNode& list, const std::string& entry) const {
    Value::List made;
    for (const TomlNode& part : list.parts) {
      if (part.is(Kind::list)) {
        made.push_back(numbers(part, entry));
        continue;
      }
      const bool number = part.is(Kind::number) || part.is(Kind::text);
      const auto why = number ? refusal_of_number(part.text, {})
                              : std::optional<std::string>("is " + name_of(part.kind));
      if (why) refuse(part, entry, fmt::format("{} {}; lists hold numbers", part.text, *why));
      made.emplace_back(part.text);
    }
    return made;
  }

  // The array of an .npz next to the file.
  Value data(const TomlNode& node, const TomlNode& table, const std::string& entry) {
    namespace fs = std::filesystem;
    const std::string name = text(table, "data", entry);
    if (name.empty() || name != fs::path(name).filename() || !name.ends_with(".npz"))
      refuse(node, entry, "must be the name of an .npz in the folder of this file");
    const fs::path path = fs::path(made_.file).parent_path() / name;
    if (fs::is_symlink(path)) refuse(node, entry, name + " is a link; give a file of this folder");
    const std::string array =
        table.find("array") == nullptr ? table.key : text(table, "array", entry);
    try {
      const NpzContent content = read_npz(path, NpzRanks::any);
      for (const auto& [own, values] : content.arrays) {
        if (own != array) continue;
        constexpr std::size_t most_axes = 8;
        const std::vector<std::size_t>& shape = content.shapes.find(array)->second;
        if (shape.size() > most_axes)
          refuse(node, entry, fmt::format("array {} has more than {} axes", array, most_axes));
        return shaped(values, shape);
      }
      if (const auto unread = content.unread.find(array); unread != content.unread.end())
        refuse(node, entry, fmt::format("array {} of {} {}", array, name, unread->second));
      std::vector<std::string> names;
      for (const auto& own : content.arrays) names.push_back(own.first);
      refuse(node, entry,
             fmt::format("{} has no array {}{}; it has {}", name, array, suggestion(array, names),
                         fmt::join(names, ", ")));
    } catch (const InputError& error) {
      if (std::string_view(error.what()).starts_with(made_.file + ":")) throw;
      refuse(node, entry, error.what());
    }
  }

  // "" is the shape of a number.
  std::string shape_in(const TomlNode& node, const std::string& entry) const {
    const std::string shape = text(node, "shape", entry);
    return node.find("shape") != nullptr && shape.find_first_not_of(' ') == std::string::npos
               ? "()"
               : shape;
  }

  void add_parameter(const TomlNode& node, const std::string& entry) {
    LossParameter p{.name = node.key};
    const std::string learned = "parameter " + node.key;
    const TomlNode* value = &node;
    if (node.is(Kind::table)) {
      check_keys(node, entry, {"value", "data", "array", "shape", "meaning", "require"});
      value = node.find("value");
      p.meaning = text(node, "meaning", entry);
      p.shape = shape_in(node, entry);
      if (const TomlNode* file = node.find("data")) {
        if (value != nullptr) refuse(*file, entry, "has a value and data; leave one out");
        p.value = data(*file, node, entry);
        keep_place(learned, entry, *file);
      } else if (value == nullptr) {
        refuse(node, entry, "has no value; give one, as in { value = 0.1 }");
      }
      if (const TomlNode* require = node.find("require")) {
        const std::string rule = text(node, "require", entry);
        if (const std::optional<Range> range = range_of(rule, {})) {
          p.range = *range;
        } else if (rule == "positive_definite" || rule.find_first_of("<>=") != std::string::npos) {
          p.require = rule;
          made_.places.insert_or_assign(learned + " require", PlacedFormula{entry, *require});
        } else {
          refuse_value(
              *require, entry,
              "must be \"positive_definite\" or a bound such as \"> 0\" or \">= 0 and <= 1\"");
        }
      }
    }
    if (value != nullptr) {
      if (value->is(Kind::list)) {
        p.value = numbers(*value, entry);
        keep_place(learned, entry, *value);
      } else {
        p.value = formula(*value, entry, learned);
      }
    }
    if (p.name == "eta" || p.name == "batch") {
      set_default_of_run(p, value == nullptr ? node : *value, entry);
    } else {
      made_.loss.parameters.push_back(std::move(p));
    }
  }

  // eta and batch are those of the run: a file gives their defaults.
  void set_default_of_run(const LossParameter& p, const TomlNode& value, const std::string& entry) {
    if (p.name == "batch") {
      made_.loss.batch = whole(value, entry, 1);
      return;
    }
    if (!value.is(Kind::number) || refusal_of_number(value.text, above(0)))
      refuse_value(value, entry, "must be a number > 0: it is the default of --eta");
    made_.loss.step = std::stod(value.text);
  }

  // Entries that are formulas, or tables with one.
  void add_formulas(const TomlNode& root, const char* section, const char* kind,
                    std::vector<NamedFormula>& to) {
    each(root, section, [&](const TomlNode& node, const std::string& entry) {
      add_formula(node, entry, kind, to);
    });
  }
  void add_formula(const TomlNode& node, const std::string& entry, const char* kind,
                   std::vector<NamedFormula>& to) {
    const std::string learned = fmt::format("{} {}", kind, node.key);
    to.push_back({node.key, formula_in(node, entry, learned, {"formula", "meaning"})});
  }

  // Of an entry that is a formula, or a table that has one.
  std::string formula_in(const TomlNode& node, const std::string& entry, const std::string& learned,
                         const std::vector<std::string>& known) {
    if (!node.is(Kind::table)) return formula(node, entry, learned);
    check_keys(node, entry, known);
    static_cast<void>(text(node, "meaning", entry));
    const TomlNode* own = node.find("formula");
    if (own == nullptr)
      refuse(node, entry, "has no formula; give one, as in { formula = \"...\" }");
    return formula(*own, entry, learned);
  }

  void add_law(const TomlNode& node, const std::string& entry) {
    require_kind(node, entry, Kind::table);
    LossLaw law{.name = node.key};
    made_.places.insert_or_assign("law " + node.key, PlacedFormula{entry, node});
    for (const TomlNode& e : node.parts) {
      law.draws.push_back({e.key, formula(e, fmt::format("{}.{}", entry, e.key),
                                          fmt::format("law {} {}", node.key, e.key))});
    }
    made_.loss.laws.push_back(std::move(law));
  }

  void add_invariant(const TomlNode& node, const std::string& entry) {
    LossInvariant invariant{.name = node.key, .formula = {}};
    invariant.formula =
        formula_in(node, entry, "invariant " + node.key, {"formula", "of", "meaning"});
    if (node.find("of") != nullptr) invariant.of = text(node, "of", entry);
    made_.loss.invariants.push_back(std::move(invariant));
  }

  LossState state(const TomlNode& node, const std::string& entry, const std::string& learned) {
    LossState s{.name = node.key};
    if (!node.is(Kind::table)) {
      s.start = formula(node, entry, learned);
      return s;
    }
    check_keys(node, entry, {"start", "shape", "meaning"});
    if (const TomlNode* start = node.find("start")) s.start = formula(*start, entry, learned);
    s.shape = shape_in(node, entry);
    made_.places.try_emplace(learned, PlacedFormula{entry, node});
    return s;
  }

  void read_training(const TomlNode& table) {
    require_kind(table, "training", Kind::table);
    check_keys(table, "training", {"rate", "samples", "t1", "move"});
    if (const TomlNode* samples = table.find("samples")) {
      made_.loss.samples = whole(*samples, "training.samples", 2);
      made_.gives_samples = true;
    }
    if (const TomlNode* end = table.find("t1")) {
      if (!end->is(Kind::number) || refusal_of_number(end->text, above(0)))
        refuse_value(*end, "training.t1", "must be a number > 0: it is the default of --t1");
      made_.loss.end = std::stod(end->text);
    }
    read_of_states(table, "rate", &LossState::rate);
    read_of_states(table, "move", &LossState::move);
  }
  void read_of_states(const TomlNode& table, const std::string& key, std::string LossState::*of) {
    const TomlNode* given = table.find(key);
    if (given == nullptr) return;
    const std::string entry = "training." + key;
    require_kind(*given, entry, Kind::table);
    std::vector<std::string> names;
    for (const LossState& s : made_.loss.states) names.push_back(s.name);
    check_keys(*given, entry, names);
    for (LossState& s : made_.loss.states) {
      if (const TomlNode* one = given->find(s.name))
        s.*of = formula(*one, entry + "." + s.name, key + " of " + s.name);
    }
  }

  void add_observable(const TomlNode& node, const std::string& entry) {
    LossObservable o{.name = node.key, .formula = {}};
    o.formula = formula_in(node, entry, "observable " + node.key, {"formula", "meaning"});
    o.meaning = text(node, "meaning", entry);
    made_.loss.observables.push_back(std::move(o));
  }

  void add_rung(const TomlNode& node, const std::string& entry) {
    require_kind(node, entry, Kind::table);
    check_keys(node, entry,
               {"of", "state", "map", "lift", "flow", "step", "closed", "time", "domain", "assumes",
                "approximate", "meaning"});
    LossRung rung{.name = node.key};
    keep_place("rung " + node.key, entry, node);
    if (node.find("of") != nullptr) rung.of = text(node, "of", entry);
    rung.assumes = text(node, "assumes", entry);
    rung.meaning = text(node, "meaning", entry);
    if (const TomlNode* approximate = node.find("approximate")) {
      require_kind(*approximate, entry + ".approximate", Kind::truth);
      rung.approximate = approximate->text == "true";
    }
    const auto add = [&](const char* part, std::vector<NamedFormula>& to) {
      each(node, part, [&](const TomlNode& e, const std::string& name) {
        const std::string learned = fmt::format("rung {} {} {}", node.key, part, e.key);
        to.push_back({e.key, formula(e, fmt::format("rung.{}.{}", node.key, name), learned)});
      });
    };
    add("map", rung.map);
    add("lift", rung.lift);
    add("flow", rung.flow);
    add("step", rung.step);
    add("closed", rung.closed);
    each(node, "state", [&](const TomlNode& e, const std::string& name) {
      rung.states.push_back(state(e, fmt::format("rung.{}.{}", node.key, name),
                                  fmt::format("rung {} state {}", node.key, e.key)));
    });
    for (const auto& [key, to] :
         {std::pair{"time", &rung.time}, std::pair{"domain", &rung.domain}}) {
      if (const TomlNode* own = node.find(key)) {
        *to = formula(*own, fmt::format("{}.{}", entry, key),
                      fmt::format("rung {} {}", node.key, key));
      }
    }
    made_.loss.rungs.push_back(std::move(rung));
  }

  void add_landscape(const TomlNode& node, const std::string& entry) {
    require_kind(node, entry, Kind::table);
    check_keys(node, entry, {"over", "set", "rung", "paths", "rest"});
    const TomlNode* rest = node.find("rest");
    if (rest != nullptr && rest->is(Kind::text) && rest->text == "minimised") {
      made_.unread.push_back(entry);
      return;
    }
    FileLandscape landscape{.name = node.key};
    const TomlNode* over = node.find("over");
    constexpr const char* example = "as in over = { a = [-1, 3], b = [-1, 3] }";
    if (over == nullptr || over->parts.size() != 2)
      refuse(node, entry, fmt::format("needs two numbers and their ranges, {}", example));
    for (std::size_t k = 0; k < 2; ++k) {
      const TomlNode& axis = over->parts[k];
      const bool pair = axis.is(Kind::list) && axis.parts.size() == 2;
      if (!pair || refusal_of_number(axis.parts[0].text, {}) ||
          refusal_of_number(axis.parts[1].text, {}) ||
          !(std::stod(axis.parts[0].text) < std::stod(axis.parts[1].text)))
        refuse(axis, entry, fmt::format("needs a range LOW < HIGH, {}", example));
      landscape.axes[k] = {axis.key, axis.parts[0].text, axis.parts[1].text};
      keep_place("parameter " + axis.key, entry, axis);
    }
    std::vector<std::string> states, rungs{"sgd", "gd", "flow"};
    for (const LossRung& rung : made_.loss.rungs) rungs.push_back(rung.name);
    const auto require_rung = [&](const TomlNode& at, const std::string& name) {
      if (std::ranges::find(rungs, name) == rungs.end()) {
        refuse(at, entry,
               fmt::format("{} is no rung{}; there are {}", name, suggestion(name, rungs),
                           fmt::join(rungs, ", ")));
      }
    };
    if (const TomlNode* rung = node.find("rung")) {
      landscape.rung = text(node, "rung", entry);
      require_rung(*rung, landscape.rung);
    }
    if (const TomlNode* paths = node.find("paths")) {
      require_kind(*paths, entry + ".paths", Kind::list);
      for (const TomlNode& path : paths->parts) {
        require_kind(path, entry + ".paths", Kind::text);
        require_rung(path, path.text);
        landscape.paths.push_back(path.text);
      }
    }
    const TomlNode* set = node.find("set");
    if (set == nullptr) refuse(node, entry, "sets no state; give set = { STATE = \"...\" }");
    if (const LossRung* own = own_rung(landscape.rung)) {
      states = own->state_names();
    } else {
      for (const LossState& s : made_.loss.states) states.push_back(s.name);
    }
    for (const TomlNode* table : {set, rest}) {
      if (table == nullptr) continue;
      require_kind(*table, entry, Kind::table);
      check_keys(*table, entry, states);
      for (const TomlNode& e : table->parts) {
        if (std::ranges::find(landscape.set, e.key, &NamedFormula::name) != landscape.set.end())
          refuse(e, entry, fmt::format("{} is set already", e.key));
        landscape.set.push_back({e.key, formula(e, fmt::format("{}.{}", entry, e.key),
                                                fmt::format("landscape {} {}", node.key, e.key))});
      }
    }
    made_.landscapes.push_back(std::move(landscape));
  }

  [[nodiscard]] const LossRung* own_rung(const std::string& name) const {
    const auto found = std::ranges::find(made_.loss.rungs, name, &LossRung::name);
    return found == made_.loss.rungs.end() ? nullptr : &*found;
  }

  TheoryFile made_;
};

}  // namespace
}  // namespace theory_file_cpp

Value shaped(std::span<const double> numbers, std::span<const std::size_t> shape) {
  if (shape.empty()) return numbers.front();
  if (shape.size() == 1) return std::vector<double>(numbers.begin(), numbers.end());
  Value::List rows;
  const std::size_t length = shape[0] == 0 ? 0 : numbers.size() / shape[0];
  for (std::size_t row = 0; row < shape[0]; ++row)
    rows.push_back(shaped(numbers.subspan(row * length, length), shape.subspan(1)));
  return rows;
}

bool is_theory_name(const std::string& name) {
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::ranges::all_of(
             name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

TheoryFile parse_theory_file(const std::string& text, const std::string& file) {
  return theory_file_cpp::FileReader(file).read(parse_toml(text, file));
}

}  // namespace popgrad::theory_files
