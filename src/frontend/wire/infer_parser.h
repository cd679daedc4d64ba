#ifndef FERRY_FRONTEND_WIRE_INFER_PARSER_H_
#define FERRY_FRONTEND_WIRE_INFER_PARSER_H_

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/wire_request.h"
#include "grpc_service.pb.h"

namespace ferry {

// What a ModelInferRequest says. Its views borrow the message's bytes, or strings of its own where a name lay across two
// pieces; they stay valid when it is moved.
struct ParsedInferRequest {
  struct Input {
    std::string_view name;
    std::string_view datatype;
    Shape shape;
    std::vector<WireParameter> parameters;
    std::optional<inference::InferTensorContents> contents;  // typed values, through the generated class
  };

  std::string_view model_name;
  std::string_view model_version;
  std::string_view id;
  std::vector<WireParameter> parameters;
  std::vector<Input> inputs;
  std::vector<WireOutput> outputs;
  std::vector<BytePieces> raw_contents;

  std::deque<std::string> strings;  // that lay across pieces
  std::vector<Bytes> raw_pieces;    // what `raw_contents` are made of
};

// Reads the wire format of a ModelInferRequest without touching the bytes of its tensors
// (https://protobuf.dev/programming-guides/encoding/). What the generated class accepts is accepted, with the same
// meaning: fields in any order, the last of repeated singular ones, unknown ones skipped, packed and unpacked shapes.
// Parameters are in the order of the wire.
//   INVALID_ARGUMENT  these bytes are not a ModelInferRequest, or one with thousands of tensors
Result<ParsedInferRequest> ParseInferRequest(std::span<const Bytes> message);

}  // namespace ferry

#endif  // FERRY_FRONTEND_WIRE_INFER_PARSER_H_
