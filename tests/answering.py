"""The answers that a question knows words for, and the keys that give them on a page."""

CHOSEN = "q => Object.fromEntries([...q.querySelectorAll('select')].map(({ dataset, value }) => [dataset.key, value]))"


def answers(data):
    """Every answer that has words of its own, the right one last. `data` is what the page's script reads."""
    right = data["answer"]
    match data["kind"]:
        case "choice":
            return [*(key for key in data["feedback"] if key != right), right]
        case "number":
            slips = [slip["value"] for slip in data["slips"]]
            return [max(map(abs, [right, *slips])) + 3 * data["tolerance"], *slips, right]
        case "several":
            extra = [[*right, key] for key in data["feedback"] if key not in right]
            return [*extra, *([key] for key in right if len(right) > 1), right]
        case "order":
            known = [put_before(right, pair["first"], pair["second"]) for pair in data["pairs"]]
            return [*known, *([data["items"]] if data["items"] not in known else []), right]
        case "match":
            known = [right | {pair["first"]: pair["second"]} for pair in data["pairs"]]
            others = [right | {key: other} for key in right for other in set(right.values()) - {right[key]}]
            return [*known, *(wrong for wrong in others if wrong not in known), right]
        case "written":
            return [right[:-1], right]


def put_before(order, first, second):
    """The order in which `first` stands right before `second`."""
    rest = [key for key in order if key != first]
    at = rest.index(second)
    return [*rest[:at], first, *rest[at:]]


def give(question, data, answer):
    """Answer the question of a page with the keyboard, and check it: what is said, and the verdict."""
    check = question.locator(".ts-q-row button").first
    match data["kind"]:
        case "choice":
            question.locator(f"input[value='{answer}']").press("Space")
        case "number":
            question.get_by_role("textbox").fill(repr(answer))
        case "several":
            tick(question, lambda box, i: box.get_attribute("value") in answer)
        case "order":
            for place, key in enumerate(answer):
                line = question.locator(f"[data-key='{key}']")
                while line.evaluate("line => [...line.parentElement.children].indexOf(line)") > place:
                    line.locator("[data-move='-1']").press("ArrowUp")
        case "match":
            for key, partner in answer.items() - question.evaluate(CHOSEN).items():
                question.locator(f"select[data-key='{key}']").select_option(partner)
        case "written":
            question.get_by_role("textbox").fill("In my words.")
            if not question.locator(".ts-q-model").is_visible():
                check.press("Enter")
            tick(question, lambda box, i: i in answer)
    check.press("Enter")
    says = question.locator(".ts-q-feedback")
    return says.get_attribute("data-verdict"), says.inner_text()


def tick(question, wanted):
    for i, box in enumerate(question.get_by_role("checkbox").all()):
        if box.is_checked() != wanted(box, i):
            box.press("Space")
