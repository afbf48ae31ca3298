// Writers of instance files against their readers, at values that are not the default.

#include <catch2/catch.hpp>
#include <string>

#include "base/json.hpp"
#include "theorems/joma/rungs/instance_record.hpp"
#include "theorems/scan_snap/rungs/instance_record.hpp"
#include "theorems/scb/rungs/instance_record.hpp"
#include "theorems/topic/rungs/instance_record.hpp"

namespace instance_record_test {

using namespace popgrad;

namespace {

// What is read from `text`, written, has the values of `text`, and reads back as the same record.
template <class Read>
void goes_round(const std::string& model, const std::string& text, const Read& read) {
  CAPTURE(text);
  const Record written = record_of(read(Parameters::parse(model, text, "test")));
  CHECK(record_of(read(Parameters(model, written))) == written);
  const Json values = to_json(written);
  const Json given = Json::parse(text);
  for (const auto& [name, value] : given.items()) {
    INFO(name);
    REQUIRE(values.contains(name));
    CHECK(values[name] == value);
  }
}

}  // namespace

TEST_CASE("instance files: joma", "[instance]") {
  const auto classes = [](const Parameters& p) { return joma::class_instance<double>(p, 3); };
  goes_round("joma",
             R"({"X": [[0.25, 0.5], [0.75, 0.5]], "class_law": [0.25, 0.75],
                 "W0": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "z0": [0.5, -0.25],
                 "decoder": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "temperature": 0.5,
                 "attention": "softmax", "phi": "tanh", "residual": false, "normalise": true,
                 "label_noise": 0.125, "length": 7})",
             classes);
  // The random start of a seed becomes numbers.
  goes_round("joma", R"({"phi": "linear", "attention": "linear"})", classes);
  const auto reduced = [](const Parameters& p) { return joma::reduced_instance<double>(p, 3); };
  goes_round("joma",
             R"({"mu": [[1.0, 2.0, 4.0], [3.0, 5.0, 1.0]], "attention": "exp", "tau": 3.0,
                 "v0": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]})",
             reduced);
  goes_round("joma", R"({"delta": [[0.5, 1.0]], "attention": "linear", "z0": [0.25, 0.5]})",
             reduced);
}

TEST_CASE("instance files: scan and snap", "[instance]") {
  const auto read = [](const Parameters& p) { return scan_snap::training_instance<double>(p, 3); };
  goes_round("scan-snap",
             R"({"P_tokens": [[0, 2], [1]], "P_weights": [[0.25, 0.75], [1.0]], "psi": [3, 2],
                 "next": [1, 3], "class_law": [0.25, 0.75], "M": 4, "eta_Y": 0.5, "eta_Z": 0.25,
                 "T": 9, "start": "uniform", "reading": "paper", "track-growth": true,
                 "label_noise": 0.125, "temperature": 2.0})",
             read);
  goes_round("scan-snap",
             R"({"P_tokens": [[0], [1]], "P_weights": [[1.0], [1.0]], "M": 2,
                 "Y": [[1.0, 2.0], [3.0, 4.0]], "Z": [[0.5, 0.25], [0.75, 1.5]]})",
             read);
}

TEST_CASE("instance files: sparse contextual bigrams", "[instance]") {
  const auto read = [](const Parameters& p) { return scb::training<double>(p, 3); };
  goes_round("scb",
             R"({"P": [[0.25, 0.75], [0.75, 0.25]], "mu": [0.5, 0.5], "T": 3,
                 "q_positions": [[0, 2], [1]], "q_weights": [[0.25, 0.75], [1.0]],
                 "V": [[0.5, 0.25], [0.25, 0.5]], "A": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]],
                 "attention": "softmax", "eta_A": 0.5, "project": false, "label_noise": 0.125,
                 "temperature": 2.0, "query_position": "last"})",
             read);
}

TEST_CASE("instance files: topics", "[instance]") {
  goes_round("topic", R"({"T": 7, "tau": 3, "v": 5, "p_m": "3/20", "p_c": "1/7", "p_r": "0"})",
             [](const Parameters& p) { return topic::topic_law<Rational>(p); });
  const auto read = [](const Parameters& p) { return topic::training(p, 3); };
  goes_round("topic",
             R"({"T": 2, "tau": 1, "v": 1, "p_m": 0.25, "p_c": 0.125, "p_r": 0.5,
                 "loss": "cross-entropy", "d_a": 2, "temperature": 2.0, "d_e": 2, "sigma": 0.5,
                 "lambda": 0.125, "N": 9, "label_noise": 0.25, "train": "VE", "longer": 3,
                 "documents": "lda", "concentration": 0.75, "W_V": [[1.0, 2.0], [3.0, 4.0]],
                 "W_K": [[0.1, 0.2], [0.3, 0.4]], "W_Q": [[0.5, 0.6], [0.7, 0.8]],
                 "W_E": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})",
             read);
  goes_round("topic", R"({"T": 3, "tau": 1, "v": 1, "value": "normal", "train": "KQ"})", read);
  const Record blocks = record_of(
      read(Parameters::parse("topic", R"({"T": 3, "tau": 2, "v": 2, "value": "block"})", "test")));
  CHECK(blocks.find("W_V") != nullptr);
  CHECK(record_of(read(Parameters("topic", blocks))) == blocks);
}

}  // namespace instance_record_test
