#include "text/known_templates.h"

#include <algorithm>
#include <array>

namespace augur {
namespace {

constexpr std::array kTemplates = {
    KnownTemplate{
        "chatglm4",
        R"({{- '[gMASK]<sop>' }}{% for m in messages %}{{- '<|' ~ m.role ~ '|>\n' ~ m.content }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{% endif %})"},
    KnownTemplate{
        "chatml",
        R"({% for m in messages %}{{- '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %})"},
    KnownTemplate{
        "command-r",
        R"({%- set who = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT', 'tool': 'SYSTEM'} %}
{%- for m in messages %}
{{- '<|START_OF_TURN_TOKEN|><|' ~ who[m.role] ~ '_TOKEN|>' ~ m.content | trim ~ '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %})"},
    KnownTemplate{"deepseek2",
                  R"({%- for m in messages %}
{%- if m.role == 'system' %}{{- m.content ~ '\n\n' }}
{%- elif m.role == 'assistant' %}{{- 'Assistant: ' ~ m.content ~ eos_token }}
{%- else %}{{- 'User: ' ~ m.content ~ '\n\n' }}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{- 'Assistant:' }}{% endif %})"},
    KnownTemplate{"deepseek3",
                  R"({%- for m in messages %}
{%- if m.role == 'system' %}{{- m.content ~ '\n\n' }}
{%- elif m.role == 'assistant' %}{{- '<｜Assistant｜>' ~ m.content ~ '<｜end▁of▁sentence｜>' }}
{%- else %}{{- '<｜User｜>' ~ m.content }}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{- '<｜Assistant｜>' }}{% endif %})"},
    KnownTemplate{"exaone3",
                  R"({%- for m in messages %}
{{- '[|' ~ m.role ~ '|]' ~ m.content | trim ~ ('\n' if m.role == 'user' else '[|endofturn|]\n') }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[|assistant|]' }}{% endif %})"},
    KnownTemplate{"falcon3",
                  R"({% for m in messages %}{{- '<|' ~ m.role ~ '|>\n' ~ m.content ~ '\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{% endif %})"},
    KnownTemplate{"gemma",
                  R"({%- set ns = namespace(lead='') %}
{%- for m in messages %}
{%- if m.role == 'system' %}{% set ns.lead = m.content | trim ~ '\n\n' %}
{%- else %}
{{- '<start_of_turn>' ~ ('model' if m.role == 'assistant' else 'user') ~ '\n' }}
{{- (ns.lead if m.role != 'assistant' else '') ~ m.content | trim ~ '<end_of_turn>\n' }}
{%- if m.role != 'assistant' %}{% set ns.lead = '' %}{% endif %}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{- '<start_of_turn>model\n' }}{% endif %})"},
    KnownTemplate{"gpt-oss",
                  R"({% for m in messages %}
{{- '<|start|>' ~ m.role ~ ('<|channel|>final' if m.role == 'assistant' else '') ~ '<|message|>' ~ m.content ~ '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{% endif %})"},
    KnownTemplate{"granite",
                  R"({% for m in messages %}
{{- '<|start_of_role|>' ~ m.role ~ '<|end_of_role|>' ~ m.content ~ '<|end_of_text|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %})"},
    KnownTemplate{"llama2",
                  R"({%- set ns = namespace(lead='', first=true) %}
{%- for m in messages %}
{%- if m.role == 'system' %}{% set ns.lead = '<<SYS>>\n' ~ m.content | trim ~ '\n<</SYS>>\n\n' %}
{%- elif m.role == 'assistant' %}{{- ' ' ~ m.content | trim ~ ' ' ~ eos_token }}
{%- else %}
{{- (bos_token if not ns.first else '') ~ '[INST] ' ~ ns.lead ~ m.content | trim ~ ' [/INST]' }}
{%- set ns.lead = '' %}{% set ns.first = false %}
{%- endif %}{% endfor %})"},
    KnownTemplate{"llama3",
                  R"({% for m in messages %}
{{- '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\n\n' ~ m.content | trim ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})"},
    KnownTemplate{"llama4",
                  R"({% for m in messages %}
{{- '<|header_start|>' ~ m.role ~ '<|header_end|>\n\n' ~ m.content | trim ~ '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|header_start|>assistant<|header_end|>\n\n' }}{% endif %})"},
    KnownTemplate{"mistral-v1",
                  R"({%- set ns = namespace(lead='') %}
{%- for m in messages %}
{%- if m.role == 'system' %}{% set ns.lead = m.content ~ '\n\n' %}
{%- elif m.role == 'assistant' %}{{- ' ' ~ m.content ~ eos_token }}
{%- else %}{{- ' [INST] ' ~ ns.lead ~ m.content ~ ' [/INST]' }}{% set ns.lead = '' %}
{%- endif %}{% endfor %})"},
    KnownTemplate{"mistral-v7",
                  R"({%- for m in messages %}
{%- if m.role == 'system' %}{{- '[SYSTEM_PROMPT] ' ~ m.content ~ '[/SYSTEM_PROMPT]' }}
{%- elif m.role == 'assistant' %}{{- ' ' ~ m.content ~ eos_token }}
{%- else %}{{- '[INST] ' ~ m.content ~ '[/INST]' }}
{%- endif %}{% endfor %})"},
    KnownTemplate{
        "phi3",
        R"({% for m in messages %}{{- '<|' ~ m.role ~ '|>\n' ~ m.content ~ '<|end|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{% endif %})"},
    KnownTemplate{
        "phi4",
        R"({% for m in messages %}{{- '<|im_start|>' ~ m.role ~ '<|im_sep|>' ~ m.content ~ '<|im_end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant<|im_sep|>' }}{% endif %})"},
    KnownTemplate{"vicuna",
                  R"({%- for m in messages %}
{%- if m.role == 'system' %}{{- m.content ~ '\n\n' }}
{%- elif m.role == 'assistant' %}{{- 'ASSISTANT: ' ~ m.content ~ eos_token ~ '\n' }}
{%- else %}{{- 'USER: ' ~ m.content ~ '\n' }}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{- 'ASSISTANT:' }}{% endif %})"},
    KnownTemplate{
        "zephyr",
        R"({% for m in messages %}{{- '<|' ~ m.role ~ '|>\n' ~ m.content ~ eos_token ~ '\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{% endif %})"},
};

}  // namespace

std::span<const KnownTemplate> known_templates() {
  return kTemplates;
}

std::string_view known_template(std::string_view name) {
  const auto found = std::find_if(kTemplates.begin(), kTemplates.end(),
                                  [&](const KnownTemplate& known) { return known.name == name; });
  return found == kTemplates.end() ? std::string_view() : found->source;
}

}  // namespace augur
