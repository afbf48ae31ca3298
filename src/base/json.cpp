#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

// Copies, comparisons and destructors of values recurse.
constexpr std::size_t deepest = 100;
// Records search their names one by one.
constexpr std::size_t most_names = 10'000;

// The parser says where it is only in errors of its own: counts what it has read.
struct CountedByte {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  std::size_t* count;

  reference operator*() const { return *at; }
  CountedByte& operator++() {
    ++at;
    ++*count;
    return *this;
  }
  bool operator==(const CountedByte& other) const { return at == other.at; }
};

// What the parser objects to, without its own words: it stops after byte `position`, from 1.
std::string reason_of(std::string_view text, std::size_t position, std::string_view words) {
  const auto says = [&](const char* part) { return words.find(part) != std::string_view::npos; };
  if (says("number overflow")) {
    return "a number is too large for a double; write it as a text, such as \"1e400\"";
  }
  if (says("invalid string")) {
    return "a text is not closed, or has control characters, a wrong escape or bytes that are not "
           "UTF-8";
  }
  if (position == 0 || position > text.size()) return "the end comes too early";
  const std::string_view rest = text.substr(position - 1, 40);
  const std::string_view word =
      rest.substr(0, std::max<std::size_t>(1, rest.find_first_of(",:]} \t\r\n")));
  if (word.starts_with("NaN") || word.starts_with("Inf")) {
    return fmt::format("'{}' is no JSON; write null, or a text such as \"nan\"", word);
  }
  return fmt::format("'{}' is not expected here", word);
}

// Builds a JSON value in which every number is the text it was written as.
class DigitKeeper final : public nlohmann::json_sax<Json> {
 public:
  Json result;
  std::string failure;
  std::size_t read = 0;          // bytes, at a failure those up to it
  LinesOfKeys* lines = nullptr;  // of the outermost object, if they are wanted

  explicit DigitKeeper(std::string_view text) : text_(text) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return put(text); }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    std::unordered_set<std::string>& names = names_.back();
    if (!names.insert(name).second) {
      return fail(fmt::format("key '{}' occurs twice", name.substr(0, 40)));
    }
    if (names.size() > most_names) {
      return fail(fmt::format("an object has more than {} keys", most_names));
    }
    if (names_.size() == 1 && lines != nullptr) {
      line_ += static_cast<std::size_t>(std::count(
          text_.begin() + counted_, text_.begin() + static_cast<std::ptrdiff_t>(read), '\n'));
      counted_ = static_cast<std::ptrdiff_t>(read);
      lines->emplace(name, line_);
    }
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*last*/,
                   const nlohmann::detail::exception& error) override {
    read = position;
    return fail(reason_of(text_, position, error.what()));
  }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      result = std::move(value);
      return &result;
    }
    Json& top = *open_.back();
    if (top.is_array()) {
      top.push_back(std::move(value));
      return &top.back();
    }
    auto& object = top.get_ref<Json::object_t&>();
    object.emplace_back(key_, std::move(value));  // `key` has seen that it is new
    return &object.back().second;
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool fail(std::string reason) {
    failure = std::move(reason);
    return false;
  }
  bool open(Json value) {
    if (open_.size() == deepest) {
      return fail(fmt::format("lists and objects are nested deeper than {}", deepest));
    }
    // Pointers into the parents stay valid: a parent grows again only after this child is closed.
    open_.push_back(place(std::move(value)));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  std::string_view text_;
  std::vector<Json*> open_;
  std::vector<std::unordered_set<std::string>> names_;  // of the objects among them
  std::string key_;
  std::ptrdiff_t counted_ = 0;  // bytes up to here are in `line_`
  std::size_t line_ = 1;
};

std::pair<std::size_t, std::size_t> line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t last = before.rfind('\n');
  return {lines + 1, last == std::string_view::npos ? before.size() : before.size() - last - 1};
}

Json json_of(std::monostate /*null*/) { return nullptr; }
Json json_of(const Value::List& list) {
  Json array = Json::array();
  for (const Value& item : list) array.push_back(to_json(item));
  return array;
}
Json json_of(const Record& record) {
  Json object = Json::object();
  for (const auto& [name, value] : record.entries()) object[name] = to_json(value);
  return object;
}
template <class T>
Json json_of(const T& value) {
  return value;
}

}  // namespace

Json to_json(const Value& value) {
  return std::visit([](const auto& content) { return json_of(content); }, value.content());
}

Json to_json(const Record& record) { return json_of(record); }

std::string json_text(const Value& value) { return to_json(value).dump(); }

Value value_from(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<std::int64_t>();
    case Json::value_t::number_unsigned:
      return json.get<std::uint64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      Value::List list;
      list.reserve(json.size());
      for (const Json& item : json) list.push_back(value_from(item));
      return list;
    }
    case Json::value_t::object: {
      Record record;
      for (const auto& [name, value] : json.items()) record[name] = value_from(value);
      return record;
    }
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  throw std::invalid_argument("JSON that has no text");
}

Json parse_json_keeping_digits(std::string_view text, std::string_view file_name,
                               LinesOfKeys* lines, std::size_t first_line) {
  DigitKeeper keeper(text);
  keeper.lines = lines;
  // The parser takes a NUL byte for the end.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    keeper.read = zero;
    keeper.failure = "a NUL byte, which no JSON has";
  } else {
    const CountedByte begin{text.data(), &keeper.read};
    const CountedByte end{text.data() + text.size(), &keeper.read};
    if (Json::sax_parse(begin, end, &keeper)) return std::move(keeper.result);
  }
  const auto [line, column] = line_and_column(text, keeper.read);
  throw InputError(fmt::format("{}: line {}, column {}: {}; give a complete JSON object", file_name,
                               line - 1 + first_line, column, keeper.failure));
}

}  // namespace popgrad
