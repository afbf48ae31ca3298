#include "popgrad/theories.hpp"

namespace popgrad {

Theories theories() {
  static const std::vector<Theory> all{
      joma::theory(),
      scan_snap::theory(),
      scb::theory(),
      topic::theory(),
  };
  return all;
}

const std::vector<std::shared_ptr<const Model>>& models() {
  static const auto all = [] {
    std::vector<std::shared_ptr<const Model>> list;
    for (const Theory& theory : theories()) list.push_back(theory.model);
    return list;
  }();
  return all;
}

const std::vector<Statement>& statements() {
  static const auto all = [] {
    std::vector<Statement> list;
    for (const Statement* statement : statements(theories())) list.push_back(*statement);
    return list;
  }();
  return all;
}

const std::vector<Erratum>& errata() {
  static const std::vector<Erratum> all = errata(theories());
  return all;
}

const Model& find_model(std::string_view name) { return find_model(theories(), name); }

}  // namespace popgrad
