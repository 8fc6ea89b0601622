#!/usr/bin/env python3
"""Writes models/<name>/{config.json,model.safetensors,expected.json}: tiny random models of every supported family and
what Hugging Face's transformers makes of them in float32.

    pip install torch transformers safetensors && python3 make_model_golden.py [NAME...]     default: all of them

expected.json holds `tokens`, the input, and `logits`, [position][vocabulary] of the positions in `positions`. Weights
are rounded to bf16 before the reference runs and stored as BF16, which keeps the files small and makes them exact.
Run once; the files are kept. Made with transformers 5.23 / torch 2.15.
"""
import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (Ernie4_5Config, Gemma2Config, Gemma3TextConfig, Glm4Config, GlmConfig, GptOssConfig,
                          GraniteConfig, GraniteMoeHybridConfig, GraniteSWAConfig, HunYuanDenseV1Config, Lfm2Config,
                          Lfm2MoeConfig, LlamaConfig, Ministral3Config, Mistral3Config, MistralConfig, MixtralConfig,
                          NemotronHConfig, Olmo2Config, Olmo3Config, Phi3Config, PixtralVisionConfig, Qwen2Config, Qwen2MoeConfig,
                          Qwen3Config, Qwen3MoeConfig, Qwen3NextConfig, Qwen3_5Config, Qwen3_5MoeTextConfig,
                          Qwen3_5TextConfig, SeedOssConfig, SmolLM3Config)
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

HERE = pathlib.Path(__file__).parent / "models"
BASE = dict(hidden_size=40, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, vocab_size=144,
            max_position_embeddings=64, rms_norm_eps=1e-5)
LENGTH = 40
WINDOW = 24          # of models with sliding windows,
WINDOWED_LENGTH = 160  # whose inputs are longer than two of them, and than a page of the cache
WINDOWED = {**BASE, "max_position_embeddings": 256, "num_key_value_heads": 2, "sliding_window": WINDOW}

GPT_OSS = {**WINDOWED, "intermediate_size": 24, "head_dim": 12, "num_local_experts": 5, "num_experts_per_tok": 2,
           "pad_token_id": 0, "rope_parameters": {
    "rope_type": "yarn", "rope_theta": 150000.0, "factor": 8.0, "original_max_position_embeddings": 32,
    "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}}

LFM2 = dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, vocab_size=144, max_position_embeddings=256)

DELTA = dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=144,
             max_position_embeddings=256, rms_norm_eps=1e-5, pad_token_id=0, linear_num_key_heads=2,
             linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16)
DELTA_EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                     shared_expert_intermediate_size=40)


GRANITE4 = dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, vocab_size=144, max_position_embeddings=256,
                rms_norm_eps=1e-5, attention_multiplier=0.3, embedding_multiplier=6.0, residual_multiplier=0.5,
                logits_scaling=2.0, bos_token_id=1, eos_token_id=2)
NEMOTRON = dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=144,
                max_position_embeddings=256, intermediate_size=72, pad_token_id=0, ssm_state_size=16, mamba_num_heads=4,
                mamba_head_dim=16, n_groups=2)
NEMOTRON_EXPERTS = dict(n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=24,
                        moe_shared_expert_intermediate_size=56, routed_scaling_factor=2.5)


def blocks(pattern):
    return {"layers_block_type": NemotronHConfig._pattern_to_list(pattern)}


def sections(share, pairs):
    """Qwen3.5's rotation: of texts' tokens all its positions are the same."""
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": share,
                                "mrope_section": pairs, "mrope_interleaved": True}}


