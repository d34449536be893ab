# says: 'a section SESSION INTENT', 'a section SUMMARY'
handoff = "Refund A7, at most 80 euro; 409, locked: INV-31. A guess: it is paid."
