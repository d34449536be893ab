# says: expected 0.5, got 1
def cached_share(rows):
    billed = [row for row in rows if row["billed"]]
    fresh = sum(row["billed"] - row["cached"] for row in billed)
    return sum(row["cached"] for row in billed) / fresh if fresh else 0.0
