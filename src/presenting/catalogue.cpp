#include "presenting/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/json.hpp"
#include "io/examination_json.hpp"
#include "io/json_document.hpp"
#include "io/plain_text.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "presenting/figure.hpp"
#include "presenting/observables.hpp"
#include "presenting/result_table.hpp"

namespace popgrad {
namespace {

constexpr std::uint64_t default_seed = 1;

std::string defaults_of_steps(const RungInfo& rung) {
  std::string text;
  if (walks(rung)) text += " --eta " + rung.default_step;
  if (has_batch(rung)) text += fmt::format(" --batch {}", rung.default_batch);
  return text;
}

std::vector<std::string> all_columns(const Model& model, const RungInfo& rung) {
  // Moments are not for states as large as the defaults of some models.
  const std::string own = rung.kind == RungKind::moments ? "sgd" : rung.name;
  return model.rung(own, Parameters(model.name()), default_seed).observables.columns;
}

std::string columns_of(const Model& model, const RungInfo& rung) {
  return fmt::format("{}{}{}", fmt::join(column_patterns(model, rung), " "),
                     rung.column_note.empty() ? "" : "; ", rung.column_note);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!lines.empty()) lines.emplace_back();
  return lines;
}

std::string rung_text(const Model& model, const RungInfo& rung) {
  return fmt::format("    {:<12} {}\n    {:<12} cost {}; default {} {}{}\n    {:<12} columns {}\n",
                     rung.name, rung.summary, "", rung.cost, walks(rung) ? "--steps" : "--t1",
                     rung.default_end, defaults_of_steps(rung), "", columns_of(model, rung));
}

std::string regime_line(const Regime& regime) {
  return fmt::format("    {:<20} of {}: {}\n", regime.name, regime.column, describe(regime.kind));
}

std::string in_brackets(const std::vector<std::string>& rungs) {
  return rungs.empty() ? "" : fmt::format(" [{}]", fmt::join(rungs, ", "));
}

std::string observable_line(const SharedObservable& one) {
  return fmt::format("    {:<27} {}; {}{}{}{}\n", one.info.name, one.info.formula, one.info.range,
                     one.info.meaning.empty() ? "" : "; ", one.info.meaning,
                     in_brackets(one.rungs));
}

std::string parameter_line(const ParameterInfo& p) {
  std::string text = p.help;
  if (!p.choices.empty()) text += fmt::format(": {}", fmt::join(p.choices, ", "));
  if (!p.default_value.empty()) text += fmt::format(" (default {})", p.default_value);
  if (!p.flag) text += " (file only)";
  return fmt::format("    {:<20} {}{}\n", p.name, text, in_brackets(p.rungs));
}

std::string figure_line(const FigureInfo& figure) {
  return fmt::format("    {:<30} {}\n", figure.name, figure.title);
}

std::string notation_text(const Model& model) {
  std::string text;
  for (const std::string& line : lines_of(model.notation())) {
    text += fmt::format("{}{}\n", line.empty() ? "" : "    ", line);
  }
  return text;
}

std::string models_text(Theories theories) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const Theory& theory : theories) {
    const auto& model = theory.model;
    fmt::format_to(out, "model {}\n  {}\n\n  rungs\n", model->name(), model->paper());
    for (const RungInfo& rung : model->rungs()) text += rung_text(*model, rung);
    if (!model->regimes().empty()) {
      fmt::format_to(out, "\n  regimes, events of every rung that has the observable\n");
    }
    for (const Regime& regime : model->regimes()) text += regime_line(regime);
    text += "\n  observables\n" + notation_text(*model);
    for (const SharedObservable& one : observables_of(*model)) {
      if (!one.info.formula.empty()) text += observable_line(one);
    }
    fmt::format_to(out, "\n  parameters (flags, or keys of --instance and --config)\n");
    for (const ParameterInfo& p : model->parameters()) text += parameter_line(p);
    text += "\n";
  }
  return text;
}

// At most this many characters of a line, cut between words.
constexpr std::size_t width_of_lines = 110;

std::string shortened(std::string line) {
  if (line.size() <= width_of_lines) return line;
  line.resize(line.rfind(' ', width_of_lines - 4));
  while (line.ends_with(',') || line.ends_with(';') || line.ends_with(':')) line.pop_back();
  return line + " ...";
}

