#include "commands/statement_choice.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "popgrad/base/error.hpp"

namespace popgrad::cli {

bool matches(const std::string& pattern, const std::string& id) {
  return ::fnmatch(pattern.c_str(), id.c_str(), 0) == 0;
}

std::vector<const Statement*> matching_statements(Theories theories, const std::string& command,
                                                  const std::vector<std::string>& patterns) {
  std::vector<std::string> ids;
  std::vector<const Statement*> all;
  for (const Theory& theory : theories) {
    for (const Statement& s : theory.statements) {
      ids.push_back(s.id);
      all.push_back(&s);
    }
  }
  std::set<std::size_t> chosen;
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!matches(pattern, ids[i])) continue;
      chosen.insert(i);
      any = true;
    }
    if (!any && has_model(theories, pattern)) {
      reject(command, "statement", pattern,
             fmt::format("is a model; quote '{}.*' for all of its statements", pattern));
    }
    if (!any) {
      reject(command, "statement", pattern,
             fmt::format("matches none{}; see 'popgrad list {}'", suggestion(pattern, ids),
                         theories.size() == 1 ? theories.front().model->word() : "MODEL"));
    }
  }
  std::vector<const Statement*> list;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (patterns.empty() || chosen.contains(i)) list.push_back(all[i]);
  }
  return list;
}

std::string example_model(Theories theories) {
  return theories.front().model->name() + " (see 'popgrad list')";
}

std::string example_rung(Theories theories) {
  const Model& model = *theories.front().model;
  const std::vector<RungInfo> rungs = model.rungs();
  const auto flow = std::find_if(rungs.begin(), rungs.end(),
                                 [](const RungInfo& rung) { return rung.kind == RungKind::flow; });
  return fmt::format("{} {}", model.name(), flow == rungs.end() ? "RUNG" : flow->name);
}

std::string example_rungs(Theories theories) {
  const Model& model = *theories.front().model;
  for (const LadderStep& step : model.ladder()) {
    if (walks(find_rung(model, step.finer)) || walks(find_rung(model, step.coarser))) continue;
    return fmt::format("{} {} {}", model.name(), step.finer, step.coarser);
  }
  return model.name() + " RUNG RUNG";
}

std::string example_statement(Theories theories, const std::function<bool(const Statement&)>& fit) {
  for (const Statement* statement : statements(theories)) {
    if (fit(*statement)) return statement->id;
  }
  return "MODEL.SUBJECT";
}

std::string example_statements(Theories theories) {
  return fmt::format("'{}.*'", theories.front().model->name());
}

}  // namespace popgrad::cli
