# SPDX-License-Identifier: MIT OR GPL-2.0
"""Continuous batching with chunked prefill, by the rules of vLLM's V1 engine.

sim/apps/llm_scheduler.c has the same rules and tells them at length. In short: a step has a
budget of tokens. Running requests come first, in the order of their admission; if one finds
no KV block, the request that was admitted last is preempted. Unless that happened, waiting
requests follow, first come, first served. A request that has computed all its known tokens
emits one.

Only the standard library is used.
"""

import collections


class Request:
    """A request and its state. Times are microseconds since the run began."""

    def __init__(self, number, arrival_us, prompt_tokens, output_tokens):
        self.number = number
        self.arrival_us = arrival_us
        self.prompt_tokens = max(1, prompt_tokens)
        self.output_tokens = max(1, output_tokens)  # it ends after so many
        self.computed = 0  # tokens whose keys and values are in the cache
        self.scheduled = 0  # tokens of the current step
        self.row = -1  # of the block table
        self.blocks = []
        self.last_token = 0
        self.preemptions = 0
        self.ended = False
        self.token_us = []  # when each token of the answer was on the host

    @property
    def known(self):
        """Tokens of the prompt and of the answer so far."""
        return self.prompt_tokens + len(self.token_us)

    @property
    def decodes(self):
        """Is exactly one token of an answer to be computed?"""
        return bool(self.token_us) and self.computed + 1 == self.known


class Scheduler:
    """Requests, and the KV blocks that they hold."""

    def __init__(self, blocks, budget=2048, max_sequences=256, block_tokens=16,
                 max_length=8192, rows=256, place=None):
        """blocks: the free block numbers, taken from the end. place(row, index, blocks) puts
        blocks into the block table."""
        self.free = list(blocks)
        self.rows = list(range(rows))
        self.budget, self.max_sequences = budget, max_sequences
        self.block_tokens, self.max_length = block_tokens, max_length
        self.place = place or (lambda row, index, blocks: None)
        self.waiting, self.running = collections.deque(), []
        self.preemptions = 0

    def fits(self, request):
        """Can this pool ever hold it? A request that it cannot hold must not be added."""
        longest = min(request.prompt_tokens + request.output_tokens, self.max_length) - 1
        longest = max(longest, request.prompt_tokens)
        # No block has been handed out yet, or all have come back.
        total = len(self.free) + sum(len(r.blocks) for r in self.running)
        return (request.prompt_tokens <= self.max_length
                and -(-longest // self.block_tokens) <= total)

    def _grow(self, request, tokens):
        missing = -(-tokens // self.block_tokens) - len(request.blocks)
        if missing <= 0:
            return True
        if missing > len(self.free):
            return False
        new = self.free[-missing:]
        del self.free[-missing:]
        if request.row < 0:
            request.row = self.rows.pop()
        self.place(request.row, len(request.blocks), new)
        request.blocks += new
        return True

    def _release(self, request):
        self.free += reversed(request.blocks)
        request.blocks = []
        if request.row >= 0:
            self.rows.append(request.row)
            request.row = -1

    def _preempt_last(self):
        request = self.running.pop()
        self._release(request)
        request.computed = 0
        request.preemptions += 1
        self.preemptions += 1
        self.waiting.appendleft(request)
        return request

    def schedule(self):
        """Fill a step. Returns (decoding requests, prefilling requests)."""
        budget, decodes, prefills, preempted = self.budget, [], [], self.preemptions
        i = 0
        while i < len(self.running) and budget:
            request = self.running[i]
            tokens = min(request.known - request.computed, budget)
            preempted_itself = False
            while not preempted_itself and not self._grow(request, request.computed + tokens):
                preempted_itself = self._preempt_last() is request
            if preempted_itself:
                break
            request.scheduled = tokens
            budget -= tokens
            (decodes if request.decodes else prefills).append(request)
            i += 1
        while (self.preemptions == preempted and self.waiting and budget
               and len(self.running) < self.max_sequences):
            request = self.waiting[0]
            tokens = min(request.known, budget)
            if not self._grow(request, tokens):
                break
            self.running.append(self.waiting.popleft())
            request.scheduled = tokens
            budget -= tokens
            prefills.append(request)
        return decodes, prefills

    def finish_step(self, requests, tokens, now_us):
        """Book a step: requests in its order, the token sampled for each, the date."""
        ended = False
        for request, token in zip(requests, tokens):
            request.computed += request.scheduled
            request.scheduled = 0
            if request.computed < request.known:
                continue
            request.token_us.append(now_us)
            request.last_token = token
            if (len(request.token_us) >= request.output_tokens
                    or request.known >= self.max_length):
                self._release(request)
                request.ended = ended = True
        if ended:
            self.running = [r for r in self.running if not r.ended]
