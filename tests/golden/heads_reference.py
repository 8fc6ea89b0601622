"""Plain PyTorch reference of a Llama target and of every draft head, written from the papers.

No cache, no batching, no optimisation: each forward pass runs all rows under an explicit attention mask, in
float64. A row is one token fed to a network; `parents` says which row it follows (-1: none), and it attends to
itself and to everything it follows. That one rule covers text, chains and trees alike.
"""

import math

import torch

EPS = 1e-5


def linear(w, name, x):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def silu(x):
    return x * torch.sigmoid(x)


def rotate(x, positions, theta):
    """RoPE on halves. x [rows, heads, d], positions [rows]."""
    d = x.shape[-1]
    frequencies = theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.tensor(positions, dtype=torch.float64)[:, None, None] * frequencies
    cos, sin = torch.cos(angle), torch.sin(angle)
    a, b = x[..., : d // 2], x[..., d // 2:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def visible(parents):
    """[rows, rows]: whether row q attends to row k."""
    mask = torch.zeros(len(parents), len(parents), dtype=torch.bool)
    for row, parent in enumerate(parents):
        if parent >= 0:
            mask[row] = mask[parent]
        mask[row, row] = True
    return mask


def attention(w, prefix, x, positions, mask, cfg, context=None):
    """x [rows, in]. `context`, if given, are (rows, positions) that only serve as keys and values, before x's
    own; the mask is [rows, context rows + rows] then."""
    heads, kv_heads, d, theta = cfg["heads"], cfg["kv_heads"], cfg["head_dim"], cfg["theta"]

    def split(name, rows, count):
        return linear(w, f"{prefix}.{name}_proj", rows).view(len(rows), count, d)

    keys_of, key_positions = x, list(positions)
    if context is not None:
        keys_of, key_positions = torch.cat([context[0], x]), list(context[1]) + list(positions)
    q, k, v = split("q", x, heads), split("k", keys_of, kv_heads), split("v", keys_of, kv_heads)
    if f"{prefix}.q_norm.weight" in w:  # Qwen3: per head, before the rotation
        q, k = rms_norm(q, w[f"{prefix}.q_norm.weight"]), rms_norm(k, w[f"{prefix}.k_norm.weight"])
    q, k = rotate(q, positions, theta), rotate(k, key_positions, theta)
    k, v = (t.repeat_interleave(heads // kv_heads, dim=1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(d)
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return linear(w, f"{prefix}.o_proj", torch.einsum("hqk,khd->qhd", weights, v).reshape(len(x), heads * d))


def mlp(w, prefix, x):
    return linear(w, f"{prefix}.down_proj", silu(linear(w, f"{prefix}.gate_proj", x)) * linear(w, f"{prefix}.up_proj", x))


def second_half(w, prefix, x):
    """The MLP half of a pre-norm decoder layer."""
    return x + mlp(w, f"{prefix}.mlp", rms_norm(x, w[f"{prefix}.post_attention_layernorm.weight"]))


def decoder_layer(w, prefix, x, positions, mask, cfg, context=None):
    normed = rms_norm(x, w[f"{prefix}.input_layernorm.weight"])
    return second_half(w, prefix, x + attention(w, f"{prefix}.self_attn", normed, positions, mask, cfg, context))


class Target:
    """A Llama model. `stream(...)[i]` is the un-normed residual stream entering layer i; [layers] what leaves
    the last one."""

    def __init__(self, w, cfg):
        self.w, self.cfg = w, cfg

    def stream(self, tokens, positions=None, parents=None):
        positions = list(range(len(tokens))) if positions is None else positions
        mask = visible(list(range(-1, len(tokens) - 1)) if parents is None else parents)
        states = [self.embed(tokens)]
        for i in range(self.cfg["layers"]):
            states.append(decoder_layer(self.w, f"model.layers.{i}", states[-1], positions, mask, self.cfg))
        return states

    def embed(self, tokens):
        return self.w["model.embed_tokens.weight"][torch.tensor(tokens)]

    def norm(self, x):
        return rms_norm(x, self.w["model.norm.weight"])

    def head(self, normed):
        return normed @ self.w["lm_head.weight"].T


class Node:
    """A node of the draft tree: `logits` are the drafter's for the tokens that may follow it."""

    def __init__(self, token, parent, rank, depth):
        self.token, self.parent, self.rank, self.depth = token, parent, rank, depth
        self.logits = self.hidden = self.confidence = None


class Drafter:
    """draft(tokens, features, shape): `tokens` is the text with the root (the newest token, which the target has
    not run) as its last; features [len(tokens) - 1, f] are of the rows before it. `shape` is a set of rank paths:
    (0, 1) is the second-best child of the best child of the root. Returns the nodes, root first."""

    #: "stream": un-normed residual streams entering `taps`, side by side. "normed": the last one, final norm
    #: applied.
    features = "stream"
    max_depth = 99

    def __init__(self, w, cfg, target):
        self.w, self.cfg, self.target = w, cfg, target
        #: target id of each draft vocabulary entry
        self.ids = torch.arange(target.cfg["vocab"])
        if "d2t" in w:
            self.ids = torch.arange(len(w["d2t"])) + w["d2t"].long()

    def grow(self, tokens, shape, expand):
        """Level by level: expand(nodes of a level) sets their logits, then children are added by rank."""
        nodes = [Node(tokens[-1], -1, 0, 0)]
        paths = {(): 0}
        level = [0]
        while level:
            if nodes[level[0]].depth < self.max_depth:
                expand(nodes, level)
            below = []
            for path in sorted(p for p in shape if len(p) == nodes[level[0]].depth + 1):
                parent = nodes[paths[path[:-1]]]
                order = parent.logits.sort(descending=True)
                best, gap = order.indices[path[-1]], order.values[path[-1]] - order.values[path[-1] + 1]
                assert gap > 2e-3, "two candidates are too close"  # the caller tries another text
                paths[path] = len(nodes)
                below.append(len(nodes))
                nodes.append(Node(int(self.ids[best]), paths[path[:-1]], path[-1], parent.depth + 1))
            level = below
        return nodes


class RecurrentDrafter(Drafter):
    """EAGLE and its kin. Row i pairs the target's hidden state i with token i+1, at rotary position i. A node
    pairs its parent row's own output with its token, one position on. The root's row is the last of the text's."""

    def draft(self, tokens, features, shape):
        n = len(tokens) - 1
        hidden = list(self.project(features))
        fed, positions, parents = list(tokens[1:]), list(range(n)), list(range(-1, n - 1))
        row_of = {0: n - 1}

        def expand(nodes, level):
            for i in level:
                if i != 0:
                    parent = row_of[nodes[i].parent]
                    row_of[i] = len(fed)
                    hidden.append(nodes[nodes[i].parent].hidden)
                    fed.append(nodes[i].token)
                    positions.append(positions[parent] + 1)
                    parents.append(parent)
            out = self.forward(self.embed(fed), torch.stack(hidden), positions, visible(parents))
            for i in level:
                nodes[i].hidden, nodes[i].logits = self.recurrent(out[row_of[i]]), self.logits(out[row_of[i]])

        return self.grow(tokens, shape, expand)

    def embed(self, tokens):
        return self.target.embed(tokens)

    def project(self, features):
        return features

    def recurrent(self, out):
        return out


class Eagle1(RecurrentDrafter):
    features = "normed"

    def forward(self, embedded, hidden, positions, mask):
        x = linear(self.w, "fc", torch.cat([embedded, hidden], -1))
        # Layer 0 has no input norm.
        x = x + attention(self.w, "layers.0.self_attn", x, positions, mask, self.cfg)
        return second_half(self.w, "layers.0", x)

    def logits(self, out):
        return self.target.head(out)  # no norm in between


class Eagle3(RecurrentDrafter):
    def __init__(self, w, cfg, target):
        super().__init__(w, cfg, target)
        self.first = "midlayer" if "midlayer.hidden_norm.weight" in w else "layers.0"

    def embed(self, tokens):
        own = self.w.get("embed_tokens.weight")
        return self.target.embed(tokens) if own is None else own[torch.tensor(tokens)]

    def project(self, features):
        if self.cfg.get("norm_before_fc"):
            features = rms_norm(features, self.w["input_norm.weight"])
        if self.cfg.get("fc_norm"):
            parts = features.chunk(3, -1)
            features = torch.cat([rms_norm(p, self.w[f"fc_norm.{i}.weight"]) for i, p in enumerate(parts)], -1)
        return linear(self.w, "fc", features)

    def forward(self, embedded, hidden, positions, mask):
        p = self.first
        normed = rms_norm(hidden, self.w[f"{p}.hidden_norm.weight"])
        residual = normed if self.cfg.get("norm_before_residual") else hidden
        both = torch.cat([rms_norm(embedded, self.w[f"{p}.input_layernorm.weight"]), normed], -1)
        x = residual + attention(self.w, f"{p}.self_attn", both, positions, mask, self.cfg)
        x = second_half(self.w, p, x)
        for i in range(1, self.cfg.get("head_layers", 1)):
            x = decoder_layer(self.w, f"layers.{i}", x, positions, mask, self.cfg)
        return x

    def recurrent(self, out):
        return rms_norm(out, self.w["norm.weight"]) if self.cfg.get("norm_output") else out

    def logits(self, out):
        normed = rms_norm(out, self.w["norm.weight"])
        own = self.w.get("lm_head.weight")
        return self.target.head(normed) if own is None else normed @ own.T


class ParallelEagle(Eagle3):
    """P-EAGLE: all depths in one pass. Below the root, every row is (mask token, mask_hidden) at its position;
    hence logits depend on the depth alone."""

    def draft(self, tokens, features, shape):
        n = len(tokens) - 1
        deepest = max(len(p) for p in shape)
        masks = self.w["mask_hidden"].view(1, -1).expand(deepest, -1)
        hidden = self.project(torch.cat([features, masks]))
        fed = tokens[1:] + [self.cfg["mask_token_id"]] * deepest
        rows = n + deepest
        out = self.forward(self.embed(fed), hidden, list(range(rows)), visible(list(range(-1, rows - 1))))

        def expand(nodes, level):
            for i in level:
                row = out[n - 1 + nodes[i].depth]
                nodes[i].hidden, nodes[i].logits = self.recurrent(row), self.logits(row)

        return self.grow(tokens, shape, expand)


class DeepSeekMtp(RecurrentDrafter):
    """DeepSeek-V3's layout of a multi-token prediction layer, with a dense Llama layer: the layer after the
    target's last one in the same namespace."""

    features = "normed"

    def __init__(self, w, cfg, target):
        super().__init__(w, cfg, target)
        self.p = f"model.layers.{target.cfg['layers']}"

    def embed(self, tokens):
        return self.w[f"{self.p}.embed_tokens.weight"][torch.tensor(tokens)]

    def forward(self, embedded, hidden, positions, mask):
        pair = [rms_norm(embedded, self.w[f"{self.p}.enorm.weight"]), rms_norm(hidden, self.w[f"{self.p}.hnorm.weight"])]
        x = linear(self.w, f"{self.p}.eh_proj", torch.cat(pair, -1))
        return decoder_layer(self.w, self.p, x, positions, mask, self.cfg)

    def logits(self, out):
        return rms_norm(out, self.w[f"{self.p}.shared_head.norm.weight"]) @ self.w[f"{self.p}.shared_head.head.weight"].T


class FastMtp(RecurrentDrafter):
    """`hidden_first`: MiMo's order of the concatenation, otherwise (embedding, hidden). The recurrent state is
    what leaves final_layernorm, and the target's head follows directly."""

    features = "normed"

    def forward(self, embedded, hidden, positions, mask):
        p = self.cfg["prefix"]
        pair = [rms_norm(embedded, self.w[f"{p}.token_layernorm.weight"]),
                rms_norm(hidden, self.w[f"{p}.hidden_layernorm.weight"])]
        if self.cfg.get("hidden_first"):
            pair.reverse()
        x = decoder_layer(self.w, p, linear(self.w, f"{p}.input_proj", torch.cat(pair, -1)), positions, mask, self.cfg)
        return rms_norm(x, self.w[f"{p}.final_layernorm.weight"])

    def logits(self, out):
        return self.target.head(out)


class Medusa(Drafter):
    """Head d predicts the children of every node of depth d, from the hidden state of the last row that the
    target has run."""

    features = "normed"

    def draft(self, tokens, features, shape):
        self.max_depth = self.cfg["medusa_num_heads"]

        def expand(nodes, level):
            x = features[-1]
            p = f"{self.cfg.get('key_prefix', '')}{nodes[level[0]].depth}"
            for layer in range(self.cfg["medusa_num_layers"]):
                x = x + silu(linear(self.w, f"{p}.{layer}.linear", x))
            for i in level:
                nodes[i].hidden = x
                nodes[i].logits = linear(self.w, f"{p}.{self.cfg['medusa_num_layers']}", x)

        return self.grow(tokens, shape, expand)


class Hydra(Drafter):
    """Head d sees the hidden state of the last row that the target has run and the embeddings of the root and of
    the path to the node. Hydra++ (prefix-mlp) runs the hidden states through one more Llama layer first, at
    their own positions, followed by its norm."""

    features = "normed"

    def draft(self, tokens, features, shape):
        self.max_depth = self.cfg["hydra_num_heads"]
        state = features[-1]
        prefix = "prefix_embeding_layer"
        if self.cfg["hydra_head_arch"] == "prefix-mlp":
            n = len(features)
            rows = decoder_layer(self.w, f"{prefix}.layers.0", features, list(range(n)), visible(list(range(-1, n - 1))),
                                 self.cfg)
            state = rms_norm(rows, self.w[f"{prefix}.norm.weight"])[-1]
        # With dropout in the sequences every second index is a layer's.
        step, lead = (2, 1) if self.cfg["hydra_head_arch"] == "prefix-mlp" else (1, 0)

        def expand(nodes, level):
            for i in level:
                path, node = [], i
                while node >= 0:
                    path.insert(0, nodes[node].token)
                    node = nodes[node].parent
                x = torch.cat([state, self.target.embed(path).reshape(-1)])
                p = f"hydra_mlp.{nodes[i].depth}"
                x = linear(self.w, f"{p}.{lead}.res_connection", x) + silu(linear(self.w, f"{p}.{lead}.linear", x))
                for layer in range(1, self.cfg["hydra_num_layers"]):
                    x = x + silu(linear(self.w, f"{p}.{lead + step * layer}.linear", x))
                head = f"hydra_lm_head.{nodes[i].depth}" + (".1" if lead else "")
                nodes[i].hidden, nodes[i].logits = x, linear(self.w, head, x)

        return self.grow(tokens, shape, expand)


class LayerSkip(Drafter):
    """The target's first layers with its final norm and head. Here the root is a row of its own, at its own
    position, as every node is."""

    features = "none"

    def draft(self, tokens, features, shape):
        fed, positions = list(tokens), list(range(len(tokens)))
        parents = list(range(-1, len(tokens) - 1))
        row_of = {0: len(tokens) - 1}

        def expand(nodes, level):
            for i in level:
                if i != 0:
                    row_of[i] = len(fed)
                    fed.append(nodes[i].token)
                    parents.append(row_of[nodes[i].parent])
                    positions.append(positions[parents[-1]] + 1)
            state = self.target.stream(fed, positions, parents)[self.cfg["exit_layer"]]
            for i in level:
                nodes[i].hidden = state[row_of[i]]
                nodes[i].logits = self.target.head(self.target.norm(nodes[i].hidden))

        return self.grow(tokens, shape, expand)


class DFlash(Drafter):
    """A block [root, mask, mask, ...] at positions n, n+1, ... in one pass. Context rows (one per row that the
    target has run, at its position) are keys and values only. Slot k's logits are for position n+k, or n+k+1
    with sample_from_anchor; a node's children at depth d+1 have position n+d+1."""

    def draft(self, tokens, features, shape):
        n, size = len(tokens) - 1, self.cfg["block_size"]
        first_slot = 0 if self.cfg.get("sample_from_anchor") else 1
        self.max_depth = size - first_slot
        context = rms_norm(linear(self.w, "fc", features), self.w["hidden_norm.weight"])
        x = self.target.embed([tokens[-1]] + [self.cfg["mask_token_id"]] * (size - 1))
        positions = list(range(n, n + size))
        for i in range(self.cfg["head_layers"]):
            x = decoder_layer(self.w, f"layers.{i}", x, positions, self.mask(i, n, size), self.cfg,
                              (context, list(range(n))))
        x = rms_norm(x, self.w["norm.weight"])
        own = self.w.get("lm_head.weight")
        base = self.target.head(x) if own is None else x @ own.T
        self.block = {"block_hidden": x, "block_logits": base}

        def expand(nodes, level):
            for i in level:
                slot = nodes[i].depth + first_slot
                nodes[i].hidden = x[slot]
                nodes[i].logits = base[slot] + self.correction(nodes, i, x[slot])

        return self.grow(tokens, shape, expand)

    def mask(self, layer, n, size):
        """[size, n + size]. Full layers see everything. Sliding ones see keys less than `window` behind, and
        nothing ahead unless sliding_window_non_causal."""
        query, key = torch.arange(n, n + size)[:, None], torch.arange(n + size)[None, :]
        mask = torch.ones(size, n + size, dtype=torch.bool)
        if self.cfg["layer_types"][layer] == "sliding_attention":
            mask &= query - key < self.cfg["window"]
            if not self.cfg.get("sliding_window_non_causal"):
                mask &= key <= query
        return mask

    def correction(self, nodes, i, hidden):
        return 0


class DSpark(DFlash):
    """DFlash with a Markov head: a bias on the logits from the token before, i.e. the node's own. The
    confidence of a node is the predicted chance that what is drawn after it will be accepted."""

    def correction(self, nodes, i, hidden):
        node = nodes[i]
        before = self.w["markov_head.markov_w1.weight"][node.token]
        kind = self.cfg["markov_head_type"]
        if kind == "vanilla":
            latent = before
        elif kind == "gated":
            latent = torch.sigmoid(linear(self.w, "markov_head.gate_proj", torch.cat([hidden, before]))) * before
        else:  # rnn: the state runs along the path from the root, from zero
            state = nodes[node.parent].state if node.parent >= 0 else torch.zeros_like(before)
            gate, candidate, output = linear(self.w, "markov_head.joint_proj", torch.cat([state, before, hidden])).chunk(3)
            gate = torch.sigmoid(gate)
            node.state = gate * state + (1 - gate) * torch.tanh(candidate)
            latent = torch.tanh(output)
        if "confidence_head.proj.weight" in self.w:
            seen = torch.cat([hidden, before]) if self.cfg["confidence_head_with_markov"] else hidden
            node.confidence = torch.sigmoid(linear(self.w, "confidence_head.proj", seen))
        return latent @ self.w["markov_head.markov_w2.weight"].T
