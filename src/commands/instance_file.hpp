#pragma once
/// Instance files: parameters of a rung, and under `check` what `popgrad instance` adds for the
/// statement that it wrote the file for.
///
///   {"rates": [[1, 2]], "scale": 3,
///    "check": {"statement": "MODEL.SUBJECT", "seed": 7, "knobs": {"scale": 3}, "chosen": {}}}

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::cli {

struct InstanceFile {
  Parameters parameters;  ///< without `check`
  std::string statement;  ///< that the file was written for; empty: for none
  std::optional<std::uint64_t> seed;
  std::vector<std::string> knobs;  ///< NAME=VALUE of that statement
};

/// Throws InputError if the file cannot be read or is of another form.
InstanceFile read_instance(const std::string& model, const std::string& file);

/// The text of a file from which `verify --instance` examines the same: of `instance` the names that
/// the rung of the statement reads, seed and knobs.
std::string instance_text(const Statement& statement, const Setting& setting,
                          const ExaminedInstance& instance,
                          const std::vector<ParameterInfo>& known);

}  // namespace popgrad::cli
