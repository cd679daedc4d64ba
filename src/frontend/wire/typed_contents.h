#ifndef FERRY_FRONTEND_WIRE_TYPED_CONTENTS_H_
#define FERRY_FRONTEND_WIRE_TYPED_CONTENTS_H_

#include <deque>
#include <string>

#include "frontend/wire/infer_parser.h"

namespace ferry {

// Whether any of the typed fields holds a value.
bool HasTypedContents(const ParsedInferRequest::Input& input);

// The values of an input's typed fields as the bytes of a tensor. They lie in the message where a field is as wide as the
// type; else they are converted, and what is converted is kept in `converted`. REQUIRES: the input has contents.
//   INVALID_ARGUMENT  another field is filled than the one for the declared type, or two are; a value is out of range
Result<Bytes> TypedContents(const ParsedInferRequest::Input& input, std::deque<std::string>* converted);

}  // namespace ferry

#endif  // FERRY_FRONTEND_WIRE_TYPED_CONTENTS_H_
