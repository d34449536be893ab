# says: expected 1, got 0
def within(rows, share):
    errors = [row["predicted"] / row["billed"] - 1 for row in rows if row["billed"]]
    return sum(abs(error) > share for error in errors)
