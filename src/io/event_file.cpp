#include "io/event_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <protozero/pbf_message.hpp>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file_bytes.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

namespace fs = std::filesystem;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

enum class Event : protozero::pbf_tag_type { wall_time = 1, step = 2, summary = 5 };
enum class Summary : protozero::pbf_tag_type { value = 1 };
enum class SummaryValue : protozero::pbf_tag_type { tag = 1, simple_value = 2, tensor = 8 };
enum class Tensor : protozero::pbf_tag_type {
  dtype = 1,
  content = 4,
  float_values = 5,
  double_values = 6
};
enum class DataType : std::int32_t { single_precision = 1, double_precision = 2 };

// CRC-32C, rotated and shifted, as data that hold checksums of their own would weaken a plain one.
std::uint32_t masked_checksum(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> checksum;
  checksum.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<std::uint32_t>(checksum.checksum()), 15) + 0xA282EAD8U;
}

// Little-endian, as every machine that popgrad is built for.
template <class T>
T number_at(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  T number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// The number of a tensor that holds one: since TensorFlow 2 scalars are such.
std::optional<double> scalar_of(protozero::pbf_message<Tensor> tensor) {
  std::optional<double> number;
  std::string content;
  DataType type{};
  while (tensor.next()) {
    switch (tensor.tag_and_type()) {
      case tag_and_type(Tensor::dtype, pbf_wire_type::varint):
        type = static_cast<DataType>(tensor.get_int32());
        break;
      case tag_and_type(Tensor::content, pbf_wire_type::length_delimited):
        content = tensor.get_string();
        break;
      case tag_and_type(Tensor::float_values, pbf_wire_type::length_delimited): {
        const auto values = tensor.get_packed_float();
        if (values.size() == 1) number = *values.begin();
        break;
      }
      case tag_and_type(Tensor::double_values, pbf_wire_type::length_delimited): {
        const auto values = tensor.get_packed_double();
        if (values.size() == 1) number = *values.begin();
        break;
      }
      default:
        tensor.skip();
    }
  }
  if (type == DataType::single_precision && content.size() == sizeof(float)) {
    return number_at<float>(content);
  }
  if (type == DataType::double_precision && content.size() == sizeof(double)) {
    return number_at<double>(content);
  }
  return number;
}

class EventTable {
 public:
  explicit EventTable(const std::string& file) {
    table_.file = file;
    table_.names = {"step", "wall_time"};
    table_.columns.resize(2);
  }

  void add(const fs::path& path) {
    const std::string bytes = read_file(path);
    std::string_view rest = bytes;
    constexpr std::size_t checksum_size = sizeof(std::uint32_t);
    constexpr std::size_t head = sizeof(std::uint64_t) + checksum_size;
    while (!rest.empty()) {
      const std::size_t at = bytes.size() - rest.size();
      const auto checked = [&](std::string_view part, std::string_view checksum) {
        if (masked_checksum(part) == number_at<std::uint32_t>(checksum)) return;
        throw InputError(
            fmt::format("{}: what stands at byte {} does not have its checksum, so the file is no "
                        "event file of "
                        "TensorBoard or is damaged; copy it again from where it was written",
                        path.string(), at));
      };
      std::uint64_t size = 0;
      if (rest.size() >= head) {
        checked(rest.substr(0, sizeof size), rest.substr(sizeof size));
        size = number_at<std::uint64_t>(rest);
      }
      if (rest.size() < head || size > rest.size() - head ||
          rest.size() - head - size < checksum_size) {
        table_.notes.push_back(fmt::format(
            "{}: the last record, at byte {}, is not complete and is left out", path.string(), at));
        break;
      }
      const std::string_view event = rest.substr(head, size);
      checked(event, rest.substr(head + size));
      try {
        add_event(event);
      } catch (const protozero::exception&) {
        throw InputError(
            fmt::format("{}: the record at byte {} is no event of TensorBoard", path.string(), at));
      }
      rest.remove_prefix(head + size + checksum_size);
    }
    in_row_.clear();
  }

  Table take() { return std::move(table_); }

 private:
  Table table_;
  std::vector<std::size_t> in_row_;  // columns that the last row has

  void add_event(std::string_view bytes) {
    protozero::pbf_message<Event> event(bytes.data(), bytes.size());
    double wall_time = 0;
    std::int64_t step = 0;
    std::vector<protozero::pbf_message<Summary>> summaries;
    while (event.next()) {
      switch (event.tag_and_type()) {
        case tag_and_type(Event::wall_time, pbf_wire_type::fixed64):
          wall_time = event.get_double();
          break;
        case tag_and_type(Event::step, pbf_wire_type::varint):
          step = event.get_int64();
          break;
        case tag_and_type(Event::summary, pbf_wire_type::length_delimited):
          summaries.emplace_back(event.get_message());
          break;
        default:
          event.skip();
      }
    }
    for (auto& summary : summaries) {
      while (summary.next(Summary::value, pbf_wire_type::length_delimited)) {
        add_value(summary.get_message(), static_cast<double>(step), wall_time);
      }
    }
  }

  void add_value(protozero::pbf_message<SummaryValue> value, double step, double wall_time) {
    std::string tag;
    std::optional<double> number;
    while (value.next()) {
      switch (value.tag_and_type()) {
        case tag_and_type(SummaryValue::tag, pbf_wire_type::length_delimited):
          tag = value.get_string();
          break;
        case tag_and_type(SummaryValue::simple_value, pbf_wire_type::fixed32):
          number = value.get_float();
          break;
        case tag_and_type(SummaryValue::tensor, pbf_wire_type::length_delimited):
          number = scalar_of(value.get_message());
          break;
        default:
          value.skip();
      }
    }
    if (!number) {
      table_.unread.try_emplace(tag, "holds no scalars");
      return;
    }
    const auto found = std::find(table_.names.begin() + 2, table_.names.end(), tag);
    const auto column = static_cast<std::size_t>(found - table_.names.begin());
    if (found == table_.names.end()) {
      table_.names.push_back(tag);
      table_.columns.emplace_back(table_.rows(), std::numeric_limits<double>::quiet_NaN());
    }
    const bool begins_row = in_row_.empty() || table_.columns.front().back() != step ||
                            std::ranges::count(in_row_, column) > 0;
    if (begins_row) {
      in_row_.clear();
      for (auto& each : table_.columns) each.push_back(std::numeric_limits<double>::quiet_NaN());
      table_.columns[0].back() = step;
      table_.columns[1].back() = wall_time;
    }
    table_.columns[column].back() = *number;
    in_row_.push_back(column);
  }
};

std::vector<fs::path> event_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::set<std::string> deeper;
  constexpr int deepest = 3;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                           failed);
       !failed && at != fs::end(at); at.increment(failed)) {
    if (at.depth() == deepest) at.disable_recursion_pending();
    if (!is_event_file(at->path()) || !at->is_regular_file(failed)) continue;
    if (at.depth() == 0) {
      files.push_back(at->path());
    } else {
      deeper.insert(at->path().parent_path().string());
    }
  }
  if (files.empty()) {
    throw InputError(fmt::format(
        "{}: is a directory without event files of TensorBoard (events.out.tfevents...){}",
        folder.string(),
        deeper.empty() ? "; give a table or a folder of those"
                       : fmt::format("; each folder of those is a run: give --with {}",
                                     fmt::join(deeper, " --with "))));
  }
  // Their names have the time at which each was begun.
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool is_event_file(const fs::path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

Table read_event_files(const fs::path& path) {
  EventTable table(path.string());
  for (const fs::path& file :
       fs::is_directory(path) ? event_files_in(path) : std::vector<fs::path>{path}) {
    table.add(file);
  }
  return table.take();
}

}  // namespace popgrad
