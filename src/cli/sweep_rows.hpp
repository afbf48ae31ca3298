#pragma once
/// The rows of a sweep by the number of their cell, in memory and in files.
///
///     NAME.csv             header and rows in the order of cells; written about once a second
///     NAME.csv.journal     every row as soon as it is there, with its cell; removed at the end
///     NAME.csv.sweep.json  what makes them (SweepNote)
///
/// A process that is killed has thus lost no row that it kept, and the same command goes on. The
/// journal: lines `CELL<TAB>ROW`, and one `-<TAB>HEADER` behind the rows that NAME.csv had before
/// it. Where that line is missing the journal does not count, and a last line without its end never
/// does.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sweep_shard.hpp"

namespace popgrad::cli {

/// What is on disk of a sweep.
struct StoredRows {
  std::string header;             ///< with its end of line; empty: none yet
  std::vector<std::string> rows;  ///< one a cell, without end of line; empty: not done
  std::size_t done = 0;
  std::size_t journal_length = 0;  ///< bytes of the lines of the journal that count
};
StoredRows stored_rows(const std::filesystem::path& output, std::size_t cells);

/// NAME.csv.sweep.json of NAME.csv, and its journal.
std::filesystem::path note_of(const std::filesystem::path& output);
std::filesystem::path journal_of(const std::filesystem::path& output);

class SweepRows {
 public:
  /// In memory alone.
  explicit SweepRows(std::size_t cells) { stored_.rows.resize(cells); }
  /// Takes over what the same command left at `output`, and keeps other processes from writing
  /// there. `where` is the command, for errors. Throws InputError if another command made what is
  /// there, or if another process is at it.
  SweepRows(const char* where, std::filesystem::path output, SweepNote note, std::size_t cells);
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

  void open_journal();
  void begin_journal();
  void append(std::string_view lines);
  void write_table();
  [[noreturn]] void refuse(const std::string& why) const;

  const char* where_ = "";
  std::filesystem::path output_;  // empty: in memory alone
  SweepNote note_;
  StoredRows stored_;
  int journal_ = -1;          // open, and locked
  bool unsaved_ = false;      // rows that are not in the table yet
  Clock::time_point next_{};  // when the table is written again
};

}  // namespace popgrad::cli
