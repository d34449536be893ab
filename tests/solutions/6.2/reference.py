def first_aid(pairs):
    ratios = [billed / counted for counted, billed in pairs if counted >= 4_000]
    return min(4.0, max(ratios)) if ratios else None
