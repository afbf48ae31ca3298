#include "theorems/scan_snap/rungs/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/file_bytes.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::scan_snap {
namespace {

constexpr const char* of_corpus = "scan-snap";

[[noreturn]] void refuse(const CorpusRequest& request, const std::string& rule) {
  reject(of_corpus, "--corpus", request.file.string(), rule);
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

// Where the first byte stands that is no text, or the size.
std::size_t first_fault(std::string_view word) {
  std::size_t i = 0;
  while (i < word.size()) {
    const std::size_t length = word[i] == '\0' ? 0 : sequence_length(word.substr(i));
    if (length == 0) break;
    i += length;
  }
  return i;
}

// A file without white space is no text of words, and must not fill the memory.
constexpr std::size_t longest_word = 1000000;
// At least one whole word fits, so every refill gets on.
constexpr std::size_t buffer_size = std::size_t{1} << 21U;
static_assert(buffer_size > longest_word + 1);

// Reads a text piece by piece into token numbers, in order of first occurrence.
class TokenReader {
 public:
  explicit TokenReader(const CorpusRequest& request)
      : request_(request), in_(request.file), buffer_(buffer_size) {}

  std::vector<std::uint32_t> read(std::vector<std::string>& words) {
    std::size_t held = 0;  // bytes of a word that the last piece cut off
    while (true) {
      const std::size_t count = in_.read(std::span(buffer_).subspan(held));
      const bool ended = count == 0;
      const std::string_view piece(buffer_.data(), held + count);
      const std::size_t used = take(piece, ended);
      if (ended) break;
      held = piece.size() - used;
      offset_ += used;
      std::memmove(buffer_.data(), buffer_.data() + used, held);
    }
    numbers_.clear();
    words.assign(std::make_move_iterator(words_.begin()), std::make_move_iterator(words_.end()));
    return std::move(tokens_);
  }

 private:
  // Numbers the words of a piece; returns where the word begins that may go on in the next one.
  std::size_t take(std::string_view piece, bool ended) {
    std::size_t i = 0;
    while (i < piece.size()) {
      if (is_space(piece[i])) {
        if (piece[i] == '\n') {
          ++line_;
          line_start_ = offset_ + i + 1;
        }
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < piece.size() && !is_space(piece[end])) ++end;
      const std::string_view word = piece.substr(i, end - i);
      if (word.size() > longest_word) refuse_long(word, i);
      if (end == piece.size() && !ended) break;
      number(word, i);
      i = end;
    }
    return i;
  }

  void number(std::string_view word, std::size_t at) {
    if (tokens_.size() == std::numeric_limits<std::uint32_t>::max()) {
      refuse(request_, "has more than 4294967295 tokens");
    }
    const auto found = numbers_.find(word);
    if (found != numbers_.end()) {
      tokens_.push_back(found->second);
      return;
    }
    // White space ends every UTF-8 sequence, so words can be checked one by one, and once.
    const std::size_t fault = first_fault(word);
    if (fault < word.size()) refuse_byte(word, at, fault);
    const auto number = static_cast<std::uint32_t>(words_.size());
    numbers_.emplace(words_.emplace_back(word), number);
    tokens_.push_back(number);
  }

  [[noreturn]] void refuse_byte(std::string_view word, std::size_t at, std::size_t fault) const {
    refuse(request_, fmt::format("is not UTF-8 text: line {}, byte {} is 0x{:02x}", line_,
                                 offset_ + at + fault - line_start_ + 1,
                                 static_cast<unsigned char>(word[fault])));
  }

  [[noreturn]] void refuse_long(std::string_view word, std::size_t at) const {
    // Binary files have long words too; their bytes say more. A sequence has 4 bytes at most: one
    // that begins later may only be cut off.
    const std::size_t fault = first_fault(word);
    if (fault + 4 <= word.size()) refuse_byte(word, at, fault);
    refuse(request_, fmt::format("has a word of more than {} bytes in line {}; part the words by "
                                 "white space",
                                 longest_word, line_));
  }

  const CorpusRequest& request_;
  ByteStream in_;
  std::vector<char> buffer_;
  std::deque<std::string> words_;  // a deque, so that the keys of numbers_ stay where they are
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::uint32_t> tokens_;
  std::size_t offset_ = 0;  // of the buffer in the file
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

std::uint64_t key_of(std::uint32_t last, std::uint32_t next) {
  return (static_cast<std::uint64_t>(last) << 32U) | next;
}

struct Pair {
  std::uint64_t key = 0;
  std::uint32_t count = 0;
  std::uint32_t seen_at = 0;
};

bool more_frequent(const Pair& a, const Pair& b) {
  if (a.count != b.count) return a.count > b.count;
  return a.seen_at < b.seen_at;
}

// Members of groups, in the order they were given: those of group g are at first[g] ..
// first[g + 1] - 1.
struct Groups {
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> member;

  [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t g) const {
    return std::span(member).subspan(first[g], first[g + 1] - first[g]);
  }
};

// Positions of next tokens, from the third token on, by their last token. A pair needs a context,
// so the first last token is the second one of the text.
Groups positions_by_last(std::span<const std::uint32_t> tokens, std::size_t types) {
  Groups groups;
  groups.first.assign(types + 1, 0);
  for (std::size_t i = 2; i < tokens.size(); ++i) ++groups.first[tokens[i - 1] + 1];
  std::partial_sum(groups.first.begin(), groups.first.end(), groups.first.begin());
  groups.member.resize(tokens.size() - 2);
  std::vector<std::size_t> free(groups.first.begin(), groups.first.end() - 1);
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    groups.member[free[tokens[i - 1]]++] = static_cast<std::uint32_t>(i);
  }
  return groups;
}

// The most frequent pairs, in order. Last token by last token, so that a count for each next token
// is enough: a table of all pairs would be several times as large as the text.
std::vector<Pair> frequent_pairs(const CorpusRequest& request,
                                 std::span<const std::uint32_t> tokens, std::size_t types) {
  const Groups positions = positions_by_last(tokens, types);
  const std::size_t limit = std::min(static_cast<std::size_t>(request.classes), tokens.size());
  std::vector<Pair> kept;
  const auto trim = [&] {
    if (kept.size() <= limit) return;
    const auto end = kept.begin() + static_cast<std::ptrdiff_t>(limit);
    std::nth_element(kept.begin(), end, kept.end(), more_frequent);
    kept.resize(limit);
  };
  std::uint32_t largest = 0;
  std::vector<Pair> with(types);  // by next token; a count of 0 between last tokens
  std::vector<std::uint32_t> seen;
  for (std::uint32_t last = 0; last < types; ++last) {
    for (const std::uint32_t i : positions[last]) {
      Pair& pair = with[tokens[i]];
      if (pair.count++ == 0) {
        pair.key = key_of(last, tokens[i]);
        pair.seen_at = i;
        seen.push_back(tokens[i]);
      }
    }
    for (const std::uint32_t next : seen) {
      Pair& pair = with[next];
      largest = std::max(largest, pair.count);
      if (pair.count >= static_cast<std::uint64_t>(request.min_count)) kept.push_back(pair);
      pair.count = 0;
    }
    seen.clear();
    // Half of what is trimmed is new, so trimming stays linear in the number of pairs.
    if (kept.size() >= 2 * limit) trim();
  }
  if (kept.empty()) {
    reject(of_corpus, "--min-count", std::to_string(request.min_count),
           fmt::format("exceeds the count {} of the most frequent pair in {}", largest,
                       request.file.string()));
  }
  trim();
  std::sort(kept.begin(), kept.end(), more_frequent);
  return kept;
}

// Positions of the next tokens of each kept pair.
Groups positions_by_class(std::span<const std::uint32_t> tokens, std::span<const Pair> kept) {
  Groups groups;
  groups.first.assign(1, 0);
  std::unordered_map<std::uint64_t, std::size_t> class_of;
  for (const Pair& pair : kept) {
    class_of.emplace(pair.key, class_of.size());
    groups.first.push_back(groups.first.back() + pair.count);
  }
  groups.member.resize(groups.first.back());
  std::vector<std::size_t> free(groups.first.begin(), groups.first.end() - 1);
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    const auto found = class_of.find(key_of(tokens[i - 1], tokens[i]));
    if (found == class_of.end()) continue;
    groups.member[free[found->second]++] = static_cast<std::uint32_t>(i);
  }
  return groups;
}

// Counts the contexts of one class after the other in one table of all tokens.
class ContextCounter {
 public:
  ContextCounter(std::span<const std::uint32_t> tokens, std::size_t types, std::size_t window)
      : tokens_(tokens), window_(window), count_(types, 0) {}

