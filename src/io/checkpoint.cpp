#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"
#include "popgrad/json.hpp"
#include "popgrad/scalar/real.hpp"

namespace popgrad {
namespace {

constexpr const char* format_name = "popgrad-checkpoint-2";

template <class List>
Json texts(const List& numbers) {
  Json list = Json::array();
  for (const auto& x : numbers) list.push_back(to_text(x));
  return list;
}

template <class T>
std::vector<T> numbers(const Json& list) {
  std::vector<T> values;
  for (const Json& item : list) values.push_back(from_text<T>(item.get<std::string>()));
  return values;
}

template <class T>
Vector<T> as_vector(const Json& list) {
  const std::vector<T> values = numbers<T>(list);
  return Eigen::Map<const Vector<T>>(values.data(), static_cast<Index>(values.size()));
}

Json open(const std::filesystem::path& path) {
  const Json document = parse_json_keeping_digits(read_file(path), path.string());
  if (!document.is_object() || !document.contains("format") ||
      document["format"] != Json(format_name)) {
    throw InputError(
        fmt::format("--resume {}: is not a checkpoint; give the file that the "
                    "interrupted run named",
                    path.string()));
  }
  return document;
}

}  // namespace

template <class T>
void write_checkpoint(const Checkpoint<T>& checkpoint, const std::filesystem::path& path) {
  Json document{{"format", format_name}, {"words", checkpoint.words}};
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
  write_atomically(path, document.dump() + "\n");
}

std::vector<std::string> checkpoint_words(const std::filesystem::path& path) {
  return open(path)["words"].get<std::vector<std::string>>();
}

template <class T>
Checkpoint<T> read_checkpoint(const std::filesystem::path& path) {
  const Json document = open(path);
  Checkpoint<T> checkpoint;
  try {
    checkpoint.words = document.at("words").get<std::vector<std::string>>();
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
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("--resume {}: is damaged ({}); start the run again", path.string(),
                                 error.what()));
  }
  return checkpoint;
}

template void write_checkpoint(const Checkpoint<double>&, const std::filesystem::path&);
template void write_checkpoint(const Checkpoint<Real>&, const std::filesystem::path&);
template Checkpoint<double> read_checkpoint(const std::filesystem::path&);
template Checkpoint<Real> read_checkpoint(const std::filesystem::path&);

}  // namespace popgrad
