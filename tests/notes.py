"""The check questions of the lecture notes, by the ids under which the book asks them."""

ASKED = {
    "000": ("09-where", "09-zero", "09-branches"),
    "002": ("14-rows", "14-asks"),  # the rows of its comparison tables
    "004": ("05-tau-and-delta", "04-channels", "06-no-delta", "21-versus", "03-broadcast"),
}
EVERY = {id for ids in ASKED.values() for id in ids}
