#pragma once
/// Parts of a sweep, for machines that share no more than a folder: shard I of N has the cells I-1,
/// I-1+N, ... in files of its own in the folder of the sweep's. And how the rows in a file state what made
/// them.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/input_files.hpp"
#include "io/versions.hpp"

namespace popgrad::cli {

struct Shard {
  std::size_t number = 1;  ///< 1 .. of
  std::size_t of = 1;

  /// "2/4"
  [[nodiscard]] std::string text() const;
  /// sweep.2-of-4.csv of sweep.csv.
  [[nodiscard]] std::filesystem::path file(const std::filesystem::path& output) const;
  /// How many of the cells of a sweep it has.
  [[nodiscard]] std::size_t cells(std::size_t of_sweep) const;
  /// The cell of the sweep that is the k-th here, from 0.
  [[nodiscard]] std::size_t cell(std::size_t k) const { return number - 1 + k * of; }
};

/// From "2/4". Throws InputError.
Shard shard_from(const std::string& text);

/// The shard that has this file, or its note or journal, as one of a sweep with this output; none
/// if it is not named so.
std::optional<Shard> shard_of_file(const std::string& name, const std::filesystem::path& output);

/// What makes the rows of a file: NAME.csv.sweep.json.
struct SweepNote {
  std::vector<std::string> words;  ///< without --shard and --same-results
  std::optional<Shard> shard;
  std::size_t cells = 0;  ///< of the whole sweep; stated with a shard only
  Fingerprints files;     ///< that were read for them
  Versions versions;      ///< that made them
  std::string table;      ///< fingerprint of the whole table; empty: not whole yet
};
/// From the words of a command, --shard among them or not; the files are those read so far, the version
/// is this program's.
SweepNote note_of_words(const std::vector<std::string>& words, const std::optional<Shard>& shard,
                        std::size_t cells);
std::string text_of(const SweepNote& note);
/// Nothing if there is no such file, or another text in it.
std::optional<SweepNote> read_note(const std::filesystem::path& file);

/// Of what rows are made by, but for the version: by it a row is known to be of this sweep.
std::string key_of(const SweepNote& note);

/// Whether the commands are the same, or make parts of the same sweep: --plot, --jobs and --quiet do
/// not matter.
bool same_sweep(const SweepNote& a, const SweepNote& b);
/// The same, and the same part.
bool same_rows(const SweepNote& a, const SweepNote& b);

}  // namespace popgrad::cli
