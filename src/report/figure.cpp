#include "report/figure.hpp"

#include <fmt/format.h>

#include "popgrad/error.hpp"
#include "report/drawing.hpp"

namespace popgrad {
namespace {

const FigureMaker& find_maker(Theories theories, std::string_view name) {
  std::vector<std::string> names;
  for (const Theory& theory : theories) {
    for (const FigureMaker& maker : theory.figures) {
      if (maker.info.name == name) return maker;
      names.push_back(maker.info.name);
    }
  }
  reject("popgrad figure", "name", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list'");
}

}  // namespace

std::vector<std::filesystem::path> make_figure(Theories theories, const FigureRequest& request) {
  const FigureMaker& maker = find_maker(theories, request.name);
  Drawing drawing;
  drawing.name = maker.info.name;
  drawing.script = maker.info.name;
  drawing.script_text = maker.script;
  drawing.title = maker.info.title;
  drawing.command = request.command;
  if (drawing.command.empty()) {
    drawing.command = fmt::format("popgrad figure {} --seed {}", request.name, request.seed);
    if (!request.data_file.empty()) drawing.command += fmt::format(" --data {}", request.data_file);
  }
  drawing.seed = request.seed;
  drawing.folder = request.folder;
  drawing.files = maker.data(request);
  return draw(drawing);
}

}  // namespace popgrad
