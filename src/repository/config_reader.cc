#include "repository/config_reader.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/strings.h"
#include "model_config.pb.h"
#include "repository/config_translator.h"
#include "repository/config_validator.h"
#include "repository/ferry_parameters.h"

namespace ferry {

namespace {

// A configuration is a page of text. The bound keeps a wrong file from filling the memory.
constexpr size_t kMaxConfigBytes = 16 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Keeps the first error, with its place.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    // The parser counts from 0, and gives -1 for errors of the whole text.
    if (text_.empty()) text_ = StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Status ParseText(std::string_view text, const std::string& path, inference::ModelConfig* proto) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.Parse(&input, proto)) return Status();
  return InvalidArgumentError(StrCat(path, ":", error.text()));
}

}  // namespace

Result<ReadConfig> ParseModelConfig(std::string_view text, const std::string& path, const std::string& directory,
                                    const std::string& model, int gpus) {
  if (text.size() > kMaxConfigBytes) {
    return InvalidArgumentError(StrCat(path, ": ", text.size(), " bytes, at most ", kMaxConfigBytes, " are read"));
  }
  inference::ModelConfig proto;
  FERRY_RETURN_IF_ERROR(ParseText(text, path, &proto));
  const std::string prefix = StrCat(path, ": ");
  Result<ModelConfig> config = TranslateConfig(proto, directory, model, gpus);
  if (!config.ok()) return config.status().WithPrefix(prefix);
  FERRY_RETURN_IF_ERROR(ValidateConfig(*config).WithPrefix(prefix));
  config = WithFerryParameters(std::move(config).value());
  if (!config.ok()) return config.status().WithPrefix(prefix);
  ReadConfig read{std::move(config).value(), {}};
  for (const std::string& field : FieldsWithoutEffect(proto)) {
    read.warnings.push_back(StrCat(prefix, "field '", field, "' is accepted but has no effect"));
  }
  const auto graphs = read.config.parameters.find("ferry.cuda_graphs");
  if (graphs != read.config.parameters.end() && graphs->second == "true" && !read.config.cuda_graphs) {
    read.warnings.push_back(StrCat(prefix, "parameter ferry.cuda_graphs has no effect without a GPU"));
  }
  return read;
}

Result<ReadConfig> ReadModelConfig(const std::string& directory, const std::string& model, int gpus) {
  const std::string path = StrCat(directory, "/config.pbtxt");
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFoundError(error ? StrCat("cannot read ", path, ": ", error.message())
                               : StrCat(path, " does not exist; a PyTorch model cannot be served without it"));
  }
  if (!std::filesystem::is_regular_file(path, error)) return InvalidArgumentError(StrCat(path, " is not a file"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgumentError(StrCat("cannot read ", path, ": ", std::strerror(errno)));
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return ParseModelConfig(text, path, directory, model, gpus);
}

}  // namespace ferry
