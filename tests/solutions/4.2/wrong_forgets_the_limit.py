# says: got ['the limit the user set (80)']
handoff = """\
## SESSION INTENT
Refund order A7.

## SUMMARY
refund(A7) failed with 409. A guess: INV-31 is paid.

## ARTIFACTS
INV-31

## NEXT STEPS
Try again."""
