#include "theory_files/statement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace popgrad::theory_files {
namespace statement_text_cpp {
namespace {

using Kind = TomlNode::Kind;

constexpr std::array<std::pair<std::string_view, MeasureText::Kind>, 5> measures{
    {{"value", MeasureText::Kind::value},
     {"along", MeasureText::Kind::along},
     {"limit", MeasureText::Kind::limit},
     {"event", MeasureText::Kind::event},
     {"residual", MeasureText::Kind::residual}}};
constexpr std::array<std::string_view, 6> later_measures{"order_in", "limit_in", "fixed_point",
                                                         "unstable", "events",   "minimised"};

class StatementReader : private EntryReader {
 public:
  StatementReader(const std::string& file, Places& places) : EntryReader(file, places) {}

  std::optional<StatementText> read(const TomlNode& node) {
    made_.name = node.key;
    entry_ = "statement." + node.key;
    learned_ = "statement " + node.key;
    require_kind(node, entry_, Kind::table);
    check_keys(node, entry_,
               {"claim", "source", "knobs", "set", "assume", "measure", "relation", "predict",
                "scale", "controls"});
    keep_place(learned_, entry_, node);
    made_.claim = text(node, "claim", entry_);
    made_.source = text(node, "source", entry_);
    const TomlNode* measure = node.find("measure");
    if (measure == nullptr)
      refuse(node, entry_, "measures nothing; give measure = { limit = \"...\", rung = \"flow\" }");
    if (is_of_later_version(node, *measure)) return {};
    made_.measure = measured(*measure, entry_ + ".measure", learned_ + " measure");
    const TomlNode* predict = node.find("predict");
    if (predict == nullptr)
      refuse(node, entry_, "predicts nothing; give predict = \"...\", a formula or a measure");
    made_.predict = predicted(*predict, entry_ + ".predict", learned_ + " predict");
    if (node.find("relation") != nullptr) read_relation(*node.find("relation"));
    if (const TomlNode* scale = node.find("scale"))
      made_.scale = formula(*scale, entry_ + ".scale", learned_ + " scale");
    each(node, "knobs", [&](const TomlNode& e, const std::string& at) { add_knob(e, at); });
    add_formulas(node, "set", made_.set);
    add_formulas(node, "assume", made_.assume);
    each(node, "controls", [&](const TomlNode& e, const std::string& at) {
      add_control(e, fmt::format("{}.{}", entry_, at));
    });
    for (const KnobText& knob : made_.knobs) {
      if (knob.breaks.empty() || has(made_.assume, knob.breaks)) continue;
      refuse(*node.find("knobs")->find(knob.name), entry_ + ".knobs." + knob.name,
             fmt::format("breaks '{}', which is no assumption of this statement", knob.breaks));
    }
    if (made_.claim.empty()) made_.claim = made_.name;
    return std::move(made_);
  }

 private:
  static bool has(const std::vector<NamedFormula>& formulas, const std::string& name) {
    return std::ranges::find(formulas, name, &NamedFormula::name) != formulas.end();
  }

  static bool is_of_later_version(const TomlNode& node, const TomlNode& measure) {
    const TomlNode* predict = node.find("predict");
    for (const std::string_view later : later_measures) {
      if (measure.find(later) != nullptr) return true;
      if (predict != nullptr && predict->find(later) != nullptr) return true;
    }
    const TomlNode* relation = node.find("relation");
    return relation != nullptr && relation->text == "increasing";
  }

  MeasureText measured(const TomlNode& node, const std::string& entry, const std::string& learned) {
    require_kind(node, entry, Kind::table);
    check_keys(node, entry, {"value", "along", "limit", "event", "residual", "rung", "at", "eta"});
    MeasureText made;
    made.entry = learned;
    int kinds = 0;
    for (const auto& [key, kind] : measures) {
      const TomlNode* own = node.find(key);
      if (own == nullptr) continue;
      ++kinds;
      made.kind = kind;
      made.formula = formula(*own, fmt::format("{}.{}", entry, key), learned);
    }
    if (kinds != 1) refuse(node, entry, "needs one of value, along, limit, event, residual");
    if (made.kind == MeasureText::Kind::residual) {
      if (const TomlNode* rung = node.find("rung"))
        refuse(*rung, entry, "has a rung; a residual is of what it names");
      made.rung = made.formula.substr(0, made.formula.find('.'));
    }
    if (node.find("rung") != nullptr) made.rung = text(node, "rung", entry);
    if (const TomlNode* eta = node.find("eta")) {
      made.eta = number(*eta, entry + ".eta");
      if (!(*made.eta > 0)) refuse_value(*eta, entry + ".eta", "must be a number > 0");
    }
    if (const TomlNode* at = node.find("at")) {
      if (made.kind != MeasureText::Kind::along)
        refuse(*at, entry, "has times, which only a measure `along` a rung has");
      if (at->is(Kind::list)) {
        for (const TomlNode& part : at->parts)
          made.times.push_back(formula(part, entry + ".at", learned + " at"));
      } else {
        made.times.push_back(formula(*at, entry + ".at", learned + " at"));
      }
    }
    return made;
  }

