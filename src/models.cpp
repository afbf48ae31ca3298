#include <algorithm>

#include "joma/model.hpp"
#include "popgrad/error.hpp"
#include "popgrad/model.hpp"
#include "scan_snap/model.hpp"
#include "scb/model.hpp"
#include "topic/model.hpp"

namespace popgrad {

std::span<const std::unique_ptr<Model>> models() {
  static const auto all = [] {
    std::vector<std::unique_ptr<Model>> list;
    list.push_back(joma::make_model());
    list.push_back(scan_snap::make_model());
    list.push_back(scb::make_model());
    list.push_back(topic::make_model());
    return list;
  }();
  return all;
}

const Model& find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& model : models()) {
    if (model->name() == name) return *model;
    names.push_back(model->name());
  }
  reject("popgrad", "model", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list'");
}

RungInfo find_rung(const Model& model, std::string_view name) {
  std::vector<std::string> names;
  for (RungInfo& info : model.rungs()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  reject(model.name(), "rung", name,
         "is not known" + suggestion(name, names) + "; see 'popgrad list'");
}

}  // namespace popgrad
