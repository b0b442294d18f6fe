"""A runbook: half of ROWS lives; in each of GENERATIONS one row in fifty goes, and one that is out comes.

    python generations.py ROWS GENERATIONS > runbook.yaml
"""
import sys

rows, generations = int(sys.argv[1]), int(sys.argv[2])
half, each = rows // 2, rows // 100
print("data:", f"  max_pts: {rows}", sep="\n")
number = 0


def step(operation, start=None):
    global number
    number += 1
    print(f"  {number}:", f'    operation: "{operation}"', sep="\n")
    if start is not None:
        end = start + (half if number == 1 else each)
        print(f"    start: {start}", f"    end: {end}", sep="\n")


step("insert", 0)
step("search")
stretches = half // each
living, out = list(range(stretches)), list(range(stretches, 2 * stretches))
for generation in range(generations):
    going = living.pop((generation * 19) % len(living))
    coming = out.pop(0)
    step("delete", going * each)
    step("insert", coming * each)
    living.append(coming)
    out.append(going)
    if (generation + 1) % 10 == 0:
        step("search")
