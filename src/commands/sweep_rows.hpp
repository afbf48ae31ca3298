#pragma once
/// The rows of a sweep by the number of their cell, in memory and in files.
///
///     NAME.csv             header and rows in the order of cells; written about once a second
///     NAME.csv.journal     every row as soon as it is there, with its cell; removed at the end
///     NAME.csv.sweep.json  what makes them (SweepNote)
///
/// A process that is killed has thus lost no row that it kept, and the same command goes on. The
/// journal: a line `-<TAB>SUM<TAB>HEADER`, then lines `CELL<TAB>SUM<TAB>ROW`. SUM is a fingerprint of
/// the note, the cell and the row, so that a line that was changed, or is of another sweep, is known as
/// such. At the end of a journal it is what a crash left, and is dropped; before other lines it is
/// refused. A table without a journal has the fingerprint that its note states.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/sweep_shard.hpp"
#include "io/locked_file.hpp"

namespace popgrad::cli {

/// What is on disk of a sweep.
struct StoredRows {
  std::string header;             ///< with its end of line; empty: none yet
  std::vector<std::string> rows;  ///< one a cell, without end of line; empty: not done
  std::size_t done = 0;
  std::size_t journal_length = 0;  ///< bytes of the lines of the journal that count
};
/// Throws InputError, as of the command `where`, for what is not as popgrad left it.
StoredRows stored_rows(std::string_view where, const std::filesystem::path& output,
                       std::size_t cells, const SweepNote& note);

/// NAME.csv.sweep.json of NAME.csv, and its journal.
std::filesystem::path note_of(const std::filesystem::path& output);
std::filesystem::path journal_of(const std::filesystem::path& output);

class SweepRows {
 public:
  /// Only in memory.
  explicit SweepRows(std::size_t cells) { stored_.rows.resize(cells); }
  /// Takes over what the same command left at `output`, and keeps other processes from writing
  /// there. `where` is the command, for errors. Throws InputError if another command made what is
  /// there, or this one with other contents of a file, or, without `same_results`, another version of
  /// popgrad; or if another process is at it.
  SweepRows(const char* where, std::filesystem::path output, SweepNote note, std::size_t cells,
            bool same_results);
  /// Saves what is not saved.
  ~SweepRows();
  SweepRows(const SweepRows&) = delete;
  SweepRows& operator=(const SweepRows&) = delete;

  [[nodiscard]] std::size_t cells() const { return stored_.rows.size(); }
  [[nodiscard]] std::size_t done() const { return stored_.done; }
  [[nodiscard]] bool has(std::size_t cell) const { return !stored_.rows[cell].empty(); }
  /// Without the end of line; empty if there is none.
  [[nodiscard]] const std::string& row(std::size_t cell) const { return stored_.rows[cell]; }
  /// With its end of line; empty until it is known.
  [[nodiscard]] const std::string& header() const { return stored_.header; }
  /// Before the first row.
  void set_header(const std::string& header) { stored_.header = header; }

  /// Of a cell that has no row yet. Throws InputError if it cannot be written.
  void keep(std::size_t cell, const std::string& row);
  /// Writes the table, if there are rows that it lacks.
  void save();
  /// All cells are done: writes the table and removes the journal.
  void finish();
  /// Header and the rows that there are, in the order of cells.
  [[nodiscard]] std::string text() const;

 private:
  using Clock = std::chrono::steady_clock;

  void take_over(bool same_results);
  [[nodiscard]] std::string line_of(std::string_view mark, std::string_view row) const;
  void write_table();
  [[noreturn]] void refuse(const std::string& why) const;

  const char* where_ = "";
  std::filesystem::path output_;  // empty: only in memory
  SweepNote note_;
  Versions versions_;  // of the rows that are kept here
  StoredRows stored_;
  std::string key_;  // of the note
  std::optional<LockedFile> journal_;
  bool changed_ = false;      // rows that were not there before
  bool unsaved_ = false;      // rows that are not in the table yet
  Clock::time_point next_{};  // when the table is written again
};

}  // namespace popgrad::cli
