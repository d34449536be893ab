handoff = """\
## SESSION INTENT
Refund order A7, never above 80 euro.

## SUMMARY
Tried: refund(A7) fails with 409, locked until invoice INV-31 is paid.
Guess, not checked: INV-31 was paid today.

## ARTIFACTS
INV-31: state unknown. Order A7: nothing paid back so far.

## NEXT STEPS
Look INV-31 up; if it is paid, try the refund again."""
