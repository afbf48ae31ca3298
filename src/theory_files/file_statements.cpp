#include "theory_files/file_statements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "formulas/edit.hpp"
#include "learning/entry_error.hpp"
#include "learning/law_mutants.hpp"
#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"
#include "theory_files/measure.hpp"

namespace popgrad::theory_files {
namespace file_statements_cpp {
namespace {

using formulas::comparison_in;
using formulas::ComparisonText;
using formulas::Mutant;
using formulas::mutants_of;
using formulas::names_in;
using formulas::with_names;
using formulas::with_replaced;

using learning::AskedFormula;
using learning::EntryError;
using Kind = MeasureText::Kind;

constexpr int equality_instances = 8;
constexpr double equality = 1e-12;

// A formula of an entry in place of what is written.
struct Edit {
  std::string in;
  std::string formula;
};

// What one control changes.
struct Mistake {
  std::string name, what;
  std::optional<Edit> edit = {};  ///< of what the prediction reads
  bool of_system = false;         ///< the edit is of the measured system, too
  std::optional<MeasureText> predict = {}, measure = {};
};

struct Sheet {
  StatementText text;
  SampleLoss loss;
  std::string entry;              ///< "statement limit"
  std::deque<std::string> words;  ///< that knobs, hypotheses and controls point to
  std::vector<Knob> knobs;
  std::vector<Hypothesis> assumptions;  ///< as in text.assume
  std::vector<AskedFormula> margins;    ///< of each
  std::vector<Mistake> mistakes;
  std::vector<Control> controls;  ///< as in mistakes

