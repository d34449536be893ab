# says: got 'nothing'
def defended(rows, headroom):
    return min(rows, key=lambda row: row["cost"])["name"]
