"""Boards made with WP Job Manager (Jobicy, Jobspresso and many more): RSS, and elements in a
namespace whose URI is the site's own. Their text is escaped once more than it should be."""

from __future__ import annotations

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats import rss
from webloom.parsing.feeds.formats.format import Format


def _certainty(head: Head) -> int:
    declared = "job_listing" in head.namespaces
    used = any(name.startswith("job_listing:") for name in head.names)
    return 90 if (declared or used) and rss.is_rss(head) else 0


FORMAT = Format(
    name="wp-job-manager",
    about="RSS of a WP Job Manager board, such as Jobicy or Jobspresso",
    record_names=rss.FORMAT.record_names,
    certainty=_certainty,
    fields={
        **rss.FIELDS,
        "company": ("job_listing:company", "job_listing:company_name"),
        "location": ("job_listing:location",),
        "jobType": ("job_listing:job_type",),
        "salary": ("job_listing:salary", "job_listing:job_salary"),
        "salaryCurrency": ("job_listing:job_salary_currency",),
        "salaryPeriod": ("job_listing:job_salary_unit",),
        "categories": ("category", "dc:subject", "job_listing:job_category"),
        "expiresAt": ("job_listing:job_expires", "job_listing:expires"),
    },
    last_resort={"description": rss.LAST_RESORT["description"]},
    refine=rss.refine,
)
