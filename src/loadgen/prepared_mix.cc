#include "loadgen/prepared_mix.h"

#include <algorithm>

#include "base/strings.h"
#include "loadgen/inference_server.h"
#include "loadgen/request_data.h"

namespace ferry {

namespace {

Result<CalledModel> Describe(const std::string& name, const std::string& version, const InferenceServer& server) {
  FERRY_RETURN_IF_ERROR(server.CheckReady(name, version));
  const auto metadata = server.Metadata(name, version);
  if (!metadata.ok()) return metadata.status();
  const auto config = server.Config(name, version);
  if (!config.ok()) return config.status();
  Result<ModelDescription> description = DescribeModel(*metadata, *config ? &**config : nullptr, version);
  if (!description.ok()) return description.status();
  if (description->decoupled) {
    return InvalidArgumentError(StrCat("model '", name, "' is decoupled: a request may have any number of answers"));
  }
  return CalledModel{name, version, *std::move(description), *config ? (*config)->DebugString() : ""};
}

Result<const CalledModel*> ModelOf(const ClassDescription& of, const InferenceServer& server,
                                   std::vector<CalledModel>& models) {
  const auto same = [&](const CalledModel& each) { return each.name == of.model && each.version == of.version; };
  const auto known = std::ranges::find_if(models, same);
  if (known != models.end()) return &*known;
  Result<CalledModel> model = Describe(of.model, of.version, server);
  if (!model.ok()) return model.status();
  return &models.emplace_back(*std::move(model));
}

}  // namespace

Result<PreparedMix> PrepareMix(const std::vector<ClassDescription>& classes, const InferenceServer& server) {
  PreparedMix prepared;
  for (const ClassDescription& of : classes) {
    const Result<const CalledModel*> model = ModelOf(of, server, prepared.models);
    if (!model.ok()) return model.status();
    Result<std::vector<PreparedRequest>> requests = MakeRequests((*model)->description, of.data);
    if (!requests.ok()) return requests.status();
    const size_t class_index = prepared.mix.classes.size();
    prepared.mix.classes.push_back(
        {of.data.class_name, of.weight, of.data.batch_size, of.deadline, of.cancel_share, of.cancel_after});
    for (PreparedRequest& request : *requests) {
      const grpc::Slice slice(request.message + QueuePiece(of.priority, of.timeout));
      prepared.mix.requests.push_back({grpc::ByteBuffer(&slice, 1), class_index});
      prepared.expected.push_back(std::move(request.expected));
    }
  }
  return prepared;
}

}  // namespace ferry
