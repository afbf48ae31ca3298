#include "commands/shared_walks.hpp"

#include <algorithm>
#include <iterator>

#include "commands/distribute.hpp"
#include "io/trajectory_bytes.hpp"

namespace popgrad::cli {
namespace {

// Runs are given out in blocks: small enough that nobody waits long for the last one, which also is
// what an interruption loses, and large enough that messages do not count.
constexpr std::uint32_t blocks_a_process = 16;

std::uint32_t block_size(const WalkRequest& request) {
  const auto processes = static_cast<std::uint32_t>(process_count());
  return std::max(1U, request.runs / (blocks_a_process * processes));
}

WalkRequest block(const WalkRequest& request, std::size_t number) {
  WalkRequest own = request;
  const auto begin = static_cast<std::uint32_t>(number) * block_size(request);
  own.first_run = request.first_run + begin;
  own.runs = std::min(block_size(request), request.runs - begin);
  return own;
}

Compute block_by_block(const Walker& walker, const WalkRequest& request) {
  return [&](std::size_t number, const Report& report) -> std::optional<std::string> {
    const std::vector<Trajectory<double>> runs = walker.runs(block(request, number), report);
    for (const Trajectory<double>& run : runs) {
      if (run.outcome.ending == Ending::interrupted) return std::nullopt;
    }
    return bytes_of(runs);
  };
}

// In the first process. Runs that were interrupted are as they were at their start.
std::vector<Trajectory<double>> share_walks(const Walker& walker, const WalkRequest& request,
                                            const Report& report) {
  std::vector<std::size_t> numbers((request.runs - 1) / block_size(request) + 1);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = k;
  std::vector<std::vector<Trajectory<double>>> blocks(numbers.size());
  const Keep keep = [&](std::size_t number, const std::string& bytes) {
    blocks[number] = trajectories_from(bytes);
    for (Trajectory<double>& run : blocks[number]) {
      run.columns = request.sampled.with(walker.columns());
    }
  };
  const bool whole = distribute(numbers, block_by_block(walker, request), keep, report);
  std::vector<Trajectory<double>> runs;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    if (!whole && blocks[k].empty()) {
      blocks[k] = walker.runs(block(request, k), [](double) { return true; });
    }
    std::move(blocks[k].begin(), blocks[k].end(), std::back_inserter(runs));
  }
  return runs;
}

}  // namespace

std::vector<Trajectory<double>> walks_of_processes(const Walker& walker, const WalkRequest& request,
                                                   const Report& report) {
  if (process_count() == 1 || request.runs == 1) return walker.runs(request, report);
  if (process_rank() == 0) return share_walks(walker, request, report);
  serve(block_by_block(walker, request));
  return {};
}

}  // namespace popgrad::cli
