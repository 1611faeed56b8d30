"""The pages for people.  The names of the first ones are those that django-allauth looks for."""

from django.urls import path

from apps.web import erasures, frame, graph, memories, overview, requests, review, search, signing_in, spaces
from apps.web.pages import Need, needs

SPACE = "t/<str:tenant>/spaces/<int:space_id>"

urlpatterns = [
    path("", overview.home, name="web_home"),
    path("sign-in", signing_in.sign_in, name="account_login"),
    path("sign-in/code", signing_in.sign_in_code, name="mfa_authenticate"),
    path("sign-in/passkey", signing_in.sign_in_passkey, name="mfa_login_webauthn"),
    path("sign-out", signing_in.sign_out, name="account_logout"),
    path("switched-off", signing_in.inactive, name="account_inactive"),
    path("step-up", signing_in.step_up, name="account_reauthenticate"),
    path("step-up", signing_in.step_up, name="mfa_reauthenticate"),
    path("step-up", signing_in.step_up, name="mfa_reauthenticate_webauthn"),
    path("account", signing_in.account, name="mfa_index"),
    path("account", signing_in.account, name="mfa_list_webauthn"),
    path("account/passkeys/add", signing_in.add_passkey, name="mfa_add_webauthn"),
    path("account/passkeys/<int:pk>/remove", signing_in.remove_passkey, name="mfa_remove_webauthn"),
    path("account/authenticator/add", signing_in.add_codes, name="mfa_activate_totp"),
    path("account/authenticator/remove", signing_in.remove_codes, name="mfa_deactivate_totp"),
    path("account/recovery-codes", signing_in.recovery_codes, name="mfa_view_recovery_codes"),
    path("account/recovery-codes/new", signing_in.new_recovery_codes, name="mfa_generate_recovery_codes"),
    path("account/password", signing_in.change_password, name="account_change_password"),
    path("account/sessions", signing_in.list_sessions, name="usersessions_list"),
    path("colours", needs(Need.NOBODY, methods="POST")(frame.choose_colours), name="web_colours"),
    path("t/<str:tenant>", overview.overview, name="web_tenant"),
    path("t/<str:tenant>/spaces", spaces.spaces, name="web_spaces"),
    path("t/<str:tenant>/review", review.review, name="web_review"),
    path("t/<str:tenant>/review/decide", review.decide_candidates, name="web_decide_candidates"),
    path("t/<str:tenant>/review/<int:candidate_id>/undo", review.undo_candidate, name="web_undo_candidate"),
    path("t/<str:tenant>/requests", requests.requests, name="web_requests"),
    path("t/<str:tenant>/requests/<int:request_id>/confirm", requests.confirm_request, name="web_confirm_request"),
    path("t/<str:tenant>/requests/<int:request_id>/refuse", requests.refuse_request, name="web_refuse_request"),
    path("t/<str:tenant>/privacy", requests.privacy_requests, name="web_privacy_requests"),
    path("t/<str:tenant>/privacy/<int:request_id>/file", requests.prepare_privacy_file, name="web_prepare_file"),
    path("t/<str:tenant>/privacy/<int:request_id>/link", requests.link_privacy_file, name="web_link_file"),
    path("t/<str:tenant>/erasures", erasures.erasures, name="web_erasures"),
    path("t/<str:tenant>/erasures/<str:erasure_id>", erasures.erasure, name="web_erasure"),
    path("t/<str:tenant>/receipts/<str:receipt_id>", erasures.receipt, name="web_receipt"),
    path("t/<str:tenant>/erase", erasures.erase_tenant, name="web_erase_tenant"),
    path("t/<str:tenant>/projects/<str:project_id>/erase", erasures.erase_project, name="web_erase_project"),
    path(f"{SPACE}/erase", erasures.erase_person, name="web_erase_person"),
    path(f"{SPACE}/memories/<int:memory_id>/erase", erasures.erase_memory, name="web_erase_memory"),
    path(SPACE, memories.memories, name="web_memories"),
    path(f"{SPACE}/search", search.search, name="web_search"),
    path(f"{SPACE}/graph", graph.graph, name="web_graph"),
    path(f"{SPACE}/delete", memories.delete_many, name="web_delete_many"),
    path(f"{SPACE}/memories/<int:memory_id>", memories.memory, name="web_memory"),
    path(f"{SPACE}/memories/<int:memory_id>/delete", memories.delete_memory, name="web_delete_memory"),
    path(f"{SPACE}/memories/<int:memory_id>/restore", memories.restore_memory, name="web_restore_memory"),
]
