# says: got ['that the payment is a guess']
handoff = """\
## SESSION INTENT
Refund order A7, never above 80 euro.

## SUMMARY
refund(A7) failed with 409: locked. INV-31 was paid today.

## ARTIFACTS
INV-31

## NEXT STEPS
Try again."""