// A statement with its hypotheses, knobs and what a user's file may give, a line each.
std::string declared_text(const Statement& s) {
  std::string text;
  const auto out = std::back_inserter(text);
  std::string kinds;
  for (const EvidenceKind kind : s.reaches) kinds += (kinds.empty() ? "" : ", ") + name_of(kind);
  fmt::format_to(out, "  {:<28} {}\n  {:<28} {}; {}; {}; controls: {}{}\n", s.id, s.claim, "",
                 s.paper, s.status, kinds, s.controls.size(),
                 s.needs_data ? "; needs --data FILE" : "");
  for (const Hypothesis& h : s.hypotheses) {
    fmt::format_to(out, "  {:<28} hypothesis: {} ({})\n", "", h.text, name_of(h.basis));
  }
  if (!s.reads.empty()) {
    fmt::format_to(out, "  {:<28} --instance FILE: parameters of {} {}\n", "",
                   s.id.substr(0, s.id.find('.')), s.reads);
  }
  for (const Knob& knob : s.knobs) {
    fmt::format_to(out, "  {:<28} {} {:g} to {:g}, usually {:g}: {}{}\n", "", knob.name, knob.low,
                   knob.high, knob.usual, knob.meaning,
                   knob.breaks.empty() ? "" : fmt::format("; breaks '{}'", knob.breaks));
  }
  return text;
}

std::string statements_text(Theories theories) {
  std::string text = "statements\n";
  for (const Statement* const statement : statements(theories)) text += declared_text(*statement);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "\nfigures\n");
  for (const FigureInfo& figure : figures(theories)) text += figure_line(figure);
  fmt::format_to(out, "\n{} errata: popgrad list --errata\n", errata(theories).size());
  return text;
}

Json rungs_json(const Model& model) {
  Json list = Json::array();
  for (const RungInfo& rung : model.rungs()) {
    Json own{{"name", rung.name},
             {"kind", name_of(rung.kind)},
             {"summary", rung.summary},
             {"cost", rung.cost},
             {"columns", all_columns(model, rung)},
             {"default_end", rung.default_end}};
    own["default_eta"] = walks(rung) ? Json(rung.default_step) : Json(nullptr);
    own["default_batch"] = has_batch(rung) ? Json(rung.default_batch) : Json(nullptr);
    list.push_back(std::move(own));
  }
  return list;
}

Json parameters_json(const Model& model) {
  Json list = Json::array();
  for (const ParameterInfo& p : model.parameters()) {
    list.push_back({{"name", p.name},
                    {"kind", p.kind},
                    {"meaning", p.help},
                    {"default", p.default_value},
                    {"choices", p.choices},
                    {"rungs", p.rungs},
                    {"flag", p.flag}});
  }
  return list;
}

Json observables_json(const Model& model) {
  Json list = Json::array();
  for (const SharedObservable& one : observables_of(model)) {
    list.push_back({{"name", one.info.name},
                    {"formula", one.info.formula},
                    {"range", one.info.range},
                    {"meaning", one.info.meaning},
                    {"rungs", one.rungs}});
  }
  return list;
}

Json regimes_json(const Model& model) {
  Json list = Json::array();
  for (const Regime& regime : model.regimes()) {
    list.push_back(
        {{"name", regime.name}, {"column", regime.column}, {"meaning", describe(regime.kind)}});
  }
  return list;
}

Json statement_json(const Statement& s) {
  Json hypotheses = Json::array();
  for (const Hypothesis& h : s.hypotheses) {
    hypotheses.push_back({{"text", h.text}, {"known", name_of(h.basis)}, {"why", h.why}});
  }
  Json kinds = Json::array();
  for (const EvidenceKind kind : s.reaches) kinds.push_back(name_of(kind));
  Json controls = Json::array();
  for (const Control& control : s.controls) {
    controls.push_back({{"name", control.name}, {"what_is_wrong", control.what_is_wrong}});
  }
  Json rivals = Json::array();
  for (const Rival& rival : s.rivals) rivals.push_back(rival_json(rival));
  Json knobs = Json::array();
  for (const Knob& knob : s.knobs) {
    knobs.push_back({{"name", std::string(knob.name)},
                     {"meaning", std::string(knob.meaning)},
                     {"low", knob.low},
                     {"high", knob.high},
                     {"usual", knob.usual},
                     {"breaks", std::string(knob.breaks)}});
  }
  return {{"id", s.id},
          {"claim", s.claim},
          {"about", s.about},
          {"theorem", s.theorem},
          {"paper", s.paper},
          {"status", s.status},
          {"hypotheses", std::move(hypotheses)},
          {"evidence", std::move(kinds)},
          {"controls", std::move(controls)},
          {"rivals", std::move(rivals)},
          {"no_rival", s.no_rival},
          {"false_version", s.false_version},
          {"knobs", std::move(knobs)},
          {"instance_of_rung", s.reads},
          {"needs_data", s.needs_data}};
}

