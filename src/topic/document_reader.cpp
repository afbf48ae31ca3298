#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "popgrad/error.hpp"
#include "popgrad/topic/training.hpp"

namespace popgrad::topic {

std::vector<std::vector<Index>> read_documents(const std::string& path, Index words) {
  std::ifstream text(path);
  if (!text) {
    throw InputError(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::vector<std::vector<Index>> documents;
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::vector<Index> document;
    std::istringstream in(line);
    std::size_t field = 0;
    for (std::string word; in >> word && word != "END";) {
      ++field;
      long value = -1;
      std::size_t used = 0;
      try {
        value = std::stol(word, &used);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used != word.size() || value < 0 || value >= words) {
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
