#pragma once
/// The theories of popgrad itself.

#include <string_view>

#include "popgrad/theory.hpp"

namespace popgrad {

namespace joma {
/// Tian et al., arXiv 2310.00535.
Theory theory();
}  // namespace joma
namespace scan_snap {
/// Tian et al., arXiv 2305.16380.
Theory theory();
}  // namespace scan_snap
namespace scb {
/// Sparse contextual bigrams, arXiv 2410.23438.
Theory theory();
}  // namespace scb
namespace topic {
/// Li et al., arXiv 2303.04245.
Theory theory();
}  // namespace topic

/// All of them, in the order of `popgrad list`.
Theories theories();

/// The model of one of them. Throws InputError with the nearest name.
const Model& find_model(std::string_view name);

}  // namespace popgrad
