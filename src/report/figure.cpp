#include "report/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "popgrad/error.hpp"
#include "report/figure_maker.hpp"
#include "report/joma/figures.hpp"
#include "report/scan_snap/figures.hpp"
#include "report/scb/figures.hpp"
#include "report/topic/figures.hpp"

namespace popgrad {
namespace {

// Of all models, in their order.
const std::vector<FigureMaker>& all_makers() {
  static const std::vector<FigureMaker> all = [] {
    std::vector<FigureMaker> list;
    for (const auto* makers : {&report::joma_figures(), &report::scan_snap_figures(),
                               &report::scb_figures(), &report::topic_figures()}) {
      list.insert(list.end(), makers->begin(), makers->end());
    }
    return list;
  }();
  return all;
}

const FigureMaker& find_maker(std::string_view name) {
  const std::vector<FigureMaker>& makers = all_makers();
  const auto found = std::find_if(makers.begin(), makers.end(),
                                  [&](const FigureMaker& m) { return m.info.name == name; });
  if (found == makers.end()) {
    std::vector<std::string> names;
    for (const FigureMaker& maker : makers) names.push_back(maker.info.name);
    reject("popgrad figure", "name", name,
           "is not known" + suggestion(name, names) + "; see 'popgrad list'");
  }
  return *found;
}

}  // namespace

// ---- data ----------------------------------------------------------------------------------

CsvText::CsvText(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) word(name);
  end_row();
}

CsvText::CsvText(const std::vector<std::string>& names) {
  for (const std::string& name : names) word(name);
  end_row();
}

CsvText& CsvText::number(double value) {
  return word(std::isnan(value) ? std::string{} : fmt::format("{:.17g}", value));
}

CsvText& CsvText::word(std::string_view text) {
  if (!at_start_) text_ += ',';
  text_ += text;
  at_start_ = false;
  return *this;
}

void CsvText::end_row() {
  text_ += '\n';
  at_start_ = true;
}

void require_usable(const Outcome& outcome, std::string_view figure) {
  if (outcome.usable()) return;
  throw std::runtime_error(fmt::format("figure {}: at t = {:.6g}: {}", figure, outcome.t_reached,
                                       describe(outcome.ending)));
}

// ---- figures -------------------------------------------------------------------------------

std::vector<FigureInfo> figures() {
  std::vector<FigureInfo> infos;
  for (const FigureMaker& maker : all_makers()) infos.push_back(maker.info);
  return infos;
}

std::vector<std::filesystem::path> make_figure(const FigureRequest& request) {
  const FigureMaker& maker = find_maker(request.name);
  Drawing drawing;
  drawing.name = maker.info.name;
  drawing.script = maker.info.name;
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
