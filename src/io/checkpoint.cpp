#include "io/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/json.hpp"
#include "io/atomic_file.hpp"
#include "io/json_document.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {
namespace {

constexpr const char* format_name = "popgrad-checkpoint-3";

template <class List>
Json texts(const List& numbers) {
  Json list = Json::array();
  for (const auto& x : numbers) list.push_back(to_text(x));
  return list;
}

// As texts() writes it: rows may hold what is not finite, as deviations that a prediction leaves out.
template <class T>
T number(const std::string& text) {
  const bool negative = text.starts_with('-');
  const std::string size = text.substr(negative ? 1 : 0);
  if (size == "nan") return std::numeric_limits<T>::quiet_NaN();
  if (size != "inf") return from_text<T>(text);
  const T infinite = std::numeric_limits<T>::infinity();
  return negative ? T(-infinite) : infinite;
}

template <class T>
std::vector<T> numbers(const Json& list) {
  std::vector<T> values;
  for (const Json& item : list) values.push_back(number<T>(item.get<std::string>()));
  return values;
}

template <class T>
Vector<T> as_vector(const Json& list) {
  const std::vector<T> values = numbers<T>(list);
  return Eigen::Map<const Vector<T>>(values.data(), static_cast<Index>(values.size()));
}

Json open(const std::filesystem::path& path) {
  const Json document = parse_json_keeping_digits(read_own_file(path), path.string());
  if (!document.is_object() || !document.contains("format") ||
      document["format"] != Json(format_name)) {
    throw InputError(
        fmt::format("--resume {}: is not a checkpoint; give the file that the "
                    "interrupted run named",
                    path.string()));
  }
  if (!is_as_sealed(document)) {
    throw InputError(
        fmt::format("--resume {}: is not as popgrad wrote it; restore it, or start the run again",
                    path.string()));
  }
  return document;
}

CheckpointOrigin origin_of(const Json& document) {
  return {document.at("words").get<std::vector<std::string>>(),
          document.at("files").get<Fingerprints>(), document.at("versions").get<Versions>()};
}

}  // namespace

template <class T>
void write_checkpoint(const Checkpoint<T>& checkpoint, const std::filesystem::path& path) {
  Json document{{"format", format_name},
                {"words", checkpoint.origin.words},
                {"files", checkpoint.origin.files},
                {"versions", checkpoint.origin.versions}};
  Json runs = Json::array();
  for (const Trajectory<T>& run : checkpoint.runs) {
    Json rows = Json::array();
    for (const std::vector<T>& row : run.rows) rows.push_back(texts(row));
    Json states = Json::array();
    for (const Vector<T>& state : run.states) states.push_back(texts(state));
    Json events = Json::array();
    for (const Event<T>& event : run.events) {
      events.push_back({{"name", event.name},
                        {"t", to_text(event.t)},
                        {"column", event.column},
                        {"value", to_text(event.value)},
                        {"uncertainty", to_text(event.uncertainty)}});
    }
    runs.push_back({{"complete", run.outcome.ending == Ending::reached_end},
                    {"t_reached", to_text(run.outcome.t_reached)},
                    {"steps", std::to_string(run.outcome.steps_taken)},
                    {"last_state", texts(run.last_state)},
                    {"last_memory", texts(run.last_memory)},
                    {"t", texts(run.t)},
                    {"rows", rows},
                    {"states", states},
                    {"events", events}});
  }
  document["runs"] = std::move(runs);
  seal(document);
  write_atomically(path, document.dump() + "\n");
}

CheckpointOrigin checkpoint_origin(const std::filesystem::path& path) {
  return origin_of(open(path));
}

std::filesystem::path new_checkpoint(const std::filesystem::path& folder, const std::string& name) {
  for (int number = 1;; ++number) {
    const std::string own = number > 1 ? fmt::format("{}-{}", name, number) : name;
    std::filesystem::path path = folder / (own + ".checkpoint.json");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      return path;
    }
    if (errno != EEXIST) return {};
  }
}

template <class T>
Checkpoint<T> read_checkpoint(const std::filesystem::path& path) {
  const Json document = open(path);
  Checkpoint<T> checkpoint;
  checkpoint.origin = origin_of(document);
  for (const Json& item : document.at("runs")) {
    Trajectory<T> run;
    run.outcome.ending =
        item.at("complete").get<bool>() ? Ending::reached_end : Ending::interrupted;
    run.outcome.t_reached = from_text<double>(item.at("t_reached").get<std::string>());
    run.outcome.steps_taken = std::stoull(item.at("steps").get<std::string>());
    run.last_state = as_vector<T>(item.at("last_state"));
    run.last_memory = as_vector<T>(item.at("last_memory"));
    run.t = numbers<T>(item.at("t"));
    for (const Json& row : item.at("rows")) run.rows.push_back(numbers<T>(row));
    for (const Json& state : item.at("states")) run.states.push_back(as_vector<T>(state));
    for (const Json& event : item.at("events")) {
      run.events.push_back({event.at("name").get<std::string>(),
                            from_text<T>(event.at("t").get<std::string>()),
                            event.at("column").get<std::string>(),
                            from_text<T>(event.at("value").get<std::string>()),
                            from_text<double>(event.at("uncertainty").get<std::string>())});
    }
    checkpoint.runs.push_back(std::move(run));
  }
  return checkpoint;
}

template void write_checkpoint(const Checkpoint<double>&, const std::filesystem::path&);
template void write_checkpoint(const Checkpoint<Real>&, const std::filesystem::path&);
template Checkpoint<double> read_checkpoint(const std::filesystem::path&);
template Checkpoint<Real> read_checkpoint(const std::filesystem::path&);

}  // namespace popgrad
