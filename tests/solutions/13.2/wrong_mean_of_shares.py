# says: expected 0.5, got 0.33
def cached_share(rows):
    shares = [row["cached"] / row["billed"] for row in rows if row["billed"]]
    return sum(shares) / len(shares) if shares else 0.0
