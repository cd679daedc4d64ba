#ifndef FERRY_LOADGEN_MODEL_DESCRIPTION_H_
#define FERRY_LOADGEN_MODEL_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/status.h"
#include "ferry/tensor.h"

namespace inference {
class ModelConfig;
class ModelMetadataResponse;
}  // namespace inference

namespace ferry {

struct TensorDescription {
  std::string name;
  DataType type =
      DataType::kInvalid;  // of an output also where the server names a type that the protocol does not have
  Shape shape;             // of one row: without the batch dimension; -1 is any extent
  bool optional = false;   // of an input: requests may leave it out
};

// ModelDescription is what the load generator needs to know of a model, whatever server has it.
struct ModelDescription {
  std::string name;
  std::string version;                // as asked for; empty: the server chooses
  std::vector<std::string> versions;  // that the server has, as far as it tells
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  bool batched = false;                   // tensors have a batch dimension in front
  std::optional<int64_t> max_batch_size;  // nothing: the server does not tell; 0: the model is not batched
  std::optional<int64_t> instances;       // nothing: the server does not tell
  bool dynamic_batching = false;          // the server is known to put requests together
  bool sequences = false;                 // requests must say which sequence they belong to
  bool decoupled = false;                 // answers come on a stream alone

  // Nothing where there is no such tensor.
  const TensorDescription* FindInput(std::string_view input) const;
  const TensorDescription* FindOutput(std::string_view output) const;
};

// Reads what the server says of a model. `config` may be null, for servers that have none (MLServer, KServe): the model
// then counts as batched when the shapes of all its inputs begin with -1, as the protocol has no other sign of it.
// `version` is the one to send requests to; empty leaves it to the server.
//
// Errors: FAILED_PRECONDITION when an input has a datatype that the protocol does not know, or the model has no input.
Result<ModelDescription> DescribeModel(const inference::ModelMetadataResponse& metadata,
                                       const inference::ModelConfig* config, std::string_view version = {});

}  // namespace ferry

#endif  // FERRY_LOADGEN_MODEL_DESCRIPTION_H_
