"""Numbers to pages: `hardy.report(store, "report.html")`, and what it is made of."""

from hardy.rooms import call_room

call_room(__name__, "hardy.report.write:write_report")