  MeasureText predicted(const TomlNode& node, const std::string& entry,
                        const std::string& learned) {
    if (node.is(Kind::table)) return measured(node, entry, learned);
    MeasureText made;
    made.entry = learned;
    made.formula = formula(node, entry, learned);
    return made;
  }

  void read_relation(const TomlNode& node) {
    constexpr std::array<std::pair<std::string_view, Relation>, 3> relations{
        {{"=", Relation::equal}, {"<=", Relation::at_most}, {"<", Relation::below}}};
    for (const auto& [sign, relation] : relations) {
      if (node.is(Kind::text) && node.text == sign) {
        made_.relation = relation;
        return;
      }
    }
    refuse_value(node, entry_ + ".relation",
                 "must be \"=\", \"<=\" or \"<\": of measured to predicted");
  }

  void add_knob(const TomlNode& node, const std::string& at) {
    const std::string entry = fmt::format("{}.{}", entry_, at);
    require_kind(node, entry, Kind::table);
    check_keys(node, entry, {"from", "to", "spacing", "usual", "breaks"});
    KnobText knob{.name = node.key};
    if (node.find("from") == nullptr || node.find("to") == nullptr)
      refuse(node, entry, "needs a range, as in { from = 0.01, to = 0.3 }");
    knob.low = number(*node.find("from"), entry);
    knob.high = number(*node.find("to"), entry);
    if (!(knob.low < knob.high)) refuse(node, entry, "needs from < to");
    if (const TomlNode* usual = node.find("usual")) knob.usual = number(*usual, entry);
    if (const TomlNode* spacing = node.find("spacing")) {
      if (spacing->text == "log" && knob.low > 0) {
        knob.spacing = Spacing::logarithmic;
      } else if (spacing->text == "whole") {
        knob.spacing = Spacing::whole;
      } else if (spacing->text == "linear") {
        knob.spacing = Spacing::linear;
      } else {
        refuse_value(*spacing, entry, "must be linear, whole, or log with from > 0");
      }
    }
    knob.breaks = text(node, "breaks", entry);
    keep_place(fmt::format("{} knob {}", learned_, node.key), entry, node);
    made_.knobs.push_back(std::move(knob));
  }

  void add_formulas(const TomlNode& node, const char* section, std::vector<NamedFormula>& to) {
    each(node, section, [&](const TomlNode& e, const std::string& at) {
      to.push_back({e.key, formula(e, fmt::format("{}.{}", entry_, at),
                                   fmt::format("{} {} {}", learned_, section, e.key))});
    });
  }

  void add_control(const TomlNode& node, const std::string& entry) {
    ControlText control{.name = node.key,
                        .entry = fmt::format("{} control {}", learned_, node.key)};
    keep_place(control.entry, entry, node);
    if (!node.is(Kind::table)) {
      control.predict = predicted(node, entry, control.entry);
    } else if (node.find("replace") != nullptr) {
      check_keys(node, entry, {"in", "replace", "by"});
      control.in = text(node, "in", entry);
      control.replace = formula(*node.find("replace"), entry, control.entry + " replace");
      if (node.find("by") == nullptr) refuse(node, entry, "replaces by nothing; give by = \"...\"");
      control.by = formula(*node.find("by"), entry, control.entry);
    } else if (const TomlNode* measure = node.find("measure")) {
      check_keys(node, entry, {"measure"});
      control.measure = measured(*measure, entry + ".measure", control.entry);
    } else {
      control.predict = measured(node, entry, control.entry);
    }
    made_.controls.push_back(std::move(control));
  }

  StatementText made_;
  std::string entry_, learned_;
};

}  // namespace
}  // namespace statement_text_cpp

std::optional<StatementText> read_statement(const std::string& file, const TomlNode& node,
                                            Places& places) {
  return statement_text_cpp::StatementReader(file, places).read(node);
}

}  // namespace popgrad::theory_files
