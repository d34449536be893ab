def cached_share(rows):
    billed = [row for row in rows if row["billed"]]
    total = sum(row["billed"] for row in billed)
    return sum(row["cached"] for row in billed) / total if total else 0.0