// What the control or rival that is the false version says; empty: none is named.
std::string false_version_text(const Statement& s) {
  for (const Control& control : s.controls) {
    if (control.name == s.false_version) return std::string(control.what_is_wrong);
  }
  for (const Rival& rival : s.rivals) {
    if (rival.name == s.false_version) return std::string(rival.what);
  }
  return {};
}

}  // namespace

std::string name_of(RungKind kind) {
  switch (kind) {
    case RungKind::flow:
      return "flow";
    case RungKind::descent:
      return "descent";
    case RungKind::random:
      return "random";
    case RungKind::closed_form:
      return "closed-form";
    case RungKind::moments:
      break;
  }
  return "moments";
}

std::string column_pattern(const std::string& name) {
  const std::size_t mark = name.rfind('_');
  const bool indexed = mark != std::string::npos && mark + 1 < name.size() &&
                       name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  return indexed ? name.substr(0, mark) + "_N" : name;
}

std::vector<std::string> column_patterns(const Model& model, const RungInfo& rung) {
  std::vector<std::string> shown;
  for (const std::string& name : all_columns(model, rung)) {
    std::string pattern = column_pattern(name);
    if (std::find(shown.begin(), shown.end(), pattern) == shown.end()) {
      shown.push_back(std::move(pattern));
    }
  }
  return shown;
}

std::string catalogue_text(Theories theories) {
  return plain_text(models_text(theories) + statements_text(theories));
}

std::string overview_text(Theories theories) {
  ResultTable table({words("model"), numbers("rungs", 5, {}, 2), numbers("statements", 10, {}, 2),
                     numbers("figures", 7, {}, 2), numbers("errata", 6, {}, 2),
                     words("paper", 0, 2)});
  for (const Theory& theory : theories) {
    table.add(theory.model->name(), theory.model->rungs().size(), theory.statements.size(),
              theory.figures.size(), theory.errata.size(), theory.model->paper());
  }
  std::string text = table.text();
  const Theory& first = theories.front();
  const std::string& model = first.model->name();
  text += "\n";
  const auto add = [&](const std::string& rest, std::string_view what) {
    text += fmt::format("  popgrad list {:<22} {}\n", rest, what);
  };
  add(model, "the names of a model: rungs, observables, parameters, statements, figures");
  const std::vector<RungInfo> rungs = first.model->rungs();
  const auto flow = std::ranges::find(rungs, RungKind::flow, &RungInfo::kind);
  add(fmt::format("{} {}", model, (flow == rungs.end() ? rungs.begin() : flow)->name),
      "one of them: cost, columns with formulas, parameters with defaults");
  if (!first.statements.empty()) {
    add(first.statements.front().id, "a statement: theorem, hypotheses, knobs, controls, rivals");
  }
  add("--errata", "where a paper and the algebra disagree, with the evidence");
  add("--all", "everything; --json FILE for programs");
  return text;
}

namespace {

// In words: a definition that is a formula, which begins with a backtick, makes way for what it means.
std::string summary_of(const ObservableInfo& observable) {
  if (observable.meaning.empty()) return observable.formula;
  if (observable.formula.starts_with('`')) return observable.meaning;
  return observable.formula + "; " + observable.meaning;
}

}  // namespace

std::string contents_text(const Theory& theory) {
  const Model& model = *theory.model;
  std::string text = fmt::format("{}\n{}\n\nrungs, the law of motion and what it assumes\n",
                                 model.name(), model.paper());
  const auto add = [&](std::string_view name, std::string_view what) {
    text += shortened(fmt::format("  {:<28} {}", name, plain_text(what))) + "\n";
  };
  for (const RungInfo& rung : model.rungs()) add(rung.name, rung.summary);
  text += "\nobservables, columns of a run\n";
  std::vector<std::string> seen;
  for (const SharedObservable& one : observables_of(model)) {
    if (one.info.formula.empty() || std::ranges::find(seen, one.info.name) != seen.end()) continue;
    seen.push_back(one.info.name);
    add(one.info.name, summary_of(one.info));
  }
  if (!model.regimes().empty()) text += "\nregimes, events of a run\n";
  for (const Regime& regime : model.regimes()) {
    add(regime.name, fmt::format("of {}: {}", regime.column, describe(regime.kind)));
  }
  text += "\nparameters, flags or keys of --instance and --config\n";
  for (const ParameterInfo& p : model.parameters()) add(p.name, p.help);
  if (!theory.statements.empty()) text += "\nstatements\n";
  for (const Statement& s : theory.statements) add(s.id, s.claim);
  if (!theory.figures.empty()) text += "\nfigures\n";
  for (const FigureMaker& maker : theory.figures) add(maker.info.name, maker.info.title);
  return text;
}

