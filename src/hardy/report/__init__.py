"""Numbers to pages: `hardy.report(store, "report.html")`, and the modules that it is made of."""

from hardy.rooms import call_room

REPORT_FORMATS = ("html", "md", "csv", "json", "png")  # of a report, by the suffix of its file

call_room(__name__, "hardy.report.write:write_report")
