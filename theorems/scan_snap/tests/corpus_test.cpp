#include "theorems/scan_snap/rungs/corpus.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/random.hpp"

namespace corpus_test {

using namespace popgrad;
using namespace popgrad::scan_snap;

namespace {

class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    const char* folder = std::getenv("TMPDIR");
    std::string name = std::string(folder == nullptr ? P_tmpdir : folder) + "/popgrad-text-XXXXXX";
    const int file = mkstemp(name.data());
    REQUIRE(file >= 0);
    close(file);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Corpus read(const std::string& text, Index window = 10, Index min_count = 1, Index classes = 1000) {
  const TextFile file(text);
  return read_corpus({file.path(), window, min_count, classes});
}

}  // namespace

TEST_CASE("corpus: classes of a small text, counted by hand", "[corpus]") {
  //            0 1 2 3 4 5 6 7
  const Corpus corpus = read("a b c a b c a d\n", 2);
  CHECK(corpus.length == 8);
  CHECK(corpus.words == std::vector<std::string>{"a", "b", "c", "d"});
  // Pairs from the second token on: bc x2, ca x2, ab, ad.
  const SequenceClasses<double>& c = corpus.classes;
  REQUIRE(c.classes() == 4);
  CHECK(c.tokens == 4);
  CHECK(corpus.occurrences == std::vector<std::uint64_t>{2, 2, 1, 1});
  CHECK(c.query == std::vector<Index>{1, 2, 0, 0});
  CHECK(c.next == std::vector<Index>{2, 0, 1, 3});
  CHECK(c.weight[0] == Approx(1.0 / 3));
  // bc: contexts {a} at 1 and {c, a} at 4.
  REQUIRE(c.first[1] == 2);
  CHECK(c.token[0] == 0);
  CHECK(c.law[0] == Approx(2.0 / 3));
  CHECK(c.token[1] == 2);
  CHECK(c.law[1] == Approx(1.0 / 3));
  // ca: contexts {a, b} twice.
  CHECK(c.token[2] == 0);
  CHECK(c.law[2] == Approx(0.5));
}

TEST_CASE("corpus: limits keep the most frequent pairs, ties by first occurrence", "[corpus]") {
  const Corpus two = read("a b c a b c a d", 2, 1, 3);
  CHECK(two.classes.query == std::vector<Index>{1, 2, 0});
  const Corpus often = read("a b c a b c a d", 2, 2);
  CHECK(often.classes.classes() == 2);
  CHECK_THROWS_WITH(read("a b c d", 2, 2), Catch::Contains("--min-count") && Catch::Contains("1"));
}

TEST_CASE("corpus: words are bytes, white space of any kind parts them", "[corpus]") {
  const Corpus corpus = read("\xC3\xA4\r\n\t\xE6\xBC\xA2  \xF0\x9F\x98\x80 \xC3\xA4");
  CHECK(corpus.words == std::vector<std::string>{"\xC3\xA4", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80"});
  CHECK(corpus.length == 4);
}

TEST_CASE("corpus: bad files and numbers are named", "[corpus]") {
  CHECK_THROWS_WITH(read(""), Catch::Contains("0 tokens"));
  CHECK_THROWS_WITH(read(" \n\t "), Catch::Contains("0 tokens"));
  CHECK_THROWS_WITH(read("one"), Catch::Contains("1 tokens"));
  CHECK_THROWS_WITH(read("a b\nc \xFF d"), Catch::Contains("line 2, byte 3"));
  CHECK_THROWS_WITH(read(std::string("a b\0c d", 7)), Catch::Contains("0x00"));
  CHECK_THROWS_WITH(read("a b \xC3"), Catch::Contains("UTF-8"));
  CHECK_THROWS_WITH(read("a b \xED\xA0\x80"), Catch::Contains("UTF-8"));  // a surrogate
  CHECK_THROWS_WITH(read("a b c", 0), Catch::Contains("--window"));
  CHECK_THROWS_WITH(read("a b c", 1, 0), Catch::Contains("--min-count"));
  CHECK_THROWS_WITH(read("a b c", 1, 1, 0), Catch::Contains("--classes"));
  CHECK_THROWS_WITH(read_corpus({"no such file", 1, 1, 1}), Catch::Contains("cannot be read"));
  CHECK_THROWS_WITH(read_corpus({std::filesystem::temp_directory_path(), 1, 1, 1}),
                    Catch::Contains("folder"));
}

TEST_CASE("corpus: a window may be longer than the text, a last line may lack its end",
          "[corpus]") {
  const Corpus ended = read("a b\r\nc a\r\n", 1000);
  const Corpus cut = read("a b\nc a", 3);
  CHECK(ended.words == std::vector<std::string>{"a", "b", "c"});
  CHECK(ended.words == cut.words);
  CHECK(ended.length == cut.length);
  CHECK(ended.classes.query == std::vector<Index>{1, 2});
  CHECK(ended.classes.token == std::vector<Index>{0, 0, 1});
  CHECK(ended.classes.token == cut.classes.token);
  CHECK(ended.classes.law == cut.classes.law);
}

TEST_CASE("corpus: only the longest words are refused, with their line", "[corpus]") {
  const std::string longest(1000000, 'x');
  CHECK(read("a\n" + longest + " b c").words[1] == longest);
  CHECK_THROWS_WITH(read("a\n" + longest + "x b c"),
                    Catch::Contains("1000000 bytes") && Catch::Contains("line 2"));
  CHECK_THROWS_WITH(read("a\n" + longest + "x"), Catch::Contains("1000000 bytes"));
  // Of a word cut anywhere in a character only its length is wrong.
  std::string wide = "a ";
  for (int i = 0; i < 700000; ++i) wide += "\xE6\xBC\xA2";
  CHECK_THROWS_WITH(read(wide), Catch::Contains("1000000 bytes"));
  // A binary file is recognised by its bytes.
  CHECK_THROWS_WITH(read("a\n" + std::string(3000000, '\0')),
                    Catch::Contains("line 2, byte 1 is 0x00"));
}

TEST_CASE("corpus: pieces of the file join without a seam", "[corpus]") {
  // Five megabytes in words of 1, 5, 9, ... bytes meet the ends of the pieces in every way.
  std::string text;
  std::vector<std::string> words;
  std::size_t length = 0;
  for (std::size_t i = 0; text.size() < 5000000; ++i) {
    std::string word = "\xC3\xA4";
    for (std::size_t k = 0; k < i % 50; ++k) word += "\xF0\x9F\x98\x80";
    if (i < 50) words.push_back(word);
    text += word + (i % 7 == 0 ? "\r\n" : " ");
    ++length;
  }
  const Corpus corpus = read(text, 2, 1, 100);
  CHECK(corpus.words == words);
  CHECK(corpus.length == length);
  CHECK(corpus.classes.classes() == 50);
  // A fault in a late piece is still counted from the beginning of its line.
  const std::string last = "\nab \xFF";
  const auto lines = std::count(text.begin(), text.end(), '\n') + 2;
  CHECK_THROWS_WITH(read(text + last),
                    Catch::Contains("line " + std::to_string(lines) + ", byte 4 is 0xff"));
}

TEST_CASE("corpus: agrees with a plain count on a random text", "[corpus]") {
  Stream stream(1, 0, 0);
  std::vector<std::string> tokens;
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    tokens.push_back("w" + std::to_string(stream.index(7) * stream.index(5)));
    text += tokens.back() + (stream.uniform() < 0.1 ? "\n" : " ");
  }
  constexpr std::size_t window = 5;
  const Corpus corpus = read(text, window);
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> contexts;
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    for (std::size_t j = i - 1 > window ? i - 1 - window : 0; j < i - 1; ++j) {
      contexts[{tokens[i - 1], tokens[i]}][tokens[j]] += 1;
    }
  }
  REQUIRE(corpus.classes.classes() == static_cast<Index>(contexts.size()));
  const SequenceClasses<double>& c = corpus.classes;
  for (Index n = 0; n < c.classes(); ++n) {
    const auto at = static_cast<std::size_t>(n);
    const auto word = [&](Index token) { return corpus.words[static_cast<std::size_t>(token)]; };
    const auto& expected = contexts.at({word(c.query[at]), word(c.next[at])});
    double total = 0;
    for (const auto& [token, count] : expected) total += count;
    REQUIRE(c.first[at + 1] - c.first[at] == static_cast<Index>(expected.size()));
    for (Index e = c.first[at]; e < c.first[at + 1]; ++e) {
      CHECK(c.law[e] == Approx(expected.at(word(c.token[static_cast<std::size_t>(e)])) / total));
    }
  }
}

}  // namespace corpus_test
