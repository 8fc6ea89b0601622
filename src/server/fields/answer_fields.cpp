#include "server/fields/answer_fields.h"

#include "augur/engine.h"

namespace augur {

namespace {
using To = AnswerWishes;
}  // namespace

const FieldTable<To>& stream_fields() {
  static const FieldTable<To> table = {
      {{"timings_per_token", FieldType::boolean(), "streams: timings in every chunk"},
       [](const FieldValue& v, To& to) { to.timings = v.boolean(); }},
      {{"return_progress", FieldType::boolean(), "streams: how far the prompt is read"},
       [](const FieldValue& v, To& to) { to.progress = v.boolean(); }}};
  return table;
}

const FieldTable<To>& answer_fields() {
  static const FieldTable<To> table =
      joined<To>({stream_fields(),
                  {{{"verbose", FieldType::boolean(), "the prompt and the settings as __verbose"},
                    [](const FieldValue& v, To& to) { to.verbose = v.boolean(); }},
                   {{"id_slot", FieldType::integer(-1, Engine::kMostParallel - 1),
                     "the place that is wanted, where it is free; -1: any"},
                    [](const FieldValue& v, To& to) { to.slot = static_cast<int>(v.integer()); }}}});
  return table;
}

}  // namespace augur
