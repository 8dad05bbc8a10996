"""What each kind of export is made of. A source takes the settled query and the actor, and gives a table.

The same questions as the page asks, with the same rights: who may not see the page is told NotFound here too.
"""
