#include "popgrad/evidence/theory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "popgrad/base/error.hpp"

namespace popgrad {

namespace {

bool is_named(const Theory& theory, std::string_view name) {
  return theory.model->name() == name || (!theory.file.empty() && theory.file == name);
}

}  // namespace

const Theory& find_theory(Theories theories, std::string_view name) {
  std::vector<std::string> names;
  for (const Theory& theory : theories) {
    if (is_named(theory, name)) return theory;
    names.push_back(theory.model->name());
  }
  reject("popgrad", "model", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list'");
}

const Model& find_model(Theories theories, std::string_view name) {
  return *find_theory(theories, name).model;
}

bool has_model(Theories theories, std::string_view name) {
  return std::any_of(theories.begin(), theories.end(),
                     [&](const Theory& theory) { return is_named(theory, name); });
}

std::vector<const Statement*> statements(Theories theories) {
  std::vector<const Statement*> all;
  for (const Theory& theory : theories) {
    for (const Statement& statement : theory.statements) all.push_back(&statement);
  }
  return all;
}

std::vector<Erratum> errata(Theories theories) {
  std::vector<Erratum> all;
  for (const Theory& theory : theories) {
    all.insert(all.end(), theory.errata.begin(), theory.errata.end());
  }
  return all;
}

std::vector<FigureInfo> figures(Theories theories) {
  std::vector<FigureInfo> all;
  for (const Theory& theory : theories) {
    for (const FigureMaker& maker : theory.figures) all.push_back(maker.info);
  }
  return all;
}

void check_theories(Theories theories) {
  constexpr const char* where = "popgrad: theories";
  if (theories.empty()) throw InputError("popgrad: theories: there is none; give at least one");
  std::set<std::string> names;
  const auto take = [&](const char* kind, const std::string& name) {
    if (!names.insert(kind + name).second) {
      reject(where, kind, name, "occurs twice; choose another name");
    }
  };
  for (const Theory& theory : theories) {
    if (theory.model == nullptr) throw InputError("popgrad: theories: one of them has no model");
    const std::string& model = theory.model->name();
    take("model", model);
    for (const FigureMaker& maker : theory.figures) {
      take("figure", maker.info.name);
      if (!maker.data || (!maker.picture && maker.script.empty())) {
        reject(where, "figure", maker.info.name,
               "has no data or nothing to draw; set `data`, and `picture` or `script`");
      }
    }
    for (const LossLandscape& landscape : theory.landscapes) {
      take("landscape", model + " " + landscape.name);
      if (landscape.name.empty() || !landscape.at) {
        reject(where, "landscape", model + " " + landscape.name,
               "has no name or no loss; set `name` and `at`");
      }
    }
    for (const Statement& s : theory.statements) {
      take("statement", s.id);
      if (!s.id.starts_with(model + ".")) {
        reject(where, "statement", s.id, "must begin with the name of its model: " + model + ".");
      }
      if (!s.examine) reject(where, "statement", s.id, "has no check; set `examine`");
      if (s.hypotheses.empty()) {
        reject(where, "statement", s.id, "declares no hypothesis; evaluate one in its check");
      }
      if (s.controls.empty()) {
        reject(where, "statement", s.id, "has no control; add a small mistake to its comparisons");
      }
      std::set<std::string_view> alternatives;
      for (const Control& control : s.controls) alternatives.insert(control.name);
      for (const Rival& rival : s.rivals) alternatives.insert(rival.name);
      if (alternatives.size() < s.controls.size() + s.rivals.size()) {
        reject(where, "statement", s.id, "has two controls or rivals of one name; rename one");
      }
    }
  }
  for (const FigureInfo& figure : figures(theories)) {
    for (const std::string& id : figure.shows) {
      if (names.contains("statement" + id)) continue;
      reject(where, "shows", id,
             fmt::format("of the figure {} is no statement of these theories", figure.name));
    }
  }
}

}  // namespace popgrad
