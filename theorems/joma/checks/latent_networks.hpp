#pragma once
/// Networks of several layers trained on data with latents, and how well their hidden units stand
/// for the latents: the trained network together with its nulls.

#include <array>
#include <cstdint>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::checks {

/// Breaks the hypothesis that statements on latents share.
inline constexpr Hypothesis one_sequence_a_class{"one sequence a class"};
inline constexpr Knob shared_classes =
    whole_knob("shared", "sequences that have the class of another", 0, 4, 0)
        .breaking(one_sequence_a_class);
/// Layers, d up to `widest`, sequences from `fewest` on, latents, size of the sets, phi; and the network that they
/// and the seed make. The authors' scripts have d = 64 and 10 sequences.
std::vector<Knob> knobs_of_latent_networks(Index widest = 64, Index fewest = 10);
MultilayerInstance<double> drawn_latent_network(const Setting& setting);
/// The parameters of the rung `multilayer-gd` that give it.
Record latent_network_parameters(const Setting& setting);
/// The same with its shared classes, the last sequences in the classes of the first; evaluates the
/// hypothesis.
MultilayerInstance<double> examined_latent_network(const Setting& setting, Examination& it);

/// Full-batch descent; the start of `instance` is replaced, one a seed.
struct LatentTraining {
  MultilayerInstance<double> instance;
  double step_size = 0.1;
  std::uint64_t steps = 300;
};

/// The parameters after the last step. Throws std::runtime_error if they are not finite.
Vector<double> trained_network(const MultilayerFlow<double>& flow, const Vector<double>& start,
                               const LatentTraining& training);

/// Which network, on which latents.
enum class Reading {
  trained,
  untrained,           ///< the start itself
  permuted_latents,    ///< the trained network, latents of the wrong sequences: chance
  untrained_permuted,  ///< the start, latents of the wrong sequences
  permuted_labels,     ///< trained from the same start with the classes of the sequences permuted
};
inline constexpr std::size_t readings = 5;

/// Scores of every layer and level (layer 0: level 0, 1, ...; layer 1: ...).
struct Scores {
  Vector<double> free, matched;
};
struct NetworkScores {
  std::array<Scores, readings> of;  ///< by Reading
  double loss = 0;                  ///< of the trained network, nats
  [[nodiscard]] const Scores& at(Reading reading) const {
    return of[static_cast<std::size_t>(reading)];
  }
};

/// One network a start: seeds first .. first + count - 1, which draw permutations as well. The
/// result does not depend on `jobs`. Cost 2 steps evaluations a network, and 50 scores of layers.
std::vector<NetworkScores> network_scores(const LatentTraining& training, std::uint64_t first,
                                          std::uint32_t count, int jobs);

/// Classes 0..C-1 in an order without fixed points, drawn uniformly among cyclic ones; C >= 2.
std::vector<Index> cyclic_order(Index classes, Stream& stream);

/// The mean over networks of each of the numbers, with the errors of sampling of all at this chance
/// of a false alarm.
template <class Network, class Numbers>
std::vector<Quantity> mean_over_networks(const std::vector<Network>& all, double false_alarm,
                                         const Numbers& numbers) {
  Matrix<double> samples(std::ssize(all), numbers(all.front()).size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    samples.row(static_cast<Index>(i)) = numbers(all[i]).transpose();
  }
  return sample_moments(samples, false_alarm).mean;
}

}  // namespace popgrad::joma::checks
