# says: ZeroDivisionError
def cached_share(rows):
    billed = [row for row in rows if row["billed"]]
    return sum(r["cached"] for r in billed) / sum(r["billed"] for r in billed)
