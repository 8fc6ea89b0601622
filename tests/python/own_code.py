"""A policy and drafters that tests give an engine: EAGLE-2's tree as the engine makes it, and ones that wrap or guess."""
import math

import augur


class Eagle2Tree(augur.Policy):
    """Every level expands the best nodes of the level before; the best of all are verified."""

    CHILDREN, LEVELS, SIZE, CHAIN = 4, 4, 16, 4

    def begin(self, round):
        most = min(self.CHAIN, round.max_depth) if round.drafter.one_branch else self.SIZE - 1
        self.one_shot = round.drafter.one_shot
        self.most = max(0, min(most, round.room))
        self.levels = max(0, min(self.LEVELS, round.levels))
        self.level = self.level_begin = 0

    def grow(self, tree):
        if self.most == 0 or self.level == self.levels:
            return [], 0
        nodes = self.best_first(tree, range(self.level_begin, len(tree)))[:self.CHILDREN]
        self.level_begin = len(tree)
        self.level += 1
        return nodes, self.most if self.one_shot else self.CHILDREN

    def keep(self, tree):
        nodes = range(len(tree)) if tree.drawn else self.best_first(tree, range(len(tree)))
        return nodes[:self.most + 1]

    @staticmethod
    def best_first(tree, nodes):
        return sorted(nodes, key=lambda node: (-tree.scores[node], node))


class Wrapper(augur.Drafter):
    """Leaves everything to a built-in drafter."""

    def __init__(self, setup, of):
        self.inner = setup.built_in(of)

    @property
    def traits(self):
        return self.inner.traits

    def propose(self, request):
        self.inner.draft(request.frontier)
        return ()


class Bigram(augur.Drafter):
    """What followed a token before in the same text."""

    def reset(self):
        self.newest, self.after = None, {}

    def accepted(self, tokens, drafted):
        for token in tokens:
            if self.newest is not None:
                self.after[self.newest] = token
            self.newest = token

    def propose(self, request):
        for node in request.frontier:
            if (token := self.after.get(request.tokens[node])) is not None:
                yield augur.Proposal(node, token, math.log(0.7))
