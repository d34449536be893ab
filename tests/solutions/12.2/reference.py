def defended(rows, headroom):
    good = [
        row
        for row in rows
        if not row["failed"] and not row["dropped"] and row["headroom"] >= headroom
    ]
    return min(good, key=lambda row: row["cost"])["name"] if good else None
