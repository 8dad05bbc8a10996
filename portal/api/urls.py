"""Every address below /api/. A new one needs a row in the access matrix (tests/api/test_access_matrix.py)."""

from __future__ import annotations

from django.urls import URLPattern, path

from billing.ledger import api as ledger
from billing.prices import api as prices
from governance.approvals import api as asks
from governance.approvals import api_files as ask_files
from governance.approvals import api_rules as ask_rules
from governance.audit import api as audit
from governance.catalogue import api as catalogue
from governance.doors.door import Door
from governance.notices import api as notices
from governance.notices import channel_api as channels
from governance.quotas import api as quotas
from governance.quotas import pool_api as offered
from governance.quotas import terms_api as terms
from governance.quotas.enforcement import api as enforcement
from governance.reclaim import api as reclaim
from governance.tenants import api as tenants
from governance.usage import api as usage
from governance.usage.ops import api as ops
from governance.usage.ops import refused
from governance.work import api as work
from portal.api import docs, organisation, runs, schema
from portal.exports import api as exports
from portal.profile import api as profile

DOORS: list[tuple[str, type[Door]]] = [
    ("me", tenants.MeDoor),
    ("organisation", organisation.OrganisationDoor),
    ("departments", tenants.DepartmentsDoor),
    ("projects", tenants.ProjectsDoor),
    ("mappings", tenants.MappingsDoor),
    ("pools", catalogue.PoolsDoor),
    ("models", catalogue.ModelsDoor),
    ("nodes", catalogue.NodesDoor),
    ("node-states", catalogue.NodeStatesDoor),
    ("pools/<str:pool>/room", offered.RoomDoor),
    ("quotas", quotas.QuotasDoor),
    ("quotas/<str:quota>", quotas.QuotaDoor),
    ("quotas/<str:quota>/history", quotas.HistoryDoor),
    ("quotas/<str:quota>/use", quotas.UseDoor),
    ("quotas/<str:quota>/enforcement", enforcement.StandingDoor),
    ("quotas/<str:quota>/change", quotas.ChangeDoor),
    ("quotas/<str:quota>/return", quotas.ReturnDoor),
    ("quotas/<str:quota>/revoke", quotas.RevokeDoor),
    ("quotas/<str:quota>/suspend", quotas.SuspendDoor),
    ("quotas/<str:quota>/resume", quotas.ResumeDoor),
    ("reclaim/cases", reclaim.CasesDoor),
    ("reclaim/cases/<str:case>", reclaim.CaseDoor),
    ("reclaim/cases/<str:case>/answer", reclaim.CaseAnswerDoor),
    ("reclaim/cases/<str:case>/judge", reclaim.CaseJudgeDoor),
    ("reclaim/cases/<str:case>/undo", reclaim.CaseUndoDoor),
    ("reclaim/cases/<str:case>/withdraw", reclaim.CaseWithdrawDoor),
    ("reclaim/balance", reclaim.BalanceDoor),
    ("reclaim/rules", reclaim.RulesDoor),
    ("reclaim/rules/preview", reclaim.RulePreviewDoor),
    ("reclaim/rules/<str:rule>/switch", reclaim.RuleSwitchDoor),
    ("offerings", offered.OfferingsDoor),
    ("offerings/<str:offering>/change", offered.OfferingChangeDoor),
    ("offerings/<str:offering>/end", offered.OfferingEndDoor),
    ("queue-rules", terms.QueueRulesDoor),
    ("queue-rules/end", terms.QueueRuleEndDoor),
    ("pool-policies", terms.PoliciesDoor),
    ("pool-policies/end", terms.PolicyEndDoor),
    ("department-shares", terms.SharesDoor),
    ("department-shares/end", terms.ShareEndDoor),
    ("prices", prices.PricesDoor),
    ("ledger/statement", ledger.StatementDoor),
    ("ledger/lines", ledger.LinesDoor),
    ("ledger/trial-balance", ledger.BalanceDoor),
    ("runs", usage.RunsDoor),
    ("runs/<str:cluster>/<str:job>/<int:submit>", runs.RunDoor),
    ("usage-days", usage.UsageDaysDoor),
    ("capacity-days", usage.CapacityDaysDoor),
    ("metric-definitions", usage.MetricsDoor),
    ("clusters", ops.ClustersDoor),
    ("clusters/<str:code>", ops.ClusterDoor),
    ("clusters/<str:code>/pull", ops.PullDoor),
    ("clusters/<str:code>/records", ops.RecordsDoor),
    ("clusters/<str:code>/quarantine/retry", ops.QuarantineRetryDoor),
    ("clusters/<str:code>/refused-submissions", refused.RefusedDoor),
    ("clusters/<str:code>/nodes/<str:node>/states", usage.NodeStateDoor),
    ("clusters/<str:code>/desired", enforcement.DesiredDoor),
    ("clusters/<str:code>/limits", enforcement.LimitsDoor),
    ("clusters/<str:code>/limit-orders", enforcement.OrdersDoor),
    ("clusters/<str:code>/enforcement", enforcement.EnforcementDoor),
    ("clusters/<str:code>/enforcement/round", enforcement.RoundDoor),
    ("clusters/<str:code>/enforcement/check", enforcement.CheckDoor),
    ("clusters/<str:code>/drifts", enforcement.DriftsDoor),
    ("clusters/<str:code>/drifts/<int:number>/restore", enforcement.RestoreDoor),
    ("clusters/<str:code>/drifts/<int:number>/adopt", enforcement.AdoptDoor),
    ("findings", ops.FindingsDoor),
    ("quarantine", ops.QuarantineDoor),
    ("intakes", ops.IntakesDoor),
    ("work-items", work.WorkDoor),
    ("work-items/retry", work.RetryDoor),
    ("audit-lines", audit.AuditDoor),
    ("notices", notices.NoticesDoor),
    ("notices/read", notices.ReadDoor),
    ("notice-preferences", notices.WaysDoor),
    ("events", notices.EventsDoor),
    ("channels", channels.ChannelsDoor),
    ("channels/<int:number>", channels.ChannelDoor),
    ("channels/<int:number>/remove", channels.RemoveDoor),
    ("channels/<int:number>/secret", channels.SecretDoor),
    ("channels/<int:number>/test", channels.TestDoor),
    ("channels/<int:number>/deliveries", channels.DeliveriesDoor),
    ("deliveries/<int:number>/again", channels.AgainDoor),
    ("site-profile", profile.ProfileDoor),
    ("asks", asks.AsksDoor),
    ("asks/to-decide", asks.ToDecideDoor),
    ("asks/checks", asks.AskChecksDoor),
    ("asks/<str:ask>", asks.AskDoor),
    ("asks/<str:ask>/grounds", asks.AskGroundsDoor),
    ("asks/<str:ask>/submit", asks.AskSubmitDoor),
    ("asks/<str:ask>/approve", asks.AskApproveDoor),
    ("asks/<str:ask>/return", asks.AskReturnDoor),
    ("asks/<str:ask>/reject", asks.AskRejectDoor),
    ("asks/<str:ask>/withdraw", asks.AskWithdrawDoor),
    ("asks/<str:ask>/hand-over", asks.AskHandOverDoor),
    ("asks/<str:ask>/add-approver", asks.AskAddApproverDoor),
    ("asks/<str:ask>/assign", asks.AskAssignDoor),
    ("asks/<str:ask>/remind", asks.AskRemindDoor),
    ("asks/<str:ask>/comment", asks.AskCommentDoor),
    ("asks/<str:ask>/copy", asks.AskCopyDoor),
    ("asks/<str:ask>/files", ask_files.AskFilesDoor),
    ("asks/<str:ask>/files/<int:number>", ask_files.AskFileDoor),
    ("asks/<str:ask>/files/<int:number>/detach", ask_files.AskFileDetachDoor),
    ("approval-policies", ask_rules.PoliciesDoor),
    ("approval-policies/form", ask_rules.PolicyFormDoor),
    ("approval-policies/validate", ask_rules.PolicyValidateDoor),
    ("approval-policies/simulate", ask_rules.PolicySimulateDoor),
    ("approval-policies/<int:number>/activate", ask_rules.PolicyActivateDoor),
    ("approval-policies/<int:number>/outcome", ask_rules.PolicyOutcomeDoor),
    ("acting-grants", ask_rules.ActingGrantsDoor),
    ("acting-grants/<int:number>/end", ask_rules.ActingEndDoor),
    ("calendar-days", ask_rules.CalendarDaysDoor),
    ("exports", exports.ExportsDoor),
    ("exports/<str:export>", exports.ExportDoor),
    ("exports/<str:export>/file", exports.ExportFileDoor),
    ("exports/<str:export>/discard", exports.ExportDiscardDoor),
]

urlpatterns: list[URLPattern] = [
    path("schema/", schema.schema, name="api-schema"),
    path("docs/", docs.docs, name="api-docs"),
    *(path(f"v1/{address}", door.as_view(), name=door.name) for address, door in DOORS),
]
