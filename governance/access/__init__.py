"""Who acts and what they may: people, the actor every action takes, `require`, and the table of roles.

Grants themselves live in tenants; a backend named in the settings answers `person.has_perm`.
"""
