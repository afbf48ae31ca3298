#include "presenting/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "io/plain_text.hpp"
#include "popgrad/base/error.hpp"
#include "presenting/drawing.hpp"

namespace popgrad {
namespace {

struct Found {
  const Theory& theory;
  const FigureMaker& maker;
};

Found find_figure(Theories theories, std::string_view name) {
  std::vector<std::string> names;
  for (const Theory& theory : theories) {
    for (const FigureMaker& maker : theory.figures) {
      if (maker.info.name == name) return {theory, maker};
      names.push_back(maker.info.name);
    }
  }
  reject("popgrad figure", "name", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list MODEL'");
}

std::vector<ParameterInfo> parameters_of(const Found& figure) {
  std::vector<ParameterInfo> read;
  for (const FigureParameter& parameter : figure.maker.info.parameters) {
    read.push_back(parameter.info);
    if (!parameter.standard.empty()) read.back().default_value = parameter.standard;
  }
  return read;
}

// Those given, checked by name, and the figure's defaults for the others. A law of the user's own, a
// matrix that has no default, has its sizes in it.
Parameters completed(const Found& figure, const Parameters& given) {
  const FigureInfo& info = figure.maker.info;
  if (info.parameters.empty() && !given.values().empty()) {
    std::vector<std::string> reading;
    for (const FigureMaker& maker : figure.theory.figures) {
      if (!maker.info.parameters.empty()) reading.push_back(maker.info.name);
    }
    reject("popgrad figure " + info.name, "parameter", given.values().entries().front().name,
           "is not read: this figure has fixed parameters; leave it out" +
               (reading.empty()
                    ? ""
                    : fmt::format("; an instance is shown by {}", fmt::join(reading, ", "))));
  }
  Parameters all(figure.theory.model->name(), given.values());
  const std::vector<ParameterInfo> read = parameters_of(figure);
  all.check_names(read, "figure " + info.name);
  const bool own_law = std::any_of(read.begin(), read.end(), [&](const ParameterInfo& one) {
    return one.kind == "matrix" && one.default_value.empty() && all.has(one.name);
  });
  if (own_law) return all;
  for (const FigureParameter& parameter : info.parameters) {
    if (!parameter.standard.empty()) all.set_default(parameter.info.name, parameter.standard);
  }
  return all;
}

}  // namespace

std::vector<ParameterInfo> figure_parameters(Theories theories, std::string_view name) {
  return parameters_of(find_figure(theories, name));
}

const Model& figure_model(Theories theories, std::string_view name) {
  return *find_figure(theories, name).theory.model;
}

std::vector<std::filesystem::path> make_figure(Theories theories, const FigureRequest& request) {
  const Found figure = find_figure(theories, request.name);
  const FigureMaker& maker = figure.maker;
  FigureRequest complete = request;
  complete.parameters = completed(figure, request.parameters);
  Drawing drawing;
  drawing.name = maker.info.name;
  drawing.title = plain_text(maker.info.title);
  drawing.command = request.command;
  if (drawing.command.empty()) {
    drawing.command = fmt::format("popgrad figure {} --seed {}", request.name, request.seed);
    if (!request.data_file.empty()) drawing.command += fmt::format(" --data {}", request.data_file);
  }
  drawing.seed = request.seed;
  drawing.folder = request.folder;
  const bool own = !request.parameters.values().empty();
  drawing.variables.emplace_back("own", own ? "1" : "0");
  if (own) drawing.add_caption(caption_of(complete.parameters.values(), {}, request.seed));
  std::vector<std::string> settings;
  for (const FigureParameter& parameter : maker.info.parameters) {
    const Value* const value = complete.parameters.values().find(parameter.info.name);
    if (value == nullptr || value->as<Value::List>() != nullptr) continue;
    const std::string text = complete.parameters.text(parameter.info.name, "");
    drawing.variables.emplace_back(parameter.info.name, text);
    settings.push_back(fmt::format("{} = {}", parameter.info.name, text));
  }
  if (!settings.empty()) drawing.title += fmt::format(": {}", fmt::join(settings, ", "));
  drawing.files = maker.data(complete);
  drawing.script_text = maker.script.empty()
                            ? picture_script(maker.picture(), maker.info.name, drawing.files)
                            : maker.script;
  return draw(drawing);
}

}  // namespace popgrad
