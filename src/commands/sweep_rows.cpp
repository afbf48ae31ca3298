#include "commands/sweep_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "io/atomic_file.hpp"
#include "io/fingerprint.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds between_saves{1};
/// Of the time is spent on other things than writing tables, which grow.
constexpr int share_of_saves = 20;

// Calls take(line, end) for each line that has its end, with where the next one begins.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return;
    take(text.substr(begin, end - begin), end + 1);
    begin = end + 1;
  }
}

constexpr std::string_view header_mark = "-";

std::string sum_of(std::string_view key, std::string_view mark, std::string_view row) {
  return fingerprint(fmt::format("{}\t{}\t{}", key, mark, row));
}

struct JournalLine {
  std::optional<std::size_t> cell;  // none: the header
  std::string_view row;
};

// None if it is not a line of this sweep as it was written.
std::optional<JournalLine> journal_line(std::string_view line, std::string_view key,
                                        std::size_t cells) {
  const std::size_t first = line.find('\t');
  const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view mark = line.substr(0, first);
  JournalLine made{std::nullopt, line.substr(second + 1)};
  if (line.substr(first + 1, second - first - 1) != sum_of(key, mark, made.row)) {
    return std::nullopt;
  }
  if (mark == header_mark) return made;
  std::size_t cell = 0;
  const auto [stop, error] = std::from_chars(mark.data(), mark.data() + mark.size(), cell);
  if (error != std::errc() || stop != mark.data() + mark.size() || cell >= cells) {
    return std::nullopt;
  }
  made.cell = cell;
  return made;
}

void take(StoredRows& stored, std::size_t cell, std::string_view row) {
  if (row.empty() || !stored.rows[cell].empty()) return;
  stored.rows[cell] = row;
  ++stored.done;
}

// Empty without a header.
StoredRows rows_of_journal(std::string_view where, const fs::path& journal, std::size_t cells,
                           std::string_view key) {
  StoredRows stored;
  stored.rows.resize(cells);
  std::size_t number = 0;
  std::size_t changed = 0;
  for_each_line(read_own_file(journal), [&](std::string_view text, std::size_t end) {
    ++number;
    const std::optional<JournalLine> line = journal_line(text, key, cells);
    if (!line || line->cell.has_value() == stored.header.empty()) {
      if (changed == 0) changed = number;
      return;
    }
    if (changed != 0) {
      reject(
          where, "journal", journal.string(),
          fmt::format("is not as popgrad wrote it: line {} was changed, or one before it removed; "
                      "restore it, or remove it and the table, and begin anew",
                      changed));
    }
    if (line->cell) {
      take(stored, *line->cell, line->row);
    } else {
      stored.header = std::string(line->row) + "\n";
    }
    stored.journal_length = end;
  });
  return stored;
}

}  // namespace

fs::path note_of(const fs::path& output) { return output.string() + ".sweep.json"; }
fs::path journal_of(const fs::path& output) { return output.string() + ".journal"; }

StoredRows stored_rows(std::string_view where, const fs::path& output, std::size_t cells,
                       const SweepNote& note) {
  const std::string key = key_of(note);
  StoredRows stored;
  stored.rows.resize(cells);
  if (fs::exists(journal_of(output))) {
    StoredRows kept = rows_of_journal(where, journal_of(output), cells, key);
    if (!kept.header.empty()) return kept;
  }
  if (!fs::exists(output)) return stored;
  const std::string table = read_own_file(output);
  if (sum_of(key, header_mark, table) != note.table) {
    reject(where, "table", output.string(),
           "is not as popgrad wrote it; restore it, or remove it, and begin anew");
  }
  std::size_t line_number = 0;
  for_each_line(table, [&](std::string_view line, std::size_t /*end*/) {
    if (line_number == 0) {
      stored.header = std::string(line) + "\n";
    } else if (line_number <= cells) {
      take(stored, line_number - 1, line);
    }
    ++line_number;
  });
  return stored;
}

SweepRows::SweepRows(const char* where, fs::path output, SweepNote note, std::size_t cells,
                     bool same_results)
    : where_(where), output_(std::move(output)), note_(std::move(note)), versions_(note_.versions) {
  for (const fs::path& file : {output_, note_of(output_), journal_of(output_)}) {
    check_writable(file);
  }
  stored_.rows.resize(cells);
  journal_.emplace(where_, journal_of(output_), output_);
  take_over(same_results);
}

void SweepRows::take_over(bool same_results) {
  const bool rows_in_journal = fs::file_size(journal_of(output_)) > 0;
  key_ = key_of(note_);
  if (!rows_in_journal && !fs::exists(output_)) return;
  const std::optional<SweepNote> there = read_note(note_of(output_));
  if (!there || !same_rows(*there, note_)) {
    if (fs::exists(output_)) {
      refuse("holds something that another command made; remove it, or name another file");
    }
    refuse("already has a journal written by another command: " + journal_of(output_).string() +
           "; remove that, or name another file");
  }
  const std::string file = first_difference(there->files, note_.files);
  if (!file.empty()) {
    refuse(fmt::format("was made with other contents of {}; restore them, or name another file",
                       file));
  }
  check_versions(where_, "--output", output_.string(), there->versions, versions_, same_results);
  stored_ = stored_rows(where_, output_, cells(), *there);
  note_.versions = there->versions;
  note_.table = there->table;
  if (rows_in_journal) journal_->truncate(stored_.journal_length);
}

SweepRows::~SweepRows() {
  if (!journal_) return;
  try {
    save();
  } catch (const std::exception&) {
    // The rows are in the journal.
  }
}

void SweepRows::refuse(const std::string& why) const {
  reject(where_, "--output", output_.string(), why);
}

std::string SweepRows::line_of(std::string_view mark, std::string_view row) const {
  return fmt::format("{}\t{}\t{}\n", mark, sum_of(key_, mark, row), row);
}

void SweepRows::keep(std::size_t cell, const std::string& row) {
  if (journal_) {
    std::string lines;
    if (!changed_) {
      // Whose rows they are has to be known before there are any.
      note_.versions = united(std::move(note_.versions), versions_);
      note_.table.clear();
      write_atomically(note_of(output_), text_of(note_));
      changed_ = true;
    }
    if (stored_.journal_length == 0) {
      lines += line_of(header_mark, std::string_view(header()).substr(0, header().size() - 1));
    }
    lines += line_of(std::to_string(cell), row);
    journal_->append(lines);
    stored_.journal_length += lines.size();
  }
  take(stored_, cell, row);
  if (!journal_) return;
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
  journal_->flush();
  write_atomically(output_, text());
  unsaved_ = false;
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(between_saves, share_of_saves * (end - begin));
}

void SweepRows::finish() {
  if (!journal_) return;
  // Else the rows are those of the table.
  if (stored_.journal_length > 0 || !fs::exists(output_)) {
    note_.table = sum_of(key_, header_mark, text());
    write_atomically(note_of(output_), text_of(note_));
    write_table();
  }
  journal_->remove();
  journal_.reset();
}

std::string SweepRows::text() const {
  std::string all = header();
  for (const std::string& row : stored_.rows) {
    if (!row.empty()) all += row + "\n";
  }
  return all;
}

}  // namespace popgrad::cli
