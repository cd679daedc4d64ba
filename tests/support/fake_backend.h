#ifndef FERRY_TESTS_SUPPORT_FAKE_BACKEND_H_
#define FERRY_TESTS_SUPPORT_FAKE_BACKEND_H_

#include <functional>
#include <memory>
#include <utility>

#include "ferry/backend.h"
#include "support/requests.h"

namespace ferry {

// A model that is a function.
using FakeModel = std::function<Result<std::vector<Tensor>>(std::span<const TensorView>)>;

class FakeInstance final : public ModelInstance {
 public:
  explicit FakeInstance(FakeModel model) : model_(std::move(model)) {}
  void BindThread(DeviceStream&) override {}
  Result<std::vector<Tensor>> Run(std::span<const TensorView> inputs) override { return model_(inputs); }

 private:
  const FakeModel model_;
};

// A backend whose models all behave like `model`, or as their device wants it; `load` decides by the path whether a load
// succeeds.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(FakeModel model, std::function<Status(const std::string&)> load = nullptr)
      : model_for_([model = std::move(model)](Device&) { return model; }), load_(std::move(load)) {}
  explicit FakeBackend(std::function<FakeModel(Device&)> model_for) : model_for_(std::move(model_for)) {}

  Result<std::unique_ptr<BackendModel>> Load(const ModelConfig&, const std::string& path, Device& device,
                                             int) override {
    if (load_) FERRY_RETURN_IF_ERROR(load_(path));
    return std::unique_ptr<BackendModel>(std::make_unique<Loaded>(model_for_(device)));
  }

 private:
  class Loaded final : public BackendModel {
   public:
    explicit Loaded(FakeModel model) : model_(std::move(model)) {}
    bool SharesWeights() const override { return true; }
    Result<std::unique_ptr<ModelInstance>> CreateInstance() override {
      return std::unique_ptr<ModelInstance>(std::make_unique<FakeInstance>(model_));
    }

   private:
    const FakeModel model_;
  };

  const std::function<FakeModel(Device&)> model_for_;
  const std::function<Status(const std::string&)> load_;
};

inline Tensor FloatTensor(Shape shape, const std::vector<float>& values) {
  Tensor tensor = ZeroTensor(DataType::kFp32, std::move(shape));
  if (!values.empty()) std::memcpy(const_cast<std::byte*>(tensor.bytes.data()), values.data(), tensor.bytes.size());
  return tensor;
}

// y = x + 1
inline Result<std::vector<Tensor>> AddOne(std::span<const TensorView> inputs) {
  std::vector<float> values = Floats(inputs[0].bytes);
  for (float& value : values) value += 1;
  return std::vector<Tensor>{FloatTensor(inputs[0].shape, values)};
}

// Adds 1 in memory of the device, which does its work at once.
inline FakeModel AddOneOn(Device& device) {
  if (device.SharesHostMemory()) return AddOne;
  return [&device](std::span<const TensorView> inputs) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> outputs = AddOne(inputs).value();
    const MemoryBlock memory = device.AllocateDevice(outputs[0].bytes.size()).value();
    std::memcpy(memory.get(), outputs[0].bytes.data(), outputs[0].bytes.size());
    outputs[0].bytes = Bytes(memory.get(), outputs[0].bytes.size());
    outputs[0].owner = memory;
    return outputs;
  };
}

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_FAKE_BACKEND_H_
