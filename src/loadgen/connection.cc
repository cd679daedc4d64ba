#include "loadgen/connection.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "base/strings.h"

namespace ferry {

namespace {

Status ReadPem(const std::string& path, std::string* content) {
  if (path.empty()) return Status();
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFoundError(StrCat("cannot read ", path));
  content->assign(std::istreambuf_iterator<char>(file), {});
  return Status();
}

Result<std::pair<std::string, std::string>> ReadHeader(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    return InvalidArgumentError(StrCat("--header ", Quoted(text), ": must be NAME:VALUE"));
  }
  std::string name = text.substr(0, colon);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t value = std::min(text.find_first_not_of(' ', colon + 1), text.size());
  return std::pair(std::move(name), text.substr(value));
}

}  // namespace

Result<ConnectionOptions> ReadConnection(const MeasureOptions& options) {
  ConnectionOptions connection;
  connection.target = options.url;
  connection.channels = options.channels;
  connection.streaming = options.streaming;
  if (options.compression == "gzip") connection.compression = GRPC_COMPRESS_GZIP;
  if (options.compression == "deflate") connection.compression = GRPC_COMPRESS_DEFLATE;
  for (const std::string& text : options.headers) {
    auto header = ReadHeader(text);
    if (!header.ok()) return header.status();
    connection.metadata.push_back(std::move(header).value());
  }
  connection.credentials = grpc::InsecureChannelCredentials();
  const bool certificates = !options.root_certificates.empty() || !options.private_key.empty();
  if (options.tls || certificates) {
    grpc::SslCredentialsOptions tls;
    FERRY_RETURN_IF_ERROR(ReadPem(options.root_certificates, &tls.pem_root_certs));
    FERRY_RETURN_IF_ERROR(ReadPem(options.private_key, &tls.pem_private_key));
    FERRY_RETURN_IF_ERROR(ReadPem(options.certificate_chain, &tls.pem_cert_chain));
    connection.credentials = grpc::SslCredentials(tls);
  }
  return connection;
}

}  // namespace ferry
