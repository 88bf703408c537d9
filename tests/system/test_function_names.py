"""The Functions keep their names: scale settings, alerts and dashboards in Azure go by them."""

from tests.support.functions import app_functions

NAMES = """
archives_delete archives_get archives_list archives_upload chunking chunks_get chunks_list
corrections_create corrections_list corrections_revoke deliveries digests_refresh drafts_get drafts_list
embedding failures feeds_calendar feeds_calls feeds_draft feeds_outcome feeds_person feeds_source
feeds_thread health health_live housekeeping ingestion messages_get messages_raw openapi operations
operations_get operator operator_archive operator_correct operator_corrections operator_enter
operator_errors operator_leave operator_letters operator_letters_act operator_requeue operator_source
operator_source_send operator_upload operator_upload_begin operator_upload_end operator_upload_part
operator_uploaded orchestration page_archive page_archives page_confirm page_confirm_send page_draft
page_drafts page_following page_home page_mail page_person page_report page_report_error
page_report_error_send page_report_print page_search
page_source page_sources page_subscribe page_subscribe_send page_thread page_thread_mbox
page_thread_of_mail page_timeline page_unsubscribe page_unsubscribe_send parsing placements_create
placements_list placements_undo removal reporting reports_get reports_list reports_markdown
resummaries_create resummaries_get search sources_create sources_delete sources_get sources_list
sources_trigger sources_update static summarization sweep threads_get threads_list threads_messages
zz_missing
"""


def test_every_function_has_the_name_that_it_always_had() -> None:
    assert sorted(function.get_function_name() for function in app_functions()) == NAMES.split()
