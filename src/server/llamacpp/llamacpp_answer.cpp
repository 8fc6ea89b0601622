#include "server/llamacpp/llamacpp_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/answers/logprobs_json.h"
#include "server/llamacpp/completion_json.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// Of `body` what is at these paths, under the whole path's name; what there is not is left out.
ordered_json picked(const ordered_json& body, const std::vector<std::string>& paths) {
  ordered_json to = ordered_json::object();
  for (const std::string& path : paths) {
    const ordered_json* at = &body;
    for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const auto found =
          at->is_object() ? at->find(path.substr(begin, end - begin)) : ordered_json::const_iterator();
      at = at->is_object() && found != at->end() ? &*found : nullptr;
      begin = end + 1;
    }
    if (at != nullptr) to[path] = *at;
  }
  return to;
}

}  // namespace

LlamaCppAnswer::LlamaCppAnswer(LlamaCppRequest request, const Served& served,
                               std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(served, std::move(exchange), request.stream,
                       static_cast<int>(request.requests.size()) * request.choices, request.wishes),
      request_(std::move(request)),
      engine_(served.engine),
      model_(served.options.model),
      written_(request_.requests.size() * static_cast<std::size_t>(request_.choices)) {}

ordered_json LlamaCppAnswer::chunk(int index, std::string_view text) const {
  ordered_json chunk = {{"index", index},
                        {"content", text},
                        {"tokens", ordered_json::array()},
                        {"stop", false},
                        {"id_slot", slot_of(index)},
                        {"tokens_predicted", written_[static_cast<std::size_t>(index)]},
                        {"tokens_evaluated", request_.requests[request_of(index)].prompt_tokens.size()}};
  if (wishes().timings) chunk["timings"] = timings_json(timings_so_far(index));
  return chunk;
}

void LlamaCppAnswer::take_token(int index, const TokenEvent& event) {
  if (event.token >= 0) ++written_[static_cast<std::size_t>(index)];
  ordered_json one = chunk(index, event.text);
  if (event.token >= 0) one["tokens"].push_back(event.token);
  if (event.logprobs != nullptr) {
    one["completion_probabilities"] = llamacpp_logprobs(engine_, {&event.token, 1}, {event.logprobs, 1},
                                                        request_.requests.front().sampled_logprobs);
  }
  exchange().send_event(text_of(one));
}

void LlamaCppAnswer::take_progress(int index) {
  ordered_json one = chunk(index, "");
  one["prompt_progress"] = progress_json(index);
  exchange().send_event(text_of(one));
}

ordered_json LlamaCppAnswer::body_of(int index, const Result& result) const {
  const Request request = request_of_choice(request_.requests, request_.choices, index);
  const ordered_json body = completion_json(engine_, {.request = request,
                                                      .result = result,
                                                      .prompt = request_.prompts[request_of(index)],
                                                      .model = model_,
                                                      .index = index,
                                                      .slot = slot_of(index),
                                                      .stream = request_.stream,
                                                      .has_text = !streamed(),
                                                      .return_tokens = request_.return_tokens});
  return request_.response_fields.empty() ? body : picked(body, request_.response_fields);
}

void LlamaCppAnswer::choice_ended(int index, const Result& result) {
  if (streamed()) exchange().send_event(text_of(body_of(index, result)));
}

void LlamaCppAnswer::finish(const std::vector<Result>& results) {
  if (streamed()) return exchange().end_stream();
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i) all.push_back(body_of(static_cast<int>(i), results[i]));
  exchange().respond(200, text_of(all.size() == 1 ? all.front() : all));
}

}  // namespace augur
