#pragma once
/// The statements on topic structure, in the order of the paper.

#include "popgrad/statement.hpp"

namespace popgrad::theorems::topic {

Statement masked_frequencies();
Statement embedding();
Statement value();
Statement attention_block();
Statement attention_diagonal();
Statement attention_limit();
Statement two_stage();
Statement stage2_optimum();
Statement same_topic_attention();
Statement either_alone();
Statement ode_limit();

}  // namespace popgrad::theorems::topic
