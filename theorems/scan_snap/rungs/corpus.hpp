#pragma once
/// Sequence classes counted in a text, tokens parted by white space.
///
/// A class is a pair (last token, next token) of neighbours in the text; its law is the relative
/// frequency of the tokens in a window before the last one. Words are bytes: any UTF-8 is a word.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

struct CorpusRequest {
  std::filesystem::path file;
  Index window = 10;  ///< contextual tokens before the last one, >= 1 (fewer where the text begins)
  Index min_count = 1;   ///< how often a pair must occur, >= 1
  Index classes = 1000;  ///< most frequent pairs that are kept, >= 1; ties: the earlier in the text
};

struct Corpus {
  SequenceClasses<double> classes;         ///< P(n) by frequency among the pairs kept
  std::vector<std::string> words;          ///< text of each token (M), in order of first occurrence
  std::vector<std::uint64_t> occurrences;  ///< of each class's pair (K)
  std::uint64_t length = 0;                ///< tokens of the text
};

/// Reads the file piece by piece, counts pairs, then the contexts of the pairs kept.
/// Cost O(length * window + nnz(P) log M); memory at most 16 bytes a token, 200 a word type, 150 a
/// class kept and 16 an entry of P. The text itself is not held.
/// Throws InputError for files that cannot be read, are not UTF-8 text, have a word of more than a
/// million bytes, fewer than three tokens, or no pair that occurs often enough.
Corpus read_corpus(const CorpusRequest& request);

}  // namespace popgrad::scan_snap
