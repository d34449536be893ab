# says: got 'defaults'
def defended(rows, headroom):
    good = [r for r in rows if not r["failed"] and not r["dropped"]]
    best = max(good, key=lambda row: row["headroom"], default=None)
    return (best and best["headroom"] >= headroom and best["name"]) or None
