#include "presenting/search_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json.hpp"
#include "io/json_document.hpp"
#include "io/json_number.hpp"
#include "io/plain_text.hpp"
#include "popgrad/base/error.hpp"
#include "presenting/reproduction.hpp"
#include "presenting/result_table.hpp"
#include "presenting/verdict_table.hpp"

namespace popgrad {
namespace {

Json trial_json(const Trial& trial) {
  Json point = Json::object();
  for (const auto& [name, value] : trial.point) point[name] = value;
  return {{"point", point},
          {"seed", trial.seed},
          {"verdict", name_of(trial.verdict)},
          {"unconfirmed", trial.unconfirmed},
          {"margin", json_number(trial.margin)},
          {"of_allowed",
           std::isfinite(trial.of_allowed) ? json_number(trial.of_allowed) : Json(nullptr)},
          {"what", plain_text(trial.what)}};
}

Verdict verdict_from(const std::string& name) {
  for (const Verdict verdict :
       {Verdict::holds, Verdict::violated, Verdict::inconclusive, Verdict::not_applicable}) {
    if (name_of(verdict) == name) return verdict;
  }
  throw std::invalid_argument("verdict " + name);
}

Trial trial_from(const Json& item) {
  Trial trial;
  for (const auto& [name, value] : item.at("point").items()) {
    trial.point.emplace(name, value.get<double>());
  }
  trial.seed = item.at("seed").get<std::uint64_t>();
  trial.verdict = verdict_from(item.at("verdict").get<std::string>());
  trial.unconfirmed = item.value("unconfirmed", false);
  trial.margin = item.at("margin").is_null() ? std::numeric_limits<double>::quiet_NaN()
                                             : item.at("margin").get<double>();
  if (const auto share = item.find("of_allowed"); share != item.end() && !share->is_null()) {
    trial.of_allowed = share->get<double>();
  }
  trial.what = item.at("what").get<std::string>();
  return trial;
}

std::string outcome_text(const SearchRecord& record) {
  const SearchResult& r = record.result;
  if (r.counterexample) return fmt::format("falsified after {}", *r.found_after);
  if (r.unconfirmed > 0) return fmt::format("{} unconfirmed", r.unconfirmed);
  if (r.outside + r.undecided == r.trials.size()) return "nothing decided";
  return "not falsified";
}

// The trial that came nearest to a violation, in units of what was allowed; nullptr if none was judged.
const Trial* nearest_trial(const SearchResult& found) {
  const Trial* nearest = nullptr;
  for (const Trial& trial : found.trials) {
    const bool judged = trial.verdict == Verdict::holds || trial.verdict == Verdict::violated;
    if (!judged || !std::isfinite(trial.of_allowed)) continue;
    if (nearest == nullptr || trial.of_allowed > nearest->of_allowed) nearest = &trial;
  }
  return nearest;
}

}  // namespace

std::string point_text(const Trial& trial) {
  std::string text;
  for (const auto& [name, value] : trial.point) text += fmt::format("{} {:.6g}, ", name, value);
  return text + fmt::format("seed {}", trial.seed);
}

std::string search_table(const std::vector<SearchRecord>& records, const Caller& caller) {
  ResultTable table({words("statement"), words("against", 18, 2), words("outcome", 21),
                     numbers("points", 7), numbers("outside", 8), numbers("undecided", 10),
                     numbers("seconds", 8, ".1f"), numbers("off/allowed", 12)});
  for (const SearchRecord& record : records) {
    const SearchResult& r = record.result;
    const Trial* const nearest = nearest_trial(r);
    table.add(record.statement->id, record.control.empty() ? "the claim" : record.control,
              outcome_text(record), r.trials.size(), r.outside, r.undecided, r.seconds,
              nearest != nullptr ? share_text(nearest->of_allowed) : "");
    if (r.shrunk) {
      const Finding& found = r.shrunk_finding;
      table.note("  counterexample at {}\n    {}\n", point_text(*r.shrunk),
                 confirmation_text(found.confirmation));
      if (const Evidence* item = found.examination.nearest_to_failing()) {
        const std::string by = numbers_text(*item);
        table.note("    {}{}{}\n", item->what, by.empty() ? "" : ": ", by);
      }
      table.note("    {}\n",
                 reproduction_line(caller, *record.statement, r.shrunk->seed, r.shrunk->point));
    } else if (r.first_unconfirmed) {
      table.note("  unconfirmed miss at {}\n", point_text(*r.first_unconfirmed));
      if (!r.faults.empty()) table.note("    {}\n", r.faults.front());
    } else if (nearest != nullptr) {
      table.note("  nearest to failing at {}\n    {}\n", point_text(*nearest), nearest->what);
    }
  }
  return plain_text(table.text()) +
         fmt::format("\noff/allowed, the largest met: {}\n", meaning_of_worst);
}

namespace {

bool is_of(const Json& search, const std::string& id, const std::string& control,
           std::uint64_t seed) {
  return search.at("id") == id && search.at("control") == control && search.at("seed") == seed;
}

}  // namespace

Json search_json(const std::vector<SearchRecord>& records, const std::string& command,
                 const Caller& caller, const EarlierSearches& earlier) {
  Json searches = Json::array();
  for (const SearchRecord& record : records) {
    const SearchResult& r = record.result;
    Json trials = Json::array();
    for (const Trial& trial : r.trials) trials.push_back(trial_json(trial));
    Json item{{"id", record.statement->id},   {"control", record.control},
              {"seed", record.seed},          {"falsified", r.counterexample.has_value()},
              {"outside", r.outside},         {"undecided", r.undecided},
              {"unconfirmed", r.unconfirmed}, {"cut_short", r.cut_short},
              {"seconds", r.seconds}};
    item["smallest"] = r.smallest ? trial_json(*r.smallest) : Json(nullptr);
    item["counterexample"] = r.counterexample ? trial_json(*r.counterexample) : Json(nullptr);
    item["shrunk"] = r.shrunk ? trial_json(*r.shrunk) : Json(nullptr);
    if (r.shrunk) {
      item["reproduce"] =
          reproduction_line(caller, *record.statement, r.shrunk->seed, r.shrunk->point);
    }
    item["trials"] = std::move(trials);
    searches.push_back(std::move(item));
  }
  for (const Json& search : earlier.searches) {
    const bool made = std::any_of(records.begin(), records.end(), [&](const SearchRecord& record) {
      return is_of(search, record.statement->id, record.control, record.seed);
    });
    if (!made) searches.push_back(search);
  }
  Json document = json_document("searches/2", earlier.versions);
  document["command"] = command;
  document["searches"] = std::move(searches);
  seal(document);
  return document;
}

EarlierSearches earlier_searches(const std::string& text, const std::string& file) {
  // Plain numbers: no digits beyond a double's matter here.
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !is_as_sealed(document)) {
    reject("popgrad falsify", "--output", file,
           "is there and is no record as popgrad wrote it; restore it, remove it, or name another "
           "file");
  }
  EarlierSearches earlier{document.at("searches"), {}};
  const std::string versions = document.value("version", "");
  for (std::size_t begin = 0; begin <= versions.size();) {
    const std::size_t end = std::min(versions.find(", ", begin), versions.size());
    earlier.versions.push_back(versions.substr(begin, end - begin));
    begin = end + 2;
  }
  return earlier;
}

std::vector<Trial> trials_of(const EarlierSearches& earlier, const Statement& statement,
                             const std::string& control, std::uint64_t seed) {
  std::vector<Trial> trials;
  for (const Json& search : earlier.searches) {
    if (!is_of(search, statement.id, control, seed)) continue;
    for (const Json& item : search.at("trials")) trials.push_back(trial_from(item));
    break;
  }
  return trials;
}

}  // namespace popgrad
