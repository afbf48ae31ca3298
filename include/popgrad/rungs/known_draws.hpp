#pragma once
/// How the law of one draw is known without drawing.

namespace popgrad {

enum class KnownDraws {
  not_at_all,
  directly,    ///< run through, or expanded (popgrad/fluctuations/draw_law.hpp)
  from_nodes,  ///< from two independent sets of nodes (popgrad/fluctuations/sampled_draws.hpp)
};

/// One of these sets, or what they give together.
enum class NodeSet { first, second, both };

}  // namespace popgrad