MODELS = {
    "llama": LlamaConfig(**BASE),
    "llama_gqa_tied": LlamaConfig(**BASE, num_key_value_heads=2, tie_word_embeddings=True),
    "llama_head_dim": LlamaConfig(**BASE, num_key_value_heads=1, head_dim=18),
    "llama_bias": LlamaConfig(**BASE, num_key_value_heads=2, attention_bias=True, mlp_bias=True),
    "llama3_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 256}, num_key_value_heads=2, rope_parameters={
        "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}),
    "linear_rope": LlamaConfig(**BASE, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
    "dynamic_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 16}, rope_parameters={
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}),
    "yarn_rope": LlamaConfig(**{**BASE, "max_position_embeddings": 128}, rope_parameters={
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}),
    "mistral": MistralConfig(**BASE, num_key_value_heads=2, sliding_window=None),
    "qwen2": Qwen2Config(**BASE, num_key_value_heads=2, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
    "qwen3": Qwen3Config(**BASE, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
    "mistral_window": MistralConfig(**WINDOWED, head_dim=12),
    "qwen3_window": Qwen3Config(**{**WINDOWED, "num_hidden_layers": 3}, head_dim=16, use_sliding_window=True,
                                max_window_layers=1),
    "gemma2": Gemma2Config(**{**WINDOWED, "num_hidden_layers": 3}, head_dim=12, query_pre_attn_scalar=20,
                           attn_logit_softcapping=3.0, final_logit_softcapping=5.0),
    "gemma3": Gemma3TextConfig(**{**WINDOWED, "num_hidden_layers": 7}, head_dim=12, query_pre_attn_scalar=20,
                               rope_parameters={
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}),
    "gemma3_older_keys": Gemma3TextConfig(**WINDOWED, head_dim=12, query_pre_attn_scalar=12),
    "phi3": Phi3Config(**WINDOWED, pad_token_id=0),
    "phi3_longrope": Phi3Config(**{**BASE, "max_position_embeddings": 128}, num_key_value_heads=2, pad_token_id=0,
                                original_max_position_embeddings=32, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.6, "factor": 4.0,
        "original_max_position_embeddings": 32, "short_factor": [1.0, 1.5, 2.0], "long_factor": [2.0, 3.0, 9.0]}),
    "smollm3": SmolLM3Config(**{**BASE, "num_hidden_layers": 3}, num_key_value_heads=2, no_rope_layer_interval=2,
                             pad_token_id=0),
    "granite": GraniteConfig(**BASE, num_key_value_heads=2, attention_multiplier=0.2, embedding_multiplier=12.0,
                             residual_multiplier=0.22, logits_scaling=4.0),
    "granite4": GraniteMoeHybridConfig(**{**BASE, "intermediate_size": 20}, num_key_value_heads=2,
                                       shared_intermediate_size=72, num_local_experts=0, num_experts_per_tok=0, mamba_n_heads=4, mamba_d_head=20,
                                       layer_types=["full_attention", "full_attention"],
                                       position_embedding_type="rope", attention_multiplier=0.3,
                                       embedding_multiplier=6.0, residual_multiplier=0.5, logits_scaling=2.0),
    "olmo2": Olmo2Config(**BASE, num_key_value_heads=2, pad_token_id=0),
    "qwen3_moe": Qwen3MoeConfig(**{**BASE, "num_hidden_layers": 3}, num_key_value_heads=2, head_dim=12, num_experts=6,
                                num_experts_per_tok=3, moe_intermediate_size=24, norm_topk_prob=True,
                                mlp_only_layers=[1]),
    "mixtral": MixtralConfig(**{**BASE, "intermediate_size": 40}, num_key_value_heads=2, num_local_experts=4,
                             num_experts_per_tok=2),
    "gpt_oss": GptOssConfig(**GPT_OSS),
    "qwen2_moe": Qwen2MoeConfig(**{**BASE, "num_hidden_layers": 3}, num_key_value_heads=2, num_experts=6,
                                num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=88,
                                mlp_only_layers=[1]),
    "gpt_oss_folder": GptOssConfig(**GPT_OSS),
    "gpt_oss_mxfp4": GptOssConfig(**{**GPT_OSS, "hidden_size": 64, "intermediate_size": 32}),
    "olmo3": Olmo3Config(**{**WINDOWED, "num_hidden_layers": 4}, pad_token_id=0, rope_parameters={
        "full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 8.0, "beta_fast": 32.0,
                           "beta_slow": 1.0, "original_max_position_embeddings": 32},
        "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0}}),
    "ministral3": Ministral3Config(**{**BASE, "max_position_embeddings": 256}, num_key_value_heads=2, head_dim=12,
                                   pad_token_id=0, tie_word_embeddings=True, rope_parameters={
        "rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16,
        "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.6}),
    "mistral3": Mistral3Config(
        text_config=MistralConfig(**BASE, num_key_value_heads=2, head_dim=12, sliding_window=None),
        vision_config=PixtralVisionConfig(hidden_size=8, intermediate_size=16, num_hidden_layers=1,
                                          num_attention_heads=1, head_dim=8, image_size=16, patch_size=8),
        image_token_index=10, tie_word_embeddings=False),
    # As many heads as its GGUF files' dimensions follow from.
    "glm": GlmConfig(**{**BASE, "num_attention_heads": 2}, num_key_value_heads=1, head_dim=20, pad_token_id=0),
    "glm4": Glm4Config(**BASE, num_key_value_heads=2, head_dim=20, pad_token_id=0, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4}),
    "ernie4_5": Ernie4_5Config(**BASE, num_key_value_heads=2, head_dim=12, use_bias=True),
    "hunyuan": HunYuanDenseV1Config(**{**BASE, "max_position_embeddings": 32768}, num_key_value_heads=2, head_dim=12,
                                    rope_parameters={
        "rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 50.0, "factor": 1.0}),
    "seed_oss": SeedOssConfig(**BASE, num_key_value_heads=2, head_dim=12, attention_out_bias=True, mlp_bias=True),
    # Heads together wider than the stream, and as wide.
    "lfm2": Lfm2Config(**LFM2, num_hidden_layers=5, head_dim=12, intermediate_size=100, block_multiple_of=8,
                       layer_types=["conv", "full_attention", "conv", "conv", "full_attention"]),
    "lfm2_bias": Lfm2Config(**LFM2, num_hidden_layers=3, intermediate_size=72, block_auto_adjust_ff_dim=False,
                            conv_bias=True, conv_L_cache=4, tie_word_embeddings=False, full_attn_idxs=[1]),
    "lfm2_moe": Lfm2MoeConfig(**LFM2, num_hidden_layers=4, intermediate_size=72, moe_intermediate_size=24, num_experts=6,
                              num_experts_per_tok=2, num_dense_layers=1,
                              layer_types=["conv", "full_attention", "conv", "full_attention"]),
    "granite_swa": GraniteSWAConfig(**{**WINDOWED, "num_hidden_layers": 5}, attention_multiplier=0.3,
                                    embedding_multiplier=6.0, residual_multiplier=0.5, logits_scaling=2.0,
                                    bos_token_id=1, eos_token_id=2,
                                    layer_rope_theta=[0, 10000.0, 500.0, 10000.0, 10000.0]),
    # llama.cpp's converter reads `no_rope_layers`.
    "granite_swa_nope": GraniteSWAConfig(**{**WINDOWED, "num_hidden_layers": 3}, attention_multiplier=0.3,
                                         bos_token_id=1, eos_token_id=2, no_rope_layers=[0, 1, 1],
                                         layer_rope_theta=[0, 10000.0, 10000.0]),
    "qwen3_next": Qwen3NextConfig(**DELTA, **DELTA_EXPERTS, num_hidden_layers=4, intermediate_size=72,
                                  rope_parameters={
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}),
    # A dense layer, value heads of three times the keys' number, other sizes of theirs than of keys, three taps.
    "qwen3_next_uneven": Qwen3NextConfig(
        **{**DELTA, "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 24}, **DELTA_EXPERTS,
        num_hidden_layers=3, intermediate_size=72, linear_conv_kernel_dim=3, mlp_only_layers=[2], norm_topk_prob=False,
        layer_types=["linear_attention", "full_attention", "linear_attention"], tie_word_embeddings=True),
    "qwen3_5": Qwen3_5TextConfig(**DELTA, num_hidden_layers=4, intermediate_size=72, tie_word_embeddings=True,
                                 **sections(0.5, [2, 1, 1])),
    "qwen3_5_three": Qwen3_5TextConfig(
        **{**DELTA, "linear_num_value_heads": 6}, num_hidden_layers=3, intermediate_size=72,
        layer_types=["linear_attention", "full_attention", "linear_attention"], **sections(0.25, [1, 1, 0])),
    # Of so many experts the last chosen has a small share: bf16 may choose another.
    "qwen3_5_moe": Qwen3_5MoeTextConfig(**DELTA, **{**DELTA_EXPERTS, "num_experts_per_tok": 5}, num_hidden_layers=4,
                                        **sections(0.5, [2, 1, 1])),
    "qwen3_5_whole": Qwen3_5Config(
        text_config=Qwen3_5TextConfig(**{**DELTA, "linear_num_value_heads": 2}, num_hidden_layers=2,
                                      intermediate_size=72, layer_types=["linear_attention", "full_attention"],
                                      **sections(0.25, [1, 1, 0])),
        vision_config=dict(hidden_size=8, intermediate_size=16, depth=1, num_heads=1, patch_size=4, spatial_merge_size=1,
                           temporal_patch_size=1, out_hidden_size=40, num_position_embeddings=4),
        image_token_id=10, video_token_id=11, vision_start_token_id=12, vision_end_token_id=13, tie_word_embeddings=False),
    # Ten heads of one group, states of no whole panels.
    "granite4_hybrid": GraniteMoeHybridConfig(
        **GRANITE4, num_hidden_layers=4, intermediate_size=72, shared_intermediate_size=72, num_local_experts=0,
        num_experts_per_tok=0, mamba_n_heads=10, mamba_d_head=8, mamba_d_state=24, position_embedding_type="nope",
        layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"]),
    "granite4_hybrid_moe": GraniteMoeHybridConfig(
        **GRANITE4, num_hidden_layers=3, intermediate_size=24, shared_intermediate_size=40, num_local_experts=6,
        num_experts_per_tok=2, mamba_n_heads=4, mamba_d_head=20, mamba_d_state=16, mamba_n_groups=2,
        position_embedding_type="nope", tie_word_embeddings=True,
        layer_types=["linear_attention", "full_attention", "linear_attention"]),
    "granite4_hybrid_rope": GraniteMoeHybridConfig(
        **GRANITE4, num_hidden_layers=2, intermediate_size=72, shared_intermediate_size=72, num_local_experts=0,
        num_experts_per_tok=0, mamba_n_heads=12, mamba_d_head=10, mamba_expand=3, mamba_d_state=16, mamba_n_groups=4,
        mamba_d_conv=3, mamba_conv_bias=False, time_step_limit=(0.2, 1.5), position_embedding_type="rope",
        layer_types=["linear_attention", "full_attention"]),
    # Layers of one block, none of them recurrent; dense layers beside others with experts.
    "nemotron_h_blocks": NemotronHConfig(**NEMOTRON, **blocks("-*--*"), mlp_bias=True),
    "nemotron_h_both": NemotronHConfig(**NEMOTRON, **NEMOTRON_EXPERTS, **blocks("*E-*E"), norm_topk_prob=False),
    "nemotron_h": NemotronHConfig(**NEMOTRON, **blocks("M-M*-M")),
    # Heads wider than the stream, of four groups.
    "nemotron_h_moe": NemotronHConfig(**{**NEMOTRON, "n_groups": 4, "mamba_num_heads": 8},
                                      **{**NEMOTRON_EXPERTS, "routed_scaling_factor": 1.5}, **blocks("ME*MEM")),
    # Experts of another width than the model's.
    "nemotron_h_latent": NemotronHConfig(**NEMOTRON, **{**NEMOTRON_EXPERTS, "routed_scaling_factor": 1.5},
                                         **blocks("ME*E"), moe_latent_size=24),
}
# These have a layer that drafts beside them, which transformers passes over.
DRAFTING = ("qwen3_next", "qwen3_5", "qwen3_5_moe")
# These keep the newer form of the rotation's keys.
NEWER = ("yarn_rope", "qwen3", "gemma3", "gpt_oss", "gpt_oss_folder", "gpt_oss_mxfp4", "ministral3", "glm4",
         "lfm2", "lfm2_moe", "qwen3_next_uneven", "qwen3_5", "qwen3_5_three", "qwen3_5_moe", "qwen3_5_whole",
         "nemotron_h_blocks", "nemotron_h_both", "nemotron_h", "nemotron_h_moe", "nemotron_h_latent")
# Inputs of these are as long as those of models with windows, to be longer than an original
# context, or than a page of the cache.
# Not of those with experts and states: an expert that bf16 chooses otherwise is remembered by all later tokens.
LONG = ("ministral3", "lfm2", "lfm2_bias", "lfm2_moe", "qwen3_5", "qwen3_5_three", "qwen3_5_whole", "granite4_hybrid",
        "granite4_hybrid_rope", "nemotron_h_blocks", "nemotron_h_both", "nemotron_h")
# Keys that tell nothing about the model.
NOISE = {"transformers_version", "initializer_range", "use_cache", "pretraining_tp", "pad_token_id", "dtype", "torch_dtype",
         "attention_dropout"}
KEPT = ("architectures", "model_type", *BASE, "num_key_value_heads", "head_dim", "hidden_act", "hidden_activation",
        "attention_bias", "mlp_bias", "tie_word_embeddings", "rope_parameters", "sliding_window", "use_sliding_window",
        "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "no_rope_layers",
        "no_rope_layer_interval", "attention_multiplier", "embedding_multiplier", "residual_multiplier",
        "logits_scaling", "original_max_position_embeddings", "shared_intermediate_size", "num_local_experts", "num_experts",
        "position_embedding_type", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob",
        "decoder_sparse_step", "mlp_only_layers", "shared_expert_intermediate_size", "use_bias", "attention_out_bias",
        "norm_eps", "conv_L_cache", "conv_bias", "block_auto_adjust_ff_dim", "block_ffn_dim_multiplier",
        "block_multiple_of", "full_attn_idxs", "num_dense_layers", "use_expert_bias", "routed_scaling_factor",
        "layer_rope_theta", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
        "linear_value_head_dim", "linear_conv_kernel_dim", "mamba_n_heads", "mamba_n_groups", "mamba_d_state",
        "mamba_d_head", "mamba_d_conv", "mamba_expand", "mamba_conv_bias", "mamba_proj_bias", "time_step_limit",
        "layers_block_type", "layer_norm_epsilon", "mlp_hidden_act", "ssm_state_size", "mamba_num_heads", "mamba_head_dim",
        "n_groups", "conv_kernel", "use_conv_bias", "mamba_hidden_act", *NEMOTRON_EXPERTS, "n_shared_experts", "n_group",
        "topk_group", "moe_latent_size", "num_nextn_predict_layers")


PUBLISHED = {"linear_attention": "mamba", "full_attention": "attention"}


def older_rope_keys(config):
    """As files written before transformers 5 have it: rope_theta, and rope_scaling with `type` in the oldest."""
    rope = config.pop("rope_parameters")
    if "full_attention" in rope:
        if config["model_type"].startswith("gemma"):
            config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    if config["model_type"] in ("glm", "qwen3_next"):
        config["partial_rotary_factor"] = rope["partial_rotary_factor"]
    if kind != "default":
        config["rope_scaling"] = {("type" if kind in ("linear", "dynamic") else "rope_type"): kind, **rope}


def older_pattern(fields, config):
    """As folders of Nemotron-H and Nemotron Nano 2 have it, which know nothing of experts."""
    fields["hybrid_override_pattern"] = config._list_to_pattern(fields.pop("layers_block_type"))
    fields["num_hidden_layers"] = config.num_hidden_layers
    fields["time_step_limit"] = [0.0, float("inf")]  # which Python writes as Infinity
    for key in (*NEMOTRON_EXPERTS, "n_shared_experts", "n_group", "topk_group", "moe_latent_size", "norm_topk_prob",
                "num_nextn_predict_layers"):
        fields.pop(key, None)


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def to_mxfp4(weight):
    """[experts, columns, rows] -> blocks [experts, rows, columns / 32, 16] and scales [experts, rows, columns / 32]."""
    groups = weight.transpose(1, 2).unflatten(-1, (-1, 32))
    exponent = torch.floor(torch.log2(groups.abs().amax(-1))) - 2  # so that the largest is between 4 and 8
    codes = (groups / 2**exponent[..., None]).unsqueeze(-1).sub(FP4).abs().argmin(-1).to(torch.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << 4, (exponent + 127).to(torch.uint8)


def published(name, model, packed):
    """The model's tensors as checkpoints have them: transformers keeps the experts of a layer in one tensor."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(pathlib.Path(folder) / "model.safetensors")
    if name == "gpt_oss_folder":
        return tensors
    if name == "gpt_oss_mxfp4":
        return {k: v for k, v in tensors.items() if k not in packed} | {
            f"{k}_{part}": v for k, parts in packed.items() for part, v in zip(("blocks", "scales"), parts)}
    # gpt-oss's are transposed, gate and up interleaved, where GGUF has them as all others do: as that has them.
    for key in [k for k in tensors if ".mlp.experts." in k and model.config.model_type == "gpt_oss"]:
        values = tensors.pop(key)
        stem, suffix = (key[:-5], "bias") if key.endswith("_bias") else (key, "weight")
        if suffix == "weight":
            values = values.transpose(1, 2)
        parts = ({"gate_proj": values[:, 0::2], "up_proj": values[:, 1::2]} if stem.endswith("gate_up_proj")
                 else {"down_proj": values})
        for part, each in parts.items():
            for e, one in enumerate(each):
                tensors[f"{stem.rsplit('.', 1)[0]}.{e}.{part}.{suffix}"] = one.contiguous()
    return tensors


def side_by_side(tensors):
    """Experts as Qwen3.5's checkpoints have them: all of a layer in two tensors."""
    joined = {}
    for key in [k for k in tensors if ".mlp.experts." in k and ".0.gate_proj" in k.split("experts")[1]]:
        stem = key.split("experts.")[0] + "experts."
        count = sum(k.startswith(stem) and k.endswith("gate_proj.weight") for k in tensors)
        take = lambda part: torch.stack([tensors.pop(f"{stem}{e}.{part}.weight") for e in range(count)])
        joined[stem + "gate_up_proj"] = torch.cat([take("gate_proj"), take("up_proj")], 1)
        joined[stem + "down_proj"] = take("down_proj")
    return tensors | joined


def drafting_layer(config):
    """A random layer that drafts, as checkpoints of Qwen3-Next and Qwen3.5 have it."""
    h, d = config.hidden_size, config.head_dim
    q, kv = config.num_attention_heads * d, config.num_key_value_heads * d
    block = {"self_attn.q_proj": (2 * q, h), "self_attn.k_proj": (kv, h), "self_attn.v_proj": (kv, h),
             "self_attn.o_proj": (h, q), "self_attn.q_norm": (d,), "self_attn.k_norm": (d,), "input_layernorm": (h,),
             "post_attention_layernorm": (h,)}
    experts = getattr(config, "num_experts", 0)
    parts = {"mlp.": config.intermediate_size} if experts == 0 else {
        "mlp.shared_expert.": config.shared_expert_intermediate_size,
        **{f"mlp.experts.{e}.": config.moe_intermediate_size for e in range(experts)}}
    for part, width in parts.items():
        block |= {part + "gate_proj": (width, h), part + "up_proj": (width, h), part + "down_proj": (h, width)}
    if experts:
        block |= {"mlp.gate": (experts, h), "mlp.shared_expert_gate": (1, h)}
    shapes = {"mtp.fc": (h, 2 * h), "mtp.pre_fc_norm_embedding": (h,), "mtp.pre_fc_norm_hidden": (h,), "mtp.norm": (h,),
              **{f"mtp.layers.0.{part}": shape for part, shape in block.items()}}
    return {f"{part}.weight": torch.randn(shape) * (0.2 if "norm" in part else 1.3 / shape[-1] ** 0.5)
            for part, shape in shapes.items()}


def make(name, config, seed):
    torch.manual_seed(seed)
    whole = config
    auto = transformers.AutoModelForCausalLM
    if hasattr(whole, "text_config"):
        config, auto = whole.text_config, transformers.AutoModelForImageTextToText
    model = auto.from_config(whole, attn_implementation="eager").float().eval()
    packed = {}
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "norm" in key:
                offset = name.startswith("gemma") or name.startswith("qwen3_next") or name.startswith("qwen3_5")
                p.copy_((0 if offset and "linear_attn" not in key else 1) + 0.2 * torch.randn_like(p))
            elif key.endswith("A_log"):  # states that forget between much and little of themselves
                p.copy_(torch.empty_like(p).uniform_(-4, 1 if "mamba" in key else -0.3))
            elif key.endswith(".D"):
                p.copy_(1 + 0.5 * torch.randn_like(p))
            elif key.endswith("bias") or key.endswith("sinks"):
                p.copy_(0.3 * torch.randn_like(p))
            else:  # large enough that attention and activations are far from linear
                p.copy_(torch.randn_like(p) * 1.3 / p.shape[-1] ** 0.5)
            p.copy_(p.bfloat16().float())
            if name == "gpt_oss_mxfp4" and key.endswith(("gate_up_proj", "down_proj")):
                packed[key] = to_mxfp4(p)
                p.copy_(convert_moe_packed_tensors(*packed[key]).float())
        windowed = getattr(config, "sliding_window", None) == WINDOW
        for key, buffer in model.named_buffers():
            if key.endswith(("expert_bias", "e_score_correction_bias")):  # large enough to decide
                buffer.copy_((0.3 * torch.randn_like(buffer)).bfloat16().float())
        length = WINDOWED_LENGTH if windowed or name in LONG else LENGTH
        tokens = torch.randint(0, config.vocab_size, (1, length))
        logits = model(tokens, use_cache=False).logits[0].double()
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    tied = config.tie_word_embeddings
    tensors = published(name, model, packed)
    if name in DRAFTING:
        tensors |= drafting_layer(config)
    if name == "qwen3_5_moe":
        tensors = side_by_side(tensors)
    tensors = {k: (v if v.dtype == torch.uint8 else v.bfloat16()).contiguous() for k, v in tensors.items()
               if "inv_freq" not in k and not (tied and k == "lm_head.weight")}
    save_file(tensors, folder / "model.safetensors")
    fields = {k: v for k, v in json.loads(config.to_json_string(use_diff=False)).items() if k not in NOISE}
    hybrid = name.startswith("lfm2") or hasattr(config, "linear_num_key_heads")
    newer = ("layer_types",) if name in NEWER and (windowed or hybrid) else ("max_window_layers",)
    if config.model_type == "granitemoehybrid":  # as published, and as llama.cpp's converter knows them
        newer = ("layer_types",)
        fields["layer_types"] = [PUBLISHED[kind] for kind in fields["layer_types"]]
    fields = {k: fields[k] for k in (*KEPT, *newer) if k in fields}
    fields["architectures"] = [type(model).__name__]
    if config.model_type == "nemotron_h" and "moe" not in config.layers_block_type:
        older_pattern(fields, config)
    if name in DRAFTING and config.model_type != "qwen3_next":
        fields["mtp_num_hidden_layers"] = 1
    if packed:
        fields["quantization_config"] = {"quant_method": "mxfp4"}
    if name not in NEWER:
        older_rope_keys(fields)
    if whole is not config:
        del fields["architectures"]
        fields = {"architectures": [type(model).__name__], "model_type": whole.model_type, "text_config": fields,
                  "vision_config": {"model_type": whole.vision_config.model_type}}
    (folder / "config.json").write_text(json.dumps(fields, indent=1) + "\n")
    positions = [0, 1, 7, 15, 16, 31, *([WINDOW, 2 * WINDOW + 1, 100] if length > LENGTH else []), length - 1]
    (folder / "expected.json").write_text(json.dumps({
        "tokens": tokens[0].tolist(),
        "positions": positions,
        "logits": [[round(v, 6) for v in logits[p].tolist()] for p in positions],
    }, separators=(",", ":")) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes, largest logit", float(logits.abs().max()))


if unknown := set(sys.argv[1:]) - MODELS.keys():
    sys.exit(f"no such model: {', '.join(sorted(unknown))}; known: {', '.join(MODELS)}")
for index, (model_name, model_config) in enumerate(MODELS.items()):
    if model_name in (sys.argv[1:] or MODELS):
        make(model_name, model_config, index)
