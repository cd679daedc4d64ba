#ifndef FERRY_MODEL_CONFIG_H_
#define FERRY_MODEL_CONFIG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ferry/placement.h"
#include "ferry/tensor.h"

namespace ferry {

// ModelConfig is what Ferry acts on of a model's config.pbtxt: plain data, already validated. The meaning of the fields
// is Triton's (https://github.com/triton-inference-server/common, protobuf/model_config.proto).

// One input or output. Extents are without the batch extent that a model with max_batch_size > 0 has in front.
struct TensorConfig {
  std::string name;
  DataType type = DataType::kInvalid;
  Shape dims;                       // as callers see it; -1 is any extent
  std::optional<Shape> model_dims;  // as the model sees it, where `reshape` says so
  std::vector<std::string> labels;  // of an output's classes, from label_filename; may be empty
  bool optional = false;            // a request may leave the input out
  bool ragged = false;  // the input's extents may differ within a batch; the model gets all elements in a row

  bool operator==(const TensorConfig&) const = default;
};

// Which of the versions on disk are served.
struct LatestVersions {
  uint32_t count = 1;
};
struct AllVersions {};
struct SpecificVersions {
  std::vector<int64_t> versions;
};
using VersionPolicy = std::variant<LatestVersions, AllVersions, SpecificVersions>;

// How requests of a priority level may wait.
struct QueuePolicy {
  enum class TimeoutAction { kReject, kDelay };
  TimeoutAction timeout_action = TimeoutAction::kReject;
  std::chrono::microseconds default_timeout{0};  // zero: none
  bool allow_timeout_override = false;
  uint32_t max_queue_size = 0;  // zero: the server's default
};

// Gathering requests into batches. Without it each request is a batch of its own.
struct DynamicBatching {
  // Sizes to send at once when exactly reachable, in rows, ascending. Empty: none.
  std::vector<int64_t> preferred_batch_sizes;
  // How long the oldest request may wait for companions while an instance is free. Zero: not at all.
  std::chrono::microseconds max_queue_delay{0};
  // Answers leave in the order in which the requests came.
  bool preserve_ordering = false;
  // Levels 1 to priority_levels, 1 the highest; zero: there are no levels.
  uint64_t priority_levels = 0;
  uint64_t default_priority_level = 0;
  QueuePolicy default_queue_policy;
  std::map<uint64_t, QueuePolicy> priority_queue_policies;
};

// Variable extents that are filled up, so that requests of different lengths share a batch. Extents count without the
// batch extent.
struct Padding {
  struct Input {
    size_t input = 0;
    std::vector<size_t> dims;
    std::vector<std::byte> value;  // one element to fill up with
  };
  // The output's extent follows the input's, and is cut back to what it is without padding.
  struct Cut {
    size_t output = 0;
    size_t output_dim = 0;
    size_t input = 0;
    size_t input_dim = 0;
  };
  std::vector<Input> inputs;
  std::vector<Cut> cuts;
  std::vector<int64_t> lengths;  // to round up to, ascending; a longer extent is left as it is

  int64_t RoundUp(int64_t extent) const;
};

// An input that the model gets beside those of the requests and that says what the batch holds, for ragged inputs.
struct BatchInput {
  enum class Kind {
    kElementCount,                     // elements of each request's source
    kAccumulatedElementCount,          // the same, added up
    kAccumulatedElementCountWithZero,  // the same, with a 0 in front
    kMaxElementCountAsShape,           // the largest of them is the extent; the values say nothing
    kItemShape,                        // extents of each row's source, without the batch extent
    kItemShapeFlatten,                 // the same in one row
  };
  Kind kind = Kind::kElementCount;
  std::string name;
  DataType type = DataType::kInvalid;
  size_t source = 0;  // index of the input
};

// An output of which each request gets as many elements as its source input has, in the source's shape.
struct BatchOutput {
  size_t output = 0;
  size_t source = 0;
};

// One sample of model_warmup. It runs as one execution of `batch_size` rows.
struct WarmupInput {
  enum class Fill { kZero, kRandom, kFile };
  DataType type = DataType::kInvalid;
  Shape dims;
  Fill fill = Fill::kZero;
  std::string file;  // under <model>/warmup, for kFile
};
struct WarmupSample {
  std::string name;
  int64_t batch_size = 1;
  uint32_t count = 1;
  std::map<std::string, WarmupInput> inputs;
};

struct ModelConfig {
  std::string name;
  std::string platform;        // "pytorch_libtorch"
  std::string directory;       // the model's folder in the repository
  int64_t max_batch_size = 0;  // rows; 0: the model has no batch extent
  std::vector<TensorConfig> inputs;
  std::vector<TensorConfig> outputs;
  std::vector<BatchInput> batch_inputs;
  std::vector<BatchOutput> batch_outputs;
  VersionPolicy version_policy;
  std::string default_model_filename;
  // Where each instance runs; those that take no requests (`passive`) do not count.
  std::vector<Placement> instances = {kOnHost};
  std::optional<DynamicBatching> dynamic_batching;
  std::vector<WarmupSample> warmup;
  std::map<std::string, std::string> parameters;
  std::optional<Padding> padding;
  // Whether a batch may be executed with more rows than it has, where warm-up finds that to take less time.
  bool round_batch_sizes = true;
  // Whether runs on a GPU are recorded and replayed as CUDA graphs. False without an instance on a GPU.
  bool cuda_graphs = false;
  std::map<std::string, std::string> metric_tags;
  // The whole configuration as the ModelConfig method answers it: a serialized inference.ModelConfig.
  std::string serialized;

  bool batches() const { return max_batch_size > 0; }
  // Whether requests may share executions.
  bool combines() const { return batches() && dynamic_batching.has_value(); }
  // Rows that one execution may hold.
  int64_t max_rows() const { return batches() ? max_batch_size : 1; }
  // Names of what the model is given: its inputs, then its batch_inputs.
  std::vector<std::string> ModelInputNames() const;
  // Whether what a batch is made of can vary from request to request in more than its rows.
  bool HasVariableInput() const;
  // Index into inputs or outputs; -1 when there is none of that name.
  int FindInput(std::string_view name) const;
  int FindOutput(std::string_view name) const;
};

// The extents that the model itself is given or gives, without the batch extent.
const Shape& ModelDims(const TensorConfig& tensor);

// True when `shape` (without batch extent) is allowed by `dims`, in which -1 is any extent.
bool ShapeMatches(std::span<const int64_t> dims, std::span<const int64_t> shape);

}  // namespace ferry

#endif  // FERRY_MODEL_CONFIG_H_
