#include "popgrad/base/record.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace popgrad {

Record::Record() = default;
Record::Record(const Record& other) = default;
Record::Record(Record&& other) noexcept = default;
Record& Record::operator=(const Record& other) = default;
Record& Record::operator=(Record&& other) noexcept = default;
Record::~Record() = default;

Record::Record(std::initializer_list<NamedValue> entries) {
  entries_.reserve(entries.size());
  for (const auto& [name, value] : entries) (*this)[name] = value;
}

const Value* Record::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const NamedValue& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &found->value;
}

Value& Record::operator[](std::string_view name) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const NamedValue& entry) { return entry.name == name; });
  if (found != entries_.end()) return found->value;
  entries_.push_back({std::string(name), {}});
  return entries_.back().value;
}

// Written out: Clang 14 does not survive these three by default, each of which asks for the others.
bool Record::operator==(const Record& other) const { return entries_ == other.entries_; }

Value::Value() = default;
Value::Value(bool truth) : content_(truth) {}
Value::Value(int number) : content_(std::int64_t{number}) {}
Value::Value(unsigned number) : content_(std::uint64_t{number}) {}
Value::Value(long number) : content_(std::int64_t{number}) {}
Value::Value(unsigned long number) : content_(std::uint64_t{number}) {}
Value::Value(long long number) : content_(std::int64_t{number}) {}
Value::Value(unsigned long long number) : content_(std::uint64_t{number}) {}
Value::Value(double number) : content_(number) {}
Value::Value(const char* text) : content_(std::string(text)) {}
Value::Value(std::string_view text) : content_(std::string(text)) {}
Value::Value(std::string text) : content_(std::move(text)) {}
Value::Value(std::initializer_list<Value> items) : content_(List(items)) {}
Value::Value(List items) : content_(std::move(items)) {}
Value::Value(const std::vector<double>& items) : content_(List(items.begin(), items.end())) {}
Value::Value(const std::vector<long>& items) : content_(List(items.begin(), items.end())) {}
Value::Value(const std::vector<std::string>& items) : content_(List(items.begin(), items.end())) {}
Value::Value(Record record) : content_(std::move(record)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

void Value::push_back(Value item) {
  if (std::holds_alternative<std::monostate>(content_)) content_ = List();
  auto* list = std::get_if<List>(&content_);
  if (list == nullptr) throw std::logic_error("an item for a value that is no list");
  list->push_back(std::move(item));
}

bool Value::operator==(const Value& other) const { return content_ == other.content_; }

bool NamedValue::operator==(const NamedValue& other) const {
  return name == other.name && value == other.value;
}

}  // namespace popgrad
