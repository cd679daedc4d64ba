#ifndef FERRY_LOADGEN_IMAGE_DATA_H_
#define FERRY_LOADGEN_IMAGE_DATA_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"
#include "loadgen/request_data_options.h"

namespace ferry {

// Reads images as steps of data: `path` is one (JPEG, PNG, BMP or PPM) or a folder of them, which are taken in the order of
// their names. The model has one input, and its type and shape say what becomes of an image:
//   BYTES of one element            the file as it is
//   UINT8, FP16 or FP32 [3,H,W], [H,W,3], either with an extent of 1 in front, or with 1 in place of 3 for gray
//                                   decoded, resized to H x W without regard to its proportions, and scaled
//
// Errors: NOT_FOUND where there is no image; INVALID_ARGUMENT where the model does not take images, or a file is none.
Result<std::vector<DataStep>> ReadImageSteps(const std::string& path, const ModelDescription& model,
                                             const ShapesByName& shapes, ImageScaling scaling);

}  // namespace ferry

#endif  // FERRY_LOADGEN_IMAGE_DATA_H_
