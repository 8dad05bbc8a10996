"""The page of the audit trail; reading lies in governance.audit, the billing zone above it."""
