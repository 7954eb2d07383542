"""Adds up JUnit files: one line `N passed, N failed`.  A skipped test needs a reason, else it counts as failed."""
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = skipped = 0
for path in sys.argv[1:]:
    for case in ElementTree.parse(path).iter("testcase"):
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print(f"failed: {case.get('classname', '')} {case.get('name')}")
        elif skip is not None:
            reason = (skip.get("message") or skip.text or case.findtext("system-out") or "").strip()  # the last: meson's place
            print(f"skipped: {case.get('name')}: {reason or 'no reason given'}")
            skipped += 1
            failed += not reason
        else:
            passed += 1
if skipped:
    print(f"{skipped} skipped")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