  std::string_view kept(std::string word) { return words.emplace_back(std::move(word)); }
};

template <class All>
auto find(All& all, std::string_view name) -> decltype(&*all.begin()) {
  const auto found = std::ranges::find_if(all, [&](const auto& own) { return own.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// The formula of an entry: NAME of a constant or observable, or draw.NAME, loss.NAME, rung.NAME.flow.STATE; nullptr
// where there is none.
std::string* formula_of(SampleLoss& loss, std::string_view in) {
  const std::size_t dot = in.find('.');
  const std::string_view head = in.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? "" : in.substr(dot + 1);
  const auto named = [](auto* entry) { return entry == nullptr ? nullptr : &entry->formula; };
  if (rest.empty()) {
    if (std::string* constant = named(find(loss.constants, head))) return constant;
    return named(find(loss.observables, head));
  }
  if (head == "constants") return named(find(loss.constants, rest));
  if (head == "observables") return named(find(loss.observables, rest));
  if (head == "draw") return named(find(loss.draws, rest));
  if (head == "loss") return named(find(loss.loss, rest));
  if (head != "rung") return nullptr;
  const std::size_t second = rest.find('.');
  LossRung* rung = find(loss.rungs, rest.substr(0, second));
  if (rung == nullptr || second == std::string_view::npos) return nullptr;
  const std::string_view law = rest.substr(second + 1);
  for (const auto& [part, formulas] : {std::pair{std::string_view("flow."), &rung->flow},
                                       {"step.", &rung->step},
                                       {"closed.", &rung->closed},
                                       {"map.", &rung->map},
                                       {"lift.", &rung->lift}}) {
    if (law.starts_with(part)) return named(find(*formulas, law.substr(part.size())));
  }
  return nullptr;
}

bool is_of_prediction(std::string_view in) {
  return in.find('.') == std::string_view::npos || in.starts_with("constants.") ||
         in.starts_with("observables.");
}

Instance edited(const Instance& instance, const Edit& edit) {
  SampleLoss loss = instance.loss;
  *formula_of(loss, edit.in) = edit.formula;
  return {std::move(loss), instance.given, instance.seed};
}

// --- the instance of a setting

Value shaped_as(std::span<const double> numbers, const formulas::Shape& shape) {
  std::vector<std::size_t> extents;
  for (const formulas::Dimension& axis : shape)
    extents.push_back(static_cast<std::size_t>(axis.extent));
  return shaped(numbers, extents);
}

// Numbers of a formula that calls laws.
Value drawn(const Instance& instance, const AskedFormula& asked) {
  const learning::LossArrays arrays(instance.loss, instance.given, {asked}, instance.seed);
  const formulas::Array& array = arrays.asked[0].value();
  const auto values = learning::parameter_values<double>(arrays);
  const Vector<double> numbers = learning::LossFlow<double>::drawn_start(
      {array}, arrays.asked_draws, arrays, values, instance.seed);
  return shaped_as({numbers.data(), static_cast<std::size_t>(numbers.size())}, array.shape());
}

bool calls_law(const std::string& formula) {
  return std::ranges::any_of(learning::law_names(), [&](const std::string& law) {
    return formula.find(law + "(") != std::string::npos;
  });
}

void set_entry(const Sheet& sheet, const NamedFormula& set, Instance& instance,
               bool of_parameters) {
  const std::string entry = fmt::format("{} set {}", sheet.entry, set.name);
  if (LossState* state = find(instance.loss.states, set.name)) {
    const std::string before = state->start.empty() ? "0" : state->start;
    state->start = with_names(set.formula, {{set.name, before}});
    return;
  }
  LossParameter* parameter = find(instance.loss.parameters, set.name);
  if (parameter == nullptr)
    throw EntryError(instance.loss.name, entry, "is neither a parameter nor a state");
  if (!of_parameters) return;
  std::string formula = set.formula;
  if (const auto* text = parameter->value.as<std::string>())
    formula = with_names(formula, {{set.name, *text}});
  if (names_in(formula).contains(set.name))
    throw EntryError(instance.loss.name, entry, "reads itself, whose value is a list of numbers");
  if (!parameter->shape.empty()) formula = fmt::format("{} + zeros({})", formula, parameter->shape);
  if (!calls_law(formula)) {
    parameter->value = formula;
    return;
  }
  parameter->value =
      drawn(instance, {.entry = entry, .rung = {}, .formula = formula, .draws = true});
}

// Lists of numbers that `set` replaces, which need not fit the sizes of knobs.
void drop_replaced_lists(const Sheet& sheet, Instance& instance) {
  for (const NamedFormula& set : sheet.text.set) {
    LossParameter* parameter = find(instance.loss.parameters, set.name);
    if (parameter == nullptr || parameter->shape.empty() ||
        parameter->value.as<std::string>() != nullptr ||
        parameter->require == "positive_definite" || names_in(set.formula).contains(set.name))
      continue;
    parameter->value = fmt::format("ones({})", parameter->shape);
  }
}

Instance instance_of(const Sheet& sheet, const Setting& setting) {
  const std::string& model = sheet.loss.name;
  Instance made(sheet.loss, setting.instance == nullptr ? Parameters(model) : *setting.instance,
                setting.seed);
  for (const Knob& knob : sheet.knobs) {
    const std::string name(knob.name);
    const double value = setting.value(knob);
    if (name == "eta") {
      made.loss.step = value;
    } else if (LossSize* size = find(made.loss.sizes, name)) {
      // That of the loss, too, which its lists of numbers have to fit.
      if (setting.instance == nullptr) size->value = static_cast<long>(setting.count(knob));
      if (setting.instance == nullptr) made.given.set(name, static_cast<long>(setting.count(knob)));
    } else if (find(made.loss.parameters, name) != nullptr) {
      if (setting.instance == nullptr) made.given.set(name, value);
    } else {
      made.loss.parameters.push_back({.name = name, .value = value});
    }
  }
  if (setting.instance == nullptr) drop_replaced_lists(sheet, made);
  for (const NamedFormula& set : sheet.text.set)
    set_entry(sheet, set, made, setting.instance == nullptr);
  return made;
}

// --- numbers that are compared

std::vector<Quantity> aligned(const Measured& predicted, const Measured& measured,
                              const std::string& model, const std::string& entry) {
  const std::size_t entries = measured.entries.size(), own = predicted.entries.size();
  const bool alike = own == entries || own == 1;
  const bool timed = predicted.times.size() == measured.times.size() || predicted.times.size() == 1;
  if (!alike || !timed) {
    throw EntryError(model, entry,
                     fmt::format("has {} numbers at {} times; measured are {} at {}", own,
                                 predicted.times.size(), entries, measured.times.size()));
  }
  std::vector<Quantity> all;
  for (std::size_t t = 0; t < measured.times.size(); ++t) {
    for (std::size_t i = 0; i < entries; ++i) {
      all.push_back(
          predicted.numbers[(predicted.times.size() == 1 ? 0 : t) * own + (own == 1 ? 0 : i)]);
    }
  }
  return all;
}

// Of the largest entry at each time.
std::vector<double> largest_entries(const std::vector<Quantity>& predicted, std::size_t entries) {
  std::vector<double> scales(predicted.size());
  for (std::size_t first = 0; first < predicted.size(); first += entries) {
    double largest = 0;
    for (std::size_t i = 0; i < entries; ++i)
      largest = std::max(largest, std::fabs(predicted[first + i].value()));
    for (std::size_t i = 0; i < entries; ++i) scales[first + i] = largest;
  }
  return scales;
}

MeasureText on_rung(MeasureText measure, const std::string& rung) {
  if (measure.kind == Kind::formula) measure.rung = rung;
  return measure;
}

std::string title_of(const MeasureText& measure) {
  switch (measure.kind) {
    case Kind::formula:
      return fmt::format("`{}`", measure.formula);
    case Kind::value:
      return fmt::format("`{}` at the start of {}", measure.formula, measure.rung);
    case Kind::along:
      return fmt::format("`{}` along {}", measure.formula, measure.rung);
    case Kind::limit:
      return fmt::format("limit of `{}` on {}", measure.formula, measure.rung);
    case Kind::residual:
      return fmt::format("largest residual of {}, relative to its terms,", measure.formula);
    case Kind::event:
      break;
  }
  return fmt::format("first time of `{}` on {}", measure.formula, measure.rung);
}

// --- hypotheses

// 50 digits round less.
constexpr double zero_in_digits = 1e-40;

void assume_all(const Sheet& sheet, const Instance& instance, Examination& it) {
  for (std::size_t k = 0; k < sheet.text.assume.size(); ++k) {
    const AskedFormula& asked = sheet.margins[k];
    const Measured margins = at_start(instance, asked.rung, {asked}).front();
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Quantity& margin : margins.numbers) {
      const double value = std::fabs(margin.value()) < zero_in_digits ? 0 : margin.value();
      least = std::min(least, value);
      most = std::max(most, std::fabs(value));
    }
    const Hypothesis& hypothesis = sheet.assumptions[k];
    const std::string sign = comparison_in(sheet.text.assume[k].formula).value().sign;
    if (sign == "==") {
      it.require(hypothesis, -most, fmt::format("apart by {:.4g}", most));
    } else if (sign == "<=" || sign == ">=") {
      it.require(hypothesis, least, fmt::format("by {:.4g}", least));
    } else {
      it.require_positive(hypothesis, least, fmt::format("by {:.4g}", least));
    }
  }
}

// --- the check

Numbers predicted_by(const Sheet& sheet, const Instance& instance, const MeasureText& predict,
                     const Measured& measured) {
  const MeasureText own = on_rung(predict, sheet.text.measure.rung);
  const Measured found = theory_files::measured(instance, own, measured.times);
  return {aligned(found, measured, sheet.loss.name, own.entry)};
}

// What has no value in another version is refuted: infinitely far from what is claimed.
std::vector<Quantity> or_infinity(const std::function<std::vector<Quantity>()>& numbers,
                                  const Measured& claimed, double infinity) {
  try {
    return numbers();
  } catch (const EntryError&) {
    throw;
  } catch (const InputError&) {
    // Of a root or logarithm that is not defined.
  } catch (const Failure&) {
    // Of what is no number, or does not come to rest.
  }
  return std::vector<Quantity>(claimed.numbers.size(), Quantity(infinity));
}

Alternative alternative_of(const Sheet& sheet, std::size_t k, const Instance& instance,
                           const Measured& claimed) {
  const Mistake& mistake = sheet.mistakes[k];
  Alternative made{.name = std::string(sheet.controls[k].name)};
  const auto changed = [&instance, &mistake] {
    return mistake.edit ? edited(instance, *mistake.edit) : instance;
  };
  const MeasureText& predict = mistake.predict ? *mistake.predict : sheet.text.predict;
  const bool predicts_anew =
      mistake.predict || (mistake.edit && (!mistake.of_system || predict.kind != Kind::formula));
  if (predicts_anew) {
    made.predicts = [&sheet, &predict, &claimed, changed](const std::vector<Quantity>&) {
      return or_infinity([&] { return predicted_by(sheet, changed(), predict, claimed).all; },
                         claimed, -std::numeric_limits<double>::infinity());
    };
  }
  if (mistake.measure || mistake.of_system) {
    made.measures = [&sheet, &mistake, &claimed, changed] {
      const MeasureText& own = mistake.measure ? *mistake.measure : sheet.text.measure;
      return or_infinity(
          [&] {
            const Measured found = measured(changed(), own, claimed.times);
            return aligned(found, claimed, sheet.loss.name, own.entry);
          },
          claimed, std::numeric_limits<double>::infinity());
    };
  }
  return made;
}

// For an instance file: what knobs and `set` make of parameters and of the start.
ExaminedInstance examined(const Sheet& sheet, const Instance& instance) {
  ExaminedInstance made{instance.given.values()};
  bool sets_start = false;
  for (const NamedFormula& set : sheet.text.set) {
    if (find(sheet.loss.states, set.name) != nullptr) {
      sets_start = true;
    } else if (const LossParameter* own = find(instance.loss.parameters, set.name)) {
      const learning::LossArrays arrays(instance.loss, instance.given,
                                        {{.entry = set.name, .formula = set.name}}, instance.seed);
      const auto values = learning::parameter_values<double>(arrays);
      made.parameters[own->name] = shaped_as(learning::evaluated(*arrays.asked[0], arrays, values),
                                             arrays.asked[0]->shape());
    }
  }
  if (!sets_start) return made;
  const MeasureText& predict = sheet.text.predict;
  if (sheet.text.measure.kind == Kind::residual) {
    made.none = "it sets starts, which residuals take from the file only";
    return made;
  }
  if (predict.kind != Kind::formula && predict.rung != sheet.text.measure.rung) {
    made.none =
        fmt::format("it sets the starts of {} and of {}", sheet.text.measure.rung, predict.rung);
    return made;
  }
  const AnyRung<double> rung =
      instance.model().rung(sheet.text.measure.rung, instance.given, instance.seed);
  Record state;
  const std::vector<std::string> names = rung.state_names.all();
  for (std::size_t i = 0; i < names.size(); ++i)
    state[names[i]] = rung.initial[static_cast<Index>(i)];
  made.parameters[state_key] = state;
  return made;
}

void check(const Sheet& sheet, const Setting& setting, Examination& it) {
  const Instance instance = instance_of(sheet, setting);
  hand_over([&] { return examined(sheet, instance); });
  it.parameters = instance.given.values();
  it.parameters["seed"] = setting.seed;
  assume_all(sheet, instance, it);
  const Measured claimed = measured(instance, sheet.text.measure);
  Comparison comparison{.what = title_of(sheet.text.measure),
                        .measured = claimed.numbers,
                        .relation = sheet.text.relation};
  comparison.predicted = predicted_by(sheet, instance, sheet.text.predict, claimed).all;
  if (sheet.text.scale.empty()) {
    comparison.scale = largest_entries(comparison.predicted, claimed.entries.size());
  } else {
    const MeasureText scale{.entry = sheet.entry + " scale",
                            .formula = sheet.text.scale,
                            .rung = sheet.text.measure.rung};
    for (const Quantity& q : predicted_by(sheet, instance, scale, claimed).all)
      comparison.scale.push_back(std::fabs(q.value()));
  }
  comparison.places = claimed.places();
  for (std::size_t k = 0; k < sheet.mistakes.size(); ++k)
    comparison.controls.push_back(alternative_of(sheet, k, instance, claimed));
  it.judge(comparison);
}

// --- controls

// Constants and observables that a formula reads, and those that these read.
void add_read(const std::string& formula, SampleLoss& loss, std::set<std::string>& read) {
  for (const std::string& name : names_in(formula)) {
    const std::string* own = formula_of(loss, name);
    if (own != nullptr && read.insert(name).second) add_read(*own, loss, read);
  }
}

void add_mutants(const std::string& formula, const std::string& in, const std::string& edited_entry,
                 std::vector<Mistake>& to) {
  for (const Mutant& mutant : mutants_of(formula)) {
    Mistake mistake{.name = fmt::format("{}: {}", in, mutant.what),
                    .what = fmt::format("by program, `{}`", mutant.formula)};
    mistake.edit = Edit{edited_entry, mutant.formula};
    to.push_back(std::move(mistake));
  }
}

std::vector<Mistake> mistakes_by_program(Sheet& sheet) {
  const MeasureText& predict = sheet.text.predict;
  std::vector<Mistake> all;
  const std::string own = predict.kind == Kind::residual ? "" : predict.formula;
  for (const Mutant& mutant : own.empty() ? std::vector<Mutant>{} : mutants_of(own)) {
    Mistake mistake{.name = "predict: " + mutant.what,
                    .what = fmt::format("by program, `{}`", mutant.formula)};
    mistake.predict = predict;
    mistake.predict->formula = mutant.formula;
    all.push_back(std::move(mistake));
  }
  std::set<std::string> read;
  if (!own.empty()) add_read(own, sheet.loss, read);
  if (predict.kind != Kind::formula) {
    std::string name = predict.rung;
    const bool closed = name.ends_with(learning::closed_ending);
    if (closed) name.resize(name.size() - std::string_view(learning::closed_ending).size());
    if (LossRung* rung = find(sheet.loss.rungs, name)) {
      const auto [part, law] = closed || (rung->flow.empty() && rung->step.empty())
                                   ? std::pair{"closed", &rung->closed}
                               : rung->flow.empty() ? std::pair{"step", &rung->step}
                                                    : std::pair{"flow", &rung->flow};
      for (const NamedFormula& formula : *law) {
        const std::string in = fmt::format("rung.{}.{}.{}", rung->name, part, formula.name);
        add_mutants(formula.formula, in, in, all);
        add_read(formula.formula, sheet.loss, read);
      }
    }
  }
  for (const std::string& name : read) add_mutants(*formula_of(sheet.loss, name), name, name, all);
  return all;
}

// Numbers that show whether two predictions are one: those of a formula, the law of motion of a rung near its start.
// Nothing where they have no type or value.
std::optional<std::vector<double>> signature(const Sheet& sheet, const Instance& instance,
                                             const Mistake* mistake) {
  try {
    const Instance own =
        mistake != nullptr && mistake->edit ? edited(instance, *mistake->edit) : instance;
    const MeasureText predict =
        on_rung(mistake != nullptr && mistake->predict ? *mistake->predict : sheet.text.predict,
                sheet.text.measure.rung);
    std::string formula = predict.kind == Kind::residual ? "0" : predict.formula;
    if (predict.kind == Kind::event) formula = comparison_in(formula).value().difference;
    StateFormulas<double> formulas(
        own, predict.rung, {{.entry = predict.entry, .rung = predict.rung, .formula = formula}});
    constexpr double some_time = 0.7;
    std::vector<double> numbers;
    Vector<double> x;
    if (formulas.reads_states() || predict.kind != Kind::formula) {
      const AnyRung<double> rung = own.model().rung(predict.rung, own.given, own.seed);
      x = rung.initial;
      for (Index i = 0; i < x.size(); ++i)
        x[i] = predict.kind == Kind::formula
                   ? x[i]
                   : x[i] * (1 + 0.1 * std::sin(static_cast<double>(i) + 1)) +
                         0.01 * std::cos(static_cast<double>(i));
      if (predict.kind != Kind::formula) {
        Vector<double> slope = x;
        if (rung.field.value) rung.field.value(x, slope, some_time);
        if (rung.field.state_at) slope = rung.field.state_at(some_time);
        numbers.assign(slope.begin(), slope.end());
      }
    }
    for (const double number : formulas.at(x, some_time)) numbers.push_back(number);
    return numbers;
  } catch (const InputError&) {
    return {};
  } catch (const Failure&) {
    return {};
  }
}

bool equal(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (std::isnan(a[i])) continue;
    largest = std::max(largest, std::fabs(a[i]));
    apart = std::max(apart, std::fabs(a[i] - b[i]));
  }
  return apart <= equality * largest;
}

// Settings at which mistakes are compared: the usual one, then knobs anywhere.
Setting setting_of(const Sheet& sheet, int k) {
  Setting setting;
  setting.seed = static_cast<std::uint64_t>(k) + 1;
  // Of the golden ratio's multiples no two are near.
  constexpr double golden = 0.6180339887498949;
  for (std::size_t i = 0; k > 0 && i < sheet.knobs.size(); ++i) {
    const double turns = golden * static_cast<double>(k + 3 * static_cast<int>(i));
    setting.chosen[std::string(sheet.knobs[i].name)] =
        value_at(sheet.knobs[i], turns - std::floor(turns));
  }
  return setting;
}

// Removes those without a type, and those that are the prediction or one before, and returns the latter's names.
std::vector<std::string> remove_equals(const Sheet& sheet, std::vector<Mistake>& mistakes) {
  std::vector<std::vector<std::optional<std::vector<double>>>> all(mistakes.size());
  std::vector<std::optional<std::vector<double>>> claimed;
  for (int k = 0; k < equality_instances; ++k) {
    std::optional<Instance> instance;
    try {
      instance.emplace(instance_of(sheet, setting_of(sheet, k)));
    } catch (const InputError&) {
      continue;
    }
    claimed.push_back(signature(sheet, *instance, nullptr));
    for (std::size_t m = 0; m < mistakes.size(); ++m) {
      const bool typed = k == 0 || all[m].front();
      std::optional<std::vector<double>> own;
      if (typed) own = signature(sheet, *instance, &mistakes[m]);
      // Of another shape than what is measured.
      if (own && claimed.back() && own->size() != claimed.back()->size()) own.reset();
      all[m].push_back(std::move(own));
    }
  }
  const auto alike = [&](const auto& a, const auto& b) {
    for (std::size_t k = 0; k < claimed.size(); ++k) {
      if (a[k] && b[k] && !equal(*a[k], *b[k])) return false;
    }
    return true;
  };
  std::vector<std::string> equals;
  std::vector<Mistake> kept;
  std::vector<std::size_t> places;
  for (std::size_t m = 0; m < mistakes.size(); ++m) {
    if (std::ranges::none_of(all[m], [](const auto& s) { return s.has_value(); })) continue;
    const bool known =
        alike(all[m], claimed) ||
        std::ranges::any_of(places, [&](std::size_t other) { return alike(all[m], all[other]); });
    if (known) {
      equals.push_back(mistakes[m].name);
      continue;
    }
    places.push_back(m);
    kept.push_back(std::move(mistakes[m]));
  }
  mistakes = std::move(kept);
  return equals;
}

Mistake mistake_of(const Sheet& sheet, const ControlText& control) {
  Mistake made{.name = control.name, .predict = control.predict, .measure = control.measure};
  if (control.predict || control.measure) {
    const MeasureText& other = control.predict ? *control.predict : *control.measure;
    made.what =
        fmt::format("{} {}", control.predict ? "predicted is" : "measured is", title_of(other));
    return made;
  }
  SampleLoss loss = sheet.loss;
  const std::string& model = loss.name;
  const std::string in = control.in.empty() ? "the prediction" : control.in;
  made.what = fmt::format("in {} `{}` in place of `{}`", in, control.by, control.replace);
  const std::string* before =
      control.in.empty() ? &sheet.text.predict.formula : formula_of(loss, control.in);
  if (before == nullptr) {
    throw EntryError(model, control.entry,
                     fmt::format("is in '{}', which is no constant, observable, draw.NAME, "
                                 "loss.NAME or rung.NAME.flow.STATE",
                                 control.in));
  }
  const std::optional<std::string> after = with_replaced(*before, control.replace, control.by);
  if (!after) {
    throw EntryError(
        model, control.entry,
        fmt::format("replaces '{}', which is no part of '{}'", control.replace, *before));
  }
  if (control.in.empty()) {
    made.predict = sheet.text.predict;
    made.predict->formula = *after;
  } else {
    made.edit = Edit{control.in, *after};
    made.of_system = !is_of_prediction(control.in);
  }
  return made;
}

// --- the declaration

// What is no formula is refused where it is typed.
bool is_read(const std::vector<NamedFormula>& formulas, const std::string& name) {
  return std::ranges::any_of(formulas, [&](const NamedFormula& f) {
    try {
      return names_in(f.formula).contains(name);
    } catch (const InputError&) {
      return true;
    }
  });
}

Knob knob_of(Sheet& sheet, const KnobText& text) {
  SampleLoss& loss = sheet.loss;
  const std::string entry = fmt::format("{} knob {}", sheet.entry, text.name);
  std::optional<double> usual = text.usual;
  std::string meaning;
  Spacing spacing = Spacing::linear;
  if (const LossSize* size = find(loss.sizes, text.name)) {
    if (!usual) usual = static_cast<double>(size->value);
    meaning = size->meaning;
    spacing = Spacing::whole;
  } else if (const LossParameter* parameter = find(loss.parameters, text.name)) {
    const auto* number = parameter->value.as<std::string>();
    if (!usual && number != nullptr && !refusal_of_number(*number, {}))
      usual =
          std::stod(parse_number(*number).numerator) / std::stod(parse_number(*number).denominator);
    meaning = parameter->meaning;
  } else if (text.name == "eta") {
    if (!usual) usual = loss.step;
    meaning = "learning rate";
  }
  if (!usual && find(loss.parameters, text.name) == nullptr &&
      !is_read(sheet.text.set, text.name)) {
    std::vector<std::string> known{"eta"};
    for (const LossSize& size : loss.sizes) known.push_back(size.name);
    for (const LossParameter& p : loss.parameters) known.push_back(p.name);
    throw EntryError(
        loss.name, entry,
        "is no size or parameter, and set does not read it" + suggestion(text.name, known));
  }
  if (!usual)
    throw EntryError(loss.name, entry, "has no usual value; give usual, where verify examines");
  if (meaning.empty()) meaning = text.name;
  Knob knob{.name = sheet.kept(text.name),
            .meaning = sheet.kept(meaning),
            .low = text.low,
            .high = text.high,
            .usual = *usual,
            .spacing = text.spacing.value_or(spacing)};
  for (std::size_t k = 0; k < sheet.text.assume.size(); ++k) {
    if (sheet.text.assume[k].name == text.breaks) knob = knob.breaking(sheet.assumptions[k]);
  }
  return knob;
}

// Entries of a measure at one time.
Index typed(const Sheet& sheet, const Instance& usual, const MeasureText& measure) {
  MeasureText own = on_rung(measure, sheet.text.measure.rung);
  if (own.kind == Kind::residual) {
    static_cast<void>(residual_subject(sheet.loss, own));
    return 1;
  }
  if (own.kind == Kind::event) {
    if (const auto comparison = comparison_in(own.formula)) own.formula = comparison->difference;
  }
  std::vector<AskedFormula> asked{{.entry = own.entry, .rung = own.rung, .formula = own.formula}};
  for (const std::string& time : own.times)
    asked.push_back({.entry = own.entry + " at", .rung = own.rung, .formula = time});
  const StateFormulas<double> formulas(usual, own.rung, asked);
  if (own.kind != Kind::formula && own.kind != Kind::value) {
    try {
      static_cast<void>(usual.model().row(own.rung));
    } catch (const InputError& error) {
      throw EntryError(sheet.loss.name, own.entry, error);
    }
  }
  return formulas::entries(formulas.shape(0));
}

void require_types(const Sheet& sheet) {
  const Instance usual = instance_of(sheet, {});
  const StatementText& text = sheet.text;
  if (text.measure.kind == Kind::along && text.measure.times.empty())
    throw EntryError(sheet.loss.name, text.measure.entry, "needs times, as in at = [1, 10]");
  const Index entries = typed(sheet, usual, text.measure);
  const auto require_fitting = [&](const MeasureText& other) {
    const Index own = typed(sheet, usual, other);
    if (own == entries || own == 1) return;
    throw EntryError(sheet.loss.name, other.entry,
                     fmt::format("has {} numbers, what is measured {}", own, entries));
  };
  require_fitting(text.predict);
  if (!text.scale.empty())
    require_fitting({.entry = sheet.entry + " scale", .formula = text.scale});
  for (const ControlText& control : text.controls) {
    if (control.predict) require_fitting(*control.predict);
    if (control.measure) static_cast<void>(typed(sheet, usual, *control.measure));
  }
}

// Of the start of training; where there is none, of the rung that is measured.
AskedFormula margin_of(const Sheet& sheet, const NamedFormula& assumed) {
  AskedFormula asked{.entry = fmt::format("{} assume {}", sheet.entry, assumed.name),
                     .rung = "flow",
                     .formula = comparison_in(assumed.formula).value().difference,
                     .may_fail = true};
  const Instance usual = instance_of(sheet, {});
  if (!learning::LossArrays(usual.loss, usual.given, {asked}, usual.seed).asked[0])
    asked.rung = sheet.text.measure.rung;
  asked.may_fail = false;
  return asked;
}

std::string sign_of(Relation relation) {
  return relation == Relation::equal ? "=" : relation == Relation::at_most ? "<=" : "<";
}

// Formulas besides those of the law that a statement has.
std::vector<std::string> formulas_of(const StatementText& text) {
  std::vector<std::string> all{text.scale};
  const auto add = [&](const MeasureText& measure) {
    if (measure.kind != Kind::residual) all.push_back(measure.formula);
    all.insert(all.end(), measure.times.begin(), measure.times.end());
  };
  add(text.measure);
  add(text.predict);
  for (const auto* own : {&text.set, &text.assume}) {
    for (const NamedFormula& f : *own) all.push_back(f.formula);
  }
  for (const ControlText& control : text.controls) {
    if (control.predict) add(*control.predict);
    if (control.measure) add(*control.measure);
    all.push_back(control.by);
    constexpr std::string_view section = "observables.";
    const bool is_named = control.in.starts_with(section);
    const std::string name = is_named ? control.in.substr(section.size()) : control.in;
    if (name.find('.') == std::string::npos) all.push_back(name);
  }
  return all;
}

// With its formulas typed, and no mistakes by program.
std::shared_ptr<Sheet> sheet_of(const TheoryFile& file, const StatementText& text) {
  auto sheet = std::make_shared<Sheet>();
  sheet->text = text;
  sheet->loss = file.loss;
  // The residual of an invariant is along the rung that it is of.
  for (MeasureText* measure : {&sheet->text.measure, &sheet->text.predict}) {
    const LossInvariant* invariant = find(sheet->loss.invariants, measure->formula);
    if (measure->kind == Kind::residual && invariant != nullptr) measure->rung = invariant->of;
  }
  sheet->entry = "statement " + text.name;
  for (const NamedFormula& assumed : text.assume) {
    if (!comparison_in(assumed.formula)) {
      throw EntryError(file.loss.name, fmt::format("{} assume {}", sheet->entry, assumed.name),
                       "must be a comparison such as scale <= 0.5");
    }
    sheet->assumptions.emplace_back(
        sheet->kept(fmt::format("{}: `{}`", assumed.name, assumed.formula)).data());
  }
  for (const KnobText& knob : text.knobs) sheet->knobs.push_back(knob_of(*sheet, knob));
  require_types(*sheet);
  for (const NamedFormula& assumed : text.assume)
    sheet->margins.push_back(margin_of(*sheet, assumed));
  for (const ControlText& control : text.controls)
    sheet->mistakes.push_back(mistake_of(*sheet, control));
  return sheet;
}

Statement statement_of(const TheoryFile& file, const StatementText& text) {
  const std::shared_ptr<Sheet> sheet = sheet_of(file, text);
  sheet->loss = learning::without_unread(std::move(sheet->loss), formulas_of(text));
  Statement made{.id = fmt::format("{}.{}", file.loss.name, text.name),
                 .claim = text.claim,
                 .paper = text.source.empty() ? file.loss.paper : text.source,
                 .status = "stated in " + (file.about.empty() ? file.file : file.about)};
  made.about = sheet->text.measure.rung;
  made.reaches = {EvidenceKind::numerical};
  made.reads = sheet->text.measure.rung;
  made.hypotheses = sheet->assumptions;
  if (made.hypotheses.empty())
    made.hypotheses.push_back(
        by_construction("law, model and loss of the file", "the instance is made of them"));
  made.knobs = sheet->knobs;
  std::vector<std::string> equals;
  if (text.relation == Relation::equal) {
    std::vector<Mistake> by_program = mistakes_by_program(*sheet);
    equals = remove_equals(*sheet, by_program);
    if (by_program.empty() && text.predict.kind == Kind::formula) {
      Mistake larger{
          .name = "predict: a tenth more", .what = "by program", .predict = text.predict};
      larger.predict->formula = fmt::format("1.1 * ({})", text.predict.formula);
      by_program.push_back(std::move(larger));
    }
    for (Mistake& mistake : by_program) sheet->mistakes.push_back(std::move(mistake));
  }
  if (sheet->mistakes.empty()) {
    throw EntryError(file.loss.name, sheet->entry,
                     "has no control, and the program finds no mistake to make in its prediction; "
                     "give controls = { NAME = \"FORMULA\" }");
  }
  for (const Mistake& mistake : sheet->mistakes)
    sheet->controls.push_back({sheet->kept(mistake.name), sheet->kept(mistake.what)});
  made.controls = sheet->controls;
  made.false_version = made.controls.front().name;
  made.no_rival = "a file gives its controls only";
  made.theorem = fmt::format("\n{} {} {}", title_of(text.measure), sign_of(text.relation),
                             title_of(on_rung(text.predict, sheet->text.measure.rung)));
  if (!equals.empty()) {
    made.theorem += fmt::format(
        "\nMistakes by program that equal the prediction or one another at eight instances, and "
        "are not counted: {}",
        fmt::join(equals, "; "));
  }
  made.examine = [sheet](const Setting& setting, Examination& it) { check(*sheet, setting, it); };
  return made;
}

}  // namespace
}  // namespace file_statements_cpp

void check_statements(const TheoryFile& file) {
  for (const StatementText& text : file.statements)
    static_cast<void>(file_statements_cpp::sheet_of(file, text));
}

std::vector<Statement> statements_of(const TheoryFile& file) {
  std::vector<Statement> all;
  for (const StatementText& text : file.statements)
    all.push_back(file_statements_cpp::statement_of(file, text));
  return all;
}

}  // namespace popgrad::theory_files
