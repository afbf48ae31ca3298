#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/options.hpp"
#include "commands/sweep_rows.hpp"
#include "commands/sweep_shard.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* popgrad_merge = "popgrad merge";
constexpr std::size_t most_told = 10;

// Numbers of the shards that have a file in the folder of the output.
std::map<std::size_t, Shard> shards_beside(const fs::path& output) {
  const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  std::map<std::size_t, Shard> found;
  if (!fs::is_directory(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::optional<Shard> shard = shard_of_file(entry.path().filename().string(), output);
    if (!shard) continue;
    const auto [at, added] = found.emplace(shard->number, *shard);
    if (added || at->second.of == shard->of) continue;
    reject(popgrad_merge, "output", output.string(),
           fmt::format("has shards of two sweeps next to it: {} is one of {}, {} one of {}; remove "
                       "those of the other",
                       at->second.file(output).string(), at->second.of,
                       shard->file(output).string(), shard->of));
  }
  return found;
}

std::string command_of_shard(const Invocation& call, const SweepNote& sweep, const Shard& shard) {
  Invocation made = call;
  made.words = sweep.words;
  made.words.insert(made.words.end(), {"--shard", shard.text()});
  return command_line(made);
}

// The note of each shard that has files, by its number. Throws InputError if they are not all of one
// sweep.
std::map<std::size_t, SweepNote> notes_of(const std::map<std::size_t, Shard>& shards,
                                          const fs::path& output, bool same_results,
                                          const Invocation& call) {
  std::map<std::size_t, SweepNote> notes;
  for (const auto& [number, shard] : shards) {
    const fs::path file = shard.file(output);
    // One that was killed before its first row.
    if (!fs::exists(note_of(file)) && !fs::exists(file)) continue;
    const std::optional<SweepNote> note = read_note(note_of(file));
    if (!note || !note->shard || note->shard->number != number || note->shard->of != shard.of) {
      reject(popgrad_merge, "output", output.string(),
             fmt::format("has a shard without a record of its command: {}; remove it, and make it "
                         "again",
                         file.string()));
    }
    notes.emplace(number, *note);
    const SweepNote& first = notes.begin()->second;
    const std::string other = first.shard->file(output).string();
    if (!same_sweep(*note, first)) {
      reject(popgrad_merge, "output", output.string(),
             fmt::format(
                 "has shards of two sweeps next to it: {} by '{}' and {} by '{}'; remove those "
                 "of one",
                 other, command_of_shard(call, first, *first.shard), file.string(),
                 command_of_shard(call, *note, shard)));
    }
    const std::string changed = first_difference(note->files, first.files);
    if (!changed.empty()) {
      reject(popgrad_merge, "output", output.string(),
             fmt::format("has shards made with two contents of {} next to it: {} and {}; remove "
                         "those of one",
                         changed, other, file.string()));
    }
    if (note->versions != first.versions && !same_results) {
      reject(popgrad_merge, "output", output.string(),
             fmt::format("has shards made by popgrad {} and by {} next to it: {} and {}; give "
                         "--same-results if both compute the same, or remove those of one",
                         fmt::join(first.versions, ", "), fmt::join(note->versions, ", "), other,
                         file.string()));
    }
  }
  if (notes.empty()) {
    reject(popgrad_merge, "output", output.string(),
           fmt::format("has no shards next to it (such as {}); make them by 'popgrad sweep ... "
                       "--shard I/N -o {}'",
                       Shard{1, 4}.file(output).filename().string(), output.string()));
  }
  return notes;
}

int merge(const fs::path& output, bool quiet, bool same_results, const Invocation& call) {
  if (output.extension() != ".csv") {
    reject(popgrad_merge, "output", output.string(), "must end in .csv, as that of the sweep does");
  }
  const std::map<std::size_t, Shard> found = shards_beside(output);
  const std::map<std::size_t, SweepNote> notes = notes_of(found, output, same_results, call);
  const SweepNote& sweep = notes.begin()->second;
  SweepNote whole{sweep.words, std::nullopt, 0, sweep.files, {}, {}};
  std::vector<StoredRows> parts;
  std::vector<std::string> incomplete;
  std::optional<Shard> first_incomplete;
  for (std::size_t number = 1; number <= sweep.shard->of; ++number) {
    const Shard shard{number, sweep.shard->of};
    const std::size_t cells = shard.cells(sweep.cells);
    const auto note = notes.find(number);
    parts.push_back(note == notes.end()
                        ? StoredRows{}
                        : stored_rows(popgrad_merge, shard.file(output), cells, note->second));
    if (note != notes.end()) whole.versions = united(whole.versions, note->second.versions);
    // One without cells is there all the same, once it was made.
    if (parts.back().done == cells && !parts.back().header.empty()) continue;
    if (!first_incomplete) first_incomplete = shard;
    incomplete.push_back(
        fmt::format("{} ({} of {} cells)", shard.text(), parts.back().done, cells));
  }
  if (first_incomplete) {
    const std::size_t more = incomplete.size() - std::min(incomplete.size(), most_told);
    incomplete.resize(incomplete.size() - more);
    throw InputError(fmt::format(
        "{}: {} lacks cells of shard {}{}; finish {} by: {}", popgrad_merge, output.string(),
        fmt::join(incomplete, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
        first_incomplete->text(), command_of_shard(call, sweep, *first_incomplete)));
  }
  for (const StoredRows& part : parts) {
    if (part.header == parts.front().header) continue;
    reject(popgrad_merge, "output", output.string(),
           "has shards of two headers next to it; make them again");
  }
  SweepRows rows(popgrad_merge, output, whole, sweep.cells, same_results);
  rows.set_header(parts.front().header);
  for (std::size_t cell = 0; cell < sweep.cells; ++cell) {
    if (!rows.has(cell)) rows.keep(cell, parts[cell % parts.size()].rows[cell / parts.size()]);
  }
  rows.finish();
  if (call.results != nullptr) call.results->table = rows.text();
  if (!quiet) {
    fmt::print(standard_error(),
               "popgrad: {} has the {} cells of {} shards, which can be removed\n", output.string(),
               sweep.cells, parts.size());
    Invocation made = call;
    made.words = sweep.words;
    fmt::print(standard_error(), "popgrad: made by: {}\n", command_line(made));
  }
  return success;
}

}  // namespace

Action add_merge(CommandLine& app, const Invocation& call) {
  Command* command =
      app.add_subcommand("merge", "the shards of a sweep as the table that one process would make");
  auto output = std::make_shared<fs::path>();
  command
      ->add_option("output", *output, "NAME.csv, as the shards' -o; NAME.I-of-N.csv are next to it")
      .required();
  auto quiet = std::make_shared<bool>(false);
  command->add_flag("-q,--quiet", *quiet, "no notes on standard error");
  auto same_results = std::make_shared<bool>(false);
  add_same_results(*command, *same_results);
  command->introduce("merge sweep.csv");
  command->footer(
      "Afterwards the command of the sweep without --shard finds every cell computed; with --plot "
      "it draws them.");
  return [output, quiet, same_results, call]() -> int {
    return merge(*output, *quiet, *same_results, call);
  };
}

}  // namespace popgrad::cli
