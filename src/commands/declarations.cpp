#include "commands/declarations.hpp"

#include <algorithm>
#include <cmath>

#include "io/json_document.hpp"
#include "popgrad/rungs/model.hpp"
#include "presenting/catalogue.hpp"

namespace popgrad::cli {
namespace {

bool takes_numbers(const std::string& kind) {
  return kind == "number" || kind == "count" || kind == "numbers" || kind == "pair" ||
         kind == "vector" || kind == "matrix" || kind == "components";
}

// Whole where it is: programs compare 1 with 1, and 2^64 - 1 has to keep its digits.
Json end_of(double end, bool whole) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (whole && end == 0x1p64) return Json(~std::uint64_t{0});
  if (whole && std::fabs(end) <= 1e18) return Json(static_cast<std::int64_t>(end));
  if (std::trunc(end) == end && std::fabs(end) <= exact)
    return Json(static_cast<std::int64_t>(end));
  return Json(end);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// What options and parameters have in common.
Json declaration_json(const ParameterInfo& info) {
  const bool numbers = takes_numbers(info.kind);
  const bool whole = info.kind == "count";
  Json own{{"type", info.kind},
           {"unit", text_or_null(info.unit)},
           {"default", text_or_null(info.default_value)},
           {"choices", info.choices},
           {"meaning", info.help}};
  own["least"] = numbers ? end_of(info.range.low, whole) : Json(nullptr);
  own["most"] = numbers ? end_of(info.range.high, whole) : Json(nullptr);
  own["least_excluded"] = numbers && info.range.without_low;
  own["most_excluded"] = numbers && info.range.without_high && !whole;
  return own;
}

Json option_json(const OptionText& option) {
  Json own = declaration_json(option.declared);
  Json names = Json::array();
  for (std::size_t begin = 0; begin < option.names.size();) {
    const std::size_t end = std::min(option.names.find(',', begin), option.names.size());
    names.push_back(option.names.substr(begin, end - begin));
    begin = end + 1;
  }
  own["names"] = std::move(names);
  own["positional"] = option.positional;
  own["flag"] = option.value.empty();
  own["required"] = option.required;
  own["repeatable"] = option.repeatable;
  // Those of a model have a name, and rungs of the model in that place.
  own["rung_kinds"] = option.declared.name.empty() ? Json(option.declared.rungs) : Json::array();
  return own;
}

Json command_json(const CommandText& command) {
  Json options = Json::array();
  for (const OptionText& option : command.options) options.push_back(option_json(option));
  return {{"name", command.name},
          {"meaning", command.help},
          {"takes_parameters", command.takes_parameters},
          {"options", std::move(options)}};
}

Json model_json(const Theory& theory) {
  const Model& model = *theory.model;
  Json own{{"name", model.name()}};
  Json& rungs = own["rungs"] = Json::array();
  for (const RungInfo& rung : model.rungs()) {
    rungs.push_back({{"name", rung.name}, {"kind", name_of(rung.kind)}});
  }
  Json& parameters = own["parameters"] = Json::array();
  for (const ParameterInfo& info : model.parameters()) {
    Json parameter = declaration_json(info);
    parameter["name"] = info.name;
    parameter["on_command_line"] = info.flag;
    parameter["rungs"] = info.rungs;
    parameters.push_back(std::move(parameter));
  }
  Json& statements = own["statements"] = Json::array();
  for (const Statement& statement : theory.statements) statements.push_back(statement.id);
  Json& figures = own["figures"] = Json::array();
  for (const FigureMaker& maker : theory.figures) figures.push_back(maker.info.name);
  return own;
}

}  // namespace

std::string declarations_json(const CommandLine& app, Theories theories) {
  Json document = json_document("options/1");
  Json& commands = document["commands"] = Json::array();
  for (const CommandText& command : app.describe().commands) {
    commands.push_back(command_json(command));
  }
  Json& models = document["models"] = Json::array();
  for (const Theory& theory : theories) models.push_back(model_json(theory));
  return document.dump(1) + "\n";
}

}  // namespace popgrad::cli
