#include "backend/model_outputs.h"

#include <utility>

#include "base/strings.h"

namespace ferry {

Result<ModelOutputs> FlattenOutputs(c10::IValue value) {
  ModelOutputs outputs;
  if (value.isTensor()) {
    outputs.tensors.push_back(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    outputs.tensors = value.toTensorVector();
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      if (!element.isTensor())
        return InvalidArgumentError(StrCat("the model returned a tuple with a ", element.tagKind()));
      outputs.tensors.push_back(element.toTensor());
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (!entry.key().isString() || !entry.value().isTensor()) {
        return InvalidArgumentError("the model returned a dict that is not Dict[str, Tensor]");
      }
      outputs.names.push_back(entry.key().toStringRef());
      outputs.tensors.push_back(entry.value().toTensor());
    }
  } else {
    return InvalidArgumentError(StrCat("the model returned a ", value.tagKind(),
                                       "; allowed are a tensor and a tuple, list or dict of tensors"));
  }
  return outputs;
}

}  // namespace ferry
