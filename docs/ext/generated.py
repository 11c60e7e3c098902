"""Writes generated pages; one that stays the same keeps its time, so that Sphinx reads it once."""

from pathlib import Path


class Pages:
    """The generated pages of one folder: what is not written again is removed at the end."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.written = set()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.keep(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def keep(self, name):
        self.written.add(self.folder / name)

    def finish(self):
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self.written:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
