#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/file_bytes.hpp"
#include "base/number_field.hpp"
#include "popgrad/base/error.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

std::vector<std::vector<Index>> read_documents(const std::string& path, Index words) {
  std::istringstream text(bytes_of_file(path));
  std::vector<std::vector<Index>> documents;
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::vector<Index> document;
    std::istringstream in(
        std::string(number == 1 ? without_byte_order_mark(line) : std::string_view(line)));
    std::size_t field = 0;
    for (std::string word; in >> word && word != "END";) {
      ++field;
      long value = -1;
      const char* const end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data(), end, value);
      if (error != std::errc{} || stop != end || value < 0 || value >= words) {
        throw InputError(
            fmt::format("{}: line {}, word {}: '{}' is not a word; words are 0 to {} (T v = {})",
                        path, number, field, word.substr(0, 40), words - 1, words));
      }
      document.push_back(value + 1);
    }
    if (!document.empty()) documents.push_back(std::move(document));
  }
  if (documents.empty()) {
    throw InputError(fmt::format("{}: no documents; a line of words each, e.g. 3 17 4 END", path));
  }
  return documents;
}

}  // namespace popgrad::topic
