# says: TypeError
def within(rows, share):
    return sum(abs(row["predicted"] / row["billed"] - 1) <= share for row in rows)
