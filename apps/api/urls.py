"""The list of routes.  No trailing slashes, because the published client cannot follow a redirect; literals before ids.
Those of mem0's clients end in one, because theirs do.

Each route has its row in tests/api/test_access.py.
"""

from django.urls import path

from apps.api import connectors
from apps.api.candidates.views import AcceptView, BulkDecideView, CandidatesView, CandidateView, RejectView
from apps.api.control.keys import BulkRevokeView, KeysView, KeyView, RotateKeyView, TestKeyView
from apps.api.control.organizations import MembersView, MemberView, OrganizationsView
from apps.api.control.projects import ArchiveProjectView, ProjectsView, ProjectView, UnarchiveProjectView
from apps.api.control.signing_in import (
    LoginView,
    LogoutAllView,
    LogoutView,
    MeView,
    RefreshTokensView,
    RevokeSessionView,
    SecondStepView,
    SessionsView,
    SignUpView,
    StepUpView,
)
from apps.api.control.tenant import SettingsView, TrailView, UsageView
from apps.api.control.webhooks import (
    DeliveriesView,
    DeliveryView,
    EndpointView,
    EventTypesView,
    LatestDeliveryView,
    PauseView,
    RecentDeliveriesView,
    ReplayView,
    ResumeView,
    RetryDeliveryView,
    RotateSecretView,
    TestView,
    WebhookHealthView,
    WebhooksView,
)
from apps.api.exports.views import (
    CancelExportView,
    DownloadUrlView,
    ExportFileView,
    ExportJobView,
    ExportsView,
    RetryExportView,
)
from apps.api.health import HealthView
from apps.api.imports.views import CancelImportView, ImportsView, ImportView
from apps.api.mcp.connected import MemoryMcpView
from apps.api.mcp.views import GraphMcpView, TypedMcpView
from apps.api.mem0.adding import Mem0AddView, Mem0EventsView, Mem0EventView
from apps.api.mem0.entities import Mem0EntitiesView, Mem0EntityView, PingView
from apps.api.mem0.memories import (
    Mem0BatchView,
    Mem0FeedbackView,
    Mem0HistoryView,
    Mem0MemoriesView,
    Mem0MemoryView,
)
from apps.api.mem0.searching import Mem0ListView, Mem0SearchView
from apps.api.mem0.unbuilt import (
    UnbuiltExportsView,
    UnbuiltProfilesView,
    UnbuiltProjectsView,
    UnbuiltSummaryView,
    UnbuiltWebhooksView,
)
from apps.api.memory.add import AddView
from apps.api.memory.batch_update import BatchUpdateView
from apps.api.memory.bulk_add import BulkAddView
from apps.api.memory.compose import ComposeView
from apps.api.memory.decisions import DecisionsView, ResolveView
from apps.api.memory.export import ExportView
from apps.api.memory.feedback import FeedbackView
from apps.api.memory.forget import ForgetView, PurgeView
from apps.api.memory.forget_requests import CancelForgetRequestView, ForgetRequestsView, ForgetRequestView
from apps.api.memory.graph import GraphView
from apps.api.memory.history import HistoryView
from apps.api.memory.items import MemoryView
from apps.api.memory.knowledge import IntelligenceView, KnowledgeStatsView
from apps.api.memory.ontology import OntologyView
from apps.api.memory.query import QueryView, RetrieveView
from apps.api.memory.refresh import RefreshView
from apps.api.memory.relations import RelationsView, RelationView
from apps.api.memory.search_routed import SearchRoutedView
from apps.api.memory.summarize import ClustersView, SummarizeView
from apps.api.memory.synthesize import SynthesizeView
from apps.api.memory.upload import UploadView
from apps.api.oauth_metadata import AliasMetadataView, ResourceMetadataView, ServerMetadataView
from apps.api.platform.memories import PlatformMemoriesView, PlatformMemoryView
from apps.api.platform.nodes import MemoryNodesView
from apps.api.profiles.audit import NamespaceAuditView, ProfileAuditView
from apps.api.profiles.branches import BranchesView, BranchView
from apps.api.profiles.checkpoints import CheckpointsView, RewindView
from apps.api.profiles.erasures import ErasuresView, ErasureView
from apps.api.profiles.extract import ExtractView
from apps.api.profiles.memories import TypedMemoriesView, TypedMemoryView
from apps.api.profiles.policies import NamespacePolicyView, ProfilePolicyView
from apps.api.profiles.recall import AskView, TypedRecallView
from apps.api.profiles.sessions import ProfileSessionsView, ProfileSessionView, ProfilesView, ProfileTurnsView
from apps.api.profiles.tokens import NamespaceTokensView, NamespaceTokenView, ProfileTokensView, ProfileTokenView
from apps.api.reference import DocsView, SchemaView
from apps.api.v1.add_turn import AddTurnView
from apps.api.v1.audit import EventsView
from apps.api.v1.connectors import DocumentConnectorsView, DocumentConnectorView, RunConnectorView
from apps.api.v1.entities import EntitiesView, EntityView, MergeView, UnmergeView
from apps.api.v1.facts import ContradictionsView, FactsQueryView, FactsView
from apps.api.v1.history import AppendHistoryView, DeleteHistoryView, ListHistoryView
from apps.api.v1.listing import ListView
from apps.api.v1.live_events import EventPageView, EventStreamView
from apps.api.v1.objects import ObjectsView, ObjectView
from apps.api.v1.privacy import PrivacyRequestsView
from apps.api.v1.quota import QuotaView
from apps.api.v1.recall import PromptQueryView, RecallView
from apps.api.v1.receipts import ReceiptKeysView, ReceiptsView, ReceiptView
from apps.api.v1.retention import RetentionPreviewView, RetentionView
from apps.api.v1.sessions import ConversationSessionsView, SummarizeSessionView
from apps.api.v1.state import (
    DeleteStateView,
    GetStateView,
    ListStateView,
    NamespacesView,
    PutStateView,
    SearchStateView,
)
from apps.api.v1.state_batch import BatchStateView
from apps.api.v1.status import StatusView
from apps.api.v1.types import SplitTypeView, SunsetTypeView, TypeChangeView, TypesView, UndoTypeChangeView