  // Contextual tokens of the occurrences, each once, in no order; their counts are in count().
  std::vector<std::uint32_t>& of(std::span<const std::uint32_t> positions) {
    for (const std::uint32_t token : seen_) count_[token] = 0;
    seen_.clear();
    for (const std::uint32_t i : positions) {
      const std::size_t last = i - 1;
      for (std::size_t j = last - std::min(last, window_); j < last; ++j) {
        if (count_[tokens_[j]]++ == 0) seen_.push_back(tokens_[j]);
      }
    }
    return seen_;
  }
  [[nodiscard]] double count(std::uint32_t token) const {
    return static_cast<double>(count_[token]);
  }

 private:
  std::span<const std::uint32_t> tokens_;
  std::size_t window_;
  std::vector<std::uint64_t> count_;
  std::vector<std::uint32_t> seen_;
};

}  // namespace

Corpus read_corpus(const CorpusRequest& request) {
  const auto at_least_one = [](const char* name, Index value) {
    if (value < 1) reject(of_corpus, name, std::to_string(value), "must be >= 1");
  };
  at_least_one("--window", request.window);
  at_least_one("--min-count", request.min_count);
  at_least_one("--classes", request.classes);
  Corpus corpus;
  const std::vector<std::uint32_t> tokens = TokenReader(request).read(corpus.words);
  corpus.length = tokens.size();
  if (tokens.size() < 3) {
    refuse(request, fmt::format("has {} tokens; a context, a last and a next token are needed",
                                tokens.size()));
  }
  const std::vector<Pair> kept = frequent_pairs(request, tokens, corpus.words.size());
  const Groups positions = positions_by_class(tokens, kept);
  ContextCounter contexts(tokens, corpus.words.size(), static_cast<std::size_t>(request.window));

  SequenceClasses<double>& classes = corpus.classes;
  classes.tokens = static_cast<Index>(corpus.words.size());
  classes.weight.resize(static_cast<Index>(kept.size()));
  double all = 0;
  for (const Pair& pair : kept) all += static_cast<double>(pair.count);
  for (std::size_t n = 0; n < kept.size(); ++n) {
    classes.query.push_back(static_cast<Index>(kept[n].key >> 32U));
    classes.next.push_back(static_cast<Index>(kept[n].key & 0xFFFFFFFFU));
    classes.weight[static_cast<Index>(n)] = static_cast<double>(kept[n].count) / all;
    corpus.occurrences.push_back(kept[n].count);
  }
  // Counted twice: growing the two long arrays would cost more memory than this costs time.
  classes.first = {0};
  for (std::size_t n = 0; n < kept.size(); ++n) {
    classes.first.push_back(classes.first.back() +
                            static_cast<Index>(contexts.of(positions[n]).size()));
  }
  classes.token.reserve(static_cast<std::size_t>(classes.first.back()));
  classes.law.resize(classes.first.back());
  for (std::size_t n = 0; n < kept.size(); ++n) {
    std::vector<std::uint32_t>& seen = contexts.of(positions[n]);
    std::sort(seen.begin(), seen.end());
    double total = 0;
    for (const std::uint32_t token : seen) total += contexts.count(token);
    for (const std::uint32_t token : seen) {
      classes.law[classes.entries()] = contexts.count(token) / total;
      classes.token.push_back(static_cast<Index>(token));
    }
  }
  return corpus;
}

}  // namespace popgrad::scan_snap
