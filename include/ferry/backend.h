#ifndef FERRY_BACKEND_H_
#define FERRY_BACKEND_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ferry/device.h"
#include "ferry/model_config.h"
#include "ferry/status.h"
#include "ferry/tensor.h"

namespace ferry {

// The seam where a model framework plugs in: a Backend loads a BackendModel, a BackendModel makes ModelInstances, a
// ModelInstance runs batches. No framework type shows here.

// ModelInstance runs one batch at a time.
//
// Threading: BindThread() and Run() are called on one thread, which lives as long as the instance; BindThread() first.
class ModelInstance {
 public:
  virtual ~ModelInstance() = default;

  // Sets what the framework keeps per thread, such as its number of worker threads.
  // From now on the model's work is that of `stream`, which outlives the instance's runs.
  virtual void BindThread(DeviceStream& stream) = 0;

  // Executes the model on `inputs`: one view for each of the configuration's ModelInputNames(), in that order, with the
  // batch extent in front where the model has one and with ModelDims() behind it, or of one extent for a ragged input; of
  // type kInvalid where an optional input is left out. Returns one tensor for each output of the
  // configuration, in its order, dense, of the configured type; shapes are the model's own and the caller checks them.
  // On a device with memory of its own the views are there, and so are the outputs, which are complete when the stream's
  // work is done.
  // The outputs stay as they are while their owners live, whatever later runs do; they never alias `inputs`.
  //
  // Errors: INTERNAL, the model failed (the message is the framework's, one line); RESOURCE_EXHAUSTED, out of memory;
  //         INVALID_ARGUMENT, an output is missing or of another type than configured. Never throws.
  virtual Result<std::vector<Tensor>> Run(std::span<const TensorView> inputs) = 0;
};

// BackendModel is one loaded model version on one device: the weights that its instances share.
//
// Threading: CreateInstance() is called by one thread at a time. Outlives its instances.
class BackendModel {
 public:
  virtual ~BackendModel() = default;
  // False when each instance has a copy of the weights, so that what one has warmed is cold in the next.
  virtual bool SharesWeights() const = 0;
  virtual Result<std::unique_ptr<ModelInstance>> CreateInstance() = 0;
};

// Backend loads the models of one framework.
//
// Threading: thread-safe; models load in parallel. Outlives its models.
class Backend {
 public:
  virtual ~Backend() = default;

  // Loads the file `path` as `config` describes it, to run on `device`; each instance may use `threads` threads for one
  // run. Inputs and outputs are bound to the model's own, or the load fails and says which does not fit.
  virtual Result<std::unique_ptr<BackendModel>> Load(const ModelConfig& config, const std::string& path, Device& device,
                                                     int threads) = 0;
};

}  // namespace ferry

#endif  // FERRY_BACKEND_H_
