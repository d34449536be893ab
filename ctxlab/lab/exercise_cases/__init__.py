"""The exercises of the course, one table per lesson: `lesson_NN.EXERCISES`.

A lesson's module holds nothing but its table:

    EXERCISES = (
        Exercise(
            "8.1",
            "keep the newest messages that fit a budget",
            hint="Walk backwards and add up; stop before the sum passes the budget.",
            cases=[Case((MESSAGES, 30), lambda m, n: m[cut_for_tokens(m, n):])],
        ),
        Prediction("8.p", "how many messages fit?", hint="...", answer=fits_in_budget),
    )

An expected value that the library can compute is computed by it, never written down:
give a function of the arguments (or a value taken from the library).
"""
