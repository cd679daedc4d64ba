#include "execution/output_memory.h"

#include <utility>

namespace ferry {

void OutputMemory::Track(std::vector<Tensor>* outputs) {
  for (Tensor& output : *outputs) {
    const auto bytes = static_cast<int64_t>(output.bytes.size());
    *held_ += bytes;
    const void* memory = output.owner.get();
    output.owner = std::shared_ptr<const void>(
        memory, [held = held_, bytes, owner = std::move(output.owner)](const void*) mutable {
          owner.reset();
          *held -= bytes;
        });
  }
}

}  // namespace ferry
