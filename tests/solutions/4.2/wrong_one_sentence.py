# says: expected 0 items, got 4: ['a section SESSION INTENT'
handoff = "Refund A7, at most 80 euro; 409, locked: INV-31. A guess: it is paid."
