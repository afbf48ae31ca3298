#include "popgrad/scan_snap/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include "popgrad/error.hpp"

namespace popgrad::scan_snap {
namespace {

constexpr const char* where = "scan-snap";

[[noreturn]] void refuse(const CorpusRequest& request, const std::string& rule) {
  reject(where, "--corpus", request.file.string(), rule);
}

std::string contents(const CorpusRequest& request) {
  std::error_code failure;
  if (std::filesystem::is_directory(request.file, failure)) {
    refuse(request, "is a folder; name a text file");
  }
  std::ifstream in(request.file, std::ios::binary);
  if (!in) refuse(request, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  in.seekg(0, std::ios::end);
  const auto size = in.tellg();
  in.seekg(0);
  if (size > 0) {
    text.resize(static_cast<std::size_t>(size));
    in.read(text.data(), size);
    text.resize(static_cast<std::size_t>(in.gcount()));
  } else {  // a pipe has no size
    in.clear();
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (in.bad()) refuse(request, "cannot be read to its end");
  return text;
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

// Length of the UTF-8 sequence at the front, 0 if there is none (RFC 3629, table of section 4).
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : static_cast<unsigned char>(0);
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void check_text(const CorpusRequest& request, std::string_view text) {
  std::size_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text[i] == '\0' ? 0 : sequence_length(text.substr(i));
    if (length == 0) {
      refuse(request, fmt::format("is not UTF-8 text: line {}, byte {} is 0x{:02x}", line,
                                  i - line_start + 1, static_cast<unsigned char>(text[i])));
    }
    if (text[i] == '\n') {
      ++line;
      line_start = i + 1;
    }
    i += length;
  }
}

// The text as token numbers, in order of first occurrence.
std::vector<std::uint32_t> numbered(const CorpusRequest& request, std::string_view text,
                                    std::vector<std::string>& words) {
  std::vector<std::uint32_t> tokens;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !is_space(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    const auto [found, is_new] = known.try_emplace(word, static_cast<std::uint32_t>(words.size()));
    if (is_new) {
      if (words.size() == std::numeric_limits<std::uint32_t>::max()) {
        refuse(request, "has more than 4294967295 word types");
      }
      words.emplace_back(word);
    }
    tokens.push_back(found->second);
    i = end;
  }
  return tokens;
}

struct Pair {
  std::uint64_t count = 0;
  std::size_t seen_at = 0;
};

std::uint64_t key_of(std::uint32_t last, std::uint32_t next) {
  return (static_cast<std::uint64_t>(last) << 32U) | next;
}

}  // namespace

Corpus read_corpus(const CorpusRequest& request) {
  const auto at_least_one = [](const char* name, Index value) {
    if (value < 1) reject(where, name, std::to_string(value), "must be >= 1");
  };
  at_least_one("--window", request.window);
  at_least_one("--min-count", request.min_count);
  at_least_one("--classes", request.classes);
  Corpus corpus;
  std::vector<std::uint32_t> tokens;
  {
    const std::string text = contents(request);
    check_text(request, text);
    tokens = numbered(request, text, corpus.words);
  }
  corpus.length = tokens.size();
  if (tokens.size() < 3) {
    refuse(request, fmt::format("has {} tokens; a context, a last and a next token are needed",
                                tokens.size()));
  }

  // A pair needs a context, so the first last token is the second one of the text.
  std::unordered_map<std::uint64_t, Pair> pairs;
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    Pair& pair = pairs[key_of(tokens[i - 1], tokens[i])];
    if (pair.count++ == 0) pair.seen_at = i;
  }
  std::vector<std::pair<std::uint64_t, Pair>> kept;
  std::uint64_t largest = 0;
  for (const auto& [key, pair] : pairs) {
    largest = std::max(largest, pair.count);
    if (pair.count >= static_cast<std::uint64_t>(request.min_count)) kept.emplace_back(key, pair);
  }
  if (kept.empty()) {
    reject(where, "--min-count", std::to_string(request.min_count),
           fmt::format("exceeds the count {} of the most frequent pair in {}", largest,
                       request.file.string()));
  }
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
    if (a.second.count != b.second.count) return a.second.count > b.second.count;
    return a.second.seen_at < b.second.seen_at;
  });
  kept.resize(std::min(kept.size(), static_cast<std::size_t>(request.classes)));

  std::unordered_map<std::uint64_t, std::size_t> class_of;
  for (std::size_t n = 0; n < kept.size(); ++n) class_of[kept[n].first] = n;
  // Ordered, so that tokens ascend within a class.
  std::vector<std::map<Index, std::uint64_t>> contexts(kept.size());
  const auto window = static_cast<std::size_t>(request.window);
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    const auto found = class_of.find(key_of(tokens[i - 1], tokens[i]));
    if (found == class_of.end()) continue;
    const std::size_t last = i - 1;
    for (std::size_t j = last - std::min(last, window); j < last; ++j) {
      ++contexts[found->second][static_cast<Index>(tokens[j])];
    }
  }

  SequenceClasses<double>& classes = corpus.classes;
  classes.tokens = static_cast<Index>(corpus.words.size());
  classes.first = {0};
  classes.weight.resize(static_cast<Index>(kept.size()));
  std::vector<double> law;
  double all = 0;
  for (const auto& [key, pair] : kept) all += static_cast<double>(pair.count);
  for (std::size_t n = 0; n < kept.size(); ++n) {
    const auto& [key, pair] = kept[n];
    classes.query.push_back(static_cast<Index>(key >> 32U));
    classes.next.push_back(static_cast<Index>(key & 0xFFFFFFFFU));
    classes.weight[static_cast<Index>(n)] = static_cast<double>(pair.count) / all;
    corpus.occurrences.push_back(pair.count);
    double total = 0;
    for (const auto& [token, count] : contexts[n]) total += static_cast<double>(count);
    for (const auto& [token, count] : contexts[n]) {
      classes.token.push_back(token);
      law.push_back(static_cast<double>(count) / total);
    }
    classes.first.push_back(classes.entries());
  }
  classes.law = Eigen::Map<const Vector<double>>(law.data(), static_cast<Index>(law.size()));
  return corpus;
}

}  // namespace popgrad::scan_snap
