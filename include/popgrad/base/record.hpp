#pragma once
/// Named values in the order they were given: what a statement tells of its instance, and the
/// parameters of a model.
///
/// Nearly every source includes this, so it is light and compiled once; the few that read or write
/// JSON include base/json.hpp.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace popgrad {

class Value;
struct NamedValue;

/// `{{"a", 1.5}, {"b", {x, y}}, {"c", "text"}}`; of a name that occurs twice, the last value.
class Record {
 public:
  Record();
  Record(std::initializer_list<NamedValue> entries);
  Record(const Record& other);
  Record(Record&& other) noexcept;
  Record& operator=(const Record& other);
  Record& operator=(Record&& other) noexcept;
  ~Record();

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::vector<NamedValue>& entries() const { return entries_; }
  /// nullptr if the name is not there.
  [[nodiscard]] const Value* find(std::string_view name) const;
  /// Adds a null of that name at the end if it is not there.
  Value& operator[](std::string_view name);
  bool operator==(const Record& other) const;

 private:
  std::vector<NamedValue> entries_;
};

/// Null, a truth value, a whole number, a number, a text, a list or a record.
///
/// Braces make lists, also of two texts and of lists; a record within one is written
/// `Record{...}`.
class Value {
 public:
  using List = std::vector<Value>;
  using Content = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                               std::string, List, Record>;

  Value();
  Value(bool truth);
  Value(int number);
  Value(unsigned number);
  Value(long number);
  Value(unsigned long number);
  Value(long long number);
  Value(unsigned long long number);
  Value(double number);
  Value(const char* text);
  Value(std::string_view text);
  Value(std::string text);
  Value(std::initializer_list<Value> items);
  Value(List items);
  Value(const std::vector<double>& items);
  Value(const std::vector<long>& items);
  Value(const std::vector<std::string>& items);
  Value(Record record);
  /// Pointers would be truth values.
  template <class T>
  Value(const T* pointer) = delete;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  [[nodiscard]] const Content& content() const { return content_; }
  [[nodiscard]] Content& content() { return content_; }
  /// The content if it is of that kind; nullptr otherwise.
  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&content_);
  }
  /// A null becomes a list. Throws std::logic_error for anything else that is no list.
  void push_back(Value item);
  bool operator==(const Value& other) const;

 private:
  Content content_;
};

struct NamedValue {
  std::string name;
  Value value;
  bool operator==(const NamedValue& other) const;
};

/// As JSON on one line.
std::string json_text(const Value& value);

}  // namespace popgrad
