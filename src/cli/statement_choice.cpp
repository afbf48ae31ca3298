#include "cli/statement_choice.hpp"

#include <fnmatch.h>

#include <set>

#include "popgrad/error.hpp"

namespace popgrad::cli {

std::vector<const Statement*> matching_statements(const std::string& command,
                                                  const std::vector<std::string>& patterns) {
  std::vector<std::string> ids;
  for (const Statement& s : statements()) ids.push_back(s.id);
  std::set<std::size_t> chosen;
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (::fnmatch(pattern.c_str(), ids[i].c_str(), 0) != 0) continue;
      chosen.insert(i);
      any = true;
    }
    if (!any) {
      reject(command, "statement", pattern,
             "matches none" + suggestion(pattern, ids) + "; see 'popgrad list'");
    }
  }
  std::vector<const Statement*> list;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (patterns.empty() || chosen.contains(i)) list.push_back(&statements()[i]);
  }
  return list;
}

}  // namespace popgrad::cli
