# says: got 'characters'
def defended(rows, headroom):
    good = [r for r in rows if not r["failed"] and r["headroom"] >= headroom]
    good = sorted(good, key=lambda row: (not row["dropped"], row["cost"]))
    return good[0]["name"] if good else None