std::string entry_text(const Theory& theory, const std::string& name) {
  const Model& model = *theory.model;
  std::string text;
  std::vector<std::string> names;
  const auto is = [&](const std::string& own) {
    names.push_back(own);
    return own == name;
  };
  const auto of_rung = [&](const std::vector<std::string>& rungs) {
    return rungs.empty() || std::ranges::find(rungs, name) != rungs.end();
  };
  for (const RungInfo& rung : model.rungs()) {
    if (!is(rung.name)) continue;
    text += "rung\n" + rung_text(model, rung);
    for (const LadderStep& step : model.ladder()) {
      if (step.finer != name && step.coarser != name) continue;
      text += fmt::format("    {:<12} from {} to {}: {}\n", "", step.finer, step.coarser,
                          step.assumption);
    }
    text += "\nits observables\n" + notation_text(model);
    for (SharedObservable one : observables_of(model)) {
      if (one.info.formula.empty() || !of_rung(one.rungs)) continue;
      one.rungs.clear();
      text += observable_line(one);
    }
    text += "\nits parameters (flags, or keys of --instance and --config)\n";
    for (ParameterInfo p : model.parameters()) {
      if (!of_rung(p.rungs)) continue;
      p.rungs.clear();
      text += parameter_line(p);
    }
  }
  const auto add = [&](std::string_view kind, const std::string& line) {
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", kind, line);
  };
  for (const SharedObservable& one : observables_of(model)) {
    if (is(one.info.name)) add("observable", observable_line(one));
  }
  for (const Regime& regime : model.regimes()) {
    if (is(regime.name)) add("regime", regime_line(regime));
  }
  for (const ParameterInfo& p : model.parameters()) {
    if (is(p.name)) add("parameter", parameter_line(p));
  }
  for (const FigureMaker& maker : theory.figures) {
    if (is(maker.info.name)) {
      add("figure", figure_line(maker.info));
    }
  }
  if (text.empty()) {
    reject("popgrad list " + model.word(), "name", name,
           fmt::format("is not known{}; see 'popgrad list {}'", suggestion(name, names),
                       model.word()));
  }
  return plain_text(text);
}

std::string catalogue_json(Theories theories) {
  Json models = Json::array();
  for (const Theory& theory : theories) {
    const Model& model = *theory.model;
    Json own{{"name", model.name()}, {"paper", model.paper()}};
    own["rungs"] = rungs_json(model);
    own["observables"] = observables_json(model);
    own["parameters"] = parameters_json(model);
    own["regimes"] = regimes_json(model);
    Json& statements = own["statements"] = Json::array();
    for (const Statement& s : theory.statements) statements.push_back(statement_json(s));
    Json& figures = own["figures"] = Json::array();
    for (const FigureMaker& maker : theory.figures) {
      figures.push_back({{"name", maker.info.name}, {"title", maker.info.title}});
    }
    Json& errata = own["errata"] = Json::array();
    for (const Erratum& erratum : theory.errata) errata.push_back(erratum.name);
    models.push_back(std::move(own));
  }
  Json document = json_document("catalogue/2");
  document["models"] = std::move(models);
  return plain_text(document.dump(1)) + "\n";
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines += fmt::format("{}{}\n", indent, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string no_rival_text(const Statement& statement) {
  return statement.no_rival.empty() ? "no rival named" : "no rival: " + statement.no_rival;
}

std::string statement_text(const Statement& s) {
  std::string text = declared_text(s);
  const auto out = std::back_inserter(text);
  if (!s.about.empty()) fmt::format_to(out, "\n  judged on {}\n", s.about);
  text += indented(s.theorem, "    ");
  if (!s.clauses.empty()) fmt::format_to(out, "\n  the claim\n");
  for (const Clause& clause : s.clauses) {
    fmt::format_to(out, "    {}{}\n", clause.text, clause.checked ? "" : " (not checked)");
  }
  fmt::format_to(out, "\n  mistakes that the check has to notice\n");
  for (const Control& control : s.controls) {
    fmt::format_to(out, "    {:<24} {}\n", control.name, control.what_is_wrong);
  }
  fmt::format_to(out, "\n  rival explanations that it has to exclude\n");
  for (const Rival& rival : s.rivals) {
    fmt::format_to(out, "    {:<24} {}{}\n", rival.name, rival.what,
                   rival.fits.empty() ? "" : fmt::format(" ({} fitted)", rival.fits));
  }
  if (s.rivals.empty()) fmt::format_to(out, "    {}\n", no_rival_text(s));
  if (!s.false_version.empty()) {
    fmt::format_to(out, "\n  easily taken for the claim, and false\n    {:<24} {}\n",
                   s.false_version, false_version_text(s));
  }
  return plain_text(text);
}

}  // namespace popgrad
