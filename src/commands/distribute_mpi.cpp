/// With MPI: the processes of an mpirun. Only this source includes Boost.MPI.

#include <algorithm>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/string.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include "commands/distribute.hpp"
#include "commands/interrupt.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"

namespace popgrad::cli {
namespace {

namespace mpi = boost::mpi;

// From the first process: a cell, or that there are no more. To it: what came of a cell.
constexpr int cell_tag = 1, dismissal_tag = 2, answer_tag = 3;

struct Answer {
  enum class Kind { row, interrupted, bad_input, no_memory, failure };
  std::size_t cell = 0;
  Kind kind = Kind::row;
  std::string text;  // the row, or what was thrown

  template <class Archive>
  void serialize(Archive& archive, unsigned /*version*/) {
    archive& cell& kind& text;
  }
};

struct Session {
  // Progress is reported, and with it the dismissal looked for, by any thread, one at a time.
  mpi::environment environment{mpi::threading::serialized};
  mpi::communicator world;
  bool dismissed = false;  // of the first process: that it has dismissed the others
};
std::unique_ptr<Session> session;

// mpirun, or srun with PMIx or PMI, tells each process its rank before MPI does. A start without
// any of them would cost a tenth of a second for nothing.
bool started_together() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

// MPI's own waiting takes a core; that core has a cell to compute. From microseconds up, so that
// short cells wait little.
class Pause {
 public:
  void take() {
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, longest);
  }
  void shorten() { length_ = shortest; }

 private:
  static constexpr std::chrono::microseconds shortest{10}, longest{2000};
  std::chrono::microseconds length_ = shortest;
};

void dismiss() {
  if (session->dismissed) return;
  session->dismissed = true;
  for (int rank = 1; rank < session->world.size(); ++rank) {
    session->world.send(rank, dismissal_tag);
  }
}

bool is_dismissed() { return session->world.iprobe(0, dismissal_tag).has_value(); }

Answer answer_of(std::size_t cell, const Compute& compute) {
  const Report report = [](double) { return interrupted() || is_dismissed(); };
  try {
    if (std::optional<std::string> row = compute(cell, report)) {
      return {cell, Answer::Kind::row, *std::move(row)};
    }
    return {cell, Answer::Kind::interrupted, {}};
  } catch (const Stopped&) {
    return {cell, Answer::Kind::interrupted, {}};
  } catch (const std::invalid_argument& error) {
    return {cell, Answer::Kind::bad_input, error.what()};
  } catch (const std::bad_alloc&) {
    return {cell, Answer::Kind::no_memory, {}};
  } catch (const std::exception& error) {
    return {cell, Answer::Kind::failure, words_of(error)};
  }
}

[[noreturn]] void throw_again(const Answer& answer) {
  if (answer.kind == Answer::Kind::bad_input) throw InputError(answer.text);
  if (answer.kind == Answer::Kind::no_memory) throw std::bad_alloc();
  throw Failure(answer.text);
}

}  // namespace

Processes::Processes() {
  if (started_together()) session = std::make_unique<Session>();
}

Processes::~Processes() {
  if (!session) return;
  if (process_rank() == 0) {
    dismiss();
  } else {
    // One that has nothing to compute, or has failed where the first has not, is waited for by
    // nobody.
    serve([](std::size_t, const Report&) -> std::optional<std::string> { return std::nullopt; });
  }
  session.reset();
}

int process_count() { return session ? session->world.size() : 1; }
int process_rank() { return session ? session->world.rank() : 0; }

void serve(const Compute& compute) {
  if (session->dismissed) return;
  Pause pause;
  while (true) {
    if (session->world.iprobe(0, cell_tag)) {
      std::size_t cell = 0;
      session->world.recv(0, cell_tag, cell);
      session->world.send(0, answer_tag, answer_of(cell, compute));
      pause.shorten();
    } else if (is_dismissed()) {
      session->world.recv(0, dismissal_tag);
      session->dismissed = true;
      return;
    } else {
      pause.take();
    }
  }
}

bool distribute(const std::vector<std::size_t>& cells, const Compute& compute, const Keep& keep,
                const Report& report) {
  if (process_count() == 1) return distribute_here(cells, compute, keep, report);
  std::vector<int> idle;
  for (int rank = process_count() - 1; rank > 0; --rank) idle.push_back(rank);
  std::size_t begun = 0, kept = 0, computing = 0;
  std::optional<Answer> failed;  // of the first cell that does
  bool stopped = false;
  Pause pause;
  while (true) {
    if (!stopped && report(static_cast<double>(kept) / static_cast<double>(cells.size()))) {
      stopped = true;
      dismiss();
    }
    while (!stopped && !failed && begun < cells.size() && !idle.empty()) {
      session->world.send(idle.back(), cell_tag, cells[begun++]);
      idle.pop_back();
      ++computing;
    }
    if (computing == 0) break;
    const auto waiting = session->world.iprobe(mpi::any_source, answer_tag);
    if (!waiting) {
      pause.take();
      continue;
    }
    pause.shorten();
    Answer answer;
    session->world.recv(waiting->source(), answer_tag, answer);
    idle.push_back(waiting->source());
    --computing;
    if (answer.kind == Answer::Kind::row) {
      keep(answer.cell, answer.text);
      ++kept;
    } else if (answer.kind == Answer::Kind::interrupted) {
      stopped = true;
      dismiss();
    } else if (!failed || answer.cell < failed->cell) {
      // Every cell before it was begun before it.
      failed = std::move(answer);
    }
  }
  dismiss();
  if (failed) throw_again(*failed);
  return kept == cells.size();
}

}  // namespace popgrad::cli
