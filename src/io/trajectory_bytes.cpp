#include "io/trajectory_bytes.hpp"
#include "popgrad/base/failure.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace popgrad {
namespace {

// Of numbers and enumerations their memory, of lists the length and then the elements.
class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void put(const Vector<double>& numbers) { put_numbers(numbers.data(), numbers.size()); }
  void put(const std::vector<double>& numbers) {
    put_numbers(numbers.data(), static_cast<Index>(numbers.size()));
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<std::uint64_t>(list.size()));
    for (const T& item : list) put(item);
  }
  void put(const Event<double>& event) {
    put(event.name);
    put(event.t);
    put(event.column);
    put(event.value);
    put(event.uncertainty);
  }
  void put(const Outcome& outcome) {
    put(outcome.ending);
    put(outcome.t_reached);
    put(outcome.steps_taken);
    put(outcome.steps_rejected);
    put(outcome.evaluations);
    put(outcome.notes);
  }
  void put(const Trajectory<double>& run) {
    put(run.t);
    put(run.rows);
    put(run.states);
    put(run.step_t);
    put(run.step_rows);
    put(run.last_state);
    put(run.last_memory);
    put(run.events);
    put(run.outcome);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void put_numbers(const double* numbers, Index count) {
    put(static_cast<std::uint64_t>(count));
    bytes_.append(reinterpret_cast<const char*>(numbers),
                  static_cast<std::size_t>(count) * sizeof(double));
  }
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void get(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    copy(&value, sizeof value);
  }
  void get(std::string& text) {
    text.resize(length(1));
    copy(text.data(), text.size());
  }
  void get(Vector<double>& numbers) {
    numbers.resize(static_cast<Index>(length(sizeof(double))));
    copy(numbers.data(), static_cast<std::size_t>(numbers.size()) * sizeof(double));
  }
  void get(std::vector<double>& numbers) {
    numbers.resize(length(sizeof(double)));
    copy(numbers.data(), numbers.size() * sizeof(double));
  }
  template <class T>
  void get(std::vector<T>& list) {
    // Every element has a length or a number in front.
    list.resize(length(sizeof(double)));
    for (T& item : list) get(item);
  }
  void get(Event<double>& event) {
    get(event.name);
    get(event.t);
    get(event.column);
    get(event.value);
    get(event.uncertainty);
  }
  void get(Outcome& outcome) {
    get(outcome.ending);
    get(outcome.t_reached);
    get(outcome.steps_taken);
    get(outcome.steps_rejected);
    get(outcome.evaluations);
    get(outcome.notes);
  }
  void get(Trajectory<double>& run) {
    get(run.t);
    get(run.rows);
    get(run.states);
    get(run.step_t);
    get(run.step_rows);
    get(run.last_state);
    get(run.last_memory);
    get(run.events);
    get(run.outcome);
  }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

 private:
  void copy(void* to, std::size_t size) {
    if (size > bytes_.size()) throw Failure("trajectories_from: bytes are missing");
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  // Of a list whose elements have at least this size: no memory is asked for what cannot be there.
  std::size_t length(std::size_t least) {
    std::uint64_t count = 0;
    get(count);
    if (count > bytes_.size() / least) {
      throw Failure("trajectories_from: bytes are missing");
    }
    return count;
  }
  std::string_view bytes_;
};

}  // namespace

std::string bytes_of(const std::vector<Trajectory<double>>& runs) {
  Writer writer;
  writer.put(runs);
  return writer.take();
}

std::vector<Trajectory<double>> trajectories_from(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<Trajectory<double>> runs;
  reader.get(runs);
  if (!reader.at_end()) throw Failure("trajectories_from: bytes are left over");
  return runs;
}

}  // namespace popgrad
