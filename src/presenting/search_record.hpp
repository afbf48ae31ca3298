#pragma once
/// Searches for counterexamples, as a table for people and as JSON that a search goes on from.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "io/versions.hpp"
#include "popgrad/evidence/falsify.hpp"
#include "presenting/reproduction.hpp"

namespace popgrad {

/// One search, of a claim or of one of its controls.
struct SearchRecord {
  const Statement* statement = nullptr;
  std::string control;  ///< empty: the claim
  std::uint64_t seed = 1;
  SearchResult result;
};

/// `temperature 0.5, seed 3`, as it is given on a command line or in a table.
std::string point_text(const Trial& trial);
/// A line a search, aligned, each with the smallest margin or the counterexample and where.
/// `caller`: of the lines that hand a counterexample on.
std::string search_table(const std::vector<SearchRecord>& records, const Caller& caller = {});
/// A document that a search goes on from.
struct EarlierSearches {
  Json searches = Json::array();
  Versions versions;  ///< that made them
};
/// Throws InputError, naming `file`, for a text that popgrad did not write as it is.
EarlierSearches earlier_searches(const std::string& text, const std::string& file);

/// With every trial, and of `earlier` the searches that are not among the records.
Json search_json(const std::vector<SearchRecord>& records, const std::string& command,
                 const Caller& caller = {}, const EarlierSearches& earlier = {});
/// The trials of one search of an earlier document; none if it is not there.
std::vector<Trial> trials_of(const EarlierSearches& earlier, const Statement& statement,
                             const std::string& control, std::uint64_t seed);

}  // namespace popgrad