urlpatterns = [
    path("health", HealthView.as_view()),
    path("openapi.json", SchemaView.as_view()),
    path("docs", DocsView.as_view()),
    path("memory/add", AddView.as_view()),
    path("memory/bulk-add", BulkAddView.as_view()),
    path("memory/batch-update", BatchUpdateView.as_view()),
    path("memory/upload", UploadView.as_view()),
    path("memory/query", QueryView.as_view()),
    path("memory/retrieve", RetrieveView.as_view()),
    path("memory/search/routed", SearchRoutedView.as_view()),
    path("memory/intelligence", IntelligenceView.as_view()),
    path("memory/knowledge/stats", KnowledgeStatsView.as_view()),
    path("memory/summarize", SummarizeView.as_view()),
    path("memory/clusters", ClustersView.as_view()),
    path("memory/compose", ComposeView.as_view()),
    path("memory/synthesize", SynthesizeView.as_view()),
    path("memory/export", ExportView.as_view()),
    path("memory/forget", ForgetView.as_view()),
    path("memory/forget-requests", ForgetRequestsView.as_view()),
    path("memory/forget-requests/<int:request_id>", ForgetRequestView.as_view()),
    path("memory/forget-requests/<int:request_id>/cancel", CancelForgetRequestView.as_view()),
    path("memory/user/purge", PurgeView.as_view()),
    path("memory/refresh", RefreshView.as_view()),
    path("memory/graph", GraphView.as_view()),
    path("memory/decisions", DecisionsView.as_view()),
    path("memory/decision/resolve", ResolveView.as_view()),
    path("memory/ontology", OntologyView.as_view()),
    path("memory/<int:memory_id>", MemoryView.as_view()),
    path("memory/<int:memory_id>/feedback", FeedbackView.as_view()),
    path("memory/<int:memory_id>/history", HistoryView.as_view()),
    path("memory/<int:memory_id>/relations", RelationsView.as_view()),
    path("memory/<int:memory_id>/relations/<int:edge_id>", RelationView.as_view()),
    path("imports", ImportsView.as_view()),
    path("imports/<str:job_id>", ImportView.as_view()),
    path("imports/<str:job_id>/cancel", CancelImportView.as_view()),
    path("exports", ExportsView.as_view()),
    path("exports/<str:job_id>", ExportJobView.as_view()),
    path("exports/<str:job_id>/cancel", CancelExportView.as_view()),
    path("exports/<str:job_id>/retry", RetryExportView.as_view()),
    path("exports/<str:job_id>/download-url", DownloadUrlView.as_view()),
    path("exports/<str:job_id>/file/<str:token>", ExportFileView.as_view()),
    path("v1/candidates", CandidatesView.as_view()),
    path("v1/candidates/bulk", BulkDecideView.as_view()),
    path("v1/candidates/<int:candidate_id>", CandidateView.as_view()),
    path("v1/candidates/<int:candidate_id>/accept", AcceptView.as_view()),
    path("v1/candidates/<int:candidate_id>/reject", RejectView.as_view()),
    path("v1/quota", QuotaView.as_view()),
    path("v1/types", TypesView.as_view()),
    path("v1/types/changes/<int:change_id>", TypeChangeView.as_view()),
    path("v1/types/changes/<int:change_id>/undo", UndoTypeChangeView.as_view()),
    path("v1/types/<str:name>/split", SplitTypeView.as_view()),
    path("v1/types/<str:name>/sunset", SunsetTypeView.as_view()),
    path("v1/retention", RetentionView.as_view()),
    path("v1/retention/preview", RetentionPreviewView.as_view()),
    path("v1/audit/events", EventsView.as_view()),
    path("v1/events", EventPageView.as_view()),
    path("v1/events/stream", EventStreamView.as_view()),
    path("v1/privacy/requests", PrivacyRequestsView.as_view()),
    path("v1/receipts", ReceiptsView.as_view()),
    path("v1/receipts/<str:receipt_id>", ReceiptView.as_view()),
    path("v1/receipt-keys", ReceiptKeysView.as_view()),
    path("v1/facts", FactsView.as_view()),
    path("v1/facts/query", FactsQueryView.as_view()),
    path("v1/facts/contradictions", ContradictionsView.as_view()),
    path("v1/entities", EntitiesView.as_view()),
    path("v1/entities/<int:entity_id>", EntityView.as_view()),
    path("v1/entities/<int:entity_id>/merge", MergeView.as_view()),
    path("v1/entities/<int:entity_id>/unmerge", UnmergeView.as_view()),
    path("v1/objects", ObjectsView.as_view()),
    path("v1/objects/<int:object_id>", ObjectView.as_view()),
    path("v1/connectors", DocumentConnectorsView.as_view()),
    path("v1/connectors/<int:connector_id>", DocumentConnectorView.as_view()),
    path("v1/connectors/<int:connector_id>/run", RunConnectorView.as_view()),
    path("v1/sessions", ConversationSessionsView.as_view()),
    path("v1/sessions/summarize", SummarizeSessionView.as_view()),
    path("v1/history/append", AppendHistoryView.as_view()),
    path("v1/history/list", ListHistoryView.as_view()),
    path("v1/history/delete", DeleteHistoryView.as_view()),
    path("v1/state/put", PutStateView.as_view()),
    path("v1/state/batch", BatchStateView.as_view()),
    path("v1/state/get", GetStateView.as_view()),
    path("v1/state/list", ListStateView.as_view()),
    path("v1/state/search", SearchStateView.as_view()),
    path("v1/state/delete", DeleteStateView.as_view()),
    path("v1/state/namespaces", NamespacesView.as_view()),
    path("v1/memory/add_turn", AddTurnView.as_view()),
    path("v1/memory/recall", RecallView.as_view()),
    path("v1/memory/query", PromptQueryView.as_view()),
    path("v1/memory/status/<int:memory_id>", StatusView.as_view()),
    path("v1/memory/<str:tenant_id>/<path:user_id>/list", ListView.as_view()),
    path("v1/namespaces/<str:ns>/policy", NamespacePolicyView.as_view()),
    path("v1/namespaces/<str:ns>/audit", NamespaceAuditView.as_view()),
    path("v1/namespaces/<str:ns>/tokens", NamespaceTokensView.as_view()),
    path("v1/namespaces/<str:ns>/tokens/<str:token_id>", NamespaceTokenView.as_view()),
    path("v1/memory/<str:ns>", ProfilesView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/memories", TypedMemoriesView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/memories/<str:public_id>", TypedMemoryView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/recall", TypedRecallView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/ask", AskView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/extract", ExtractView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/sessions", ProfileSessionsView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/sessions/<path:session_id>/turns", ProfileTurnsView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/sessions/<path:session_id>", ProfileSessionView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/branches", BranchesView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/branches/<str:branch>", BranchView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/checkpoints", CheckpointsView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/rewind", RewindView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/policy", ProfilePolicyView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/audit", ProfileAuditView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/tokens", ProfileTokensView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/tokens/<str:token_id>", ProfileTokenView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/erasures", ErasuresView.as_view()),
    path("v1/memory/<str:ns>/<str:profile>/erasures/<str:erasure_id>", ErasureView.as_view()),
    path("api/v1/memories", PlatformMemoriesView.as_view()),
    path("api/v1/memories/<str:platform_id>", PlatformMemoryView.as_view()),
    path("api/v1/memory-nodes", MemoryNodesView.as_view()),
    path("v1/mcp", MemoryMcpView.as_view()),
    path("v1/mcp/graph", GraphMcpView.as_view()),
    path("v1/ping/", PingView.as_view()),
    path("v3/memories/add/", Mem0AddView.as_view()),
    path("v3/memories/search/", Mem0SearchView.as_view()),
    path("v3/memories/", Mem0ListView.as_view()),
    path("v1/event/<str:event_id>/", Mem0EventView.as_view()),
    path("v1/events/", Mem0EventsView.as_view()),
    path("v1/memories/", Mem0MemoriesView.as_view()),
    path("v1/memories/<str:mem0_id>/", Mem0MemoryView.as_view()),
    path("v1/memories/<str:mem0_id>/history/", Mem0HistoryView.as_view()),
    path("v1/batch/", Mem0BatchView.as_view()),
    path("v1/feedback/", Mem0FeedbackView.as_view()),
    path("v1/entities/", Mem0EntitiesView.as_view()),
    path("v2/entities/user/<str:name>/profile/", UnbuiltProfilesView.as_view()),
    path("v2/entities/<str:entity_type>/<path:name>/", Mem0EntityView.as_view()),
    path("v2/profiles/<path:rest>", UnbuiltProfilesView.as_view()),
    path("v1/exports/", UnbuiltExportsView.as_view()),
    path("v1/exports/get/", UnbuiltExportsView.as_view()),
    path("v1/summary/", UnbuiltSummaryView.as_view()),
    path("api/v1/orgs/organizations/<path:rest>", UnbuiltProjectsView.as_view()),
    path("api/v1/webhooks/<path:rest>", UnbuiltWebhooksView.as_view()),
    path("v1/mcp/typed", TypedMcpView.as_view()),
    path("mcp", MemoryMcpView.as_view()),
    path(".well-known/oauth-protected-resource", ResourceMetadataView.as_view()),
    path(".well-known/oauth-protected-resource/v1/mcp", ResourceMetadataView.as_view()),
    path(".well-known/oauth-protected-resource/mcp", AliasMetadataView.as_view()),
    path(".well-known/oauth-authorization-server", ServerMetadataView.as_view()),
    path(".well-known/openid-configuration", ServerMetadataView.as_view()),  # where some clients look first
    path("auth/signup", SignUpView.as_view()),
    path("auth/login", LoginView.as_view()),
    path("auth/mfa/complete", SecondStepView.as_view()),
    path("auth/refresh", RefreshTokensView.as_view()),
    path("auth/logout", LogoutView.as_view()),
    path("auth/logout-all", LogoutAllView.as_view()),
    path("auth/me", MeView.as_view()),
    path("auth/step-up", StepUpView.as_view()),
    path("auth/sessions", SessionsView.as_view()),
    path("auth/sessions/<int:session_id>/revoke", RevokeSessionView.as_view()),
    path("organizations", OrganizationsView.as_view()),
    path("org/projects", ProjectsView.as_view()),
    path("org/projects/<str:project_id>", ProjectView.as_view()),
    path("org/projects/<str:project_id>/archive", ArchiveProjectView.as_view()),
    path("org/projects/<str:project_id>/unarchive", UnarchiveProjectView.as_view()),
    path("org/api-keys", KeysView.as_view()),
    path("org/api-keys/bulk-revoke", BulkRevokeView.as_view()),
    path("org/api-keys/<int:key_id>", KeyView.as_view()),
    path("org/api-keys/<int:key_id>/rotate", RotateKeyView.as_view()),
    path("org/api-keys/<int:key_id>/test", TestKeyView.as_view()),
    path("org/usage", UsageView.as_view()),
    path("org/team/members", MembersView.as_view()),
    path("org/team/members/<int:user_id>", MemberView.as_view()),
    path("org/audit-logs", TrailView.as_view()),
    path("org/tenant-settings", SettingsView.as_view()),
    path("org/webhooks", WebhooksView.as_view()),
    path("org/webhooks/event-types", EventTypesView.as_view()),
    path("org/webhooks/health", WebhookHealthView.as_view()),
    path("org/webhooks/deliveries/recent", RecentDeliveriesView.as_view()),
    path("org/webhooks/deliveries/<int:delivery_id>", DeliveryView.as_view()),
    path("org/webhooks/deliveries/<int:delivery_id>/retry", RetryDeliveryView.as_view()),
    path("org/webhooks/<int:endpoint_id>", EndpointView.as_view()),
    path("org/webhooks/<int:endpoint_id>/pause", PauseView.as_view()),
    path("org/webhooks/<int:endpoint_id>/resume", ResumeView.as_view()),
    path("org/webhooks/<int:endpoint_id>/rotate-secret", RotateSecretView.as_view()),
    path("org/webhooks/<int:endpoint_id>/test", TestView.as_view()),
    path("org/webhooks/<int:endpoint_id>/replay", ReplayView.as_view()),
    path("org/webhooks/<int:endpoint_id>/deliveries", DeliveriesView.as_view()),
    path("org/webhooks/<int:endpoint_id>/deliveries/latest", LatestDeliveryView.as_view()),
    *connectors.routes(),
]
