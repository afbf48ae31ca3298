#pragma once
/// Records of TensorBoard's event files, written from their description and not by the reader's checksum.

#include <bit>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>

namespace event_record {

// CRC-32C, bit by bit, masked.
inline std::uint32_t masked_checksum(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return std::rotr(~crc, 15) + 0xA282EAD8U;
}

inline std::string little_endian(std::uint64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t k = 0; k < size; ++k) bytes += static_cast<char>(number >> (8 * k) & 0xFF);
  return bytes;
}

/// The record of an event.
inline std::string of(const std::string& event) {
  const std::string size = little_endian(event.size(), 8);
  return size + little_endian(masked_checksum(size), 4) + event +
         little_endian(masked_checksum(event), 4);
}

/// A scalar, as PyTorch writes it, or in a tensor, as TensorFlow 2 does.
inline std::string scalar(int step, const std::string& tag, float number, bool as_tensor = false) {
  std::string tensor, value, summary, event;
  protozero::pbf_writer tensor_writer(tensor), value_writer(value), summary_writer(summary),
      writer(event);
  value_writer.add_string(1, tag);
  if (as_tensor) {
    tensor_writer.add_int32(1, 1);
    tensor_writer.add_bytes(4, reinterpret_cast<const char*>(&number), sizeof number);
    value_writer.add_message(8, tensor);
  } else {
    value_writer.add_float(2, number);
  }
  summary_writer.add_message(1, value);
  writer.add_double(1, 1700000000.5 + step);
  writer.add_int64(2, step);
  writer.add_message(5, summary);
  return of(event);
}

}  // namespace event_record
