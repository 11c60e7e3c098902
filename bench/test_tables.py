"""Tests of results.py and tables.py; run by ./dev lint."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import results
import tables


def row(case, ours, peer, **more):
    return {"case": case, "threads": 2, "peer": "them" if peer else None, "peer_version": "1",
            "ours_s": ours, "peer_s": peer, "ratio": peer / ours if peer else None,
            "share_of_roofline": None, "max_error": None, "more": {}, **more}


MACHINE = {"id": "a-machine", "name": "A machine", "architecture": "x86_64", "cores": 2,
           "gpu": None}


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def save(self, *rows):
        return results.save("decode", MACHINE, "./dev bench decode", [], list(rows), self.folder)

    def test_two_runs_of_a_day_are_two_files_and_the_second_counts(self):
        first, second = self.save(row("a", 1.0, 2.0)), self.save(row("a", 0.5, 2.0))
        self.assertNotEqual(first, second)
        table = tables.newest_rows(results.load_all(self.folder))["decode", "a-machine"]
        self.assertEqual([pair[1]["ours_s"] for pair in table.values()], [0.5])

    def test_a_file_says_what_its_name_says(self):
        path = self.save(row("a", 1.0, 2.0))
        for name in ("xpcs-a-machine-2026-01-01.json", "decode.json"):
            with self.assertRaisesRegex(ValueError, "name"):
                results.load(path.rename(self.folder / name))
            path = self.folder / name

    def test_a_file_without_machine_or_commit_is_refused(self):
        path = self.save(row("a", 1.0, 2.0))
        content = json.loads(path.read_text())
        for key in ("machine", "commit", "date", "command"):
            path.write_text(json.dumps(content | {key: ""}))
            with self.assertRaisesRegex(ValueError, key):
                results.load(path)


class Pages(unittest.TestCase):
    def pages_of(self, *rows):
        result = {"system": "decode", "machine": MACHINE, "date": "2026-01-02", "commit": "abc",
                  "command": "./dev bench decode", "rows": list(rows)}
        return tables.newest_rows([result])

    def test_every_loss_is_listed(self):
        page = tables.page(self.pages_of(row("won", 1.0, 3.0), row("lost", 1.0, 0.99),
                                         row("alone", 1.0, None)))
        losses = page.split("## Where we lose")[1].split("## decode")[0]
        self.assertIn("`lost`", losses)
        self.assertNotIn("`won`", losses)
        self.assertNotIn("`alone`", losses)
        for case in ("won", "lost", "alone"):
            self.assertEqual(page.split("## decode")[1].count(f"`{case}`"), 1)

    def test_rows_without_a_peer_show_latencies_and_memory_where_there_are_any(self):
        online = row("online", 6e-5, None, more={"p50 ms": 0.06, "p99 ms": 0.0771, "max ms": 0.19})
        page = tables.page(self.pages_of(online))
        self.assertIn("| p50 ms | p99 ms | max ms |", page)
        self.assertIn("| 0.0771 |", page)
        self.assertNotIn("resident", page)
        page = tables.page(self.pages_of(row("day", 4.0, None, resident_bytes=381e6)))
        self.assertIn("| 381 MB |", page)
        self.assertNotIn("p99", page)

    def test_the_tables_of_the_tree_have_every_row_once(self):
        every = tables.newest_rows(results.load_all())
        page = tables.page(every)
        for (system, _), table in every.items():
            for result, one in table.values():
                section = page.split(f"\n## {system}\n")[1].split("\n## ")[0]
                part = section.split(f"### {result['machine']['name']}\n")[1].split("\n### ")[0]
                n_same = sum(other["case"] == one["case"] for _, other in table.values())
                self.assertEqual(part.count(f"| `{one['case']}` |"), n_same, one["case"])
        self.assertEqual(len(tables.SHOWN), 8)

    def test_what_is_written_by_hand_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text("12.3 ms\n")
            self.assertTrue(tables.differences(path, "45.6 ms\n"))
            self.assertFalse(tables.differences(path, "12.3 ms\n"))

    def test_marks_that_are_missing_are_told(self):
        with self.assertRaisesRegex(ValueError, "marks"):
            tables.readme("no table here", {})


if __name__ == "__main__":
    unittest.main()
