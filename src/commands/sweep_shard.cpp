#include "commands/sweep_shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/atomic_file.hpp"
#include "io/fingerprint.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

constexpr std::size_t most_shards = 1'000'000;

// A number from 1 on, without sign; takes it off the text.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const char* const begin = text.data();
  const auto [stop, error] = std::from_chars(begin, begin + text.size(), number);
  if (error != std::errc() || stop == begin || number < 1 || number > most_shards) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(stop - begin));
  return number;
}

// `2/4` with "/" between, `2-of-4` with "-of-".
std::optional<Shard> take_shard(std::string_view& text, std::string_view between) {
  const std::optional<std::size_t> number = take_number(text);
  if (!number || !text.starts_with(between)) return std::nullopt;
  text.remove_prefix(between.size());
  const std::optional<std::size_t> of = take_number(text);
  if (!of || *number > *of) return std::nullopt;
  return Shard{*number, *of};
}

// Words without these options, which have a value, and these flags.
std::vector<std::string> without(const std::vector<std::string>& words,
                                 const std::vector<std::string>& options,
                                 const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
    if (std::find(options.begin(), options.end(), word) != options.end()) {
      ++k;
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    if (std::find(options.begin(), options.end(), name) == options.end()) kept.push_back(word);
  }
  return kept;
}

}  // namespace

std::string Shard::text() const { return fmt::format("{}/{}", number, of); }

std::filesystem::path Shard::file(const std::filesystem::path& output) const {
  std::filesystem::path named = output;
  return named.replace_filename(fmt::format("{}.{}-of-{}.csv", output.stem().string(), number, of));
}

std::size_t Shard::cells(std::size_t of_sweep) const {
  return of_sweep < number ? 0 : (of_sweep - number) / of + 1;
}

Shard shard_from(const std::string& text) {
  std::string_view rest = text;
  const std::optional<Shard> shard = take_shard(rest, "/");
  if (!shard || !rest.empty()) {
    reject("popgrad sweep", "--shard", text,
           "must be I/N with 1 <= I <= N, such as 2/4 for the second of four parts");
  }
  return *shard;
}

std::optional<Shard> shard_of_file(const std::string& name, const std::filesystem::path& output) {
  const std::string stem = output.stem().string() + ".";
  std::string_view rest = name;
  if (!rest.starts_with(stem)) return std::nullopt;
  rest.remove_prefix(stem.size());
  const std::optional<Shard> shard = take_shard(rest, "-of-");
  if (!shard) return std::nullopt;
  // Numbers may have been written in another way: 02-of-4.
  const std::string file = shard->file(output).filename().string();
  for (const char* ending : {"", ".journal", ".sweep.json"}) {
    if (name == file + ending) return shard;
  }
  return std::nullopt;
}

SweepNote note_of_words(const std::vector<std::string>& words, const std::optional<Shard>& shard,
                        std::size_t cells) {
  return {without(words, {"--shard"}, {"--same-results"}),
          shard,
          shard ? cells : 0,
          files_read(),
          this_version(),
          {}};
}

std::string text_of(const SweepNote& note) {
  nlohmann::json document{
      {"words", note.words}, {"files", note.files}, {"versions", note.versions}};
  if (note.shard) {
    document["shard"] = note.shard->text();
    document["cells"] = note.cells;
  }
  if (!note.table.empty()) document["table"] = note.table;
  return document.dump();
}

std::optional<SweepNote> read_note(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json read = nlohmann::json::parse(read_own_file(file), nullptr, false);
  try {
    SweepNote note{read.at("words").get<std::vector<std::string>>(),
                   std::nullopt,
                   0,
                   read.at("files").get<Fingerprints>(),
                   read.at("versions").get<std::vector<std::string>>(),
                   read.value("table", "")};
    if (read.contains("shard")) {
      note.shard = shard_from(read.at("shard").get<std::string>());
      note.cells = read.at("cells").get<std::size_t>();
    }
    if (note.versions.empty()) return std::nullopt;
    return note;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

namespace {

std::vector<std::string> words_that_matter(const SweepNote& note) {
  return without(note.words, {"--plot", "--jobs", "--memory"}, {"-q", "--quiet"});
}

}  // namespace

std::string key_of(const SweepNote& note) {
  SweepNote what_matters = note;
  what_matters.words = words_that_matter(note);
  what_matters.versions.clear();
  what_matters.table.clear();
  return fingerprint(text_of(what_matters));
}

bool same_sweep(const SweepNote& a, const SweepNote& b) {
  return words_that_matter(a) == words_that_matter(b) && a.cells == b.cells &&
         (a.shard ? a.shard->of : 0) == (b.shard ? b.shard->of : 0);
}

bool same_rows(const SweepNote& a, const SweepNote& b) {
  return same_sweep(a, b) && (a.shard ? a.shard->number : 0) == (b.shard ? b.shard->number : 0);
}

}  // namespace popgrad::cli
