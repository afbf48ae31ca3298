#pragma once
/// TensorBoard's event files: records of a length, its checksum, a protocol buffer `Event` and its
/// checksum (tensorflow/core/lib/io/record_writer.h; core/util/event.proto, core/framework/summary.proto).

#include <filesystem>

#include "io/table.hpp"

namespace popgrad {

/// Is it a name that TensorBoard takes for that of an event file?
bool is_event_file(const std::filesystem::path& path);

/// The scalars of an event file, or of all those of a folder one after another, as TensorBoard has them:
/// columns `step`, `wall_time` (seconds) and one a tag. Scalars that follow one another at one step are a
/// row. Histograms, images and texts are left unread; a last record that is not complete, as in a run that
/// still writes, is left out and noted. Throws InputError naming file and byte for a record that has not
/// its checksum, and for a folder without event files.
Table read_event_files(const std::filesystem::path& path);

}  // namespace popgrad
