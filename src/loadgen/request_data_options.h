#ifndef FERRY_LOADGEN_REQUEST_DATA_OPTIONS_H_
#define FERRY_LOADGEN_REQUEST_DATA_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ferry/status.h"
#include "loadgen/named_tensor.h"

namespace ferry {

// Numbers from `low` up to but not including `high`, as text: the type of the input decides how they are read.
struct ValueRange {
  std::string low;
  std::string high;
};

using RangesByName = std::map<std::string, ValueRange, std::less<>>;

struct RequestParameter {
  std::string name;
  std::variant<bool, int64_t, double, std::string> value;
};

// What becomes of the pixels of images, which are 0 to 255.
enum class ImageScaling {
  kNone,
  kUnit,       // from 0 to 1
  kInception,  // from -1 to 1
  kImagenet,   // from 0 to 1, less ImageNet's mean color, over its standard deviation
};

// What the requests of a run, or of one class of its mix, consist of.
struct RequestDataOptions {
  // "random", "zero", a folder with a file for each input, a file in perf_analyzer's JSON format, or "images:" and an image or
  // a folder of them.
  std::string source = "random";
  ImageScaling image_scaling = ImageScaling::kNone;
  // Rows of a request. Each comes from a step of data of its own as long as there are any; then they come again.
  int64_t batch_size = 1;
  // How many different requests there are of random data: as many as this, and no more than fit into `most_bytes`, but one
  // in any case.
  int64_t distinct = 64;
  int64_t most_bytes = int64_t{256} << 20;
  uint64_t seed = 1;
  // Extents of variable inputs, without the batch dimension. An optional input that is named here or in `ranges` is sent.
  ShapesByName shapes;
  // For random values. Floats otherwise are from [0, 1), integers 0 or 1: a larger one may be no row of an embedding, where
  // it crashes the model.
  RangesByName ranges;
  // Bytes of each random element of BYTES: letters and digits.
  int64_t string_length = 128;
  std::vector<RequestParameter> parameters;
  std::string class_name;
};

// "NAME:3,224,224", as --shape has it. The name may have colons.
Result<std::pair<std::string, Shape>> ParseShapeOption(std::string_view text);

// "NAME:LOW,HIGH".
Result<std::pair<std::string, ValueRange>> ParseRangeOption(std::string_view text);

// "none", "unit", "inception" or "imagenet".
Result<ImageScaling> ParseImageScaling(std::string_view text);

// "NAME:VALUE:TYPE", where the type is bool, int, double or string. The value may have colons.
Result<RequestParameter> ParseRequestParameter(std::string_view text);

}  // namespace ferry

#endif  // FERRY_LOADGEN_REQUEST_DATA_OPTIONS_H_
