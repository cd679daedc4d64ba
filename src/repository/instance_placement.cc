#include "repository/instance_placement.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"
#include "model_config.pb.h"

namespace ferry {

namespace {

using Group = inference::ModelInstanceGroup;

bool IsThere(int gpu, int gpus) { return gpu >= 0 && gpu < gpus; }

bool RunsOnGpus(const Group& group, int gpus) {
  if (group.kind() == Group::KIND_GPU) return true;
  if (group.kind() != Group::KIND_AUTO) return false;
  return gpus > 0 && std::ranges::all_of(group.gpus(), [&](int gpu) { return IsThere(gpu, gpus); });
}

std::vector<Placement> PlacesOf(const Group& group, int gpus) {
  if (!RunsOnGpus(group, gpus)) return {kOnHost};
  if (group.gpus_size() > 0) return {group.gpus().begin(), group.gpus().end()};
  std::vector<Placement> all(static_cast<size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Status CheckGroup(const Group& group, int gpus, const std::string& where) {
  if (group.count() < 0) return InvalidArgumentError(StrCat(where, ".count: ", group.count(), " is negative"));
  if (group.kind() == Group::KIND_GPU) {
    if (gpus == 0) {
      return InvalidArgumentError(
          StrCat(where, ".kind: KIND_GPU: there is no GPU; allowed are KIND_CPU and KIND_AUTO"));
    }
    const auto missing = std::ranges::find_if(group.gpus(), [&](int gpu) { return !IsThere(gpu, gpus); });
    if (missing != group.gpus().end()) {
      return InvalidArgumentError(StrCat(where, ".gpus: there is no GPU ", *missing, "; there are 0 to ", gpus - 1));
    }
  } else if (group.gpus_size() > 0 && group.kind() != Group::KIND_AUTO) {
    return InvalidArgumentError(StrCat(where, ".gpus: not allowed with ", Group::Kind_Name(group.kind())));
  }
  return Status();
}

}  // namespace

Result<std::vector<Placement>> PlaceInstances(const inference::ModelConfig& config, int gpus) {
  constexpr size_t kMostInstances = 1024;  // each has a thread and a batch buffer
  std::vector<Group> groups(config.instance_group().begin(), config.instance_group().end());
  if (groups.empty()) groups.emplace_back();
  std::vector<Placement> instances;
  size_t total = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    FERRY_RETURN_IF_ERROR(CheckGroup(group, gpus, StrCat("instance_group[", i, "]")));
    if (group.passive()) continue;
    const auto count = static_cast<size_t>(std::max(group.count(), 1));
    for (const Placement place : PlacesOf(group, gpus)) {
      total += count;
      if (total <= kMostInstances) instances.insert(instances.end(), count, place);
    }
  }
  if (total < 1 || total > kMostInstances) {
    return InvalidArgumentError(
        StrCat("instance_group: ", total, " instances that take requests; allowed are 1 to ", kMostInstances));
  }
  return instances;
}

void ResolveInstanceGroups(int gpus, inference::ModelConfig* config) {
  if (config->instance_group_size() == 0) config->add_instance_group();
  for (int i = 0; i < config->instance_group_size(); ++i) {
    Group& group = *config->mutable_instance_group(i);
    if (group.name().empty()) group.set_name(StrCat(config->name(), "_", i));
    if (group.count() == 0) group.set_count(1);
    const std::vector<Placement> places = PlacesOf(group, gpus);
    const bool on_gpus = places.front() != kOnHost;
    group.set_kind(on_gpus ? Group::KIND_GPU : Group::KIND_CPU);
    group.clear_gpus();
    if (on_gpus) group.mutable_gpus()->Add(places.begin(), places.end());
  }
}

}  // namespace ferry
