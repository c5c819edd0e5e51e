#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""tools/corun/llm_scheduler.py: vLLM's rules. Usage: test_scheduler.py FOLDER_OF_THE_KIT"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from llm_scheduler import Request, Scheduler  # noqa: E402


def scheduler_of(requests, **settings):
    """A scheduler in which requests of (prompt, answer) tokens wait."""
    scheduler = Scheduler(range(settings.pop("blocks", 1000)), **settings)
    made = [Request(i, 0, *tokens) for i, tokens in enumerate(requests)]
    scheduler.waiting.extend(made)
    return scheduler, made


def step(scheduler, now_us=0):
    """A step: the numbers and tokens of (decoding, prefilling) requests."""
    parts = scheduler.schedule()
    seen = [[(r.number, r.scheduled) for r in part] for part in parts]
    scheduler.finish_step(parts[0] + parts[1], [7] * 1000, now_us)
    return seen


class TestScheduler(unittest.TestCase):
    """Steps by their tokens."""

    def test_long_prompts_are_computed_in_chunks_of_the_budget(self):
        scheduler, requests = scheduler_of([(5000, 1), (100, 1)])
        self.assertEqual(step(scheduler), [[], [(0, 2048)]])
        self.assertEqual(step(scheduler), [[], [(0, 2048)]])
        self.assertEqual(step(scheduler, 9), [[], [(0, 904), (1, 100)]])
        self.assertEqual([r.token_us for r in requests], [[9], [9]])
        self.assertEqual(step(scheduler), [[], []])

    def test_running_requests_decode_before_new_ones_are_admitted(self):
        scheduler, _ = scheduler_of([(10, 5)])
        self.assertEqual(step(scheduler), [[], [(0, 10)]])
        scheduler.waiting.append(Request(1, 0, 3000, 1))
        self.assertEqual(step(scheduler), [[(0, 1)], [(1, 2047)]])
        self.assertEqual(step(scheduler), [[(0, 1)], [(1, 953)]])

    def test_so_many_sequences_run_at_once(self):
        scheduler, _ = scheduler_of([(10, 3)] * 5, max_sequences=2)
        self.assertEqual(step(scheduler), [[], [(0, 10), (1, 10)]])
        self.assertEqual(step(scheduler), [[(0, 1), (1, 1)], []])
        step(scheduler)
        self.assertEqual(step(scheduler), [[], [(2, 10), (3, 10)]])

    def test_the_last_one_admitted_is_preempted_and_computes_everything_again(self):
        scheduler, requests = scheduler_of([(16, 20), (16, 20)], blocks=3)
        self.assertEqual(step(scheduler), [[], [(0, 16), (1, 16)]])
        # The third block is for request 0. Nothing is admitted in a step that preempts.
        self.assertEqual(step(scheduler), [[(0, 1)], []])
        self.assertEqual((scheduler.preemptions, requests[1].preemptions), (1, 1))
        self.assertEqual([r.number for r in scheduler.waiting], [1])
        # A block is free now, but 17 tokens need two.
        while not requests[0].ended:
            self.assertEqual(step(scheduler)[1], [])
        self.assertEqual(step(scheduler), [[], [(1, 17)]])
        while not requests[1].ended:
            step(scheduler)
        self.assertEqual([len(r.token_us) for r in requests], [20, 20])
        self.assertEqual(sorted(scheduler.free), [0, 1, 2])
        self.assertEqual(len(scheduler.rows), 256)

    def test_answers_end_at_the_longest_sequence(self):
        scheduler, requests = scheduler_of([(90, 50)], max_length=100)
        while not requests[0].ended:
            step(scheduler)
        self.assertEqual(len(requests[0].token_us), 10)

    def test_what_no_pool_can_hold_is_told(self):
        scheduler, requests = scheduler_of([(32, 17), (32, 18), (101, 1)], blocks=3,
                                           max_length=100)
        self.assertEqual([scheduler.fits(r) for r in requests], [True, False, False])


if __name__ == "__main__":
    unittest.main()
