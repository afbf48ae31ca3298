#pragma once
/// One step on A from 1/T with noise, and a threshold at half of what the least q gets.

#include "popgrad/scb/noise.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scb {

/// ln of the probability, up to O(1/T), that all positions of the supports and no others reach the
/// threshold,
///   sum_k (T - Q_k) ln Phi(z_k) + sum_t ln Phi((2 q^k_t/q_min - 1) z_k),  z_k = scale/sigma_{A,k}.
double log_found(const popgrad::scb::Bigrams<double>& bigrams,
                 const popgrad::scb::NoiseLevels& levels, double scale);
/// The probability, with what it leaves out: the mean over t that is taken off makes variances
/// smaller by 1/T; and a position gained for one lost is not noticed by found_share.
Quantity found_probability(const popgrad::scb::Bigrams<double>& bigrams,
                           const popgrad::scb::NoiseLevels& levels, double scale);
/// The scale at which the probability is `level`, by bisection.
double scale_for(const popgrad::scb::Bigrams<double>& bigrams,
                 const popgrad::scb::NoiseLevels& levels, double level);

/// Share of runs of which as many positions survive as are looked at, where <V(0), P> = `pull`.
Quantity found_share(const popgrad::scb::Training<double>& training,
                     const popgrad::scb::NoiseLevels& levels, double pull, Index batch,
                     std::uint32_t first_run, const Setting& setting);

}  // namespace popgrad::theorems::scb
