"""Write the transcripts: ``python -m tests.build_transcripts``."""

from pathlib import Path

from tests.build_transcripts.catalogue import built

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"


def main() -> None:
    """Write every transcript of the catalogue, and say how large it is."""
    TRANSCRIPTS.mkdir(parents=True, exist_ok=True)
    for name, text in built():
        data = text.encode("utf-8")
        (TRANSCRIPTS / f"{name}.json").write_bytes(data)
        print(f"{name:<18} {len(data):>9,} bytes")


if __name__ == "__main__":
    main()
