#include "commands/statement_choice.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

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
             "matches none" + suggestion(pattern, ids) + "; see 'popgrad list'");
    }
  }
  std::vector<const Statement*> list;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (patterns.empty() || chosen.contains(i)) list.push_back(all[i]);
  }
  return list;
}

}  // namespace popgrad::cli
