# says: got ['what failed, and why (409, locked)']
handoff = """\
## SESSION INTENT
Refund order A7, never above 80 euro.

## SUMMARY
A guess: INV-31 was paid today.

## ARTIFACTS
INV-31

## NEXT STEPS
Refund it."""
