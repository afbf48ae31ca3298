#pragma once
/// What `run` writes: one trajectory or an ensemble, with all that is needed to make it again.

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "io/versions.hpp"
#include "popgrad/base/record.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "runs/run.hpp"

namespace popgrad {

/// One of the rungs that are set side by side.
struct RunSide {
  std::string rung;
  Record settings;
  std::vector<Outcome> outcomes;  ///< of its runs
};

/// A result with what made it.
template <class T>
struct RunRecord : RunResult<T> {
  std::string model;
  std::string rung;
  Record parameters;
  std::string command;        ///< the one command line that makes it again
  Versions earlier_versions;  ///< that made parts of it, where it goes on from a checkpoint
  std::uint64_t seed = 1;
  std::vector<RunSide> sides;  ///< of a comparison; `runs` has their table then
  Record judgement;            ///< of recorded runs; empty for others
};

/// Names of the columns: run (ensembles), t, observables, states if there are any.
template <class T>
std::vector<std::string> column_names(const RunRecord<T>& record);

/// CSV text: header line, then a row a save point, numbers with all their digits.
template <class T>
std::string to_csv(const RunRecord<T>& record);

/// JSON text; numbers of more than 16 digits are decimal strings.
template <class T>
std::string to_json_text(const RunRecord<T>& record);

/// Writes by suffix: .csv, .json, .npz; `-` or empty is CSV on `standard_output`.
template <class T>
void write_record(const RunRecord<T>& record, const std::filesystem::path& path,
                  std::FILE* standard_output);

/// Throws InputError if `path` has no known suffix or cannot be written.
void check_output(const std::filesystem::path& path);

}  // namespace popgrad
