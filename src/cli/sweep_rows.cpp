#include "cli/sweep_rows.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds between_saves{1};
/// Of the time is spent on other things than writing tables, which grow.
constexpr int share_of_saves = 20;

// Calls take(line) for each line that has its end, until that gives false; returns the length of
// what was taken.
template <class Take>
std::size_t take_lines(std::string_view text, const Take& take) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos || !take(text.substr(begin, end - begin))) return begin;
    begin = end + 1;
  }
}

// The cell of `CELL<TAB>ROW`; none if it is not that.
std::optional<std::size_t> cell_of(std::string_view line) {
  std::size_t cell = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, cell);
  if (error != std::errc() || stop == end || *stop != '\t') return std::nullopt;
  return cell;
}

constexpr std::string_view header_mark = "-\t";

void take(StoredRows& stored, std::size_t cell, std::string_view row) {
  if (row.empty() || !stored.rows[cell].empty()) return;
  stored.rows[cell] = row;
  ++stored.done;
}

}  // namespace

fs::path note_of(const fs::path& output) { return output.string() + ".sweep.json"; }
fs::path journal_of(const fs::path& output) { return output.string() + ".journal"; }

StoredRows stored_rows(const fs::path& output, std::size_t cells) {
  StoredRows stored;
  stored.rows.resize(cells);
  if (fs::exists(journal_of(output))) {
    stored.journal_length = take_lines(read_file(journal_of(output)), [&](std::string_view line) {
      if (line.starts_with(header_mark)) {
        stored.header = std::string(line.substr(header_mark.size())) + "\n";
        return true;
      }
      const std::optional<std::size_t> cell = cell_of(line);
      if (!cell || *cell >= cells) return false;
      take(stored, *cell, line.substr(line.find('\t') + 1));
      return true;
    });
    if (!stored.header.empty()) return stored;
    stored = {};
    stored.rows.resize(cells);
  }
  if (!fs::exists(output)) return stored;
  std::size_t line_number = 0;
  static_cast<void>(take_lines(read_file(output), [&](std::string_view line) {
    if (line_number == 0) {
      stored.header = std::string(line) + "\n";
    } else if (line_number <= cells) {
      take(stored, line_number - 1, line);
    }
    ++line_number;
    return true;
  }));
  return stored;
}

SweepRows::SweepRows(const char* where, fs::path output, SweepNote note, std::size_t cells)
    : where_(where), output_(std::move(output)), note_(std::move(note)) {
  check_writable(output_);
  const auto noted = [&] {
    const std::optional<SweepNote> there = read_note(note_of(output_));
    return there && same_rows(*there, note_);
  };
  if (fs::exists(output_) && !noted()) {
    refuse("holds something that another command made; remove it, or name another file");
  }
  stored_ = stored_rows(output_, cells);
  // Of a whole table there is nothing to write.
  if (fs::exists(output_) && done() == cells && !fs::exists(journal_of(output_))) return;
  open_journal();
  // Once more: another process may have ended meanwhile.
  stored_ = stored_rows(output_, cells);
  if (stored_.journal_length > 0 && !noted()) {
    const std::string journal = journal_of(output_).string();
    ::close(journal_);
    refuse("has rows of another command beside it in " + journal +
           "; remove that, or name another file");
  }
  if (::ftruncate(journal_, static_cast<off_t>(stored_.journal_length)) != 0) {
    const int code = errno;
    ::close(journal_);
    refuse(fmt::format("cannot be written ({})", std::strerror(code)));
  }
}

SweepRows::~SweepRows() {
  if (journal_ < 0) return;
  try {
    save();
    // Nothing came of it.
    if (stored_.journal_length == 0) fs::remove(journal_of(output_));
  } catch (const std::exception&) {
    // The rows are in the journal.
  }
  ::close(journal_);
}

void SweepRows::refuse(const std::string& why) const {
  reject(where_, "--output", output_.string(), why);
}

// The lock goes with the open file, so that none is left by a process that was killed.
void SweepRows::open_journal() {
  const fs::path path = journal_of(output_);
  while (true) {
    journal_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal_ < 0) refuse(fmt::format("cannot be written ({})", std::strerror(errno)));
    // Folders that have no locks are written without.
    if (::flock(journal_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(journal_);
      refuse("is being made by another process; wait for it, or name another file");
    }
    // One that ends removes its journal: it may have been this.
    struct stat status {};
    if (::fstat(journal_, &status) == 0 && status.st_nlink > 0) return;
    ::close(journal_);
  }
}

void SweepRows::append(std::string_view lines) {
  stored_.journal_length += lines.size();
  while (!lines.empty()) {
    const ssize_t n = ::write(journal_, lines.data(), lines.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(fmt::format("cannot be written ({})", std::strerror(errno)));
    lines.remove_prefix(static_cast<std::size_t>(n));
  }
}

void SweepRows::begin_journal() {
  // Whose rows they are has to be known before there are any.
  write_atomically(note_of(output_), text_of(note_));
  std::string begin;
  for (std::size_t cell = 0; cell < cells(); ++cell) {
    if (has(cell)) begin += fmt::format("{}\t{}\n", cell, row(cell));
  }
  append(fmt::format("{}{}{}", begin, header_mark, header()));
}

void SweepRows::keep(std::size_t cell, const std::string& row) {
  if (journal_ >= 0) {
    if (stored_.journal_length == 0) begin_journal();
    append(fmt::format("{}\t{}\n", cell, row));
  }
  take(stored_, cell, row);
  if (journal_ < 0) return;
  unsaved_ = true;
  if (Clock::now() >= next_) save();
}

void SweepRows::save() {
  if (unsaved_) write_table();
}

void SweepRows::write_table() {
  const Clock::time_point begin = Clock::now();
  // After a crash of the machine the table must not have rows that the journal has not; where that
  // is not possible, they are made again.
  static_cast<void>(::fdatasync(journal_));
  write_atomically(output_, text());
  unsaved_ = false;
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(between_saves, share_of_saves * (end - begin));
}

void SweepRows::finish() {
  if (journal_ < 0) return;
  if (stored_.journal_length == 0) write_atomically(note_of(output_), text_of(note_));
  write_table();
  fs::remove(journal_of(output_));
  ::close(journal_);
  journal_ = -1;
}

std::string SweepRows::text() const {
  std::string all = header();
  for (const std::string& row : stored_.rows) {
    if (!row.empty()) all += row + "\n";
  }
  return all;
}

}  // namespace popgrad::cli
